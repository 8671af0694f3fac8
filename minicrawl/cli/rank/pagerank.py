"""`minicrawl rank pagerank` and `inverse-pagerank`: how often a walk over the links comes by.

PageRank in blocks from the command line: for graphs that do not fit in memory.

Law: what blocks cannot do is refused and never left out in silence.
"""

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from minicrawl.analysis.ranks import keep
from minicrawl.analysis.source import Source
from minicrawl.cli.common.stores import source_options
from minicrawl.cli.rank.running import Shown, rank_name, ranking, show_all
from minicrawl.cli.rank.walk_options import NAMES_FILE, lines_of, nodes_of, terms_options
from minicrawl.config.quantities import size
from minicrawl.errors import UsageError
from minicrawl.graph.csr import MOST_NODES
from minicrawl.graph.named import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.walks import pagerank as ranks
from minicrawl.ranks.walks import variants
from minicrawl.report.snapshot import Snapshot

Command = Callable[..., Any]

_POSSIBLE = {"blocks", "memory", "temp", "graph", "store", "name", "n", "as_json"} | {
    "damping",
    "tolerance",
}


def or_in_blocks(command: Command) -> Command:
    """With --blocks or --memory the links stay on disk, and the command itself is not called."""

    @functools.wraps(command)
    def either(blocks: int | None, memory: int | None, temp: Path | None, **options: Any) -> Any:
        if blocks is None and memory is None:
            if temp is not None:
                raise click.UsageError("--temp is for --blocks and --memory: add one of them")
            return command(**options)
        _refuse_what_is_not_possible()
        return _in_blocks(blocks=blocks, memory=memory, temp=temp, **options)

    decorated: Command = either
    for option in (
        click.option(
            "--temp",
            metavar="FOLDER",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="Where blocks have their files; they take some 20 bytes a link.",
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            callback=_bytes,
            help="Compute in blocks, so that the whole process takes no more, such as 64MB.",
        ),
        click.option(
            "--blocks",
            metavar="N",
            type=click.IntRange(min=1),
            help="Compute in so many blocks at most, with all links on disk.",
        ),
    ):
        decorated = option(decorated)
    return decorated


def _bytes(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    found = None if text is None else size(text)
    if text is not None and not found:
        raise click.BadParameter(f"{text!r} is no size such as 64MB or 1GiB")
    return found


def _seen(source: Source) -> Snapshot:
    assert source.snapshot is not None, "without a graph file the source is a store"
    return source.snapshot


def _refuse_what_is_not_possible() -> None:
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        chosen = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if chosen and name not in _POSSIBLE:
            raise click.UsageError(
                f"{parameter.opts[0]} is not possible in blocks: leave it out, "
                "or --blocks and --memory"
            )


def _in_blocks(
    *,
    store: Path | None,
    graph: Path | None,
    blocks: int | None,
    memory: int | None,
    temp: Path | None,
    **options: Any,
) -> None:
    from minicrawl.analysis.blocks import (
        MemoryLimits,
        file_in_blocks,
        pagerank_in_blocks,
        store_in_blocks,
    )

    limits = MemoryLimits(memory=memory, blocks=blocks, temp=temp)

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
        opened = file_in_blocks(graph) if graph else store_in_blocks(_seen(source))
        with source.progress(name) as tell:
            found = pagerank_in_blocks(
                opened,
                limits,
                damping=damping,
                tolerance=tolerance,
                shown=n or MOST_NODES,
                tell=tell,
            )
        try:
            asked = {"damping": damping, "tolerance": tolerance, "blocks": found.blocks}
            keep(source, {name: found.scores}, found.edges, asked)
        finally:
            names = found.names.of(found.best.nodes.tolist())
            best = list(zip(names, found.best.scores.tolist(), strict=True))
            show_all([Shown(name, found.edges, found.scores, best)], as_json)

    run(store=store, graph=graph, **options)


@click.command()
@click.option("--topic", type=NAMES_FILE, help="Jumps lead to these nodes only.")
@click.option(
    "--topics",
    "by_topic",
    type=NAMES_FILE,
    help="A rank for each topic: lines of a topic, a tab and a node.",
)
@click.option("--mix", metavar="A=PART,...", help="One rank of the --topics, each by its part.")
@or_in_blocks
@ranking
@terms_options
def pagerank(
    named: NamedGraph,
    tell: Progress,
    terms: ranks.PageRankOptions,
    topic: Path | None,
    by_topic: Path | None,
    mix: str | None,
) -> Scores | dict[str, Scores]:
    """Rank by how often a walk that follows links, and now and then jumps, comes by."""
    if topic and by_topic:
        raise UsageError("--topic is one topic and --topics are several: leave out one of them")
    if by_topic:
        return _of_topics(named, tell, terms, by_topic, mix)
    if mix is not None:
        raise UsageError("--mix mixes the topics of --topics: name their file")
    jumps = None
    if topic:
        jumps = variants.teleport(named.graph.nodes, nodes_of(named, lines_of(topic), str(topic)))
    return ranks.pagerank(named.graph, named.weights, options=terms, teleport=jumps, tell=tell)


@click.command("inverse-pagerank")
@ranking
@terms_options
def inverse_pagerank(named: NamedGraph, tell: Progress, terms: ranks.PageRankOptions) -> Scores:
    """Rank by PageRank of the links followed backwards: what leads to much."""
    return variants.inverse_pagerank(named.graph, named.weights, options=terms, tell=tell)


def _of_topics(
    named: NamedGraph, tell: Progress, terms: ranks.PageRankOptions, file: Path, mix: str | None
) -> Scores | dict[str, Scores]:
    parts = None if mix is None else _parts(mix)
    nodes = {
        topic: nodes_of(named, names, f"topic {topic!a} of {file}")
        for topic, names in _names_by_topic(lines_of(file), str(file)).items()
    }
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
        raise UsageError(f"{place} names no topic: its lines are a topic, a tab and a node")
    return found


def _parts(mix: str) -> dict[str, float]:
    try:
        pairs = [part.rpartition("=") for part in mix.split(",")]
        return {name.strip(): float(number) for name, _, number in pairs}
    except ValueError as error:
        raise UsageError(f"--mix is like news=0.3,sport=0.7, not {mix!a}") from error
