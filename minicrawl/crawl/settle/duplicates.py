"""Pages of different sites with the same content: decides which of them is the original.

Laws: a seed is an original. Otherwise the original is the page that gets more cash from other
sites; if both get the same, the page on the host that gets more; if the hosts are equal, too, the
page that was read first. The decision is made again when the order changes: a copy that has
overtaken its original waits again, and is compared when it is read. So a copy takes nothing from
its original, whichever is read first. A decision costs one request, and the number of decisions
per page is limited. Until the decision, cash that links give to a copy counts for the copy.

copy       page that stands for one of another site, by its content or by a rule about its host
twin       copy by such a rule, never read
overtake   get more than the original, by a margin
strangers  pages of different sites
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.admission.inbound_cash import MARGIN, InboundCash
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import PageId
from minicrawl.opic.ledger.books import StepKind
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.money import UNIT
from minicrawl.states import State
from minicrawl.store.step_log import Spendings
from minicrawl.store.stored_links import is_plain, unpack, unpack_plain

MOST_COPIES = 1 << 16
"""Limit of watched copies; above it, the half that was given least is dropped."""
MOST_DECISIONS = 4
MOST_AT_ONCE = 500
"""Limit of copies, and of twins, reopened at once: the crawl waits for a query for each."""
_COPY_STATES = frozenset((State.ALIAS, State.TWIN))

Numbers = NDArray[np.int64]


class Duplicates:
    """Chooses originals among duplicates, and watches copies that may overtake them."""

    def __init__(self, frontier: Frontier, inbound_cash: InboundCash, seeds: set[int]) -> None:
        """Set up; `inbound_cash` tells what other sites gave to pages and hosts."""
        self._frontier, self._inbound_cash, self._seeds = frontier, inbound_cash, seeds
        self._original_of: dict[int, int] = {}
        self._twin_hosts: dict[int, int] = {}  # host of twins -> host of their originals
        self._decisions: dict[int, int] = {}
        self.compared: set[int] = set()
        """Pages that were read before and wait only for a new comparison."""
        for page in self._copies_among(frontier.books.forwards):
            self._watch(page, frontier.books.forwards[page])

    def are_strangers(self, page: PageId, other: int) -> bool:
        host_of = self._frontier.urls.host_of
        return self._inbound_cash.site_index.are_strangers(host_of[page], host_of[other])

    def _is_copy(self, page: PageId, target: int) -> bool:
        return self._frontier.state[page] in _COPY_STATES and self.are_strangers(page, target)

    def _copies_among(self, pages: Iterable[int]) -> Iterator[int]:
        forwards = self._frontier.books.forwards
        return (page for page in pages if self._is_copy(page, forwards[page]))

    def is_better(self, page: PageId, first: int) -> bool:
        if not self.are_strangers(page, first):
            return False
        given, to_hosts = self._inbound_cash.from_strangers(np.array((page, first)))
        mine, other = zip(given.tolist(), to_hosts.tolist(), strict=True)
        return (page in self._seeds, *mine) > (first in self._seeds, *other)

    def note_copy(self, page: PageId, target: int) -> None:
        """Note that the page now stands for the target, and watch it if it is a copy."""
        self.forget_copy(page)
        if self._is_copy(page, target):
            self._watch(page, target)

    def forget_copy(self, page: PageId) -> None:
        """Note that the page had its turn and is no copy at present."""
        self.compared.discard(page)
        self._original_of.pop(page, None)

    def swap(self, page: PageId, first: int) -> None:
        """Move the decision count of the page, now an original, to `first`, now its copy."""
        if decisions := self._decisions.pop(page, 0):
            self._decisions[first] = decisions

    def _watch(self, page: PageId, target: int) -> None:
        if self._frontier.state[page] == State.TWIN:
            host_of = self._frontier.urls.host_of
            if len(self._twin_hosts) < MOST_COPIES:
                self._twin_hosts[host_of[page]] = host_of[target]
            return
        self._original_of[page] = target
        if len(self._original_of) > MOST_COPIES:
            copies = _numbers(self._original_of)
            given, _ = self._inbound_cash.from_strangers(copies)
            for copy in copies[np.argsort(given, kind="stable")[: MOST_COPIES // 2]].tolist():
                del self._original_of[copy]

    def take_overtaking(self) -> list[int]:
        """Remove and return copies to reopen, as they now get more than their originals."""
        pages = list[int]()
        if self._original_of:
            copies = _numbers(self._original_of)
            ends = _numbers(map(self._frontier.books.stands_for, self._original_of.values()))
            given, to_hosts = self._inbound_cash.from_strangers(copies)
            held, held_by_hosts = self._inbound_cash.from_strangers(ends)
            overtakes = (given > MARGIN * held) | np.isin(copies, list(self._seeds))
            overtakes |= (given == held) & (to_hosts > MARGIN * held_by_hosts)
            chosen = copies[overtakes].tolist()
            for page in chosen:
                end, decisions = self._frontier.books.stands_for(page), self._decisions.get(page, 0)
                is_settled = end in self._seeds or decisions >= MOST_DECISIONS
                if self._frontier.state[page] == State.ALIAS and not is_settled:
                    pages.append(page)
            del pages[MOST_AT_ONCE:]
        if len(self._decisions) > MOST_COPIES:
            self._decisions.clear()
        for page in pages:
            self._decisions[page] = self._decisions.get(page, 0) + 1
            del self._original_of[page]
        self.compared.update(pages)
        return sorted([*pages, *self._take_twins()])

    def _take_twins(self) -> list[int]:
        """Remove and return some twins whose host now gets more than their original's."""
        pairs = self._twin_hosts.items()
        chosen = {host for host, other in pairs if self._inbound_cash.overtakes(host, other)}
        if not chosen:
            return []
        hosts = np.frombuffer(self._frontier.urls.host_of, dtype=np.uint32)
        is_twin = (self._frontier.states() == State.TWIN) & np.isin(hosts, list(chosen))
        pages = list(self._copies_among(np.flatnonzero(is_twin).tolist()))
        if len(pages) <= MOST_AT_ONCE:
            for host in chosen:
                del self._twin_hosts[host]
        return pages[:MOST_AT_ONCE]

    def gifts_of(self, plan: Plan, links: Sequence[int]) -> list[tuple[int, int]]:
        """Return pairs of page and atoms: credits to copies, and deductions from their originals.

        An original keeps its amount if other links of the plan lead to it as well.
        """
        books = self._frontier.books
        detours = [link for link in links if link in books.forwards]
        receivers = {link: self._receiver(link) for link in detours}
        ends = {receiver: books.stands_for(receiver) for receiver in receivers.values()}
        copies = {copy: end for copy, end in ends.items() if copy != end}
        if not copies:
            return []
        amounts = dict.fromkeys(plan.links, plan.share) | dict(plan.extras)
        reached = ends.keys() | set(links)
        lost = {end for end in copies.values() if end not in reached and end in amounts}
        return [
            *((copy, amounts[end]) for copy, end in copies.items() if end in amounts),
            *((end, -amounts[end]) for end in lost),
        ]

    def _receiver(self, link: int) -> int:
        """Return the page that a link leads to, stopping at the first copy."""
        forwards = self._frontier.books.forwards
        while (target := forwards.get(link)) is not None and not self._is_copy(link, target):
            link = target
        return link

    def load_gifts(self, blocks: Iterable[Spendings]) -> None:
        """Estimate what earlier runs gave to pages: spread histories along the last links."""
        frontier = self._frontier
        ends = np.arange(len(frontier), dtype=np.uint32)
        for page in frontier.books.forwards:
            ends[page] = self._receiver(page)
        for block in blocks:
            givers = block.only(~np.isin(frontier.states()[block.pages], tuple(_COPY_STATES)))
            are_plain = np.fromiter(map(is_plain, givers.blobs), dtype=np.bool_)
            for part in (givers.only(are_plain), givers.only(~are_plain)):
                if part.blobs:
                    self._load_block(part, ends)

    def _load_block(self, block: Spendings, ends: NDArray[np.uint32]) -> None:
        """Load spendings whose links, without weights, are all plain or none of them."""
        if is_plain(block.blobs[0]):
            counts, links = unpack_plain(block.blobs)
        else:
            rows = [unpack(blob).links for blob in block.blobs]
            counts, links = _numbers(map(len, rows)), _numbers(chain.from_iterable(rows))
        frontier = self._frontier
        pots = np.where(block.kinds == StepKind.FORWARD, 1, 1 - frontier.small_edge) * UNIT
        atoms = frontier.window.histories(block.pages) * pots / np.maximum(counts, 1)
        hosts = np.frombuffer(frontier.urls.host_of, dtype=np.uint32)[block.pages]
        self._inbound_cash.recall(ends[links], hosts, counts, atoms.astype(np.int64))


def _numbers(pages: Iterable[int]) -> Numbers:
    return np.fromiter(pages, dtype=np.int64)
