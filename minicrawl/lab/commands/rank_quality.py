"""`minicrawl lab agree`, `stability` and `eigenvector`: experiments with ranks.

agree        agreement of a rank with grades given by people
stability    change of a rank when random pages are removed (Ng, Zheng, Jordan, 2001)
eigenvector  importance by the link matrices of OPIC's paper
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import IO, NamedTuple

import click
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.cli import PROGRAM
from minicrawl.cli.options import Number, sizes_option
from minicrawl.cli.output import (
    correlation,
    share,
    show_facts,
    show_json,
    show_lines,
    show_list,
    show_table,
)
from minicrawl.cli.parameters import choice, number, option, switch, with_made, with_options
from minicrawl.cli.store_options import json_option, source_options
from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import Mask, NamedGraph, with_nodes
from minicrawl.ports import Progress, part as part_of
from minicrawl.ranks import eigenvector as link_matrices
from minicrawl.ranks.agreement import (
    GRADES,
    Agreement,
    Comparison,
    JudgeAgreement,
    agreement,
    beside_mean,
    compare as compare_ranks,
    mean_grades,
)
from minicrawl.ranks.commands.base_sets import BaseSetChoice
from minicrawl.ranks.commands.hits_command import hits_of, random_option, subspace_option
from minicrawl.ranks.commands.named_ranks import RANKS, KnownRank, Rank, full_name, rank_of
from minicrawl.ranks.commands.running import ranking
from minicrawl.ranks.commands.walk_options import tolerance_option
from minicrawl.ranks.eigenvector import MOST_STEPS, EigenvectorOptions, LinkMatrix
from minicrawl.ranks.hits import Hits
from minicrawl.ranks.scores import Floats, Scores
from minicrawl.ranks.sites import SiteNames, sites_of
from minicrawl.report.graph.source import ProgressFactory, Source
from minicrawl.web import urls
from minicrawl.web.urls import site
from minicrawl.wording import counted, visible

# ================================================================ grades
#
# Grades are lines of CSV, each with a page and its grades: `url,grade`, or a column per judge. A
# list may begin with a header. With one judge, the first cell of the header is `url`, `page` or
# `site`, or its second is `grade`: other words could be an invalid grade. With several judges, a
# cell is empty if a judge did not grade the page. Empty lines are skipped. Sites may be graded too:
# the score of a site is the sum of its pages' scores.
#
# A list is read completely, or refused with the number of the bad line. A judge gives a node one
# grade: duplicates count once, and contradictions are refused.

_ALLOWED = {str(grade): float(grade) for grade in range(1, GRADES + 1)}
_NO_GRADE = {"": np.nan}
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
    return Grades(judges, list(_graded_pages(rows, max(len(judges), 1), place)), place)


def _graded_pages(
    rows: Iterable[tuple[int, list[str]]], judges: int, place: str
) -> Iterator[GradedPage]:
    known = _ALLOWED if judges == 1 else _ALLOWED | _NO_GRADE
    for line, (name, *grades) in rows:
        is_whole = name and len(grades) == judges and any(grades)
        if not is_whole or not known.keys() >= {*grades}:
            given = "a grade" if judges == 1 else f"{judges} grades"
            raise UsageError(
                f"{place}, line {line}: expected a URL and {given} from 1 to {GRADES}, "
                f"found {','.join([name, *grades])[:_SHOWN]!r}"
            )
        yield GradedPage(name, tuple(known[grade] for grade in grades), line)


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
    graded = _graded(labels, nodes)
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
    found = agreement(scores[list(scored)].astype(np.float64), mean_grades(grades), best=best)
    unscored = [label.name for node, label in graded.items() if node not in scored]
    beside = zip(labels.judges, beside_mean(grades), strict=True) if len(labels.judges) > 1 else ()
    judges = {judge: found for judge, found in beside if found}
    return Judged(rank, found, judges, list(dict.fromkeys(unknown)), unscored)


def _graded(labels: Grades, nodes: Sequence[int | None]) -> dict[int, GradedPage]:
    """Return the graded page of each known node, in the order of the nodes."""
    found: dict[int, GradedPage] = {}
    for label, node in zip(labels.of_pages, nodes, strict=True):
        if node is None:
            continue
        first = found.setdefault(node, label)
        if not np.array_equal(first.grades, label.grades, equal_nan=True):
            raise UsageError(
                f"{labels.place}, line {label.line}: {label.name} has {_grades_text(label)} here "
                f"and {_grades_text(first).partition(' ')[2]} on line {first.line}: remove one"
            )
    return dict(sorted(found.items()))


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


# ================================================================ agree

_AGREEMENT = ("human", *(f"rank {grade}" for grade in range(1, GRADES + 1)))
_JUDGES = ("judge", "pages", "same grade", "at most one apart", "Spearman")


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
    found = judged(source, name, given, best=int(best), sites=sites)
    _warn("not in the graph", found.unknown)
    _warn(f"no score by {name}: found after it was made", found.unscored)
    if as_json:
        show_json(_agreement_document(found))
        return
    show_facts(_agreement_facts(found))
    if found.judges:
        caption = "one row for each judge, compared with the mean of all"
        show_table("Judges", _JUDGES, _judges_lines(found), caption)
    table = enumerate(found.agreement.table, start=1)
    lines = ((str(grade), *(f"{pages:,}" for pages in row)) for grade, row in table)
    show_table("Pages by grade", _AGREEMENT, lines, "one row for each human grade")
    show_lines(found.agreement.remarks)


def _warn(problem: str, names: Sequence[str]) -> None:
    for name in names:
        click.echo(f"{PROGRAM}: skipped {visible(name)}: {problem}", err=True)


def _agreement_document(found: Judged) -> dict[str, object]:
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


def _agreement_facts(found: Judged) -> Iterator[tuple[str, str]]:
    agreement = found.agreement
    yield "rank", f"{found.rank.name}, {found.rank.origin}"
    yield "pages", f"{agreement.judged:,}"
    yield "same grade", f"{share(agreement.equal)}; by chance {share(agreement.by_chance)}"
    yield "at most one apart", share(agreement.within_one)
    yield "Spearman", correlation(agreement.spearman)


def _judges_lines(found: Judged) -> Iterator[tuple[str, ...]]:
    for name, judge in found.judges.items():
        shares = share(judge.equal), share(judge.within_one), correlation(judge.spearman)
        yield visible(name), f"{judge.judged:,}", *shares


# ================================================================ stability
#
# Each run removes the same number of nodes from the whole graph and compares the rank of the rest
# with the rank of the whole, among the nodes that stay. The same seed gives the same numbers. The
# place of a node is one more than the number of better nodes; ties go to the first node.

_FEWEST = 2
"""Fewest nodes with an order."""


class Spread(NamedTuple):
    """A measure over the runs; None if no run has a value."""

    mean: float | None
    least: float | None


class Placed(NamedTuple):
    """A node with its place in the whole and in each run; None if the run removed it."""

    name: str
    place: int
    in_runs: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """Comparison of a rank of the whole graph with that of its parts, which have `stay` nodes."""

    nodes: int
    edges: int
    stay: int
    kendall: Spread
    spearman: Spread
    overlap: dict[int, Spread]
    best: tuple[Placed, ...]
    remarks: tuple[str, ...]


def computed_anew(name: str) -> Rank:
    """Return the rank of this name with default options."""
    if name not in RANKS:
        raise UsageError(f"cannot recompute rank {name!r}; choose one of {', '.join(RANKS)}")
    return RANKS[name]


def stability_of(
    named: NamedGraph,
    rank: Rank,
    *,
    drop: float,
    times: int,
    ks: Sequence[int],
    shown: int,
    rng: Generator,
    progress: ProgressFactory,
) -> Stability:
    """Measure the stability of a rank of this graph in runs without a share of the nodes.

    Overlaps are computed for each of `ks`, and places for the best `shown` nodes.
    """
    nodes, gone = named.graph.nodes, _gone(drop, named.graph.nodes)
    runs: list[Comparison] = []
    places: list[list[int | None]] = []
    with progress("stability") as tell:
        whole_time = times + 1
        tells = (
            part_of(tell, run / whole_time, (run + 1) / whole_time) for run in range(whole_time)
        )
        whole = rank(named, next(tells)).values
        first = np.argsort(-whole, kind="stable")[:shown].tolist()
        for tell_part in tells:
            stays = np.ones(nodes, dtype=np.bool_)
            stays[rng.choice(nodes, gone, replace=False)] = False
            part = rank(with_nodes(named, stays), tell_part).values
            runs.append(compare_ranks(part, whole[stays], ks))
            places.append(_places_in(stays, part, first))
            tell_part(1.0)
    return Stability(
        nodes=nodes,
        edges=named.graph.edges,
        stay=nodes - gone,
        kendall=_spread([run.kendall for run in runs]),
        spearman=_spread([run.spearman for run in runs]),
        overlap={k: _spread([run.overlap[k] for run in runs]) for k in ks},
        best=tuple(
            Placed(name, place, tuple(of_run[place - 1] for of_run in places))
            for place, name in enumerate(named.names.of(first), start=1)
        ),
        remarks=tuple(_remarks(runs, nodes - gone, ks)),
    )


def _gone(drop: float, nodes: int) -> int:
    """Return the number of nodes to remove."""
    gone = round(drop * nodes)
    if not gone:
        raise UsageError(f"--drop {drop:g} removes none of {nodes:,} nodes: give a larger share")
    if nodes - gone < _FEWEST:
        raise UsageError(
            f"--drop {drop:g} leaves {nodes - gone} of {nodes:,} nodes: give a smaller share"
        )
    return gone


def _places_in(stays: Mask, part: Floats, nodes: Sequence[int]) -> list[int | None]:
    """Return the places of these nodes among the nodes that stay; None for removed nodes."""
    places = np.empty(len(part), dtype=np.int64)
    places[np.argsort(-part, kind="stable")] = np.arange(1, len(part) + 1)
    numbers = np.cumsum(stays) - 1
    return [int(places[numbers[node]]) if stays[node] else None for node in nodes]


def _spread(found: Sequence[float | None]) -> Spread:
    known = [value for value in found if value is not None]
    return Spread(fmean(known), min(known)) if known else Spread(None, None)


def _remarks(runs: Sequence[Comparison], stay: int, ks: Sequence[int]) -> Iterator[str]:
    if silent := sum(run.kendall is None for run in runs):
        yield f"{silent} of {len(runs)} times all scores of a rank were equal: there is no order"
    if any(k > stay for k in ks):
        yield f"there is no overlap of more than {stay:,} nodes"


# ================================================================ stability command

_STABILITY = ("", "mean", "minimum")
_GONE = "-"

_SIDES: dict[str, Callable[[Hits], Scores]] = {
    "hits-authorities": lambda found: found.authorities,
    "hits-hubs": lambda found: found.hubs,
}


@click.command()
@click.argument("name")
@with_options
@sizes_option("10,100")
@json_option
@source_options
@with_made(base=BaseSetChoice)
def stability(
    source: Source,
    name: str,
    ks: Sequence[int],
    base: BaseSetChoice,
    as_json: bool,
    drop: float = option(
        "Remove this share of the pages, with their links.",
        0.3,
        metavar="SHARE",
        type=Number(min=0, min_open=True, max=1, max_open=True),
    ),
    times: int = number("Repeat N times, each time on the whole graph.", 10),
    seed: int = number("Seed of the random choice of pages.", 1, least=0),
    places: int = number("Show the places of the N best pages in each run.", 10, least=0),
    restart: float | None = random_option,
    dimensions: int | None = subspace_option,
) -> None:
    """Measure how a rank changes when pages are removed.

    The rank NAME is computed with its default options, on all pages and on the remaining ones; both
    are compared on the remaining pages. With --root or --query, only the base set is used.
    --random and --subspace are for hits-authorities and hits-hubs.
    """
    rank = _rank(name, restart, dimensions)
    named = base.grown(source, source.graph).named
    found = stability_of(
        named,
        rank,
        drop=drop,
        times=times,
        ks=ks,
        shown=places,
        rng=np.random.default_rng(seed),
        progress=source.progress,
    )
    if as_json:
        show_json(
            {"rank": name, "drop": drop, "times": times, "seed": seed} | _stability_document(found)
        )
        return
    caption = (
        f"{name} of {counted(found.nodes, 'node')}, {counted(found.edges, 'link')}; "
        f"{counted(found.stay, 'node remains', 'nodes remain')}, {counted(times, 'run')}"
    )
    show_table("On the remaining pages", _STABILITY, _lines(found), caption)
    show_lines(found.remarks)
    if found.best:
        headings = ("place", *(f"run {number}" for number in range(1, times + 1)), "node")
        show_list(headings, map(_place_line, found.best), texts=1)


def _rank(name: str, restart: float | None, dimensions: int | None) -> Rank:
    """Return the rank with this name, or a variant of HITS."""
    if restart is None and dimensions is None:
        return computed_anew(name)
    if restart is not None and dimensions is not None:
        raise click.UsageError("--random and --subspace cannot be combined")
    if name not in _SIDES:
        raise click.UsageError(f"--random and --subspace are for {' and '.join(_SIDES)}")
    return lambda named, tell: _SIDES[name](
        hits_of(named, tell, restart=restart, dimensions=dimensions)
    )


def _stability_document(found: Stability) -> dict[str, object]:
    return {
        "nodes": found.nodes,
        "edges": found.edges,
        "stay": found.stay,
        "kendall_tau": found.kendall._asdict(),
        "spearman": found.spearman._asdict(),
        "overlap": {k: spread._asdict() for k, spread in found.overlap.items()},
        "best": [
            {"node": one.name, "place": one.place, "places": one.in_runs} for one in found.best
        ],
        "remarks": found.remarks,
    }


def _place_line(placed: Placed) -> tuple[str, ...]:
    places = (_GONE if place is None else f"{place:,}" for place in placed.in_runs)
    return f"{placed.place:,}", *places, placed.name


def _lines(found: Stability) -> Iterator[tuple[str, ...]]:
    yield "Kendall's tau-b", *map(correlation, found.kendall)
    yield "Spearman", *map(correlation, found.spearman)
    for k, spread in found.overlap.items():
        yield f"best {k:,}", *map(share, spread)


# ================================================================ eigenvector


@click.command()
@with_options
@ranking
def eigenvector(
    named: NamedGraph,
    tell: Progress,
    matrix: LinkMatrix = choice(
        LinkMatrix,
        "Link matrix: the links of a page add up to 1 (walk), each link counts 1 (links), or 1 in "
        "both directions (either).",
        LinkMatrix.LINKS,
    ),
    virtual_page: bool = switch(
        "Add a virtual page with links to and from all others, as in OPIC's paper."
    ),
    tolerance: float = tolerance_option,
    most_rounds: int = number("Stop after N rounds.", MOST_STEPS, flag="--rounds"),
) -> Scores:
    """Rank by the eigenvector of a link matrix, without jumps.

    The three matrices are those of OPIC's paper; walk with --virtual-page gives the importance that
    OPIC computes.
    """
    options = EigenvectorOptions(matrix, virtual_page, tolerance, most_rounds)
    found = link_matrices.eigenvector(named.graph, named.weights, options=options, tell=tell)
    if len(found.values) and not found.iterations and not virtual_page:
        click.echo(
            "the links form no cycle, so all nodes have equal scores: add --virtual-page",
            err=True,
        )
    return found
