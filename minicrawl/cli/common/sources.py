"""Which graph a command analyses: that of a store, or that of a file."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from minicrawl.analysis.source import opened
from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import store_option

Command = Callable[..., Any]

graph_option = click.option(
    "--graph",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="A graph file instead: links of ids or names, plain or .gz; - for stdin.",
)


def source_options(command: Command) -> Command:
    """Hands the command `source`, open until it ends; whatever it calls finds it as click's obj."""

    @functools.wraps(command)
    def with_source(store: Path, graph: Path | None, **rest: Any) -> Any:
        context = click.get_current_context()
        if graph and context.get_parameter_source("store") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--store and --graph name two graphs: leave out one of them")
        with opened(store, graph, progress) as source:
            context.obj = source
            return command(source=source, **rest)

    return graph_option(store_option(with_source))
