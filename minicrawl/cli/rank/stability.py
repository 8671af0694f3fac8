"""`minicrawl stability`: how a rank changes when pages are removed."""

from collections.abc import Iterator, Sequence

import click
import numpy as np

from minicrawl.analysis import stability as analysis
from minicrawl.analysis.source import Source
from minicrawl.cli.common.options import Number
from minicrawl.cli.common.stores import json_option, source_options
from minicrawl.cli.common.tables import (
    correlation,
    share,
    show_json,
    show_lines,
    show_table,
    sizes_option,
)
from minicrawl.wording import counted

HEADINGS = ("", "mean", "minimum")


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
@sizes_option("10,100")
@json_option
@source_options
def stability(
    source: Source,
    name: str,
    drop: float,
    times: int,
    seed: int,
    ks: Sequence[int],
    as_json: bool,
) -> None:
    """Show how the rank NAME changes when random pages are removed.

    The rank is computed with its default options, on all pages and on the remaining ones. The two
    are compared on the remaining pages.
    """
    loss, rng = analysis.Loss(drop, times), np.random.default_rng(seed)
    found = analysis.stability(source, name, loss, ks, rng)
    if as_json:
        show_json({"rank": name, "drop": drop, "times": times, "seed": seed} | _document(found))
        return
    caption = (
        f"{name} of {counted(found.nodes, 'node')}, {counted(found.edges, 'link')}; "
        f"{counted(found.stay, 'node remains', 'nodes remain')}, {counted(times, 'run')}"
    )
    show_table("On the remaining pages", HEADINGS, _lines(found), caption)
    show_lines(found.remarks)


def _document(found: analysis.Stability) -> dict[str, object]:
    return {
        "nodes": found.nodes,
        "edges": found.edges,
        "stay": found.stay,
        "kendall_tau": found.kendall._asdict(),
        "spearman": found.spearman._asdict(),
        "overlap": {k: spread._asdict() for k, spread in found.overlap.items()},
        "remarks": found.remarks,
    }


def _lines(found: analysis.Stability) -> Iterator[tuple[str, ...]]:
    yield "Kendall's tau-b", *map(correlation, found.kendall)
    yield "Spearman", *map(correlation, found.spearman)
    for k, spread in found.overlap.items():
        yield f"best {k:,}", *map(share, spread)
