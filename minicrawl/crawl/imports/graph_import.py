"""Imports a graph: writes the store of a crawl that read every page with links, each once.

Laws: two names that are spellings of one URL become one page. A page without links is an unread
one. A link of a page to itself is dropped, as in a crawl.

home    place of a node in the store: origin and path
weight  whole number. Whole weights up to 2^53 are kept, others are scaled so that the largest is
        2^31; if all are equal, none is stored.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.checkpoints import cut_checkpoint
from minicrawl.frontier.importance import gathered
from minicrawl.frontier.page_table import Frontier
from minicrawl.graph.csr import Csr
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.own_files import drafting
from minicrawl.ports import Progress, unreported
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import real_path, refuse_to_overwrite
from minicrawl.store.records import (
    NOT_ASKED,
    Batch,
    DocumentRow,
    FetchRow,
    HostRow,
    StepRow,
    StoreTerms,
    UrlRow,
)
from minicrawl.store.writer import StoreWriter
from minicrawl.web.urls import Location, location
from minicrawl.wording import visible

TERMS = StoreTerms(strip_marks=False, imported=True)

NAMES_AT_ONCE, BIRTHS_AT_ONCE, VISITS_AT_ONCE = 10_000, 50_000, 5_000
CHANGES_A_CHECKPOINT = 1_000_000
_LARGEST_WEIGHT = 2**31
_LARGEST_WHOLE = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    pages: int
    links: int
    read: int
    merged: int
    """Number of names that are another spelling of a URL."""
    self_links: int
    """Number of links from a page to itself, under any of its names, which were dropped."""
    store: Path


class GraphToImport(NamedTuple):
    """Content of the new store: distinct homes, links, and their weights unless all are equal."""

    homes: Sequence[Location]
    graph: Csr
    weights: NDArray[np.int64] | None
    self_links: int


def import_graph(
    named: NamedGraph, store: Path, label: str, now: float, progress: Progress = unreported
) -> Imported:
    """Write the store; `label` names the source of the graph in it."""
    refuse_to_overwrite(store)
    web = _web_of(named)
    place = real_path(store)
    with drafting(place) as folder:
        beside = folder / place.name
        with closing(StoreWriter.open(beside)) as opened:
            opened.agree(TERMS)
            _CrawlWriter(opened, web, label, now).read_all(progress)
        refuse_to_overwrite(store)
        beside.rename(place)
    return Imported(
        pages=web.graph.nodes,
        links=web.graph.edges,
        read=int(np.count_nonzero(web.graph.out_degrees())),
        merged=named.graph.nodes - web.graph.nodes,
        self_links=web.self_links,
        store=store,
    )


def _web_of(named: NamedGraph) -> GraphToImport:
    graph, weights = named.graph, named.weights
    pages: dict[Location, int] = {}
    page_of = np.fromiter(
        (
            pages.setdefault(location(visible(name)), len(pages))
            for first in range(0, graph.nodes, NAMES_AT_ONCE)
            for name in named.names.of(range(first, min(first + NAMES_AT_ONCE, graph.nodes)))
        ),
        dtype=np.int64,
        count=graph.nodes,
    )
    sources, targets = page_of[graph.sources()], page_of[graph.targets]
    is_proper = sources != targets
    sources, targets = sources[is_proper], targets[is_proper]
    self_links = int(np.count_nonzero(~is_proper))
    linked = Csr.from_edges(len(pages), sources, targets)
    if weights is None:
        return GraphToImport(list(pages), linked, None, self_links)
    _, link = np.unique(sources * len(pages) + targets, return_inverse=True)
    summed = np.bincount(link, weights=weights[is_proper]).astype(np.float64, copy=False)
    return GraphToImport(list(pages), linked, _whole(summed), self_links)


def _whole(weights: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return the weights as whole numbers above 0, or None if all are equal."""
    if not weights.size or (weights == weights[0]).all():
        return None
    largest = float(weights.max())
    if largest > _LARGEST_WHOLE or (weights != np.rint(weights)).any():
        weights = weights * (_LARGEST_WEIGHT / largest)
    whole: NDArray[np.int64] = np.maximum(np.rint(weights), 1).astype(np.int64)
    return whole


class _CrawlWriter:
    """Writes the log of a crawl that reads all pages with links, one by one."""

    def __init__(self, store: StoreWriter, web: GraphToImport, label: str, now: float) -> None:
        self._store, self._web = store, web
        self._label, self._now = f"imported from {label}", now
        nothing = dict[int, Spending]()  # each page is read once: no earlier spending is asked for
        self._frontier = Frontier(TERMS, nothing.__getitem__)
        self._hosts: dict[str, int] = {}
        self._fetches = 0

    def read_all(self, progress: Progress) -> None:
        reads = np.flatnonzero(self._web.graph.out_degrees())
        pages, all_turns = len(self._web.homes), max(len(self._web.homes) + len(reads), 1)
        births, visits = BIRTHS_AT_ONCE, VISITS_AT_ONCE
        for first in range(0, pages, births):
            self._introduce(first, self._web.homes[first : first + births])
            progress(min(first + births, pages) / all_turns)
        for first in range(0, len(reads), visits):
            self._visit(reads[first : first + visits].tolist())
            progress((pages + min(first + visits, len(reads))) / all_turns)
        self._commit(Batch(), {tables.GATHERED: gathered(self._frontier)})
        self._store.checkpoint(cut_checkpoint(self._frontier))

    def _introduce(self, first: int, born: Sequence[Location]) -> None:
        batch = Batch()
        for page, (origin, path) in enumerate(born, start=first):
            if origin not in self._hosts:
                self._hosts[origin] = len(self._hosts)
                batch.hosts.append(HostRow(self._hosts[origin], origin))
            batch.urls.append(UrlRow(page, self._hosts[origin], path, 0))
        batch.steps.append(self._do(Step(StepKind.BORN, born=len(born)), State.UNREAD))
        self._commit(batch)

    def _visit(self, pages: list[int]) -> None:
        batch = Batch()
        graph, weights = self._web.graph, self._web.weights
        for page in pages:
            row = slice(graph.starts[page], graph.starts[page + 1])
            shares = () if weights is None else weights[row].tolist()
            spending = Spending(graph.targets[row].tolist(), shares)
            step = Step(StepKind.VISIT, page, spending=spending)
            batch.steps.append(self._do(step, State.FETCHED))
            batch.fetches.append(FetchRow(page, self._now, NOT_ASKED, None, 0, 0.0, self._label))
            times = self._now, self._now
            batch.documents.append(DocumentRow(page, "", 0, None, None, 0, False, *times, 0, 0))
        self._fetches += len(pages)
        self._commit(batch)
        if self._frontier.changes > CHANGES_A_CHECKPOINT:
            self._store.checkpoint(cut_checkpoint(self._frontier))

    def _do(self, step: Step, state: State) -> StepRow:
        row = StepRow(self._frontier.last_seq + 1, state, step)
        self._frontier.apply(row)
        return row

    def _commit(self, batch: Batch, more: Mapping[str, object] | None = None) -> None:
        counted = {tables.FETCHES: self._fetches, **(more or {})}
        batch.counters = self._frontier.tally() | counted
        self._store.commit(batch)
