"""`minicrawl rank pagerank`: PageRank, optionally by topic or of the reversed links.

Law: an option without effect is refused.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.cli.options import Command, ListOption, Number, given_options
from minicrawl.cli.parameters import number, option, switch, with_made, with_options
from minicrawl.cli.store_options import source_options
from minicrawl.config.values.quantities import size
from minicrawl.errors import UsageError
from minicrawl.graph.csr import MOST_NODES
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graph.products import Vector
from minicrawl.ports import Progress
from minicrawl.ranks import pagerank as ranks, pagerank_variants
from minicrawl.ranks.commands import running
from minicrawl.ranks.commands.base_sets import BaseSetChoice, mixed_with_similarity, similarity_to
from minicrawl.ranks.commands.named_ranks import full_name, keep, rank_of
from minicrawl.ranks.commands.pagerank_in_blocks import (
    BlockRanks,
    MemoryLimits,
    file_in_blocks,
    pagerank_in_blocks,
    store_in_blocks,
)
from minicrawl.ranks.pagerank import PageRankOptions
from minicrawl.ranks.scores import Scores
from minicrawl.report.graph.source import Source
from minicrawl.store import questions, tables
from minicrawl.store.derived.ranks import keep_topics
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.web.responses.headers import http_date
from minicrawl.wording import visible

_SHOWN_AT_ONCE = 1000
_SUPPORTED_IN_BLOCKS = frozenset(
    ("blocks", "memory", "temp", "graph", "store", "name", "n", "as_json", "damping", "tolerance")
)


def _bytes(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    bytes_named = None if text is None else size(text)
    if text is not None and not bytes_named:
        raise click.BadParameter(f"{text!r} is not a size such as 64MB or 1GiB")
    return bytes_named


def or_in_blocks(command: Command) -> Command:
    """Add --blocks, --memory and --temp. `command` is not called with one of the first two."""

    @functools.wraps(command)
    def either(*, limits: MemoryLimits | None, **options: Any) -> Any:
        return command(**options) if limits is None else _run_in_blocks(limits=limits, **options)

    return with_made(limits=_limits)(either)


def _limits(
    blocks: int | None = number("Compute in at most N blocks, with all links on disk."),
    memory: int | None = option(
        "Compute in blocks on disk, within this much memory, such as 64MB.",
        metavar="SIZE",
        callback=_bytes,
    ),
    temp: Path | None = option(
        "Folder for block files, about 20 bytes per link.",
        metavar="FOLDER",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        usual="the system's temporary folder",
    ),
) -> MemoryLimits | None:
    """Return the limits of a rank in blocks; other options do not work with them."""
    if blocks is None and memory is None:
        if temp is not None:
            raise click.UsageError("--temp needs --blocks or --memory")
        return None
    for name, flag in given_options().items():
        if name not in _SUPPORTED_IN_BLOCKS:
            raise click.UsageError(f"{flag} does not work with --blocks and --memory")
    return MemoryLimits(memory=memory, blocks=blocks, temp=temp)


def _run_in_blocks(
    *, store: Path | None, graph: Path | None, limits: MemoryLimits, **options: Any
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
        name = running.rank_name(name, source)
        parameters = {"damping": damping, "tolerance": tolerance}
        count = n or MOST_NODES
        with ExitStack() as files:
            with source.progress(name) as tell:
                if graph is not None:
                    opened = file_in_blocks(graph)
                else:
                    assert source.snapshot is not None, "without a graph file it is a store"
                    opened = store_in_blocks(source.snapshot)
                computed = pagerank_in_blocks(opened, limits, shown=count, tell=tell, **parameters)
                ranks = files.enter_context(computed)
            try:
                keep(
                    source, {name: ranks.scores}, ranks.edges, parameters | {"blocks": ranks.blocks}
                )
            finally:
                disk = {"blocks": ranks.blocks} | asdict(ranks.traffic)
                shown = running.Shown(name, ranks.edges, ranks.scores, [], disk)
                running.show_in_parts(
                    shown, min(count, len(ranks.names)), _parts_of_best(ranks), as_json
                )

    run(store=store, graph=graph, **options)


def _parts_of_best(ranks: BlockRanks) -> Iterator[list[tuple[str, float]]]:
    """Yield the best nodes by name, in parts that take little memory as text."""
    for nodes, scores in ranks.best:
        named = zip(ranks.names.of(nodes.tolist()), scores.tolist(), strict=True)
        while part := list(islice(named, _SHOWN_AT_ONCE)):
            yield part


@click.command()
@with_options
@or_in_blocks
@running.ranking
@with_made(base=BaseSetChoice, options=running.pagerank_options)
@click.pass_obj
def pagerank(
    source: Source,
    /,
    named: NamedGraph,
    tell: Progress,
    base: BaseSetChoice,
    options: PageRankOptions,
    inverse: bool = switch(
        "Follow links backwards, to find pages that lead to many others. The rank is saved as "
        "inverse-pagerank."
    ),
    topic: Path | None = option(
        "Jump only to the nodes in this file, one per line. A weight above 0 may follow after a "
        "tab.",
        type=running.NAMES_FILE,
    ),
    reset_rank: str | None = option(
        "Jump to nodes in proportion to this rank, such as trust. A missing rank is computed "
        "with its default options.",
        flag="--reset",
        metavar="RANK",
    ),
    by_topic: Path | None = option(
        "Compute a rank per topic in this file; each line is a topic, a tab and a node.",
        flag="--topics",
        type=running.NAMES_FILE,
    ),
    mix: str | None = option(
        "Combine the ranks of --topics with these weights.", cls=ListOption, metavar="A=PART,..."
    ),
    mix_words: str | None = option(
        "Combine the ranks of --topics by the likelihood of these words in the titles and URLs "
        "of each topic's nodes.",
        flag="--mix-by",
        metavar="WORDS",
    ),
    half_life_days: float | None = option(
        "Jump more often to recently changed pages. DAYS is the half-life: a page unchanged for "
        "DAYS days gets half the jumps.",
        flag="--recent",
        metavar="DAYS",
        type=Number(min=0, min_open=True),
    ),
    rounds_removed: int | None = number(
        "Remove dangling pages for up to N rounds, before computing. Their scores are computed at "
        "the end, from the links to them.",
        flag="--remove-dangling",
    ),
    similarity: float | None = option(
        "Mix in this share of the similarity of a page's title and URL to the words of --query.",
        metavar="SHARE",
        type=Number(0, 1),
        usual="none",
    ),
) -> Scores | dict[str, Scores]:
    """Rank by PageRank: how often a random walk that sometimes jumps visits a node.

    With --root or --query, the walk stays in the base set.
    """
    if similarity is not None and base.query is None:
        raise UsageError("--similarity needs --query, whose words it compares with the pages")
    jumps = {
        "--topic": topic,
        "--topics": by_topic,
        "--recent": half_life_days,
        "--reset": reset_rank,
    }
    _refuse_conflicts(jumps)
    _refuse_conflicts({"--mix": mix, "--mix-by": mix_words})
    if by_topic is None and (mix is not None or mix_words is not None):
        raise UsageError(f"{'--mix' if mix_words is None else '--mix-by'} needs --topics")
    if rounds_removed and any(jumps.values()):
        raise UsageError(
            "--remove-dangling does not work with --topic, --topics, --recent and --reset"
        )
    if not any(jumps.values()):
        running.refuse_idle_dangling(options)
    grown = base.grown(source, named)
    walked = grown.named
    if inverse:
        weights = None if walked.weights is None else walked.graph.turned(walked.weights)
        walked = NamedGraph(walked.graph.reversed(), walked.names, weights)
    scores: Scores | dict[str, Scores]
    if by_topic:
        scores = _by_topic(source, walked, tell, options, by_topic, mix, mix_words)
    elif rounds_removed:
        scores = pagerank_variants.without_dangling(
            walked.graph, walked.weights, rounds=rounds_removed, options=options, tell=tell
        )
    else:
        teleport = _jumps(source, walked, topic, reset_rank, half_life_days)
        scores = ranks.pagerank(
            walked.graph, walked.weights, options=options, teleport=teleport, tell=tell
        )
    if similarity and base.query is not None:
        alike = similarity_to(source, base.query, grown.nodes)
        scores = _of_each(scores, lambda rank: mixed_with_similarity(rank, alike, similarity))
    return _of_each(scores, lambda rank: grown.over_all(rank, named.graph.nodes))


def _of_each(
    scores: Scores | dict[str, Scores], change: Callable[[Scores], Scores]
) -> Scores | dict[str, Scores]:
    if isinstance(scores, Scores):
        return change(scores)
    return {name: change(rank) for name, rank in scores.items()}


def _refuse_conflicts(options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be combined")


def _jumps(
    source: Source,
    named: NamedGraph,
    topic: Path | None,
    reset_rank: str | None,
    half_life_days: float | None,
) -> NDArray[np.float64] | None:
    """Return the jump weight of each node; None for uniform jumps."""
    if topic:
        return _weighted_jumps(named, topic)
    if reset_rank:
        scores = rank_of(source, full_name(source, reset_rank)).scores
        jumps = np.where(np.isnan(scores), 0.0, scores)
        if jumps.min(initial=0) < 0 or not jumps.any():
            raise UsageError(f"--reset {reset_rank}: its scores must be 0 or more, and not all 0")
        return jumps[_places(source, named)]
    if half_life_days:
        ages = days_unchanged(source)[_places(source, named)]
        return pagerank_variants.favouring_recent(ages, half_life_days)
    return None


def _weighted_jumps(named: NamedGraph, file: Path) -> NDArray[np.float64]:
    """Return the jump weights in a file; a line is a node, or a node, a tab and a weight."""
    weights: dict[str, float] = {}
    for line in running.lines_of(file):
        name, tab, weight_text = line.rpartition("\t")
        try:
            weight = float(weight_text) if tab else 1.0
        except ValueError:
            name, weight = line, 1.0
        if not 0 < weight < np.inf:
            raise UsageError(f"{file}: a weight must be above 0 and finite, not {weight_text!a}")
        weights[name.rstrip() if tab and name != line else line] = weight
    nodes = running.nodes_of(named, list(weights), str(file))
    jumps = pagerank_variants.teleport(named.graph.nodes, nodes)
    jumps[nodes] = [weights[name] for name in named.names.of(nodes)]
    return jumps


def _by_topic(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    options: PageRankOptions,
    file: Path,
    mix: str | None,
    mix_words: str | None,
) -> Scores | dict[str, Scores]:
    """Return one rank per topic, or their mixture."""
    parts: dict[str, float] | None = None
    if mix is not None:
        try:
            pairs = [part.rpartition("=") for part in mix.split(",")]
            parts = {topic.strip(): float(share) for topic, _, share in pairs}
        except ValueError as error:
            raise UsageError(f"--mix must be like news=0.3,sport=0.7, not {mix!a}") from error
    names_of: dict[str, list[str]] = {}
    for line in running.lines_of(file):
        topic, tab, name = line.partition("\t")
        if not tab:
            raise UsageError(f"{file}: expected a topic, a tab and a node, found {line[:40]!a}")
        names_of.setdefault(topic.strip(), []).append(name.strip())
    if not names_of:
        raise UsageError(f"{file} has no topics: a line is a topic, a tab and a node")
    nodes = {
        topic: running.nodes_of(named, names, f"topic {topic!a} of {file}")
        for topic, names in names_of.items()
    }
    places = _places(source, named)
    pages = {topic: places[of_topic].tolist() for topic, of_topic in nodes.items()}
    if mix_words is not None:
        parts = pagerank_variants.parts_by_words(texts_of(source, pages), mix_words)
        shown = ", ".join(f"{topic} {part:.1%}" for topic, part in parts.items())
        click.echo(f"mix by {visible(mix_words)!a}: {visible(shown)}", err=True)
    topic_ranks = pagerank_variants.topic_ranks(
        named.graph, nodes, named.weights, options=options, tell=tell
    )
    if parts is not None:
        return pagerank_variants.mixture(topic_ranks, parts)
    if (snapshot := source.snapshot) is not None:
        name = running.rank_name(click.get_current_context().params["name"], source)
        keep_topics(snapshot.path, snapshot.connection, name, pages)
    return topic_ranks


def _places(source: Source, named: NamedGraph) -> NDArray[np.int64]:
    """Return the position in the source of each node of the graph or base set."""
    if len(named.names) == len(source.names):
        return np.arange(len(named.names))
    places = source.names.find(named.names.of(range(len(named.names))))
    return np.array(places, dtype=np.int64)


_DAY_S = 86_400


def texts_of(source: Source, topics: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    """Return texts on the nodes of each topic: their names, and in a store their titles."""
    texts = {topic: source.names.of(nodes) for topic, nodes in topics.items()}
    if (snapshot := source.snapshot) is not None:
        with reporting_damage(snapshot.path):
            for topic, nodes in topics.items():
                documents = questions.documents(snapshot.connection, nodes)
                texts[topic] += [document.title for document in documents]
    return texts


def days_unchanged(source: Source) -> Vector:
    """Return the age of each page in days, as of the last fetch of the store; NaN if unread."""
    if (snapshot := source.snapshot) is None:
        raise UsageError("a graph file does not say when pages changed: use a store")
    changed, newest = np.full(len(snapshot), np.nan), -np.inf
    with reporting_damage(snapshot.path):
        for document in tables.all_documents(snapshot.connection):
            # Stores keep no time of a change, so the last fetch stands for it.
            changed_at = document.last_at if document.changes else document.first_at
            date = http_date(document.last_modified or "")
            if date is not None and date.timestamp() <= document.last_at:
                changed_at = date.timestamp()
            changed[document.page] = changed_at
            newest = max(newest, document.last_at)
    if np.isnan(changed).all():
        raise UsageError("no page was read yet, so the times of changes are unknown")
    return np.maximum(newest - changed, 0) / _DAY_S
