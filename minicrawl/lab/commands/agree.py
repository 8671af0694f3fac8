"""`minicrawl lab agree`: how far a rank agrees with grades given by people."""

from collections.abc import Sequence
from typing import IO

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.output import (
    correlation,
    share,
    show_facts,
    show_json,
    show_lines,
    show_table,
)
from minicrawl.cli.store_options import json_option, source_options
from minicrawl.lab.commands.grades import judged, read_grades
from minicrawl.ranks.agreement import GRADES
from minicrawl.report.graph.source import Source
from minicrawl.wording import visible


@click.command()
@click.argument("name")
@click.argument("labels", type=click.File(encoding="utf-8-sig"))
@click.option(
    "--best",
    type=click.Choice(["4", "1"]),
    default="4",
    show_default=True,
    help="Grade of the most important pages.",
)
@click.option(
    "--sites",
    is_flag=True,
    help="Grade sites instead of pages: LABELS names registrable domains or URLs, and a site "
    "scores the sum of its pages.",
)
@json_option
@source_options
def agree(
    source: Source, name: str, labels: IO[str], best: str, sites: bool, as_json: bool
) -> None:
    """Measure how well the rank NAME agrees with human grades.

    LABELS is a CSV file with a line `url,grade` per page, with grades from 1 to 4; - is stdin. With
    several judges, each has a column, and the grade of a page is their mean, rounded. The first
    line may name the columns, such as `url,ann,bob`.

    The pages are graded by score, with as many pages per grade as in LABELS. Of pages with equal
    scores, the one found first counts as better. For comparison: in OPIC's paper, each librarian
    agreed with the mean of all librarians in 60 to 80 % of the cases, and importance in 65 %.
    """
    given = read_grades(labels, labels.name)
    result = judged(source, name, given, best=int(best), sites=sites)
    _warn("not in the graph", result.unknown)
    _warn(f"no score by {name}: found after it was made", result.unscored)
    agreement = result.agreement
    if as_json:
        show_json(
            {
                "rank": result.rank.name,
                "origin": result.rank.origin,
                "judged": agreement.judged,
                "equal": agreement.equal,
                "within_one": agreement.within_one,
                "by_chance": agreement.by_chance,
                "spearman": agreement.spearman,
                "table": agreement.table,
                "judges": result.judges,
                "unknown": result.unknown,
                "unscored": result.unscored,
                "remarks": agreement.remarks,
            }
        )
        return
    facts = {
        "rank": f"{result.rank.name}, {result.rank.origin}",
        "pages": f"{agreement.judged:,}",
        "same grade": f"{share(agreement.equal)}; by chance {share(agreement.by_chance)}",
        "at most one apart": share(agreement.within_one),
        "Spearman": correlation(agreement.spearman),
    }
    show_facts(facts.items())
    if result.judges:
        judges = (
            (
                visible(name),
                f"{judge.judged:,}",
                *(share(judge.equal), share(judge.within_one), correlation(judge.spearman)),
            )
            for name, judge in result.judges.items()
        )
        headings = ("judge", "pages", "same grade", "at most one apart", "Spearman")
        caption = "one row for each judge, compared with the mean of all"
        show_table("Judges", headings, judges, caption)
    table = enumerate(agreement.table, start=1)
    lines = ((str(grade), *(f"{pages:,}" for pages in row)) for grade, row in table)
    columns = ("human", *(f"rank {grade}" for grade in range(1, GRADES + 1)))
    show_table("Pages by grade", columns, lines, "one row for each human grade")
    show_lines(agreement.remarks)


def _warn(problem: str, names: Sequence[str]) -> None:
    for name in names:
        click.echo(f"{PROGRAM}: skipped {visible(name)}: {problem}", err=True)
