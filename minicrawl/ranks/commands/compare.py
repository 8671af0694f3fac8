"""`minicrawl compare` and `agree`: how well two ranks agree, and how well a rank with people."""

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import click
import numpy as np

from minicrawl.cli import PROGRAM
from minicrawl.cli.common.options import Number, given_options
from minicrawl.cli.common.stores import json_option, source_options, warn_of_unranked_pages
from minicrawl.cli.common.tables import (
    NONE,
    correlation,
    share,
    show_facts,
    show_json,
    show_lines,
    show_list,
    show_table,
    sizes_option,
)
from minicrawl.export.cells import visible
from minicrawl.graph.csr import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks import comparing
from minicrawl.ranks import comparing as analysis
from minicrawl.ranks.commands.base_sets import BaseSetChoice, base_set_options
from minicrawl.ranks.commands.hits import HitsVariant, random_option, subspace_option
from minicrawl.ranks.compare import GRADES, RankErrors
from minicrawl.ranks.comparing import Judged
from minicrawl.ranks.hits import TOLERANCE, Hits
from minicrawl.ranks.scores import Scores
from minicrawl.report.source import Source
from minicrawl.search.commands import RankingChoice, ranking_options
from minicrawl.wording import counted

_MANY, _MOST = 100, 1_000_000


@click.command()
@click.argument("a")
@click.argument("b")
@sizes_option("10,100,1000")
@json_option
@source_options
def compare(source: Source, a: str, b: str, ks: Sequence[int], as_json: bool) -> None:
    """Show how well two ranks, A and B, agree.

    The error of a page is the difference between A and B, relative to B. Where B is close to 0, the
    mean error is huge, and the median is more useful.

    `opic`, or `importance`, is what `top` shows. `minicrawl compare opic pagerank` shows how good
    it is. A rank that was not made yet is computed with its default options, and not saved.
    """
    if source.snapshot is not None:
        warn_of_unranked_pages(source.snapshot, {a, b})
    found = comparing.compared(source, a, b, ks)
    if as_json:
        show_json(_document(found))
    else:
        show_facts(_facts(found))
        show_lines(found.comparison.remarks)


def _document(found: comparing.Compared) -> dict[str, object]:
    comparison = found.comparison
    errors = {"all": comparison.errors, "top10": comparison.errors_top10}
    return {
        "a": found.one.name,
        "b": found.other.name,
        "origins": [found.one.origin, found.other.origin],
        "nodes": comparison.nodes,
        "left_out": comparison.left_out,
        "kendall_tau": comparison.kendall,
        "spearman": comparison.spearman,
        "overlap": comparison.overlap,
        "mean_relative_error": {name: found and found.mean for name, found in errors.items()},
        "median_relative_error": {name: found and found.median for name, found in errors.items()},
        "remarks": comparison.remarks,
    }


def _facts(found: comparing.Compared) -> Iterator[tuple[str, str]]:
    comparison = found.comparison
    yield "a", f"{found.one.name}, {found.one.origin}"
    yield "b", f"{found.other.name}, {found.other.origin}"
    yield "nodes", f"{comparison.nodes:,}; {comparison.left_out:,} without a score in both"
    yield "Kendall's tau-b", correlation(comparison.kendall)
    yield "Spearman", correlation(comparison.spearman)
    for k, overlap in comparison.overlap.items():
        yield f"best {k:,}", f"{share(overlap)} in both"
    yield "mean error", _errors(comparison.errors)
    yield "in the best 10 % of b", _errors(comparison.errors_top10)


def _errors(found: RankErrors | None) -> str:
    if found is None:
        return NONE
    return f"{_relative(found.mean)}, median {_relative(found.median)}"


def _relative(error: float) -> str:
    if error < _MANY:
        return share(error)
    return f"{error:,.0f} times" if error < _MOST else "more than a million times"


# ---------------------------------------------------------------- people

_GRADES = range(1, GRADES + 1)
HEADINGS = ("human", *(f"rank {grade}" for grade in _GRADES))
JUDGES_HEADINGS = ("judge", "pages", "same grade", "at most one apart", "Spearman")


@click.command()
@click.argument("name", required=False)
@click.argument("labels", type=click.File(encoding="utf-8-sig"), required=False)
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
@click.option(
    "--searches",
    "of_searches",
    is_flag=True,
    help="Compare an order of results with what was shown, on all searches that were judged with "
    "`minicrawl search --judge`. Without --by, --score and --weight, this is the usual order.",
)
@ranking_options
@json_option
@source_options
def agree(
    source: Source,
    name: str | None,
    labels: IO[str] | None,
    of_searches: bool,
    choice: RankingChoice,
    as_json: bool,
    **graded: Any,
) -> None:
    """Show how well a rank agrees with human grades.

    LABELS has the grades of pages, from 1 to 4. It is a CSV file with a line `url,grade` for each
    page; - is stdin. With several judges, each has a column, and the grade of a page is their mean,
    rounded. The first line may name the columns, such as `url,ann,bob`.

    The pages are split into grades by their scores, so that each grade has as many pages as in
    LABELS. Of pages with equal scores, the one that was found first counts as better. For
    comparison: in the paper, each librarian agreed with the mean of all librarians in 60 to 80 % of
    the cases, and the importance of the pages did in 65 %.

    With --searches, show how well an order of results does on all searches that users judged.
    """
    if of_searches:
        if name is not None or source.snapshot is None:
            raise click.UsageError("--searches is of a store: leave out NAME and --graph")
        _refuse(("best", "sites"), "is for grades: leave out --searches")
        from minicrawl.search.commands import show_agreement

        show_agreement(source.snapshot.path, choice, as_json=as_json)
    elif name is None or labels is None:
        raise click.UsageError("say which rank NAME and which LABELS, or --searches")
    else:
        _refuse(("by", "linear", "weights"), "needs --searches")
        _agree_with_people(source, name, labels, as_json=as_json, **graded)


def _refuse(names: Sequence[str], why: str) -> None:
    given = given_options()
    for name in names:
        if name in given:
            raise click.UsageError(f"{given[name]} {why}")


def _agree_with_people(
    source: Source, name: str, labels: IO[str], *, best: str, sites: bool, as_json: bool
) -> None:
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
        show_table("Judges", JUDGES_HEADINGS, _judges_lines(found), caption)
    show_table("Pages by grade", HEADINGS, _grade_lines(found), "one row for each human grade")
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
#
# `minicrawl stability`: how a rank changes when pages are removed.

HEADINGS_STABILITY = ("", "mean", "minimum")
GONE = "-"

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
    help="Repeat N times, each time from the whole graph.",
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
    """Show how a rank changes when pages are removed.

    The rank NAME is computed with its default options, on all pages and on the remaining ones. The
    two are compared on the remaining pages. With --root or --query, all pages are those of the base
    set. --random and --subspace are for hits-authorities and hits-hubs.
    """
    rank = _rank(name, restart, dimensions)
    named = source.graph if base is None else base.grown(source, source.graph).named
    loss, best = analysis.Loss(drop, times), analysis.BestNodes(ks, places)
    rng = np.random.default_rng(seed)
    found = analysis.stability(named, rank, loss, best, rng, source.progress)
    if as_json:
        show_json(
            {"rank": name, "drop": drop, "times": times, "seed": seed} | _document_stability(found)
        )
        return
    caption = (
        f"{name} of {counted(found.nodes, 'node')}, {counted(found.edges, 'link')}; "
        f"{counted(found.stay, 'node remains', 'nodes remain')}, {counted(times, 'run')}"
    )
    show_table("On the remaining pages", HEADINGS_STABILITY, _lines(found), caption)
    show_lines(found.remarks)
    _show_places(found.best, times)


def _rank(name: str, restart: float | None, dimensions: int | None) -> analysis.Rank:
    """The rank of this name, or a variant of HITS."""
    if restart is None and dimensions is None:
        return analysis.computed_anew(name)
    if restart is not None and dimensions is not None:
        raise click.UsageError("--random and --subspace cannot be combined")
    if name not in _SIDES:
        raise click.UsageError(f"--random and --subspace are for {' and '.join(_SIDES)}")
    variant = HitsVariant(rounds=None, restart=restart, dimensions=dimensions, tolerance=TOLERANCE)

    def side(named: NamedGraph, tell: Progress) -> Scores:
        return _SIDES[name](variant.compute(named, tell))

    return side


def _document_stability(found: analysis.Stability) -> dict[str, object]:
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


def _show_places(best: Sequence[analysis.Placed], runs: int) -> None:
    if best:
        headings = ("place", *(f"run {number}" for number in range(1, runs + 1)), "node")
        show_list(headings, map(_place_line, best), texts=1)


def _place_line(placed: analysis.Placed) -> tuple[str, ...]:
    places = (GONE if place is None else f"{place:,}" for place in placed.in_runs)
    return f"{placed.place:,}", *places, placed.name


def _lines(found: analysis.Stability) -> Iterator[tuple[str, ...]]:
    yield "Kendall's tau-b", *map(correlation, found.kendall)
    yield "Spearman", *map(correlation, found.spearman)
    for k, spread in found.overlap.items():
        yield f"best {k:,}", *map(share, spread)
