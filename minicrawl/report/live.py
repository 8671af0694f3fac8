"""A crawl while it runs.

activity  busiest hosts, latest requests, and requests over time
growth    the graph of a crawl, followed through the log of its store
"""

from array import array
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import CRAWLED, KNOWN, READ_STATES, State
from minicrawl.opic.ledger import Spending, StepKind
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions, tables
from minicrawl.store.blobs import is_plain, pack, unpack, unpack_written
from minicrawl.store.questions import LoggedRequest
from minicrawl.store.reader import reading
from minicrawl.store.records import reporting_damage

# ================================================================ activity
#
# Activity of a crawl: busiest hosts, latest requests, and requests over time.
#
# Law: each request is read once. A reader continues after the last request that it knows.

WIDTH_S = 1.0
MOST_SPANS = 1200
"""Maximum number of time spans; beyond it, neighbours are merged in pairs."""


# ---------------------------------------------------------------- hosts


class HostPages(NamedTuple):
    """Host with its pages. `until` is the end of a pause that it asked for, or 0."""

    id: int
    origin: str
    known: int
    read: int
    waiting: int
    failed: int
    importance: float
    until: float
    trouble: str


def busiest_hosts(snapshot: Snapshot, count: int) -> list[HostPages]:
    """Return the hosts with most pages read, then with most pages known."""
    hosts, states = snapshot.host_of, snapshot.states
    number = len(snapshot.origins)
    failures = [state for state in State if state.is_failure]
    columns = [
        np.bincount(hosts, weights=weights, minlength=number)
        for weights in (
            None,
            snapshot.was_read,
            states == State.UNREAD,
            np.isin(states, failures),
            snapshot.importance,
        )
    ]
    order = np.lexsort((-columns[0], -columns[1]))[:count].tolist()
    with reporting_damage(snapshot.path):
        pauses = questions.hosts_waiting(snapshot.connection)
    known, read, waiting, failed, importance = columns
    return [
        HostPages(
            id=host,
            origin=snapshot.origins[host],
            known=int(known[host]),
            read=int(read[host]),
            waiting=int(waiting[host]),
            failed=int(failed[host]),
            importance=float(importance[host]),
            until=pauses.get(host, (0.0, ""))[0],
            trouble=pauses.get(host, (0.0, ""))[1],
        )
        for host in order
    ]


# ---------------------------------------------------------------- requests


def latest(path: Path, last: int, count: int) -> list[LoggedRequest]:
    """Return the last `count` requests after the one with this id, in order."""
    with reading(path) as connection, reporting_damage(path):
        return questions.requests_after(connection, last, count)


class RequestHistory:
    """Requests, failures and bytes over time, for a curve. Each `read` extends it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last, self._width_s = 0, WIDTH_S
        self._spans: dict[int, tuple[int, int, int]] = {}

    def read(self) -> None:
        """Read new requests."""
        with reading(self._path) as connection, reporting_damage(self._path):
            found = questions.requests_by_time(connection, self._last, self._width_s)
        for row in found:
            self._add(row.span, (row.requests, row.failed, row.wire_bytes))
            self._last = max(self._last, row.last)
        while len(self._spans) > MOST_SPANS:
            self._width_s *= 2
            spans, self._spans = self._spans, {}
            for span, counts in spans.items():
                self._add(span // 2, counts)

    def sums(self) -> Iterator[tuple[float, int, int, int]]:
        """Yield the end of each span, with the totals up to then."""
        requests = failed = wire_bytes = 0
        for span in sorted(self._spans):
            more = self._spans[span]
            requests, failed, wire_bytes = (
                requests + more[0],
                failed + more[1],
                wire_bytes + more[2],
            )
            yield (span + 1) * self._width_s, requests, failed, wire_bytes

    def _add(self, span: int, counts: tuple[int, int, int]) -> None:
        known = self._spans.get(span, (0, 0, 0))
        self._spans[span] = known[0] + counts[0], known[1] + counts[1], known[2] + counts[2]


# ================================================================ growth
#
# Growth of a crawl's link graph, read from the log of its store.
#
# Laws: a link counts once both its ends were crawled, in either order; in the graph of all known
# pages, once its source was. A redirect is not a link. A link to a page that was not crawled and
# redirects leads to the first crawled page behind it. Nodes are numbered as they appear. What was
# reported remains true unless `is_rewritten`: a page that was read again may have lost links, and
# one that was reopened is no longer crawled; then everything is reported again.
#
# Each link takes 8 bytes, and 8 more until it counts; each page takes 29.

_TURNS = frozenset((StepKind.VISIT, StepKind.FORWARD, StepKind.DEAD_END))
_NO_LINK, _NO_NODE = -1, -1
Ids = NDArray[np.int64]


class GraphNews(NamedTuple):
    """Update of the graph: number of nodes, and links that count since the last update."""

    nodes: int
    sources: Ids
    targets: Ids
    is_rewritten: bool
    """True if these are all links, replacing everything reported before."""


class LoggedLinks:
    """Links of all pages in log order. Those of the latest turns are packed."""

    def __init__(self) -> None:
        self._first, self._count = array("q"), array("i")
        """First place and number of each page's links; the number is -1 while they are packed."""
        self.sources, self.targets = array("i"), array("i")
        """Targets; a deleted link has target -1."""
        self._packed: list[tuple[int, bytes]] = []

    def bear(self, count: int) -> None:
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
        self._node = np.empty(0, dtype=np.int32)
        self._nodes = 0
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
            self._bear(born)
        if kind in _TURNS:
            self._end_turn(page, state)
            if blob is not None:
                self._spend(page, kind, blob)
        elif kind == StepKind.REOPEN and blob is not None:
            for again in unpack(blob).links:
                self._end_turn(again, State.UNREAD, keeps_links=True)

    def _bear(self, count: int) -> None:
        self._state.extend(bytes(count))
        self._links.bear(count)

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
            self._nodes, self._placed = 0, 0
            self._node, self._waiting = self._node[:0], self._waiting[:0]
        self._number()
        new = np.arange(self._placed, len(self._links.targets))
        self._placed = len(self._links.targets)
        places = np.concatenate((self._waiting, new))
        sources, targets = self._ends_of(places)
        counts = (sources != _NO_NODE) & (targets != _NO_NODE)
        self._waiting = places[~counts]
        return GraphNews(self._nodes, sources[counts], targets[counts], is_rewritten)

    def _number(self) -> None:
        """Assign numbers to new nodes."""
        unknown = np.full(len(self._state) - len(self._node), _NO_NODE, dtype=np.int32)
        self._node = np.concatenate((self._node, unknown))
        is_node = self._was_read() if self.graph_of == CRAWLED else np.ones_like(self._node, bool)
        new = np.flatnonzero(is_node & (self._node == _NO_NODE))
        self._node[new] = np.arange(self._nodes, self._nodes + len(new), dtype=np.int32)
        self._nodes += len(new)

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
