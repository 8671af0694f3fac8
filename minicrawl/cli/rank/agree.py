"""`minicrawl agree`: how well a rank agrees with human grades."""

from collections.abc import Iterator, Sequence
from typing import IO

import click

from minicrawl.analysis import agreement as lists
from minicrawl.analysis.agreement import Judged, judged
from minicrawl.analysis.source import Source
from minicrawl.cli import PROGRAM
from minicrawl.cli.common.stores import json_option, source_options
from minicrawl.cli.common.tables import (
    correlation,
    share,
    show_facts,
    show_json,
    show_lines,
    show_table,
)
from minicrawl.export.cells import visible
from minicrawl.ranks.compare import GRADES

_GRADES = range(1, GRADES + 1)
HEADINGS = ("human", *(f"rank {grade}" for grade in _GRADES))
JUDGES_HEADINGS = ("judge", "pages", "same grade", "at most one apart", "Spearman")


@click.command()
@click.argument("name")
@click.argument("labels", type=click.File(encoding="utf-8-sig"))
@click.option(
    "--best",
    type=click.Choice(["4", "1"]),
    default="4",
    show_default=True,
    help="The grade of the most important pages.",
)
@click.option(
    "--sites",
    is_flag=True,
    help="LABELS grades sites, which are registrable domains, by their names or a URL. The score "
    "of a site is the sum of its pages' scores.",
)
@json_option
@source_options
def agree(
    source: Source, name: str, labels: IO[str], best: str, sites: bool, as_json: bool
) -> None:
    """Show how well the rank NAME agrees with human grades of pages, from 1 to 4.

    LABELS is a CSV file with a line `url,grade` for each page, or `url,grade,grade,...` with a
    column for each judge, which the first line may name; - is stdin. The grade of a page is the
    mean of its judges, rounded. The pages are split into grades by their scores, so that each grade
    has as many pages as in LABELS. Among equal scores, the page that was found first counts as
    better. For comparison: in the paper, each librarian agreed with the mean of all librarians in
    60 to 80 % of the cases, and the importance of the pages did in 65 %.
    """
    found = judged(source, name, lists.read(labels, labels.name), best=int(best), sites=sites)
    _warn("not in the graph", found.unknown)
    _warn(f"no score by {name}: found after it was made", found.unscored)
    if as_json:
        show_json(_document(found))
        return
    show_facts(_facts(found))
    if found.judges:
        caption = "one row for each judge, beside the mean of all"
        show_table("Judges", JUDGES_HEADINGS, _judges_lines(found), caption)
    show_table("Pages by grade", HEADINGS, _lines(found), "one row for each human grade")
    show_lines(found.agreement.remarks)


def _warn(problem: str, names: Sequence[str]) -> None:
    for name in names:
        click.echo(f"{PROGRAM}: skipped {visible(name)}: {problem}", err=True)


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
        "judges": {name: judge._asdict() for name, judge in found.judges.items()},
        "unknown": found.unknown,
        "unscored": found.unscored,
        "remarks": agreement.remarks,
    }


def _facts(found: Judged) -> Iterator[tuple[str, str]]:
    agreement = found.agreement
    yield "rank", f"{found.rank.name}, {found.rank.origin}"
    yield "pages", f"{agreement.judged:,}"
    yield "same grade", f"{share(agreement.equal)}; by chance {share(agreement.by_chance)}"
    yield "at most one apart", share(agreement.within_one)
    yield "Spearman", correlation(agreement.spearman)


def _lines(found: Judged) -> Iterator[tuple[str, ...]]:
    for grade, row in zip(_GRADES, found.agreement.table, strict=True):
        yield str(grade), *(f"{pages:,}" for pages in row)


def _judges_lines(found: Judged) -> Iterator[tuple[str, ...]]:
    for name, judge in found.judges.items():
        shares = share(judge.equal), share(judge.within_one), correlation(judge.spearman)
        yield visible(name), f"{judge.judged:,}", *shares
