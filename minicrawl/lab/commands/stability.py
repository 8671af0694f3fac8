"""`minicrawl lab stability`: how a rank changes when pages are removed (Ng, Zheng, Jordan, 2001).

Each run removes the same number of nodes from the whole graph and compares the rank of the rest
with the rank of the whole, among the nodes that stay. The same seed gives the same numbers. The
place of a node is one more than the number of better nodes; ties go to the first node.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import NamedTuple

import click
import numpy as np
from numpy.random import Generator

from minicrawl.cli.options import Number, sizes_option
from minicrawl.cli.output import correlation, share, show_json, show_lines, show_list, show_table
from minicrawl.cli.parameters import number, option, with_made, with_options
from minicrawl.cli.store_options import json_option, source_options
from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph, with_nodes
from minicrawl.ports import part as part_of
from minicrawl.ranks.agreement import Comparison, compare as compare_ranks
from minicrawl.ranks.commands.base_sets import BaseSetChoice
from minicrawl.ranks.commands.hits_command import hits_of, random_option, subspace_option
from minicrawl.ranks.commands.named_ranks import RANKS, Rank
from minicrawl.ranks.hits import Hits
from minicrawl.ranks.scores import Scores
from minicrawl.report.graph.source import ProgressFactory, Source
from minicrawl.wording import counted

_FEWEST = 2
"""Fewest nodes with an order."""


class Spread(NamedTuple):
    """A measure over the runs; None if no run has a value."""

    mean: float | None
    least: float | None


class Placed(NamedTuple):
    """A node with its place in the whole and in each run; None if the run removed it."""

    node: str
    place: int
    places: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """Comparison of a rank of the whole graph with that of its parts, which have `stay` nodes."""

    nodes: int
    edges: int
    stay: int
    kendall_tau: Spread
    spearman: Spread
    overlap: dict[int, Spread]
    best: tuple[Placed, ...]
    remarks: tuple[str, ...]


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
    nodes = named.graph.nodes
    gone = round(drop * nodes)
    if not gone:
        raise UsageError(f"--drop {drop:g} removes none of {nodes:,} nodes: give a larger share")
    if nodes - gone < _FEWEST:
        raise UsageError(
            f"--drop {drop:g} leaves {nodes - gone} of {nodes:,} nodes: give a smaller share"
        )
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
            place_of = np.empty(len(part), dtype=np.int64)
            place_of[np.argsort(-part, kind="stable")] = np.arange(1, len(part) + 1)
            numbers = np.cumsum(stays) - 1
            places.append([int(place_of[numbers[node]]) if stays[node] else None for node in first])
            tell_part(1.0)
    remarks = []
    if silent := sum(run.kendall is None for run in runs):
        remarks.append(
            f"{silent} of {len(runs)} times all scores of a rank were equal: there is no order"
        )
    if any(k > nodes - gone for k in ks):
        remarks.append(f"there is no overlap of more than {nodes - gone:,} nodes")
    return Stability(
        nodes=nodes,
        edges=named.graph.edges,
        stay=nodes - gone,
        kendall_tau=_spread([run.kendall for run in runs]),
        spearman=_spread([run.spearman for run in runs]),
        overlap={k: _spread([run.overlap[k] for run in runs]) for k in ks},
        best=tuple(
            Placed(name, place, tuple(of_run[place - 1] for of_run in places))
            for place, name in enumerate(named.names.of(first), start=1)
        ),
        remarks=tuple(remarks),
    )


def _spread(values: Sequence[float | None]) -> Spread:
    known = [value for value in values if value is not None]
    return Spread(fmean(known), min(known)) if known else Spread(None, None)


_SIDES: dict[str, Callable[[Hits], Scores]] = {
    "hits-authorities": lambda scores: scores.authorities,
    "hits-hubs": lambda scores: scores.hubs,
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
    result = stability_of(
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
        settings = {"rank": name, "drop": drop, "times": times, "seed": seed}
        show_json(settings | asdict(result))
        return
    caption = (
        f"{name} of {counted(result.nodes, 'node')}, {counted(result.edges, 'link')}; "
        f"{counted(result.stay, 'node remains', 'nodes remain')}, {counted(times, 'run')}"
    )
    lines = [
        ("Kendall's tau-b", *map(correlation, result.kendall_tau)),
        ("Spearman", *map(correlation, result.spearman)),
        *((f"best {k:,}", *map(share, spread)) for k, spread in result.overlap.items()),
    ]
    show_table("On the remaining pages", ("", "mean", "minimum"), lines, caption)
    show_lines(result.remarks)
    if result.best:
        headings = ("place", *(f"run {number}" for number in range(1, times + 1)), "node")
        rows = (
            (
                f"{placed.place:,}",
                *("-" if place is None else f"{place:,}" for place in placed.places),
                placed.node,
            )
            for placed in result.best
        )
        show_list(headings, rows, texts=1)


def _rank(name: str, restart: float | None, dimensions: int | None) -> Rank:
    """Return the rank with this name, or a variant of HITS."""
    if restart is None and dimensions is None:
        if name not in RANKS:
            raise UsageError(f"cannot recompute rank {name!r}; choose one of {', '.join(RANKS)}")
        return RANKS[name]
    if restart is not None and dimensions is not None:
        raise click.UsageError("--random and --subspace cannot be combined")
    if name not in _SIDES:
        raise click.UsageError(f"--random and --subspace are for {' and '.join(_SIDES)}")
    return lambda named, tell: _SIDES[name](
        hits_of(named, tell, restart=restart, dimensions=dimensions)
    )
