"""`minicrawl rank pagerank`: PageRank, optionally by topic or of the reversed links.

Law: an option without effect is refused.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.core import ParameterSource
from numpy.typing import NDArray

from minicrawl.cli.options import Command, ListOption, Number
from minicrawl.cli.store_options import source_options
from minicrawl.config.values.quantities import size
from minicrawl.errors import UsageError
from minicrawl.graph.csr import MOST_NODES
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graph.products import Vector
from minicrawl.ports import Progress
from minicrawl.ranks import pagerank as ranks, pagerank_variants
from minicrawl.ranks.commands.base_sets import BaseSetChoice, base_set_options
from minicrawl.ranks.commands.named_ranks import full_name, keep, rank_of
from minicrawl.ranks.commands.pagerank_in_blocks import (
    BlockRanks,
    MemoryLimits,
    file_in_blocks,
    pagerank_in_blocks,
    store_in_blocks,
)
from minicrawl.ranks.commands.running import Shown, rank_name, ranking, show_in_parts
from minicrawl.ranks.commands.text_weights import mixed_with_similarity, similarity_to
from minicrawl.ranks.commands.walk_options import (
    NAMES_FILE,
    lines_of,
    nodes_of,
    pagerank_options,
    refuse_idle_dangling,
)
from minicrawl.ranks.scores import Scores
from minicrawl.report.graph.source import Source
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions, tables
from minicrawl.store.derived import keep_topics
from minicrawl.store.records import DocumentRow, reporting_damage
from minicrawl.web.responses import http_date
from minicrawl.wording import visible

# Options --blocks, --memory and --temp. Law: an option that does not work with them is refused.


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
        help="Folder for block files, about 20 bytes per link.  [default: the system's temporary "
        "folder]",
    ),
    click.option(
        "--memory",
        metavar="SIZE",
        callback=_bytes,
        help="Compute in blocks on disk, within this much memory, such as 64MB.",
    ),
    click.option(
        "--blocks",
        metavar="N",
        type=click.IntRange(min=1),
        help="Compute in at most N blocks, with all links on disk.",
    ),
)


def or_in_blocks(command: Command) -> Command:
    """Add --blocks, --memory and --temp. `command` is not called with one of the first two."""

    @functools.wraps(command)
    def either(blocks: int | None, memory: int | None, temp: Path | None, **options: Any) -> Any:
        if blocks is None and memory is None:
            if temp is not None:
                raise click.UsageError("--temp needs --blocks or --memory")
            return command(**options)
        _refuse_unsupported_options()
        limits = MemoryLimits(memory=memory, blocks=blocks, temp=temp)
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
        name = rank_name(name, source)
        asked = {"damping": damping, "tolerance": tolerance}
        count = n or MOST_NODES
        with ExitStack() as files:
            with source.progress(name) as tell:
                if graph is not None:
                    opened = file_in_blocks(graph)
                else:
                    assert source.snapshot is not None, "without a graph file it is a store"
                    opened = store_in_blocks(source.snapshot)
                computed = pagerank_in_blocks(opened, limits, shown=count, tell=tell, **asked)
                found = files.enter_context(computed)
            try:
                keep(source, {name: found.scores}, found.edges, asked | {"blocks": found.blocks})
            finally:
                disk = {"blocks": found.blocks} | asdict(found.traffic)
                shown = Shown(name, found.edges, found.scores, [], disk)
                count = min(count, len(found.names))
                show_in_parts(shown, count, _parts_of_best(found), as_json)

    run(store=store, graph=graph, **options)


def _parts_of_best(found: BlockRanks) -> Iterator[list[tuple[str, float]]]:
    """Yield the best nodes by name, in parts that take little memory as text."""
    for best in found.best:
        named = zip(found.names.of(best.nodes.tolist()), best.scores.tolist(), strict=True)
        while part := list(islice(named, _SHOWN_AT_ONCE)):
            yield part


@click.command()
@click.option(
    "--inverse",
    is_flag=True,
    help="Follow links backwards, to find pages that lead to many others. The rank is saved as "
    "inverse-pagerank.",
)
@click.option(
    "--topic",
    type=NAMES_FILE,
    help="Jump only to the nodes in this file, one per line. A weight above 0 may follow after a "
    "tab.",
)
@click.option(
    "--reset",
    "reset_rank",
    metavar="RANK",
    help="Jump to nodes in proportion to this rank, such as trust. A missing rank is computed "
    "with its default options.",
)
@click.option(
    "--topics",
    "by_topic",
    type=NAMES_FILE,
    help="Compute a rank per topic in this file; each line is a topic, a tab and a node.",
)
@click.option(
    "--mix",
    cls=ListOption,
    metavar="A=PART,...",
    help="Combine the ranks of --topics with these weights.",
)
@click.option(
    "--mix-by",
    "mix_words",
    metavar="WORDS",
    help="Combine the ranks of --topics by the likelihood of these words in the titles and URLs "
    "of each topic's nodes.",
)
@click.option(
    "--recent",
    "half_life_days",
    metavar="DAYS",
    type=Number(min=0, min_open=True),
    help="Jump more often to recently changed pages. DAYS is the half-life: a page unchanged for "
    "DAYS days gets half the jumps.",
)
@click.option(
    "--remove-dangling",
    "rounds_removed",
    metavar="N",
    type=click.IntRange(min=1),
    help="Remove dangling pages for up to N rounds, before computing. Their scores are computed "
    "at the end, from the links to them.",
)
@click.option(
    "--similarity",
    metavar="SHARE",
    type=Number(0, 1),
    help="Mix in this share of the similarity of a page's title and URL to the words of --query.  "
    "[default: none]",
)
@or_in_blocks
@ranking
@base_set_options
@pagerank_options
@click.pass_obj
def pagerank(
    source: Source,
    /,
    named: NamedGraph,
    tell: Progress,
    base: BaseSetChoice | None,
    similarity: float | None,
    inverse: bool,
    **options: Any,
) -> Scores | dict[str, Scores]:
    """Rank by PageRank: how often a random walk that sometimes jumps visits a node.

    With --root or --query, the walk stays in the base set.
    """
    if similarity is not None and (base is None or base.query is None):
        raise UsageError("--similarity needs --query, whose words it compares with the pages")
    if base is None:
        return _ranked(source, _backwards(named) if inverse else named, tell, **options)
    grown = base.grown(source, named)
    walked = _backwards(grown.named) if inverse else grown.named
    found = _ranked(source, walked, tell, **options)
    if similarity and base.query is not None:
        alike = similarity_to(source, base.query, grown.nodes)
        found = _of_each(found, lambda scores: mixed_with_similarity(scores, alike, similarity))
    return _of_each(found, lambda scores: grown.over_all(scores, named.graph.nodes))


def _backwards(named: NamedGraph) -> NamedGraph:
    """Return the graph with its links reversed."""
    weights = None if named.weights is None else named.graph.turned(named.weights)
    return NamedGraph(named.graph.reversed(), named.names, weights)


def _of_each(
    found: Scores | dict[str, Scores], change: Callable[[Scores], Scores]
) -> Scores | dict[str, Scores]:
    if isinstance(found, Scores):
        return change(found)
    return {name: change(scores) for name, scores in found.items()}


def _ranked(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    *,
    terms: ranks.PageRankOptions,
    topic: Path | None,
    reset_rank: str | None,
    by_topic: Path | None,
    mix: str | None,
    mix_words: str | None,
    half_life_days: float | None,
    rounds_removed: int | None,
) -> Scores | dict[str, Scores]:
    """Return PageRank, or one rank per topic."""
    chosen = {"--topic": topic, "--topics": by_topic, "--recent": half_life_days}
    _refuse_conflicts(chosen | {"--reset": reset_rank})
    _refuse_conflicts({"--mix": mix, "--mix-by": mix_words})
    if by_topic is None and (mix is not None or mix_words is not None):
        raise UsageError(f"{'--mix' if mix_words is None else '--mix-by'} needs --topics")
    has_jumps = any((topic, by_topic, half_life_days, reset_rank))
    if rounds_removed and has_jumps:
        raise UsageError(
            "--remove-dangling does not work with --topic, --topics, --recent and --reset"
        )
    if not has_jumps:
        refuse_idle_dangling(terms)
    if by_topic:
        return _by_topic(source, named, tell, terms, by_topic, mix, mix_words)
    if rounds_removed:
        return pagerank_variants.without_dangling(
            named.graph, named.weights, rounds=rounds_removed, options=terms, tell=tell
        )
    jumps = _jumps(source, named, topic, reset_rank, half_life_days)
    return ranks.pagerank(named.graph, named.weights, options=terms, teleport=jumps, tell=tell)


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
        return _jumps_by_rank(source, reset_rank)[_places(source, named)]
    if half_life_days:
        ages = days_unchanged(source)[_places(source, named)]
        return pagerank_variants.favouring_recent(ages, half_life_days)
    return None


def _weighted_jumps(named: NamedGraph, file: Path) -> NDArray[np.float64]:
    """Return the jump weights in a file; a line is a node, or a node, a tab and a weight."""
    weights: dict[str, float] = {}
    for line in lines_of(file):
        name, tab, number = line.rpartition("\t")
        try:
            weight = float(number) if tab else 1.0
        except ValueError:
            name, weight = line, 1.0
        if not 0 < weight < np.inf:
            raise UsageError(f"{file}: a weight must be above 0 and finite, not {number!a}")
        weights[name.rstrip() if tab and name != line else line] = weight
    nodes = nodes_of(named, list(weights), str(file))
    jumps = pagerank_variants.teleport(named.graph.nodes, nodes)
    jumps[nodes] = [weights[name] for name in named.names.of(nodes)]
    return jumps


def _jumps_by_rank(source: Source, name: str) -> NDArray[np.float64]:
    found = rank_of(source, full_name(source, name)).scores
    jumps = np.where(np.isnan(found), 0.0, found)
    if jumps.min(initial=0) < 0 or not jumps.any():
        raise UsageError(f"--reset {name}: its scores must be 0 or more, and not all 0")
    return jumps


def _refuse_conflicts(options: Mapping[str, object]) -> None:
    """Refuse more than one of these options."""
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be combined")


# ---------------------------------------------------------------- topics


def _by_topic(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    terms: ranks.PageRankOptions,
    file: Path,
    mix: str | None,
    mix_words: str | None,
) -> Scores | dict[str, Scores]:
    parts = None if mix is None else _parts(mix)
    nodes = {
        topic: nodes_of(named, names, f"topic {topic!a} of {file}")
        for topic, names in _names_by_topic(lines_of(file), str(file)).items()
    }
    if mix_words is not None:
        places = _places(source, named)
        of_source = {topic: places[those].tolist() for topic, those in nodes.items()}
        parts = pagerank_variants.parts_by_words(texts_of(source, of_source), mix_words)
        shown = ", ".join(f"{topic} {part:.1%}" for topic, part in parts.items())
        click.echo(f"mix by {visible(mix_words)!a}: {visible(shown)}", err=True)
    found = pagerank_variants.topic_ranks(
        named.graph, nodes, named.weights, options=terms, tell=tell
    )
    if parts is not None:
        return pagerank_variants.mixture(found, parts)
    if (seen := source.snapshot) is not None:
        places = _places(source, named)
        pages = {topic: places[those].tolist() for topic, those in nodes.items()}
        name = rank_name(click.get_current_context().params["name"], source)
        keep_topics(seen.path, seen.connection, name, pages)
    return found


def _places(source: Source, named: NamedGraph) -> NDArray[np.int64]:
    """Return the position in the source of each node of the graph or base set."""
    if len(named.names) == len(source.names):
        return np.arange(len(named.names))
    found = source.names.find(named.names.of(range(len(named.names))))
    return np.array(found, dtype=np.int64)


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


_DAY_S = 86_400


def texts_of(source: Source, topics: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    """Return texts on the nodes of each topic: their names, and in a store their titles."""
    return {
        topic: source.names.of(nodes) + _titles(source.snapshot, nodes)
        for topic, nodes in topics.items()
    }


def _titles(seen: Snapshot | None, nodes: Sequence[int]) -> list[str]:
    if seen is None:
        return []
    with reporting_damage(seen.path):
        return [document.title for document in questions.documents(seen.connection, nodes)]


def days_unchanged(source: Source) -> Vector:
    """Return the age of each page in days, as of the last fetch of the store; NaN if unread."""
    if (seen := source.snapshot) is None:
        raise UsageError("a graph file does not say when pages changed: use a store")
    changed, newest = np.full(len(seen), np.nan), -np.inf
    with reporting_damage(seen.path):
        for document in tables.all_documents(seen.connection):
            changed[document.page] = _changed_at(document)
            newest = max(newest, document.last_at)
    if np.isnan(changed).all():
        raise UsageError("no page was read yet, so the times of changes are unknown")
    days: Vector = np.maximum(newest - changed, 0) / _DAY_S
    return days


def _changed_at(document: DocumentRow) -> float:
    date = http_date(document.last_modified or "")
    if date is not None and date.timestamp() <= document.last_at:
        return date.timestamp()
    # Stores keep no time of a change, so the last fetch stands for it.
    return document.last_at if document.changes else document.first_at
