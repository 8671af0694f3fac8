"""`minicrawl stability`: how a rank changes when pages are removed."""

from collections.abc import Callable, Iterator, Sequence

import click
import numpy as np

from minicrawl.analysis import stability as analysis
from minicrawl.analysis.source import Source
from minicrawl.cli.common.base_sets import BaseSetChoice, base_set_options
from minicrawl.cli.common.options import Number
from minicrawl.cli.common.stores import json_option, source_options
from minicrawl.cli.common.tables import (
    correlation,
    share,
    show_json,
    show_lines,
    show_list,
    show_table,
    sizes_option,
)
from minicrawl.cli.rank.hits import HitsVariant, random_option, subspace_option
from minicrawl.graph.named import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks.hits.hits import TOLERANCE, Hits
from minicrawl.ranks.scores import Scores
from minicrawl.wording import counted

HEADINGS = ("", "mean", "minimum")
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
    """Show how the rank NAME changes when random pages are removed.

    The rank is computed with its default options, on all pages and on the remaining ones. The two
    are compared on the remaining pages. With --root or --query, all pages are those of the base
    set. --random and --subspace are for hits-authorities and hits-hubs.
    """
    rank = _rank(name, restart, dimensions)
    named = source.graph if base is None else base.grown(source, source.graph).named
    loss, best = analysis.Loss(drop, times), analysis.BestNodes(ks, places)
    rng = np.random.default_rng(seed)
    found = analysis.stability(named, rank, loss, best, rng, source.progress)
    if as_json:
        show_json({"rank": name, "drop": drop, "times": times, "seed": seed} | _document(found))
        return
    caption = (
        f"{name} of {counted(found.nodes, 'node')}, {counted(found.edges, 'link')}; "
        f"{counted(found.stay, 'node remains', 'nodes remain')}, {counted(times, 'run')}"
    )
    show_table("On the remaining pages", HEADINGS, _lines(found), caption)
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


def _document(found: analysis.Stability) -> dict[str, object]:
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
