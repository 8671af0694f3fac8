"""A crawl as it goes on: what is shown to those who watch it.

activity  the busiest hosts, the latest requests, and how many there were over time
growth    the graph of a crawl, followed through the log of its store
sampling  samples of its figures, by a process of its own
sampling_process  starts that process, and reads its last sample
history   the same for a crawl that nobody watched, made again from its log
"""

from array import array
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import CRAWLED, KNOWN, READ_STATES, State
from minicrawl.opic.journal import Spending, StepKind
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions, tables
from minicrawl.store import questions as fetches
from minicrawl.store.blobs import is_plain, pack, unpack, unpack_written
from minicrawl.store.questions import LoggedRequest
from minicrawl.store.reader import reading
from minicrawl.store.records import reporting_damage

# ================================================================ activity
#
# What a crawl is doing: its busiest hosts, its latest requests, and how many in each span of time.
#
# Law: a request that was read once is not read again. A reader goes on from the last one that it
# knows.

WIDTH_S = 1.0
MOST_SPANS = 1200
"""When there are more, two neighbours become one."""


# ---------------------------------------------------------------- hosts


class HostPages(NamedTuple):
    """A host with its pages. `until` is when a pause that it asked for ends, 0 without one."""

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
    """The hosts with most pages that were read, then with most that are known."""
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
    """The last `count` requests after the one with this id, in order."""
    with reading(path) as connection, reporting_damage(path):
        return fetches.requests_after(connection, last, count)


class RequestHistory:
    """Requests, failures and bytes by time, for a curve. It grows with each `read`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last, self._width_s = 0, WIDTH_S
        self._spans: dict[int, tuple[int, int, int]] = {}

    def read(self) -> None:
        """Read what is new."""
        with reading(self._path) as connection, reporting_damage(self._path):
            found = fetches.requests_by_time(connection, self._last, self._width_s)
        for row in found:
            self._add(row.span, (row.requests, row.failed, row.wire_bytes))
            self._last = max(self._last, row.last)
        while len(self._spans) > MOST_SPANS:
            self._width_s *= 2
            spans, self._spans = self._spans, {}
            for span, counts in spans.items():
                self._add(span // 2, counts)

    def sums(self) -> Iterator[tuple[float, int, int, int]]:
        """The time at the end of each span, and what came until then."""
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
# The link graph of a crawl as it grows, read from the log of its store.
#
# Laws: a link counts when both its ends were crawled, whichever came first; in the graph of all
# that is known, when its source was. A redirect is no link. One to a page that was not crawled and
# redirects leads to the first one behind it that was. Nodes are numbered in the order in which they
# come. What was told once stays true, but for `is_rewritten`: a page that was read anew may have
# lost links, and one that waits again is not crawled; then all is told from the beginning.
#
# Each link costs 8 bytes, and 8 more until it counts; each page 29.

_TURNS = frozenset((StepKind.VISIT, StepKind.FORWARD, StepKind.DEAD_END))
_NO_LINK, _NO_NODE = -1, -1
Ids = NDArray[np.int64]


class GraphNews(NamedTuple):
    """How many nodes there are now, and the links that count since the last time."""

    nodes: int
    sources: Ids
    targets: Ids
    is_rewritten: bool
    """These are all links; what was told before does not hold any more."""


class LoggedLinks:
    """The links of all pages, in the order in which they came. Those of a turn are packed first."""

    def __init__(self) -> None:
        self._first, self._count = array("q"), array("i")
        """Of each page where its links are, and how many; -1 while they are packed."""
        self.sources, self.targets = array("i"), array("i")
        """The target of a link that is no more is -1."""
        self._packed: list[tuple[int, bytes]] = []

    def bear(self, count: int) -> None:
        """So many pages became known."""
        self._first.frombytes(bytes(8 * count))
        self._count.frombytes(bytes(4 * count))

    def spend(self, page: int, blob: bytes) -> None:
        """These are the links of the page, packed. It has no others."""
        self._packed.append((page, blob))
        self._count[page] = _NO_LINK

    def remove(self, page: int) -> bool:
        """The page has no links any more; whether it had any."""
        if self._count[page] < 0:
            self.unpack()
        first, count = self._first[page], self._count[page]
        for place in range(first, first + count):
            self.targets[place] = _NO_LINK
        self._count[page] = 0
        return count > 0

    def unpack(self) -> None:
        """The links of the turns that were read last."""
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
    """The links of a store up to a step."""

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
        """Read the log on, up to its end or to this step; what is new in the graph."""
        last = tables.last_step(connection) if until is None else until
        for rows in questions.log_after(connection, self.step, last):
            for row in rows:
                self._apply(row)
            self._links.unpack()
        self.step = max(self.step, last)
        return self._news()

    def __len__(self) -> int:
        """The pages that are known."""
        return len(self._state)

    @property
    def states(self) -> NDArray[np.uint8]:
        """The state of each page; a view: let go of it before the log is read on."""
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
        """Whatever the page was before it is no more."""
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

    # ------------------------------------------------------------ what counts

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
        """Give numbers to the nodes that are new."""
        unknown = np.full(len(self._state) - len(self._node), _NO_NODE, dtype=np.int32)
        self._node = np.concatenate((self._node, unknown))
        is_node = self._was_read() if self.graph_of == CRAWLED else np.ones_like(self._node, bool)
        new = np.flatnonzero(is_node & (self._node == _NO_NODE))
        self._node[new] = np.arange(self._nodes, self._nodes + len(new), dtype=np.int32)
        self._nodes += len(new)

    def _ends_of(self, places: Ids) -> tuple[Ids, Ids]:
        """The nodes of these links; _NO_NODE for an end that is none."""
        targets = np.frombuffer(self._links.targets, dtype=np.int32)[places]
        is_link = targets != _NO_LINK
        node_of = self._node[self._first_nodes()] if len(self._node) else self._node
        ends = np.full(len(places), _NO_NODE, dtype=np.int64)
        ends[is_link] = node_of[targets[is_link]]
        sources = np.frombuffer(self._links.sources, dtype=np.int32)[places]
        return self._node[sources].astype(np.int64), ends

    def _first_nodes(self) -> Ids:
        """For each page itself, or the first node behind it."""
        ends = np.arange(len(self._state))
        pairs = np.fromiter(chain.from_iterable(self._forwards.items()), dtype=np.int64)
        pages, targets = pairs.reshape(-1, 2)[self._node[pairs[::2]] == _NO_NODE].T
        ends[pages] = targets
        while (further := ends[ends[pages]]).tobytes() != ends[pages].tobytes():
            ends[pages] = further
        return ends
