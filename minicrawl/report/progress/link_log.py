"""Growth of a crawl's link graph, read from the log of its store.

Laws: a link counts once both its ends were crawled, in either order; in the graph of all known
pages, once its source was. A redirect is not a link. A link to a page that was not crawled and
redirects leads to the first crawled page behind it. Nodes are numbered as they appear, and a page
that is gone has its number again if it comes back. What was reported remains true unless
`is_rewritten`: a page that was read again may have lost links, and one that was reopened is no
longer crawled; then all links are reported, and the graph is changed by the difference.

Each link takes 8 bytes, and 8 more until it counts; each page takes 29.
"""

from array import array
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import CRAWLED, KNOWN
from minicrawl.opic.ledger.books import Spending, StepKind
from minicrawl.states import READ_STATES
from minicrawl.store import step_log, tables
from minicrawl.store.stored_links import is_plain, pack, unpack, unpack_written

_TURNS = frozenset((StepKind.VISIT, StepKind.FORWARD, StepKind.DEAD_END))
_OF_MANY = frozenset((StepKind.REOPEN, StepKind.REFUSE))
_NO_LINK, _NO_NODE = -1, -1
Ids = NDArray[np.int64]
GraphNews = tuple[NDArray[np.bool_], Ids, Ids, bool]


class LoggedLinks:
    """Links of all pages in log order; the links of the latest turns are still packed."""

    def __init__(self) -> None:
        self._first, self._count = array("q"), array("i")
        """First place and number of each page's links; the number is -1 while they are packed."""
        self.sources, self.targets = array("i"), array("i")
        """Ends of the links; a deleted link has target -1."""
        self._packed: list[tuple[int, bytes]] = []

    def add_pages(self, count: int) -> None:
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
        """Read the log on, to its end or to step `until`. Return the changes of the graph.

        They are, for each number, whether its page is a node now, and the sources and targets of
        the links that count since the last update: of all links, if the last value is True.
        """
        last = tables.last_step(connection) if until is None else until
        for rows in step_log.log_after(connection, self.step, last):
            for row in rows:
                _, kind, page, state, born, blob = row
                if born:
                    self._state.extend(bytes(born))
                    self._links.add_pages(born)
                if kind in _TURNS:
                    self._end_turn(page, state)
                    if blob is not None:
                        if kind == StepKind.FORWARD:
                            spending = unpack(blob)
                            self._forwards[page] = spending.links[0]
                            blob = pack(Spending(spending.unpaid, self_link=spending.self_link))
                        self._links.spend(page, blob)
                elif kind in _OF_MANY and blob is not None:
                    for reopened in unpack(blob).links:
                        self._end_turn(reopened, state, keeps_links=True)
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

    def _end_turn(self, page: int, state: int, *, keeps_links: bool = False) -> None:
        """Set the state of a page, discarding what its last turn did."""
        was_forward = self._forwards.pop(page, None) is not None
        if self._state[page] in READ_STATES or was_forward:
            self._is_rewritten = True
        self._state[page] = state
        if (not keeps_links or was_forward) and self._links.remove(page):
            self._is_rewritten |= self.graph_of == KNOWN

    def _news(self) -> GraphNews:
        is_rewritten, self._is_rewritten = self._is_rewritten, False
        if is_rewritten:
            self._placed, self._waiting = 0, self._waiting[:0]
        is_node = self._give_numbers()
        new = np.arange(self._placed, len(self._links.targets))
        self._placed = len(self._links.targets)
        places = np.concatenate((self._waiting, new))
        targets = np.frombuffer(self._links.targets, dtype=np.int32)[places]
        is_link = targets != _NO_LINK
        node_of = self._node[self._first_nodes()] if len(self._node) else self._node
        ends = np.full(len(places), _NO_NODE, dtype=np.int64)
        ends[is_link] = node_of[targets[is_link]]
        starts = np.frombuffer(self._links.sources, dtype=np.int32)[places]
        sources = self._node[starts].astype(np.int64)
        counts = (sources != _NO_NODE) & (ends != _NO_NODE)
        self._waiting = places[~counts]
        return is_node, sources[counts], ends[counts], is_rewritten

    def _give_numbers(self) -> NDArray[np.bool_]:
        """Assign numbers to new nodes. Return, for each number, whether its page is a node."""
        unknown = np.full(len(self._state) - len(self._number), _NO_NODE, dtype=np.int32)
        self._number = np.concatenate((self._number, unknown))
        is_node = (
            np.isin(self.states, READ_STATES)
            if self.graph_of == CRAWLED
            else np.ones_like(self._number, bool)
        )
        new = np.flatnonzero(is_node & (self._number == _NO_NODE))
        self._number[new] = np.arange(self._numbers, self._numbers + len(new), dtype=np.int32)
        self._numbers += len(new)
        self._node = np.where(is_node, self._number, np.int32(_NO_NODE))
        has_node = np.zeros(self._numbers, dtype=np.bool_)
        has_node[self._number[is_node]] = True
        return has_node

    def _first_nodes(self) -> Ids:
        """Return each page, or the first node that it redirects to."""
        ends = np.arange(len(self._state))
        pairs = np.fromiter(chain.from_iterable(self._forwards.items()), dtype=np.int64)
        pages, targets = pairs.reshape(-1, 2)[self._node[pairs[::2]] == _NO_NODE].T
        ends[pages] = targets
        while (further := ends[ends[pages]]).tobytes() != ends[pages].tobytes():
            ends[pages] = further
        return ends
