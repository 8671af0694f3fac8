"""`minicrawl lab agree`, `stability` and `eigenvector`: experiments with ranks.

agree        agreement of a rank with human grades
stability    change of a rank when pages are removed
eigenvector  importance by the link matrices of OPIC's paper
"""

from collections.abc import Callable, Iterator, Sequence
from typing import IO

import click
import numpy as np

from minicrawl.cli import PROGRAM
from minicrawl.cli.input_options import json_option, source_options
from minicrawl.cli.output import (
    correlation,
    share,
    show_facts,
    show_json,
    show_lines,
    show_list,
    show_table,
    sizes_option,
)
from minicrawl.cli.setting_options import Number
from minicrawl.export.cells import visible
from minicrawl.graph.csr import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks import centrality, comparing
from minicrawl.ranks.centrality import MOST_STEPS, EigenvectorOptions, LinkMatrix
from minicrawl.ranks.commands.base_sets import BaseSetChoice, base_set_options
from minicrawl.ranks.commands.hits import HitsVariant, random_option, subspace_option
from minicrawl.ranks.commands.running import ranking, tolerance_option
from minicrawl.ranks.compare import GRADES
from minicrawl.ranks.comparing import Judged
from minicrawl.ranks.hits import TOLERANCE, Hits
from minicrawl.ranks.scores import Scores
from minicrawl.report.source import Source
from minicrawl.wording import counted

# ================================================================ agree

_GRADES = range(1, GRADES + 1)
_AGREEMENT = ("human", *(f"rank {grade}" for grade in _GRADES))
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
    scores, the one found first counts as better. For
    comparison: in the paper, each librarian agreed with the mean of all librarians in 60 to 80 % of
    the cases, and the importance of the pages did in 65 %.
    """
    given = comparing.read(labels, labels.name)
    found = comparing.judged(source, name, given, best=int(best), sites=sites)
    _warn("not in the graph", found.unknown)
    _warn(f"no score by {name}: found after it was made", found.unscored)
    if as_json:
        show_json(_agreement_document(found))
        return
    show_facts(_agreement_facts(found))
    if found.judges:
        caption = "one row for each judge, beside the mean of all"
        show_table("Judges", _JUDGES, _judges_lines(found), caption)
    show_table("Pages by grade", _AGREEMENT, _grade_lines(found), "one row for each human grade")
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


def _grade_lines(found: Judged) -> Iterator[tuple[str, ...]]:
    for grade, row in zip(_GRADES, found.agreement.table, strict=True):
        yield str(grade), *(f"{pages:,}" for pages in row)


def _judges_lines(found: Judged) -> Iterator[tuple[str, ...]]:
    for name, judge in found.judges.items():
        shares = share(judge.equal), share(judge.within_one), correlation(judge.spearman)
        yield visible(name), f"{judge.judged:,}", *shares


# ================================================================ stability

_STABILITY = ("", "mean", "minimum")
_GONE = "-"

_SIDES: dict[str, Callable[[Hits], Scores]] = {
    "hits-authorities": lambda found: found.authorities,
    "hits-hubs": lambda found: found.hubs,
}


@click.command()
@click.argument("name")
@click.option(
    "--drop",
    metavar="SHARE",
    type=Number(min=0, min_open=True, max=1, max_open=True),
    default=0.3,
    show_default=True,
    help="Remove this share of the pages, with their links.",
)
@click.option(
    "--times",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Repeat N times, each time on the whole graph.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed of the random choice of pages.",
)
@click.option(
    "--places",
    metavar="N",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Show the places of the N best pages in each run.",
)
@random_option
@subspace_option
@sizes_option("10,100")
@json_option
@source_options
@base_set_options
def stability(
    source: Source,
    name: str,
    drop: float,
    times: int,
    seed: int,
    ks: Sequence[int],
    places: int,
    restart: float | None,
    dimensions: int | None,
    base: BaseSetChoice | None,
    as_json: bool,
) -> None:
    """Measure how a rank changes when pages are removed.

    The rank NAME is computed with its default options, on all pages and on the remaining ones; both
    are compared on the remaining pages. With --root or --query, only the base set is used.
    --random and --subspace are for hits-authorities and hits-hubs.
    """
    rank = _rank(name, restart, dimensions)
    named = source.graph if base is None else base.grown(source, source.graph).named
    loss, best = comparing.Loss(drop, times), comparing.BestNodes(ks, places)
    rng = np.random.default_rng(seed)
    found = comparing.stability(named, rank, loss, best, rng, source.progress)
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
    _show_places(found.best, times)


def _rank(name: str, restart: float | None, dimensions: int | None) -> comparing.Rank:
    """Return the rank with this name, or a variant of HITS."""
    if restart is None and dimensions is None:
        return comparing.computed_anew(name)
    if restart is not None and dimensions is not None:
        raise click.UsageError("--random and --subspace cannot be combined")
    if name not in _SIDES:
        raise click.UsageError(f"--random and --subspace are for {' and '.join(_SIDES)}")
    variant = HitsVariant(rounds=None, restart=restart, dimensions=dimensions, tolerance=TOLERANCE)

    def side(named: NamedGraph, tell: Progress) -> Scores:
        return _SIDES[name](variant.compute(named, tell))

    return side


def _stability_document(found: comparing.Stability) -> dict[str, object]:
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


def _show_places(best: Sequence[comparing.Placed], runs: int) -> None:
    if best:
        headings = ("place", *(f"run {number}" for number in range(1, runs + 1)), "node")
        show_list(headings, map(_place_line, best), texts=1)


def _place_line(placed: comparing.Placed) -> tuple[str, ...]:
    places = (_GONE if place is None else f"{place:,}" for place in placed.in_runs)
    return f"{placed.place:,}", *places, placed.name


def _lines(found: comparing.Stability) -> Iterator[tuple[str, ...]]:
    yield "Kendall's tau-b", *map(correlation, found.kendall)
    yield "Spearman", *map(correlation, found.spearman)
    for k, spread in found.overlap.items():
        yield f"best {k:,}", *map(share, spread)


# ================================================================ eigenvector


@click.command()
@click.option(
    "--matrix",
    type=click.Choice([matrix.value for matrix in LinkMatrix]),
    default=LinkMatrix.LINKS.value,
    show_default=True,
    help="Link matrix: the links of a page add up to 1 (walk), each link counts 1 (links), or 1 "
    "in both directions (either).",
)
@click.option(
    "--virtual-page",
    is_flag=True,
    help="Add a virtual page with links to and from all others, as in OPIC's paper.",
)
@tolerance_option
@click.option(
    "--rounds",
    "most_rounds",
    metavar="N",
    type=click.IntRange(min=1),
    default=MOST_STEPS,
    show_default=True,
    help="Stop after N rounds.",
)
@ranking
def eigenvector(
    named: NamedGraph,
    tell: Progress,
    matrix: str,
    virtual_page: bool,
    tolerance: float,
    most_rounds: int,
) -> Scores:
    """Rank by the eigenvector of a link matrix, without jumps.

    The three matrices are those of OPIC's paper; walk with --virtual-page gives the importance that
    OPIC computes.
    """
    terms = EigenvectorOptions(LinkMatrix(matrix), virtual_page, tolerance, most_rounds)
    found = centrality.eigenvector(named.graph, named.weights, options=terms, tell=tell)
    if len(found.values) and not found.iterations and not virtual_page:
        click.echo(
            "no links form a cycle, so no node is worth more than another: add --virtual-page",
            err=True,
        )
    return found
