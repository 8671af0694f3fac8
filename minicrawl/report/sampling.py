"""Samples of a crawl: while it runs, and afterwards from its log.

growth   the graph of a crawl, followed through the log of its store; the sampling process
history  figures over time: the stored samples, or samples recomputed from the log
"""

import select
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.frontier.importance import gathered_now, share_read
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import Extent
from minicrawl.graph.dynamic import DynamicGraph
from minicrawl.graph.outline import Outline, extent
from minicrawl.model import CRAWLED, KNOWN, READ_STATES, State
from minicrawl.opic.ledger.books import Spending, StepKind
from minicrawl.ports import Progress, unreported
from minicrawl.report.crawl_status import EVERY_S, Basis, Sample, keep_sample, samples
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions, tables
from minicrawl.store.derived import OPIC, rank_row, reading_beside
from minicrawl.store.reader import reading
from minicrawl.store.records import reporting_damage
from minicrawl.store.stored_links import is_plain, pack, unpack, unpack_written

# ================================================================ growth
#
# Growth of a crawl's link graph, read from the log of its store.
#
# Laws: a link counts once both its ends were crawled, in either order; in the graph of all known
# pages, once its source was. A redirect is not a link. A link to a page that was not crawled and
# redirects leads to the first crawled page behind it. Nodes are numbered as they appear, and a page
# that is gone has its number again if it comes back. What was reported remains true unless
# `is_rewritten`: a page that was read again may have lost links, and one that was reopened is no
# longer crawled; then all links are reported, and the graph is changed by the difference.
#
# Each link takes 8 bytes, and 8 more until it counts; each page takes 29.

_TURNS = frozenset((StepKind.VISIT, StepKind.FORWARD, StepKind.DEAD_END))
_NO_LINK, _NO_NODE = -1, -1
Ids = NDArray[np.int64]


class GraphNews(NamedTuple):
    """Update of the graph: its nodes, and links that count since the last update."""

    is_node: NDArray[np.bool_]
    """True for each number whose page is a node now."""
    sources: Ids
    targets: Ids
    is_rewritten: bool
    """True if these are all links, replacing everything reported before."""


class LoggedLinks:
    """Links of all pages in log order; the links of the latest turns are still packed."""

    def __init__(self) -> None:
        self._first, self._count = array("q"), array("i")
        """First place and number of each page's links; the number is -1 while they are packed."""
        self.sources, self.targets = array("i"), array("i")
        """Ends of the links; a deleted link has target -1."""
        self._packed: list[tuple[int, bytes]] = []

    def add_pages(self, count: int) -> None:
        """Add new pages."""
        self._first.frombytes(bytes(8 * count))
        self._count.frombytes(bytes(4 * count))

    def spend(self, page: int, blob: bytes) -> None:
        """Set the links of a page, packed."""
        self._packed.append((page, blob))
        self._count[page] = _NO_LINK

    def remove(self, page: int) -> bool:
        """Delete the links of a page. Return True if it had any."""
        if self._count[page] < 0:
            self.unpack()
        first, count = self._first[page], self._count[page]
        for place in range(first, first + count):
            self.targets[place] = _NO_LINK
        self._count[page] = 0
        return count > 0

    def unpack(self) -> None:
        """Unpack the links of the latest turns."""
        plain = [(page, blob) for page, blob in self._packed if is_plain(blob)]
        if plain:
            pages, blobs = zip(*plain, strict=True)
            counts, links = unpack_written(np.array(pages), blobs)
            self._place(pages, counts.tolist(), links)
        for page, blob in self._packed:
            if not is_plain(blob):
                spending = unpack(blob)
                links = np.array([*spending.links, *[page] * spending.self_link], dtype=np.int64)
                self._place((page,), [len(links)], links)
        self._packed.clear()

    def _place(self, pages: tuple[int, ...], counts: list[int], links: Ids) -> None:
        place = len(self.targets)
        self.sources.frombytes(np.repeat(np.array(pages, dtype=np.int32), counts).tobytes())
        self.targets.frombytes(links.astype(np.int32).tobytes())
        for page, count in zip(pages, counts, strict=True):
            self._first[page], self._count[page] = place, count
            place += count


class LinkLog:
    """Links of a store up to a step."""

    def __init__(self, graph_of: str = CRAWLED) -> None:
        self.step = 0
        self.graph_of = graph_of
        self._state = bytearray()
        self._forwards: dict[int, int] = {}
        self._links = LoggedLinks()
        self._number = np.empty(0, dtype=np.int32)
        self._node = self._number  # the numbers of the pages that are nodes now
        self._numbers = 0
        self._waiting = np.empty(0, dtype=np.int64)  # places of links that do not count yet
        self._placed = 0
        self._is_rewritten = False

    def follow(self, connection: tables.Connection, until: int | None = None) -> GraphNews:
        """Read the log on, to its end or to step `until`. Return the changes of the graph."""
        last = tables.last_step(connection) if until is None else until
        for rows in questions.log_after(connection, self.step, last):
            for row in rows:
                self._apply(row)
            self._links.unpack()
        self.step = max(self.step, last)
        return self._news()

    def __len__(self) -> int:
        """Return the number of known pages."""
        return len(self._state)

    @property
    def states(self) -> NDArray[np.uint8]:
        """State of each page, as a view: release it before reading on."""
        return np.frombuffer(self._state, dtype=np.uint8)

    # ------------------------------------------------------------ steps

    def _apply(self, row: questions.LogRow) -> None:
        _, kind, page, state, born, blob = row
        if born:
            self._state.extend(bytes(born))
            self._links.add_pages(born)
        if kind in _TURNS:
            self._end_turn(page, state)
            if blob is not None:
                self._spend(page, kind, blob)
        elif kind == StepKind.REOPEN and blob is not None:
            for again in unpack(blob).links:
                self._end_turn(again, State.UNREAD, keeps_links=True)

    def _end_turn(self, page: int, state: int, *, keeps_links: bool = False) -> None:
        """Set the state of a page, discarding what its last turn did."""
        was_forward = self._forwards.pop(page, None) is not None
        if self._state[page] in READ_STATES or was_forward:
            self._is_rewritten = True
        self._state[page] = state
        if (not keeps_links or was_forward) and self._links.remove(page):
            self._is_rewritten |= self.graph_of == KNOWN

    def _spend(self, page: int, kind: int, blob: bytes) -> None:
        if kind == StepKind.FORWARD:
            spending = unpack(blob)
            self._forwards[page] = spending.links[0]
            blob = pack(Spending(spending.unpaid, self_link=spending.self_link))
        self._links.spend(page, blob)

    # ------------------------------------------------------------ counted links

    def _was_read(self) -> NDArray[np.bool_]:
        return np.isin(self.states, READ_STATES)

    def _news(self) -> GraphNews:
        is_rewritten, self._is_rewritten = self._is_rewritten, False
        if is_rewritten:
            self._placed, self._waiting = 0, self._waiting[:0]
        is_node = self._give_numbers()
        new = np.arange(self._placed, len(self._links.targets))
        self._placed = len(self._links.targets)
        places = np.concatenate((self._waiting, new))
        sources, targets = self._ends_of(places)
        counts = (sources != _NO_NODE) & (targets != _NO_NODE)
        self._waiting = places[~counts]
        return GraphNews(is_node, sources[counts], targets[counts], is_rewritten)

    def _give_numbers(self) -> NDArray[np.bool_]:
        """Assign numbers to new nodes. Return, for each number, whether its page is a node."""
        unknown = np.full(len(self._state) - len(self._number), _NO_NODE, dtype=np.int32)
        self._number = np.concatenate((self._number, unknown))
        is_node = self._was_read() if self.graph_of == CRAWLED else np.ones_like(self._number, bool)
        new = np.flatnonzero(is_node & (self._number == _NO_NODE))
        self._number[new] = np.arange(self._numbers, self._numbers + len(new), dtype=np.int32)
        self._numbers += len(new)
        self._node = np.where(is_node, self._number, np.int32(_NO_NODE))
        has_node = np.zeros(self._numbers, dtype=np.bool_)
        has_node[self._number[is_node]] = True
        return has_node

    def _ends_of(self, places: Ids) -> tuple[Ids, Ids]:
        """Return the nodes at both ends of these links; `_NO_NODE` if an end is not a node."""
        targets = np.frombuffer(self._links.targets, dtype=np.int32)[places]
        is_link = targets != _NO_LINK
        node_of = self._node[self._first_nodes()] if len(self._node) else self._node
        ends = np.full(len(places), _NO_NODE, dtype=np.int64)
        ends[is_link] = node_of[targets[is_link]]
        sources = np.frombuffer(self._links.sources, dtype=np.int32)[places]
        return self._node[sources].astype(np.int64), ends

    def _first_nodes(self) -> Ids:
        """Return each page, or the first node that it redirects to."""
        ends = np.arange(len(self._state))
        pairs = np.fromiter(chain.from_iterable(self._forwards.items()), dtype=np.int64)
        pages, targets = pairs.reshape(-1, 2)[self._node[pairs[::2]] == _NO_NODE].T
        ends[pages] = targets
        while (further := ends[ends[pages]]).tobytes() != ends[pages].tobytes():
            ends[pages] = further
        return ends


OLDEST_S = 28.0
"""Maximum age of the distances, unless measuring takes longer."""
MOST_EXACT = 3000
_MOST_LINKS_AT_ONCE = 100_000
"""New links in one update beyond which batches are used: link by link would take too long."""
MOST_WORK = 8_000_000
WORK_AT_ONCE = 1_000_000
"""Maximum work if a user is waiting for the figures."""
_SEED = 1
_NOTHING_KEPT = -1, 0.0, None
"""Last sample's step, time of its distances, and gathered importance."""
_NOTHING_YET = Extent(0, None, 0, is_exact=True)


class LiveGraph:
    """Graph of a store and its outline, following the log."""

    def __init__(self, graph_of: str = CRAWLED, most_exact: int = MOST_EXACT) -> None:
        self.log = LinkLog(graph_of)
        self.distances_at = 0.0
        self._most = most_exact
        self._graph = DynamicGraph(most_exact)
        self._far = _NOTHING_YET
        self._measured = 0

    def follow(self, connection: tables.Connection, until: int | None = None) -> None:
        """Read the log on, to its end or to step `until`."""
        news = self.log.follow(connection, until)
        # Exact distances link by link are for small crawls, whose curves should not jump; their
        # cost grows with the graph, while batches cost the same however often links arrive.
        if len(news.is_node) > self._most or len(news.sources) > _MOST_LINKS_AT_ONCE:
            self._graph.forget_distances()  # from here on they are measured
        change = self._graph.become if news.is_rewritten else self._graph.add
        change(news.is_node, news.sources, news.targets)

    @property
    def is_exact(self) -> bool:
        """True if all figures are maintained link by link."""
        return self._graph.has_distances

    @property
    def graph(self) -> Csr:
        return self._graph.graph

    @property
    def distances_basis(self) -> Basis:
        if self.is_exact:
            return Basis.EXACT
        if self._far.is_exact:
            return Basis.BATCH
        return Basis.HYPERBALL if self._far.by_hyperball else Basis.ESTIMATE

    @property
    def is_unmeasured(self) -> bool:
        """True if the distances were never measured."""
        return not self.is_exact and not self._measured

    @property
    def are_distances_old(self) -> bool:
        """True if there are steps since the distances were measured."""
        return not self.is_exact and self._measured != self.log.step

    def measure(self, now: float, most_work: int, tell: Progress = unreported) -> None:
        """Measure the distances of the current graph."""
        step, graph = self.log.step, self.graph
        self._far = extent(graph, np.random.default_rng(_SEED), tell, most_work)
        self._measured, self.distances_at = step, now

    def outline(self) -> Outline:
        """Return the current outline of the graph."""
        return self._graph.outline(self._far)


def sample_of(live: LiveGraph, at: float, counts: Mapping[str, Any]) -> Sample:
    """Return a sample from the figures of the graph and the counts of the crawl."""
    return Sample(
        at=at,
        step=live.log.step,
        graph_of=live.log.graph_of,
        basis=Basis.EXACT if live.is_exact else Basis.BATCH,
        distances_at=at if live.is_exact else live.distances_at,
        distances_basis=live.distances_basis,
        outline=live.outline(),
        **counts,
    )


def by_state(states: Mapping[int, int]) -> dict[str, int]:
    """Return the numbers of crawled and failed pages, from the pages by state."""
    return {
        "crawled": sum(states.get(state, 0) for state in READ_STATES),
        "errors": sum(
            pages
            for state, pages in states.items()
            if State(state).is_failure or state == State.TYPE
        ),
    }


def counts_of(store: Path, connection: tables.Connection) -> dict[str, Any]:
    """Return the crawl's own counts as of the last commit."""
    counters = tables.counters(connection)
    numbers = {name: value for name, value in counters.items() if isinstance(value, int | float)}
    states = counters.get(tables.STATES)
    pages = states.items() if isinstance(states, dict) else ()
    with reading_beside(store, connection) as derived:
        converged = rank_row(derived, OPIC)
    return by_state({int(state): int(count) for state, count in pages}) | {
        "running_s": numbers.get("running_s", 0.0),
        "requests": int(numbers.get("requests", 0)),
        "known": questions.pages_known(connection),
        "hosts": questions.hosts_known(connection),
        "maximum": counters.get(tables.MAXIMUM),
        "wire_bytes": int(numbers.get("wire_bytes", 0)),
        "importance_gathered": gathered_now(converged, connection),
    }


def sampled_now(
    store: Path, graph_of: str = CRAWLED, most_work: int = WORK_AT_ONCE
) -> Sample | None:
    """Return a sample as of the last commit, computed from the log, or None without links.

    It is not stored.
    """
    now, live = time.time(), LiveGraph(graph_of, most_exact=0)
    with reading(store) as connection, reporting_damage(store):
        terms = tables.terms(connection)
        if terms is None or not terms.links:
            return None
        live.follow(connection)
        live.measure(now, most_work)
        return sample_of(live, now, counts_of(store, connection))


class Sampler:
    """Takes samples of a store repeatedly, and stores them beside it."""

    def __init__(
        self,
        store: Path,
        graph_of: str = CRAWLED,
        clock: Callable[[], float] = time.monotonic,
        is_over: Callable[[], bool] = lambda: False,
        most_exact: int = MOST_EXACT,
    ) -> None:
        """`is_over` returns True if only the last sample is still wanted."""
        self._store, self._clock, self._is_over = store, clock, is_over
        self._new_graph = partial(LiveGraph, graph_of, most_exact)
        self._live, self._birth = self._new_graph(), ""
        self._due = 0.0
        self._known: tuple[int, float, object] = _NOTHING_KEPT

    def look(self) -> None:
        """Store a sample if one is due and the log has grown."""
        began = self._clock()
        if began < self._due or not self._store.is_file():
            return
        with reading(self._store) as connection, reporting_damage(self._store):
            if tables.fetches_known(connection):
                self._keep(connection)
        self._due = self._clock() + max(EVERY_S, self._clock() - began)

    def _keep(self, connection: tables.Connection) -> None:
        if self._birth != (birth := tables.birth(connection)):  # another store of that name
            self._live, self._birth = self._new_graph(), birth
            self._known = _NOTHING_KEPT
        self._live.follow(connection)
        if self._live.is_unmeasured or (self._is_over() and self._live.are_distances_old):
            self._live.measure(time.time(), WORK_AT_ONCE if self._is_over() else MOST_WORK)
        counts = counts_of(self._store, connection)
        known = self._live.log.step, self._live.distances_at, counts["importance_gathered"]
        if known != self._known:
            sample = sample_of(self._live, time.time(), counts)
            keep_sample(self._store, connection, sample)
            self._known = known

    def measure(self) -> float:
        """Measure the distances if they are outdated, sampling meanwhile.

        Return the seconds taken.
        """
        began = self._clock()
        if self._live.are_distances_old:
            with suppress(_OverError):
                self._live.measure(time.time(), MOST_WORK, self._look_meanwhile)
        return self._clock() - began

    def _look_meanwhile(self, _share: float) -> None:
        if self._is_over():
            raise _OverError  # the last sample needs distances of all links
        self.look()

    def pauses(self) -> Iterator[float]:
        """Work, and yield how long to pause. Ends after the last sample."""
        measure_at = 0.0
        while not self._is_over():
            self.look()
            if self._clock() >= measure_at:
                took_s = self.measure()
                # A pause as long as the work leaves half of a processor to the crawl. By the time
                # the next distances are ready, these are as old as two measurements and the pause,
                # which is shortened to keep that within `OLDEST_S`.
                measure_at = self._clock() + max(0.0, min(took_s, OLDEST_S - 2 * took_s))
            yield max(0.0, self._due - self._clock())
        self._due = 0.0
        self.look()


class _OverError(Exception):
    """Raised to cancel a measurement."""


def main() -> None:
    """Run the process with store and graph as arguments, until standard input ends."""
    store, graph_of = sys.argv[1:]
    for pause_s in Sampler(Path(store), graph_of, is_over=_has_input_ended).pauses():
        _has_input_ended(pause_s)


def _has_input_ended(patience_s: float = 0.0) -> bool:
    return bool(select.select([sys.stdin], [], [], patience_s)[0])


# ================================================================ history
#
# Figures of a crawl over time: the stored samples, or samples recomputed from the log.
#
# Laws: a crawl that was not sampled has the same history as one that was, except for the gathered
# importance, which is recomputed with today's importance. Time is running time: a pause between
# two runs counts as `LONGEST_GAP_S`.

FEWEST = 20
"""Minimum number of stored samples; with fewer, recomputed ones are more informative."""
POINTS = 60
LONGEST_GAP_S = 60.0


def history(store: Path, graph_of: str = CRAWLED, tell: Progress = unreported) -> list[Sample]:
    """Return samples in order of time. The last one includes all steps."""
    kept = [sample for sample in samples(store) if sample.graph_of == graph_of]
    if len(kept) < FEWEST:
        return remade(store, graph_of, tell)
    last = sampled_now(store, graph_of)
    return kept if last is None or last.step == kept[-1].step else [*kept, last]


def remade(
    store: Path, graph_of: str = CRAWLED, tell: Progress = unreported, points: int = POINTS
) -> list[Sample]:
    """Return samples recomputed from the log, at `points` moments of the running time."""
    with reading(store) as connection, reporting_damage(store):
        past, live = _Past(store, connection), LiveGraph(graph_of, most_exact=0)
        found = []
        for number, place in enumerate(past.places(points), start=1):
            live.follow(connection, past.step_at(place))
            at = float(past.times[place])
            live.measure(at, WORK_AT_ONCE)
            found.append(sample_of(live, at, past.counts(place, live.log)))
            tell(number / points)
        return found


class _Past:
    """Progress of a crawl by request: steps done, and counts so far.

    A place is a request's index.
    """

    def __init__(self, store: Path, connection: tables.Connection) -> None:
        pages, self.times, octets = questions.requests(connection)
        if not len(pages):
            raise UsageError(f"{store} has no history: nothing was fetched for it yet")
        self._bytes = np.cumsum(octets)
        gaps = np.diff(self.times, prepend=self.times[0])
        self._running = np.cumsum(np.minimum(gaps, LONGEST_GAP_S))
        self._steps, turned = questions.turns(connection)
        known = questions.pages_known(connection)
        last_asked = np.zeros(known)
        last_asked[pages] = self.times
        # The log has no times. A turn was done by the last request of its page, and not before the
        # turn that precedes it in the log.
        self._done_at = np.maximum.accumulate(last_asked[turned])
        self._last = tables.last_step(connection)
        self._hosts = 1 + np.maximum.accumulate(
            tables.whole(tables.urls(connection, "host"), "host")
        )
        self._maximum = tables.counters(connection).get(tables.MAXIMUM)
        self._worth = Snapshot(store, connection).importance

    def places(self, points: int) -> list[int]:
        """Return the last request in each of `points` equal parts of the running time."""
        ends = self._running[-1] * np.arange(1, points + 1) / points
        places = np.searchsorted(self._running, ends, side="right") - 1
        places[-1] = len(self.times) - 1
        return list(map(int, np.unique(places)))

    def step_at(self, place: int) -> int:
        """Return the last step done by that request."""
        if place == len(self.times) - 1:
            return self._last
        turn = int(np.searchsorted(self._done_at, self.times[place], side="right"))
        return int(self._steps[turn - 1]) if turn else 0

    def counts(self, place: int, log: LinkLog) -> dict[str, Any]:
        """Return the crawl's counts at that request."""
        pages = enumerate(np.bincount(log.states).tolist())
        return by_state({state: count for state, count in pages if count}) | {
            "running_s": float(self._running[place]),
            "requests": place + 1,
            "known": len(log),
            "hosts": int(self._hosts[len(log) - 1]) if len(log) else 0,
            "maximum": self._maximum,
            "wire_bytes": int(self._bytes[place]),
            "importance_gathered": share_read(self._worth[: len(log)], log.states),
        }
