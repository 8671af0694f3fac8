"""PageRank in blocks: with --blocks or --memory, the links stay on disk.

Law: an option that PageRank in blocks does not support is refused, never ignored.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from minicrawl.analysis.ranks import keep
from minicrawl.analysis.source import Source
from minicrawl.cli.common.stores import source_options
from minicrawl.cli.rank.running import Shown, rank_name, show_in_parts
from minicrawl.config.values.quantities import size
from minicrawl.graph.csr import MOST_NODES
from minicrawl.progress import Progress
from minicrawl.report.snapshot import Snapshot

if TYPE_CHECKING:
    from minicrawl.analysis.blocks import BlockRanks

Command = Callable[..., Any]

_SHOWN_AT_ONCE = 1000
_SUPPORTED_IN_BLOCKS = frozenset(
    ("blocks", "memory", "temp", "graph", "store", "name", "n", "as_json", "damping", "tolerance")
)


def _bytes(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    found = None if text is None else size(text)
    if text is not None and not found:
        raise click.BadParameter(f"{text!r} is not a size such as 64MB or 1GiB")
    return found


_BLOCK_OPTIONS = (
    click.option(
        "--temp",
        metavar="FOLDER",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Put the files of the blocks here; they take about 20 bytes a link.  "
        "[default: the temporary folder of the system]",
    ),
    click.option(
        "--memory",
        metavar="SIZE",
        callback=_bytes,
        help="Compute in blocks, so that the process takes at most this much memory, such as 64MB.",
    ),
    click.option(
        "--blocks",
        metavar="N",
        type=click.IntRange(min=1),
        help="Compute in at most N blocks, with all links on disk.",
    ),
)


def or_in_blocks(command: Command) -> Command:
    """Add --blocks, --memory and --temp. With one of the first two, `command` is not called."""

    @functools.wraps(command)
    def either(blocks: int | None, memory: int | None, temp: Path | None, **options: Any) -> Any:
        if blocks is None and memory is None:
            if temp is not None:
                raise click.UsageError("--temp needs --blocks or --memory")
            return command(**options)
        _refuse_unsupported_options()
        limits = {"blocks": blocks, "memory": memory, "temp": temp}
        return _run_in_blocks(limits=limits, **options)

    decorated: Command = either
    for option in _BLOCK_OPTIONS:
        decorated = option(decorated)
    return decorated


def _refuse_unsupported_options() -> None:
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in _SUPPORTED_IN_BLOCKS:
            raise click.UsageError(f"{parameter.opts[0]} does not work with --blocks and --memory")


def _run_in_blocks(
    *, store: Path | None, graph: Path | None, limits: Mapping[str, Any], **options: Any
) -> None:
    @source_options
    def run(
        *,
        source: Source,
        name: str | None,
        n: int,
        as_json: bool,
        damping: float,
        tolerance: float,
        **_rest: Any,
    ) -> None:
        name = rank_name(name, source)
        asked = {"damping": damping, "tolerance": tolerance}
        count = n or MOST_NODES
        with ExitStack() as files:
            with source.progress(name) as tell:
                computed = _computed_in_blocks(source, graph, limits, tell, shown=count, **asked)
                found = files.enter_context(computed)
            try:
                keep(source, {name: found.scores}, found.edges, asked | {"blocks": found.blocks})
            finally:
                disk = {"blocks": found.blocks} | asdict(found.traffic)
                shown = Shown(name, found.edges, found.scores, [], disk)
                count = min(count, len(found.names))
                show_in_parts(shown, count, _parts_of_best(found), as_json)

    run(store=store, graph=graph, **options)


def _parts_of_best(found: "BlockRanks") -> Iterator[list[tuple[str, float]]]:
    """The best nodes by name, so many at a time that they take little memory as text."""
    for best in found.best:
        named = zip(found.names.of(best.nodes.tolist()), best.scores.tolist(), strict=True)
        while part := list(islice(named, _SHOWN_AT_ONCE)):
            yield part


def _computed_in_blocks(
    source: Source, graph: Path | None, limits: Mapping[str, Any], tell: Progress, **options: Any
) -> AbstractContextManager["BlockRanks"]:
    from minicrawl.analysis.blocks import (
        MemoryLimits,
        file_in_blocks,
        pagerank_in_blocks,
        store_in_blocks,
    )

    opened = file_in_blocks(graph) if graph else store_in_blocks(_snapshot(source))
    return pagerank_in_blocks(opened, MemoryLimits(**limits), tell=tell, **options)


def _snapshot(source: Source) -> Snapshot:
    assert source.snapshot is not None, "without a graph file the source is a store"
    return source.snapshot
