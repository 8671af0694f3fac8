"""Options of the ranks that are the limit of a walk, and nodes by their names in files."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from minicrawl.cli.common.numbers import Number
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks.walks.pagerank import DAMPING, PRECISIONS, TOLERANCE, Method, PageRankOptions
from minicrawl.ranks.walks.walk import Dangling

Command = Callable[..., Any]

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
            most_rounds=most_rounds,
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
