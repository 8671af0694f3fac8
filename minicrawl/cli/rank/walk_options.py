"""Options of the ranks: PageRank's own, guards against collusion, and files of node names."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from minicrawl.cli.common.options import Number
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks.hits.guards import Guards
from minicrawl.ranks.walks.pagerank import DAMPING, PRECISIONS, TOLERANCE, Method, PageRankOptions
from minicrawl.ranks.walks.walk import Dangling

Command = Callable[..., Any]

# ---------------------------------------------------------------- PageRank

damping_option = click.option(
    "--damping",
    metavar="C",
    type=Number(0, 1, max_open=True),
    default=DAMPING,
    show_default=True,
    help="The share of its score that a page passes to its links.",
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
        help="Where pages without links pass their score. virtual: to OPIC's virtual page.",
    ),
    click.option(
        "--one-more-link",
        is_flag=True,
        help="With --dangling virtual: each page has one more link, to the virtual page, and "
        "--damping is not used.",
    ),
    click.option(
        "--method",
        type=click.Choice([method.value for method in Method]),
        help="Update all pages at once (power), one block after the other (gauss-seidel), or only "
        "pages with much to pass on (sweeping).  [default: gauss-seidel; power for several topics]",
    ),
    click.option("--lazy", is_flag=True, help="The walk stays in place half of the time (L + I)."),
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
        help="The precision of the floating-point numbers.",
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
    """Where jumps lead to all nodes alike, all ways to treat pages without links are the same."""
    if terms.damping is not None and terms.dangling is not Dangling.UNIFORM:
        raise UsageError(
            f"--dangling {terms.dangling.value} is the same as uniform where jumps lead to all "
            "nodes alike: say where they lead, or add --one-more-link to virtual"
        )


# ---------------------------------------------------------------- guards

LINK_KINDS = ("internal", "transverse")


class _LinkWeight(click.ParamType[tuple[str, float]]):
    """`internal=0.5` -> ("internal", 0.5)."""

    name = "weight"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        kind, _, weight = str(value).partition("=")
        try:
            return self._known(kind), float(weight)
        except ValueError:
            kinds = " or ".join(f"{kind}=W" for kind in LINK_KINDS)
            self.fail(f"{value!r} is not a weight of links: use {kinds}", param, ctx)

    def _known(self, kind: str) -> str:
        if kind not in LINK_KINDS:
            raise ValueError(kind)
        return kind


_intra_cap_option = click.option(
    "--intra-cap",
    metavar="K",
    type=click.IntRange(min=0),
    help="Count at most K links to a page from its own registrable domain: those of the pages "
    "that were found first.  [default: all]",
)
_domain_cap_option = click.option(
    "--domain-cap",
    metavar="K",
    type=click.IntRange(min=0),
    help="Count at most K links to a page from any one registrable domain, its own or another: "
    "those of the pages that were found first.  [default: all]",
)
_weight_option = click.option(
    "--weight",
    metavar="KIND=W",
    type=_LinkWeight(),
    multiple=True,
    help="Weight of links internal to a registrable domain, or transverse between two. "
    "internal=0 drops the internal ones. Repeatable.  [default: 1]",
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
    """The lines of a file, stripped, without empty lines and comments."""
    try:
        with click.open_file(str(path), encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error.reason}") from error
    return [line for line in lines if line and not line.startswith("#")]


def nodes_of(named: NamedGraph, names: Sequence[str], place: str) -> list[int]:
    """The nodes with these names. Warns about names that the graph does not have."""
    found = named.names.find(names)
    unknown = [name for name, node in zip(names, found, strict=True) if node is None]
    known = [node for node in found if node is not None]
    if not known:
        raise UsageError(f"{place} names no node of the graph")
    if unknown:
        more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
        shown = ", ".join(map(ascii, unknown[:_SHOWN]))
        click.echo(f"{place}: skipped names that are not in the graph: {shown}{more}", err=True)
    return known
