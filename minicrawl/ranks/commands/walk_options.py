"""Options of the ranks: for PageRank, guards against collusion, and files of node names."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from minicrawl.cli.options import Command, Number
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

# ---------------------------------------------------------------- PageRank

damping_option = click.option(
    "--damping",
    metavar="C",
    type=Number(0, 1, max_open=True),
    default=DAMPING,
    show_default=True,
    help="Damping factor: share of its score that a page passes to its links.",
)
tolerance_option = click.option(
    "--tolerance",
    metavar="ERROR",
    type=Number(0, min_open=True),
    default=TOLERANCE,
    show_default=True,
    help="Stop when the error, summed over all scores, is at most this.",
)

_PAGERANK_OPTIONS = (
    damping_option,
    click.option(
        "--dangling",
        type=click.Choice([dangling.value for dangling in Dangling]),
        default=Dangling.UNIFORM.value,
        show_default=True,
        help="Where dangling pages pass their score; virtual is OPIC's virtual page.",
    ),
    click.option(
        "--one-more-link",
        is_flag=True,
        help="Give each page one more link, to the virtual page, instead of --damping. Needs "
        "--dangling virtual.",
    ),
    click.option(
        "--method",
        type=click.Choice([method.value for method in Method]),
        help="Update all pages at once (power), block by block (gauss-seidel), or only pages with "
        "much to pass on (sweeping).  [default: gauss-seidel; power for several topics]",
    ),
    click.option("--lazy", is_flag=True, help="Stay in place half of the time (L + I)."),
    tolerance_option,
    click.option(
        "--rounds",
        "most_rounds",
        metavar="N",
        type=click.IntRange(min=1),
        default=1000,
        show_default=True,
        help="Stop after N rounds.",
    ),
    click.option(
        "--precision",
        type=click.Choice(list(PRECISIONS)),
        default="double",
        show_default=True,
        help="Floating-point precision.",
    ),
)


def pagerank_options(command: Command) -> Command:
    """Add the options of PageRank, and pass them to the command as `terms`."""

    @functools.wraps(command)
    def with_terms(
        damping: float,
        dangling: str,
        one_more_link: bool,
        method: str | None,
        lazy: bool,
        tolerance: float,
        most_rounds: int,
        precision: str,
        **rest: Any,
    ) -> Any:
        if one_more_link and dangling != Dangling.VIRTUAL.value:
            raise UsageError("--one-more-link needs --dangling virtual")
        given = click.get_current_context().get_parameter_source("damping")
        if one_more_link and given is ParameterSource.COMMANDLINE:
            raise UsageError("--damping is not used with --one-more-link")
        terms = PageRankOptions(
            damping=None if one_more_link else damping,
            dangling=Dangling(dangling),
            method=None if method is None else Method(method),
            lazy=lazy,
            tolerance=tolerance,
            most_iterations=most_rounds,
            precision=precision,
        )
        return command(terms=terms, **rest)

    decorated: Command = with_terms
    for option in reversed(_PAGERANK_OPTIONS):
        decorated = option(decorated)
    return decorated


def refuse_idle_dangling(terms: PageRankOptions) -> None:
    """Refuse --dangling where it has no effect: with uniform jumps, all its values are equal."""
    if terms.damping is not None and terms.dangling is not Dangling.UNIFORM:
        raise UsageError(
            f"--dangling {terms.dangling.value} is the same as uniform if jumps lead to all "
            "nodes equally: set the targets of jumps, or combine virtual with --one-more-link"
        )


# ---------------------------------------------------------------- guards

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


_intra_cap_option = click.option(
    "--intra-cap",
    metavar="K",
    type=click.IntRange(min=0),
    help="Count at most K links to a page from its own registrable domain, in order of discovery. "
    " [default: all]",
)
_domain_cap_option = click.option(
    "--domain-cap",
    metavar="K",
    type=click.IntRange(min=0),
    help="Count at most K links to a page from any one registrable domain, in order of discovery. "
    " [default: all]",
)
_weight_option = click.option(
    "--weight",
    metavar="KIND=W",
    type=_LinkWeight(),
    multiple=True,
    help="Weight of links within a registrable domain (internal) or between two (transverse). "
    "internal=0 drops internal links; repeatable.  [default: 1]",
)


def guard_options(command: Command) -> Command:
    """Add the guards against collusion, and pass them to the command as `guards`."""

    @functools.wraps(command)
    def with_guards(
        intra_cap: int | None,
        domain_cap: int | None,
        weight: Sequence[tuple[str, float]],
        **rest: Any,
    ) -> Any:
        guards = Guards(most_internal=intra_cap, most_of_site=domain_cap, **dict(weight))
        return command(guards=guards, **rest)

    return _intra_cap_option(_domain_cap_option(_weight_option(with_guards)))


# ---------------------------------------------------------------- files of names

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
