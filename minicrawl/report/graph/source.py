"""Graph of an analysis: the links of a store, or a graph file.

Laws: page i of the store is node i, whether it was read or not; a link to a page that stands for
another leads to that one. Links are loaded on first use, once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import LinkArrays, LinkBuilder, RowBuilder
from minicrawl.graph.named_graph import NamedGraph, Names, NodeHosts
from minicrawl.graph.subgraphs import with_nodes, with_pages
from minicrawl.model import CRAWLED
from minicrawl.opic.ledger.money import PARTS
from minicrawl.ports import Progress, unreported
from minicrawl.report.graph.flows import CashFlows, FlowLinks, flows, links, links_among
from minicrawl.report.snapshot import Snapshot, location_of, snapshot, urls
from minicrawl.store import questions, tables

ProgressFactory = Callable[[str], AbstractContextManager[Progress]]
"""Function that returns the progress context of a labelled task."""

_WEIGHT = "weight-"


class Source:
    """Graph to be analysed. `snapshot` is None if it is from a file."""

    def __init__(
        self,
        read: Callable[[Progress], NamedGraph],
        progress: ProgressFactory,
        snapshot: Snapshot | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.progress = progress
        self._read = read

    @cached_property
    def graph(self) -> NamedGraph:
        """The whole graph, loaded on first use."""
        with self.progress("links") as progress:
            return self._read(progress)

    @property
    def names(self) -> Names:
        """Names of the nodes; they do not require loading the links of a store."""
        return self.graph.names if self.snapshot is None else Urls(self.snapshot)


def weighed(source: Source) -> NamedGraph:
    """Return the links of a store with the weights of the crawl, by its --weight-internal."""
    if (snapshot := source.snapshot) is None:
        raise UsageError("--crawl-weights needs a store: the weights in a graph file always count")
    if snapshot.frontier.terms.imported:
        return source.graph
    refuse_unrankable(snapshot)
    with source.progress("links") as progress:
        named = _gathered(snapshot, map(_as_shares, links(snapshot, progress)))
    if named.weights is None and not weight_options(snapshot):
        raise UsageError("the crawl weighed all links alike: it had no --weight-internal")
    return named


def weight_options(snapshot: Snapshot) -> list[str]:
    """Return the settings that gave some links less weight, as options."""
    settings = tables.settings(snapshot.connection)
    return [f"--{name} {settings[name]}" for name in sorted(settings) if name.startswith(_WEIGHT)]


def _as_shares(block: FlowLinks) -> CashFlows:
    """Return weights as multiples of 1, which stores encode as `PARTS`; as 1 if all are alike."""
    _, page = np.unique(block.givers, return_inverse=True)
    largest = np.zeros(len(block.givers), dtype=np.int64)
    np.maximum.at(largest, page, block.weights)
    scale = np.where(largest[page] > 1, PARTS, 1)
    return CashFlows(block.givers, block.ends, block.weights / scale)


def crawled(source: Source) -> NamedGraph:
    """Return the pages that were read, and the links between them."""
    if source.snapshot is None:
        raise UsageError("a graph file does not say which pages were crawled: use a store")
    return with_nodes(source.graph, source.snapshot.was_read)


def without_display(_label: str) -> AbstractContextManager[Progress]:
    return nullcontext(unreported)


@contextmanager
def opened(
    store: Path, graph: Path | None, progress: ProgressFactory = without_display
) -> Iterator[Source]:
    """Yield the graph of a file if one is named, or else that of the store."""
    if graph is not None:
        from minicrawl.graphfiles import read  # most graphs are those of stores

        yield Source(partial(read, graph), progress)
        return
    with snapshot(store) as view:
        yield Source(partial(_links, view), progress, view)


class Urls:
    """URLs of the pages of a store, queried on demand."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __len__(self) -> int:
        return len(self._snapshot)

    def of(self, nodes: Sequence[int]) -> list[str]:
        return urls(self._snapshot, np.array(nodes, dtype=np.int64))

    def find(self, names: Sequence[str]) -> list[int | None]:
        homes = [location_of(self._snapshot, name) for name in names]
        known_homes = [home for home in homes if home is not None]
        pages = iter(questions.find_all(self._snapshot.connection, known_homes))
        return [None if home is None else next(pages) for home in homes]

    def hosts(self) -> NodeHosts:
        numbers: dict[str, int] = {}
        of_origin = [numbers.setdefault(host, len(numbers)) for host in self._snapshot.hosts]
        of_node = np.array(of_origin, dtype=np.int32)[self._snapshot.host_of]
        return NodeHosts(of_node, list(numbers))


def as_linked(source: Source, graph_of: str) -> Csr:
    """Return the links that pages have, without redirects; of all pages or the crawled ones."""
    if (snapshot := source.snapshot) is None:
        return (crawled(source) if graph_of == CRAWLED else source.graph).graph
    refuse_unrankable(snapshot)
    is_node = snapshot.was_read if graph_of == CRAWLED else np.ones(len(snapshot), dtype=np.bool_)
    rows = RowBuilder(len(snapshot))
    with source.progress("links") as progress:
        for givers, ends, _ in links_among(snapshot, is_node, progress):
            rows.add(givers, ends)
    return with_pages(rows.graph(), is_node)


def refuse_unrankable(snapshot: Snapshot) -> None:
    """Raise UsageError if the store has no links to rank by, or no page."""
    if not snapshot.frontier.terms.links:
        raise UsageError(f"{snapshot.path} was crawled with --no-links: it has no links to rank by")
    if not len(snapshot):
        raise UsageError(f"{snapshot.path} has no page yet: there is nothing to rank")


def _links(snapshot: Snapshot, progress: Progress) -> NamedGraph:
    refuse_unrankable(snapshot)
    if snapshot.frontier.terms.imported:
        blocks = links(snapshot, progress)
        return _gathered(
            snapshot,
            (CashFlows(*arrays[:2], arrays.weights.astype(np.float64)) for arrays in blocks),
        )
    rows = RowBuilder(len(snapshot))
    for givers, ends, _ in flows(snapshot, progress):
        rows.add(givers, ends)
    return NamedGraph(graph=rows.graph(), names=Urls(snapshot))


def _gathered(snapshot: Snapshot, blocks: Iterable[CashFlows]) -> NamedGraph:
    """Return the graph without links of weight 0; equal weights are omitted."""
    gathering = LinkBuilder()
    for givers, ends, parts in blocks:
        counts = parts > 0
        gathering.add(LinkArrays(givers[counts], ends[counts], parts[counts]))
    graph, weights = gathering.graph_of(len(snapshot))
    alike = weights is None or bool((weights == 1).all())
    return NamedGraph(graph=graph, names=Urls(snapshot), weights=None if alike else weights)
