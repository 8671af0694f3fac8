"""Options of the ranks: for PageRank, guards against collusion, and files of node names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from minicrawl.cli.options import Number, given_options
from minicrawl.cli.parameters import choice, number, option, switch
from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ranks.guards import Guards
from minicrawl.ranks.pagerank import (
    DAMPING,
    PRECISIONS,
    TOLERANCE,
    Dangling,
    Method,
    PageRankOptions,
)

damping_option = option(
    "Damping factor: share of its score that a page passes to its links.",
    DAMPING,
    metavar="C",
    type=Number(0, 1, max_open=True),
)
tolerance_option = option(
    "Stop when the error, summed over all scores, is at most this.",
    TOLERANCE,
    metavar="ERROR",
    type=Number(0, min_open=True),
)


def pagerank_terms(
    damping: float = damping_option,
    dangling: Dangling = choice(
        Dangling,
        "Where dangling pages pass their score; virtual is OPIC's virtual page.",
        Dangling.UNIFORM,
    ),
    one_more_link: bool = switch(
        "Give each page one more link, to the virtual page, instead of --damping. Needs "
        "--dangling virtual."
    ),
    method: Method | None = choice(
        Method,
        "Update all pages at once (power), block by block (gauss-seidel), or only pages with much "
        "to pass on (sweeping).",
        usual="gauss-seidel; power for several topics",
    ),
    lazy: bool = switch("Stay in place half of the time (L + I)."),
    tolerance: float = tolerance_option,
    most_rounds: int = number("Stop after N rounds.", 1000, flag="--rounds"),
    precision: str = choice(tuple(PRECISIONS), "Floating-point precision.", "double"),
) -> PageRankOptions:
    if one_more_link and dangling is not Dangling.VIRTUAL:
        raise UsageError("--one-more-link needs --dangling virtual")
    if one_more_link and "damping" in given_options():
        raise UsageError("--damping is not used with --one-more-link")
    return PageRankOptions(
        damping=None if one_more_link else damping,
        dangling=dangling,
        method=method,
        lazy=lazy,
        tolerance=tolerance,
        most_iterations=most_rounds,
        precision=precision,
    )


def refuse_idle_dangling(terms: PageRankOptions) -> None:
    """Refuse --dangling where it has no effect: with uniform jumps, all its values are equal."""
    if terms.damping is not None and terms.dangling is not Dangling.UNIFORM:
        raise UsageError(
            f"--dangling {terms.dangling.value} is the same as uniform if jumps lead to all "
            "nodes equally: set the targets of jumps, or combine virtual with --one-more-link"
        )


LINK_KINDS = ("internal", "transverse")


class _LinkWeight(click.ParamType[tuple[str, float]]):
    """`internal=0.5` -> ("internal", 0.5)."""

    name = "weight"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        kind, _, number = str(value).partition("=")
        try:
            weight = float(number)
        except ValueError:
            kind, weight = "", 0.0
        if kind not in LINK_KINDS:
            kinds = " or ".join(f"{kind}=W" for kind in LINK_KINDS)
            self.fail(f"{value!r} is not a link weight: use {kinds}", param, ctx)
        return kind, weight


def guards_of(
    intra_cap: int | None = number(
        "Count at most K links to a page from its own registrable domain, in order of discovery.",
        least=0,
        metavar="K",
        usual="all",
    ),
    domain_cap: int | None = number(
        "Count at most K links to a page from any one registrable domain, in order of discovery.",
        least=0,
        metavar="K",
        usual="all",
    ),
    weight: Sequence[tuple[str, float]] = option(
        "Weight of links within a registrable domain (internal) or between two (transverse). "
        "internal=0 drops internal links; repeatable.",
        metavar="KIND=W",
        type=_LinkWeight(),
        multiple=True,
        usual=1,
    ),
) -> Guards:
    return Guards(most_internal=intra_cap, most_of_site=domain_cap, **dict(weight))


NAMES_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_SHOWN = 10


def lines_of(path: Path) -> list[str]:
    """Return the stripped lines of a file, without empty lines and comments."""
    try:
        with click.open_file(str(path), encoding="utf-8-sig") as file:
            lines = [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error.reason}") from error
    return [line for line in lines if line and not line.startswith("#")]


def nodes_of(named: NamedGraph, names: Sequence[str], place: str) -> list[int]:
    """Return the nodes with these names; warn about names that are not in the graph."""
    nodes = named.names.find(names)
    unknown = [name for name, node in zip(names, nodes, strict=True) if node is None]
    known = [node for node in nodes if node is not None]
    if not known:
        raise UsageError(f"{place} names no node of the graph")
    if unknown:
        more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
        shown = ", ".join(map(ascii, unknown[:_SHOWN]))
        click.echo(f"{place}: skipped names that are not in the graph: {shown}{more}", err=True)
    return known
