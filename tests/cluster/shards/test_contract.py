"""The contract of shards: whatever engine and nodes do, no atom is lost, doubled or made.

A few shards crawl a small web. Nodes are killed, take over shards, or do not know that they have
lost one. The engine fails at any call, and delivers twice, late and in any order. The cash of all
shards is audited after every step.
"""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from minicrawl.cluster.channels import MOST_HOPS, Statement, faults, under_way
from minicrawl.opic.ledger import FOREIGN, UNREAD
from minicrawl.opic.money import UNIT
from tests.cluster.shards.engine import EngineDown, FakeEngine, Fault, Fenced, KeptShard, sendings

SHARDS = 3
URLS = [f"http://site{number % 5}/{number}" for number in range(15)]
ENDOWMENT = 7
NUMBERS = st.integers(0, SHARDS - 1)
PLACES = st.integers(0, 20)
SOME_URLS = st.lists(st.sampled_from(URLS), min_size=1, max_size=6)
EVER = 9e9
"""A time at which everything is due."""


class ShardsOfOneCrawl(RuleBasedStateMachine):
    """Crawl in shards, some of which are lost.

    `kept` are the shards as their holders know them, `lost` those of nodes that do not know that
    another node has taken over.
    """

    def __init__(self) -> None:
        super().__init__()
        self.engine = FakeEngine()
        self.kept = {number: self._load(number) for number in range(SHARDS)}
        self.lost: list[KeptShard] = []
        self.endowed = 0

    def _load(self, number: int) -> KeptShard:
        return KeptShard(self.engine, number, SHARDS)

    def _try(self, number: int, work: Callable[[KeptShard], None]) -> None:
        """Do some work on a shard; if the engine does not answer, another node loads the shard."""
        try:
            work(self.kept[number])
        except EngineDown:
            self.kept[number] = self._load(number)

    def _waiting(self, number: int, place: int) -> int | None:
        flags = self.kept[number].ledger.flags
        pages = [page for page, flag in enumerate(flags) if flag == UNREAD]
        return pages[place % len(pages)] if pages else None

    # ------------------------------------------------------------ what happens

    @initialize()
    def seeds(self) -> None:
        for number, kept in self.kept.items():
            own = [url for url in URLS[:6] if kept.pages.owner_of(url) == number]
            if own:
                kept.seed(own, ENDOWMENT)
                self.endowed += ENDOWMENT

    @rule(number=NUMBERS, place=PLACES, urls=SOME_URLS)
    def read(self, number: int, place: int, urls: list[str]) -> None:
        if (page := self._waiting(number, place)) is not None:
            own = self.kept[number].pages.url(page)
            links = [url for url in urls if url != own]
            self._try(number, lambda kept: kept.read(page, links))

    @rule(number=NUMBERS, place=PLACES, url=st.sampled_from(URLS))
    def redirect(self, number: int, place: int, url: str) -> None:
        if (page := self._waiting(number, place)) is not None:
            self._try(number, lambda kept: kept.redirect(page, url))

    @rule(number=NUMBERS, place=PLACES)
    def send(self, number: int, place: int) -> None:
        if due := self.kept[number].shard.outbox.due(EVER):
            self._try(number, lambda kept: kept.send(due[place % len(due)]))

    @rule(number=NUMBERS, by=st.integers(1, SHARDS - 1), part=st.integers(1, 4))
    def level(self, number: int, by: int, part: int) -> None:
        """Pay from the pot of one shard to that of another, with or without cash for pages."""
        if (pot := self.kept[number].ledger.virtual_page.pot) > 0:
            receiver = (number + by) % SHARDS
            self._try(number, lambda kept: kept.send(receiver, pot * part // 4))

    @rule(number=NUMBERS, place=PLACES)
    def deliver(self, number: int, place: int) -> None:
        if waiting := self.engine.waiting[number]:
            data = waiting[place % len(waiting)]
            self._try(number, lambda kept: kept.receive(data))

    @rule(number=NUMBERS)
    def publish_again(self, number: int) -> None:
        self._try(number, KeptShard.publish_again)

    # ------------------------------------------------------------ what goes wrong

    @rule(number=NUMBERS, place=PLACES)
    def duplicate(self, number: int, place: int) -> None:
        if waiting := self.engine.waiting[number]:
            waiting.append(waiting[place % len(waiting)])

    @rule(fault=st.sampled_from(Fault))
    def fail_next_call(self, fault: Fault) -> None:
        self.engine.fault = fault

    @rule(number=NUMBERS)
    def move(self, number: int) -> None:
        """Load the shard on another node; the first one goes on without knowing it."""
        before = self.kept[number]
        self.kept[number] = self._load(number)
        self.lost.append(before)
        after = self.kept[number]
        assert after.ledger.totals == before.ledger.totals
        assert after.ledger.key == before.ledger.key
        assert after.shard.statement() == before.shard.statement()
        before_due, after_due = (sorted(kept.shard.outbox.due(EVER)) for kept in (before, after))
        assert after_due == before_due

    @rule(place=PLACES, urls=SOME_URLS)
    def write_without_the_shard(self, place: int, urls: list[str]) -> None:
        """A node that has lost a shard is fenced as soon as the new holder has written."""
        if not self.lost:
            return
        kept = self.lost[place % len(self.lost)]
        page = kept.ledger.flags.find(UNREAD)
        is_behind = kept.seq < len(self.engine.logs[kept.number])
        if page < 0 or not is_behind:
            return
        before = list(self.engine.logs[kept.number])
        self.engine.fault = None
        with pytest.raises(Fenced):
            kept.read(page, [url for url in urls if url != kept.pages.url(page)])
        self.lost.remove(kept)
        assert self.engine.logs[kept.number] == before

    # ------------------------------------------------------------ the laws

    @invariant()
    def no_atom_is_lost_or_made(self) -> None:
        for kept in self.kept.values():
            assert kept.ledger.missing() == 0
        assert list(faults(self._statements(), self._sent_until)) == []

    @invariant()
    def a_page_is_born_once_by_the_shard_that_owns_it(self) -> None:
        own = Counter[str]()
        for number, kept in self.kept.items():
            for page, flag in enumerate(kept.ledger.flags):
                url = kept.pages.url(page)
                assert (flag == FOREIGN) == (kept.pages.owner_of(url) != number)
                own[url] += flag != FOREIGN
        assert max(own.values(), default=0) <= 1
        minted = sum(kept.ledger.minted for kept in self.kept.values())
        assert minted == (sum(own.values()) + self.endowed) * UNIT

    @invariant()
    def the_outbox_has_what_foreign_pages_hold(self) -> None:
        for kept in self.kept.values():
            ledger = kept.ledger
            holding = [
                kept.pages.owner(page)
                for page, flag in enumerate(ledger.flags)
                if flag == FOREIGN and (ledger.key[page] or page in kept.shard.channels.unsent)
            ]
            assert sorted(set(holding)) == sorted(kept.shard.outbox.due(EVER))

    def teardown(self) -> None:
        """Without faults everything that was sent arrives, and cash in circles comes to an end."""
        self.engine.fault = None
        for _ in range(MOST_HOPS + 2):
            self._send_all()
            self._deliver_all()
            self.no_atom_is_lost_or_made()
        assert not any(kept.shard.outbox.due(EVER) for kept in self.kept.values())
        assert under_way(self._statements()) == 0

    def _send_all(self) -> None:
        for kept in self.kept.values():
            kept.publish_again()
            while due := kept.shard.outbox.due(EVER):
                kept.send(due[0])

    def _deliver_all(self) -> None:
        for number, kept in self.kept.items():
            while waiting := list(self.engine.waiting[number]):
                for data in waiting:
                    kept.receive(data)

    def _statements(self) -> list[Statement]:
        return [kept.shard.statement() for kept in self.kept.values()]

    def _sent_until(self, sender: int, receiver: int, number: int) -> int:
        """Return the atoms that a log says were sent in the batches up to this one."""
        return sum(
            sum(step.spending.weights) + step.spending.idle
            for step in sendings(self.engine.logs[sender])
            if step.page == receiver and step.amount <= number
        )


TestShardsOfOneCrawl = ShardsOfOneCrawl.TestCase
TestShardsOfOneCrawl.settings = settings(max_examples=50, stateful_step_count=80, deadline=None)
