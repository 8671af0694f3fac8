"""Options of the ranks that are the limit of a walk, and nodes by their names in files.

Guards against collusion, for all ranks.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from minicrawl.cli.common.options import Number
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks.hits.guards import Guards
from minicrawl.ranks.walks.pagerank import DAMPING, PRECISIONS, TOLERANCE, Method, PageRankOptions
from minicrawl.ranks.walks.walk import Dangling

KINDS = ("internal", "transverse")

Command = Callable[..., Any]


def guard_options(command: Command) -> Command:
    """Hands the command `guards`."""

    @functools.wraps(command)
    def with_guards(intra_cap: int | None, weight: Sequence[tuple[str, float]], **rest: Any) -> Any:
        return command(guards=Guards(most_of_site=intra_cap, **dict(weight)), **rest)

    cap_option = click.option(
        "--intra-cap",
        metavar="K",
        type=click.IntRange(min=0),
        help="At most so many links of one registrable domain count towards a page, those of the "
        "pages that were known first.",
    )
    weight_option = click.option(
        "--weight",
        metavar="KIND=W",
        type=_KindAndWeight(),
        multiple=True,
        help="What links count that are internal to a registrable domain, or transverse between "
        "two: internal=0 drops them; repeatable.  [default: 1]",
    )
    return cap_option(weight_option(with_guards))


class _KindAndWeight(click.ParamType[tuple[str, float]]):
    """`internal=0.5` -> ("internal", 0.5)."""

    name = "weight"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        kind, _, weight = str(value).partition("=")
        try:
            return self._known(kind), float(weight)
        except ValueError:
            kinds = " or ".join(f"{kind}=W" for kind in KINDS)
            self.fail(f"{value!r} is no weight of links: use {kinds}", param, ctx)

    def _known(self, kind: str) -> str:
        if kind not in KINDS:
            raise ValueError(kind)
        return kind


_SHOWN = 10

NAMES_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)

damping_option = click.option(
    "--damping",
    metavar="C",
    type=Number(0, 1, max_open=True),
    default=DAMPING,
    show_default=True,
    help="What a page hands to its links.",
)


def terms_options(command: Command) -> Command:
    """Hands the command `terms`."""
    options = (
        damping_option,
        click.option(
            "--dangling",
            type=click.Choice([dangling.value for dangling in Dangling]),
            default=Dangling.UNIFORM.value,
            show_default=True,
            help="Where pages without links hand what they have; virtual: OPIC's virtual page.",
        ),
        click.option(
            "--one-more-link",
            is_flag=True,
            help="With --dangling virtual: its small edge is one more link, in place of a damping.",
        ),
        click.option(
            "--method",
            type=click.Choice([method.value for method in Method]),
            help="All pages at once; all, block after block; or those that have much to hand on.  "
            "[default: gauss-seidel, or power for several topics at once]",
        ),
        click.option("--lazy", is_flag=True, help="The walk rests half of the time (L + I)."),
        click.option(
            "--tolerance",
            metavar="ERROR",
            type=Number(0, min_open=True),
            default=TOLERANCE,
            show_default=True,
            help="How far all scores together may be from their limit.",
        ),
        click.option(
            "--rounds",
            "most_rounds",
            metavar="N",
            type=click.IntRange(min=1),
            default=1000,
            show_default=True,
            help="Rounds at most.",
        ),
        click.option(
            "--precision",
            type=click.Choice(list(PRECISIONS)),
            default="double",
            show_default=True,
        ),
    )

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
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def lines_of(path: Path) -> list[str]:
    """The lines that say something, without blanks around them."""
    try:
        with click.open_file(str(path), encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text in UTF-8: {error.reason}") from error
    return [line for line in lines if line and not line.startswith("#")]


def nodes_of(named: NamedGraph, names: Sequence[str], place: str) -> list[int]:
    """Those that the graph has; of the others stderr is told."""
    found = named.names.find(names)
    unknown = [name for name, node in zip(names, found, strict=True) if node is None]
    known = [node for node in found if node is not None]
    if not known:
        raise UsageError(
            f"{place} names no node of the graph: name one at least, as the graph does"
        )
    if unknown:
        more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
        shown = ", ".join(map(ascii, unknown[:_SHOWN]))
        click.echo(f"{place}: not in the graph, passed over: {shown}{more}", err=True)
    return known
