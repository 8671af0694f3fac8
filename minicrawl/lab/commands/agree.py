"""`minicrawl lab agree`: how far a rank agrees with grades given by people.

Grades are lines of CSV, each with a page and its grades: `url,grade`, or a column per judge. A
list may begin with a header. With one judge, the first cell of the header is `url`, `page` or
`site`, or its second is `grade`: other words could be an invalid grade. With several judges, a
cell is empty if a judge did not grade the page. Empty lines are skipped. Sites may be graded too:
the score of a site is the sum of its pages' scores.

A list is read completely, or refused with the number of the bad line. A judge gives a node one
grade: duplicates count once, and contradictions are refused.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import IO, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

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
from minicrawl.errors import UsageError
from minicrawl.ranks.agreement import (
    GRADES,
    Agreement,
    JudgeAgreement,
    agreement,
    beside_mean,
    mean_grades,
)
from minicrawl.ranks.commands.named_ranks import KnownRank, full_name, rank_of
from minicrawl.ranks.scores import Floats
from minicrawl.ranks.sites import SiteNames, sites_of
from minicrawl.report.graph.source import Source
from minicrawl.web import urls
from minicrawl.web.sites import site
from minicrawl.wording import visible

_ALLOWED = {str(grade): float(grade) for grade in range(1, GRADES + 1)}
_ONE_JUDGE = 2
"""Number of columns with one judge: the page and its grade."""
_PAGE_HEADINGS = ("url", "page", "site")
_SHOWN = 60  # characters of a bad line that its message quotes


class GradedPage(NamedTuple):
    """A page as named in the list, its grades (NaN for none), and its line."""

    name: str
    grades: tuple[float, ...]
    line: int


class Grades(NamedTuple):
    """Grades given by people; `place` is the name of the list in messages."""

    judges: list[str]
    of_pages: list[GradedPage]
    place: str


def read_grades(lines: Iterable[str], place: str) -> Grades:
    """Return the grades in the lines, at least one; messages call the list `place`."""
    reader = csv.reader(lines, strict=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise UsageError(f"{place}, line {reader.line_num}: {error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not UTF-8: {error.reason}") from None
    rows = [(line, cells) for line, cells in rows if any(cells)]
    if rows and rows[0][0] == 1 and _is_header(rows[0][1]):
        judges, rows = rows[0][1][1:], rows[1:]
    else:
        judges = [f"judge {number}" for number in range(1, len(rows[0][1]) if rows else 1)]
    if not rows:
        raise UsageError(f"{place} contains no grades; expected lines of url,grade")
    count, pages = max(len(judges), 1), list[GradedPage]()
    known = _ALLOWED if count == 1 else _ALLOWED | {"": np.nan}
    for line, (name, *grades) in rows:
        is_whole = name and len(grades) == count and any(grades)
        if not is_whole or not known.keys() >= {*grades}:
            given = "a grade" if count == 1 else f"{count} grades"
            raise UsageError(
                f"{place}, line {line}: expected a URL and {given} from 1 to {GRADES}, "
                f"found {','.join([name, *grades])[:_SHOWN]!r}"
            )
        pages.append(GradedPage(name, tuple(known[grade] for grade in grades), line))
    return Grades(judges, pages, place)


def _is_header(cells: Sequence[str]) -> bool:
    if not all(cells) or any(re.fullmatch(r"-*[\d.]+", cell) for cell in cells[1:]):
        return False
    page, *judges = map(str.lower, cells)
    if len(cells) == _ONE_JUDGE:
        return page in _PAGE_HEADINGS or judges == ["grade"]
    return len(cells) > _ONE_JUDGE


class Judged(NamedTuple):
    """Agreement of a rank with people, and the graded pages without a score."""

    rank: KnownRank
    agreement: Agreement
    judges: dict[str, JudgeAgreement]
    """Agreement of each judge, if there are several and the judge graded any of the pages."""
    unknown: list[str]
    unscored: list[str]
    """Pages that became known after the rank was computed."""


def judged(
    source: Source, name: str, labels: Grades, *, best: int = GRADES, sites: bool = False
) -> Judged:
    """Compare the rank of this name with the grades; `best` is 4 or 1."""
    name = full_name(source, name)
    called = [_site_of(label.name) if sites else label.name for label in labels.of_pages]
    sites_names = sites_of(source.names) if sites else None
    names = source.names if sites_names is None else SiteNames(sites_names.names)
    nodes = names.find(called)
    first_labels: dict[int, GradedPage] = {}
    for label, node in zip(labels.of_pages, nodes, strict=True):
        if node is None:
            continue
        first = first_labels.setdefault(node, label)
        if not np.array_equal(first.grades, label.grades, equal_nan=True):
            raise UsageError(
                f"{labels.place}, line {label.line}: {label.name} has {_grades_text(label)} here "
                f"and {_grades_text(first).partition(' ')[2]} on line {first.line}: remove one"
            )
    graded = dict(sorted(first_labels.items()))
    unknown = [
        label.name for label, node in zip(labels.of_pages, nodes, strict=True) if node is None
    ]
    if not graded:
        pages = f"{len(labels.of_pages):,} {'sites' if sites else 'pages'}"
        raise UsageError(f"{labels.place}: none of its {pages} is known; give their URLs")
    rank = rank_of(source, name)
    scores = rank.scores if sites_names is None else _summed(rank.scores, sites_names.of_node)
    scored = {node: label for node, label in graded.items() if not np.isnan(scores[node])}
    if not scored:
        raise UsageError(
            f"{name} was made before any page of {labels.place} became known: compute it again"
        )
    grades = np.array([label.grades for label in scored.values()])
    agreed = agreement(scores[list(scored)].astype(np.float64), mean_grades(grades), best=best)
    unscored = [label.name for node, label in graded.items() if node not in scored]
    beside = zip(labels.judges, beside_mean(grades), strict=True) if len(labels.judges) > 1 else ()
    judges = {judge: own for judge, own in beside if own}
    return Judged(rank, agreed, judges, list(dict.fromkeys(unknown)), unscored)


def _grades_text(label: GradedPage) -> str:
    """Return a text such as `grade 3`, or `grades 3, -, 4`."""
    shown = ", ".join("-" if np.isnan(grade) else f"{grade:.0f}" for grade in label.grades)
    return f"grade{'s' if len(label.grades) > 1 else ''} {shown}"


def _site_of(name: str) -> str:
    return site(urls.host(name) if "://" in name else name.lower())


def _summed(scores: Floats, site_of: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the score of each site, or NaN if none of its pages has a score."""
    is_known = ~np.isnan(scores)
    known = np.bincount(site_of, is_known)
    sums = np.bincount(site_of, np.where(is_known, scores, 0))
    return np.where(known > 0, sums, np.nan)


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
                **asdict(agreement),
                "judges": result.judges,
                "unknown": result.unknown,
                "unscored": result.unscored,
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
