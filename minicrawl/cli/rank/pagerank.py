"""`minicrawl rank pagerank` and `inverse-pagerank`: PageRank, by topic if asked for.

With --blocks or --memory, the links stay on disk, for graphs that do not fit in memory.

Law: an option that PageRank in blocks does not support is refused, never ignored.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from minicrawl.analysis.facts import days_unchanged, texts_of
from minicrawl.analysis.ranks import keep
from minicrawl.analysis.source import Source
from minicrawl.cli.common.options import Number
from minicrawl.cli.common.stores import source_options
from minicrawl.cli.rank.running import Shown, rank_name, ranking, show_all
from minicrawl.cli.rank.walk_options import NAMES_FILE, lines_of, nodes_of, pagerank_options
from minicrawl.config.quantities import size
from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.graph.csr import MOST_NODES
from minicrawl.graph.named import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.walks import pagerank as ranks
from minicrawl.ranks.walks import variants
from minicrawl.report.snapshot import Snapshot

if TYPE_CHECKING:
    from minicrawl.analysis.blocks import BlockRanks

Command = Callable[..., Any]

# ---------------------------------------------------------------- in blocks

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
        help="Compute in blocks, so that the process takes at most this, such as 64MB.",
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
        name = rank_name(name)
        asked = {"damping": damping, "tolerance": tolerance}
        with source.progress(name) as tell:
            found = _compute_in_blocks(source, graph, limits, tell, shown=n or MOST_NODES, **asked)
        try:
            keep(source, {name: found.scores}, found.edges, asked | {"blocks": found.blocks})
        finally:
            names = found.names.of(found.best.nodes.tolist())
            best = list(zip(names, found.best.scores.tolist(), strict=True))
            show_all([Shown(name, found.edges, found.scores, best)], as_json)

    run(store=store, graph=graph, **options)


def _compute_in_blocks(
    source: Source, graph: Path | None, limits: Mapping[str, Any], tell: Progress, **options: Any
) -> "BlockRanks":
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


# ---------------------------------------------------------------- the commands


@click.command()
@click.option("--topic", type=NAMES_FILE, help="Jump only to the nodes in this file.")
@click.option(
    "--topics",
    "by_topic",
    type=NAMES_FILE,
    help="Compute a rank for each topic in this file. A line is a topic, a tab and a node.",
)
@click.option(
    "--mix", metavar="A=PART,...", help="Combine the ranks of --topics into one, by these parts."
)
@click.option(
    "--mix-by",
    "query",
    metavar="WORDS",
    help="The same, by how likely these words are in the titles and URLs of each topic's nodes.",
)
@click.option(
    "--recent",
    "half_life_days",
    metavar="DAYS",
    type=Number(min=0, min_open=True),
    help="Jump to pages that changed recently: half as often for each so many days that a page has "
    "been as it is.",
)
@or_in_blocks
@ranking
@pagerank_options
@click.pass_obj
def pagerank(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    terms: ranks.PageRankOptions,
    topic: Path | None,
    by_topic: Path | None,
    mix: str | None,
    query: str | None,
    half_life_days: float | None,
) -> Scores | dict[str, Scores]:
    """Rank by PageRank: how often a random walk that sometimes jumps visits a node."""
    _refuse_conflicts({"--topic": topic, "--topics": by_topic, "--recent": half_life_days})
    _refuse_conflicts({"--mix": mix, "--mix-by": query})
    if by_topic:
        return _by_topic(source, named, tell, terms, by_topic, mix, query)
    if mix is not None or query is not None:
        raise UsageError(f"{'--mix' if query is None else '--mix-by'} needs --topics")
    jumps = None
    if topic:
        jumps = variants.teleport(named.graph.nodes, nodes_of(named, lines_of(topic), str(topic)))
    elif half_life_days:
        jumps = variants.favouring_recent(days_unchanged(source), half_life_days)
    return ranks.pagerank(named.graph, named.weights, options=terms, teleport=jumps, tell=tell)


def _refuse_conflicts(options: Mapping[str, object]) -> None:
    """Options of which one may be given."""
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other")


@click.command("inverse-pagerank")
@ranking
@pagerank_options
def inverse_pagerank(named: NamedGraph, tell: Progress, terms: ranks.PageRankOptions) -> Scores:
    """Rank by PageRank of the reversed links: pages that lead to many others come first."""
    return variants.inverse_pagerank(named.graph, named.weights, options=terms, tell=tell)


# ---------------------------------------------------------------- topics


def _by_topic(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    terms: ranks.PageRankOptions,
    file: Path,
    mix: str | None,
    query: str | None,
) -> Scores | dict[str, Scores]:
    parts = None if mix is None else _parts(mix)
    nodes = {
        topic: nodes_of(named, names, f"topic {topic!a} of {file}")
        for topic, names in _names_by_topic(lines_of(file), str(file)).items()
    }
    if query is not None:
        parts = variants.parts_by_words(texts_of(source, nodes), query)
        shown = ", ".join(f"{topic} {part:.1%}" for topic, part in parts.items())
        click.echo(f"mix by {visible(query)!a}: {visible(shown)}", err=True)
    found = variants.topic_ranks(named.graph, nodes, named.weights, options=terms, tell=tell)
    return found if parts is None else variants.mixture(found, parts)


def _names_by_topic(lines: Iterable[str], place: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        topic, tab, name = line.partition("\t")
        if not tab:
            raise UsageError(f"{place}: expected a topic, a tab and a node, found {line[:40]!a}")
        found.setdefault(topic.strip(), []).append(name.strip())
    if not found:
        raise UsageError(f"{place} has no topics: a line is a topic, a tab and a node")
    return found


def _parts(mix: str) -> dict[str, float]:
    try:
        pairs = [part.rpartition("=") for part in mix.split(",")]
        return {name.strip(): float(number) for name, _, number in pairs}
    except ValueError as error:
        raise UsageError(f"--mix must be like news=0.3,sport=0.7, not {mix!a}") from error
