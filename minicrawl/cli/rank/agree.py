"""`minicrawl agree`: how far a rank agrees with the grades that people gave."""

from collections.abc import Iterator, Sequence
from typing import IO

import click

from minicrawl.analysis import agreement as lists
from minicrawl.analysis.agreement import Judged, judged
from minicrawl.analysis.source import Source
from minicrawl.cli import PROGRAM
from minicrawl.cli.common.stores import json_option, source_options
from minicrawl.cli.common.tables import correlation, say, share, show_facts, show_json, show_table
from minicrawl.export.cells import visible
from minicrawl.ranks.compare import GRADES

_GRADES = range(1, GRADES + 1)
HEADINGS = ("people", *(f"rank {grade}" for grade in _GRADES))


@click.command()
@click.argument("name")
@click.argument("labels", type=click.File(encoding="utf-8-sig"))
@click.option(
    "--best",
    type=click.Choice(["4", "1"]),
    default="4",
    show_default=True,
    help="The grade of the pages that matter most.",
)
@json_option
@source_options
def agree(source: Source, name: str, labels: IO[str], best: str, as_json: bool) -> None:
    """Show how far the rank NAME agrees with the grades, 1 to 4, that people gave to pages.

    LABELS is CSV, a line `url,grade` for each page; - is stdin. The pages are cut into grades by
    their scores so that each grade goes to as many as people gave it to; of equals the page that
    became known first is the better. The point of reference: librarians agreed with the ranks of
    the paper in 60 to 80 % of the cases.
    """
    found = judged(source, name, lists.read(labels, labels.name), labels.name, best=int(best))
    _list("is not known", found.unknown)
    _list(f"became known after {name} was made", found.unscored)
    if as_json:
        show_json(_document(found))
        return
    show_facts(_facts(found))
    show_table("Pages by grade", HEADINGS, _lines(found), "a row for each grade of people")
    say(found.agreement.remarks)


def _list(what: str, names: Sequence[str]) -> None:
    for name in names:
        click.echo(f"{PROGRAM}: {visible(name)} {what}: it is left out", err=True)


def _document(found: Judged) -> dict[str, object]:
    agreement = found.agreement
    return {
        "rank": found.rank.name,
        "origin": found.rank.origin,
        "judged": agreement.judged,
        "equal": agreement.equal,
        "within_one": agreement.within_one,
        "by_chance": agreement.by_chance,
        "spearman": agreement.spearman,
        "table": agreement.table,
        "unknown": found.unknown,
        "unscored": found.unscored,
        "remarks": agreement.remarks,
    }


def _facts(found: Judged) -> Iterator[tuple[str, str]]:
    agreement = found.agreement
    yield "rank", f"{found.rank.name}, {found.rank.origin}"
    yield "pages", f"{agreement.judged:,}"
    yield "same grade", f"{share(agreement.equal)}; by chance {share(agreement.by_chance)}"
    yield "one apart at most", share(agreement.within_one)
    yield "Spearman", correlation(agreement.spearman)


def _lines(found: Judged) -> Iterator[tuple[str, ...]]:
    for grade, row in zip(_GRADES, found.agreement.table, strict=True):
        yield str(grade), *(f"{pages:,}" for pages in row)
