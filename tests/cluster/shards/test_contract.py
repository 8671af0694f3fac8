"""Whatever engine and nodes do, no atom is lost, doubled or made: audited after every step."""

import tempfile
from collections import Counter, defaultdict
from contextlib import ExitStack
from enum import Enum, auto
from pathlib import Path

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from minicrawl import State
from minicrawl.cluster.channels.batches import TransferBatch
from minicrawl.cluster.channels.outbox import Posting
from minicrawl.cluster.records import MOST_HOPS
from minicrawl.opic.ledger.ledger import FOREIGN, UNREAD
from minicrawl.opic.ledger.money import UNIT
from minicrawl.store import step_log
from tests.cluster.hand_shards import HandCluster, HandShard, owner_of
from tests.cluster.moving_shard import MEMORY
from tests.cluster.shards.audit import Statement, faults, under_way

SHARDS = 3
URLS = [f"http://s{number % 5}.example/{number}" for number in range(15)]
SEEDS, ENDOWMENT = URLS[:6], 2
NUMBERS = st.integers(0, SHARDS - 1)
PLACES = st.integers(0, 20)
SOME_URLS = st.lists(st.sampled_from(URLS), min_size=1, max_size=6)
EVER = 9e9
"""A time at which everything is due."""


class Kill(Enum):
    """Moment of the next commit at which its node is killed."""

    BEFORE = auto()
    AFTER = auto()


class ShardsOfOneCrawl(RuleBasedStateMachine):
    """Crawl in shards. `published` has the number of batches of each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(dir=MEMORY))
        self.cluster = HandCluster(
            Path(folder), SHARDS, self.stack, posting=Posting(transfers=2, wait_s=1)
        )
        self.cluster.seeds(SEEDS, ENDOWMENT)
        self.cluster.commit()
        self.waiting = self.cluster.on_the_way
        self.published = defaultdict[tuple[int, int], int](int)
        self.kill: Kill | None = None

    @property
    def shards(self) -> list[HandShard]:
        return self.cluster.shards

    def _commit(self, number: int) -> bool:
        """Commit what the shard has done; return False if its node was killed."""
        kill, self.kill = self.kill, None
        if kill is not Kill.BEFORE:
            self.shards[number].commit()
        if kill is not None:
            self.cluster.kill(number)
        return kill is None

    def _publish(self, batch: TransferBatch) -> None:
        channel = batch.sender, batch.receiver
        if batch.number == self.published[channel] + 1:
            self.published[channel] = batch.number
            self.waiting.append(batch)

    def _unread(self, number: int, place: int) -> str | None:
        shard = self.shards[number]
        pages = [page for page, flag in enumerate(shard.ledger.flags) if flag == UNREAD]
        return shard.url(pages[place % len(pages)]) if pages else None

    @rule(number=NUMBERS, place=PLACES, urls=SOME_URLS)
    def read(self, number: int, place: int, urls: list[str]) -> None:
        if (url := self._unread(number, place)) is not None:
            self.shards[number].read(url, [link for link in urls if link != url])
            self._commit(number)

    @rule(number=NUMBERS, place=PLACES, end=st.sampled_from(URLS))
    def redirect(self, number: int, place: int, end: str) -> None:
        if (url := self._unread(number, place)) is not None:
            shard = self.shards[number]
            known = shard.frontier.urls.find(end)
            if known is not None and shard.frontier.books.leads_to(known, shard.page(url)):
                shard.ended(url, State.BAD_REDIRECT)
            else:
                shard.moved(url, end)
            self._commit(number)

    @rule(number=NUMBERS, by=st.integers(1, SHARDS - 1), part=st.integers(0, 4))
    def send(self, number: int, by: int, part: int = 0) -> None:
        """Send what waits for another shard, and a part of the pot."""
        receiver = (number + by) % SHARDS
        pot = max(0, self.shards[number].ledger.virtual_page.pot)
        batch = self.shards[number].send(receiver, pot * part // 4)
        if batch is not None and self._commit(number):
            self._publish(batch)

    @rule(place=PLACES)
    def deliver(self, place: int) -> None:
        if self.waiting:
            self._deliver(self.waiting[place % len(self.waiting)])

    def _deliver(self, batch: TransferBatch) -> None:
        shard = self.shards[batch.receiver]
        late = shard.shard.expected(batch.sender) - batch.number
        if late == 0:
            shard.receive(batch)
        if late > 0 or (late == 0 and self._commit(batch.receiver)):
            self.waiting.remove(batch)

    @rule(number=NUMBERS)
    def publish_again(self, number: int) -> None:
        """Publish the batches that were not published, because of a kill after their commit."""
        shard = self.shards[number]
        for _, step in step_log.sendings(shard.store.connection):
            self._publish(shard.shard.batch(step))

    @rule(place=PLACES)
    def duplicate(self, place: int) -> None:
        if self.waiting:
            self.waiting.append(self.waiting[place % len(self.waiting)])

    @rule(kill=st.sampled_from(Kill))
    def kill_at_next_commit(self, kill: Kill) -> None:
        self.kill = kill

    @rule(number=NUMBERS)
    def checkpoint(self, number: int) -> None:
        self.shards[number].checkpoint()

    @rule(number=NUMBERS)
    def move(self, number: int) -> None:
        before = self.shards[number]
        self.cluster.kill(number)
        after = self.shards[number]
        assert after.ledger.totals == before.ledger.totals
        assert after.ledger.key == before.ledger.key
        assert after.statement() == before.statement()
        before_due, after_due = (sorted(one.shard.outbox.due(EVER)) for one in (before, after))
        assert after_due == before_due

    @invariant()
    def no_atom_is_lost_or_made(self) -> None:
        for shard in self.shards:
            assert shard.ledger.missing() == 0
        assert list(faults(self._statements(), self._sent_until)) == []

    @invariant()
    def a_page_is_born_once_by_the_shard_that_owns_it(self) -> None:
        own = Counter[str]()
        for number, shard in enumerate(self.shards):
            for page, flag in enumerate(shard.ledger.flags):
                url = shard.url(page)
                assert (flag == FOREIGN) == (owner_of(url, SHARDS) != number)
                own[url] += flag != FOREIGN
        assert max(own.values()) == 1
        minted = sum(shard.ledger.minted for shard in self.shards)
        assert minted == (sum(own.values()) + ENDOWMENT * len(SEEDS)) * UNIT

    @invariant()
    def the_outbox_has_what_foreign_pages_hold(self) -> None:
        for shard in self.shards:
            holding = {
                shard.owner(page)
                for page, flag in enumerate(shard.ledger.flags)
                if flag == FOREIGN
                and (shard.ledger.key[page] or page in shard.shard.channels.unsent)
            }
            assert sorted(holding) == sorted(shard.shard.outbox.due(EVER))

    def teardown(self) -> None:
        """Without kills everything that was sent arrives, and cash in circles comes to an end."""
        self.kill = None
        for _ in range(MOST_HOPS + 2):
            for number, shard in enumerate(self.shards):
                self.publish_again(number)
                while due := shard.shard.outbox.due(EVER):
                    self.send(number, due[0] - number)
            while waiting := list(self.waiting):
                for batch in waiting:
                    self._deliver(batch)
            self.no_atom_is_lost_or_made()
        assert not any(shard.shard.outbox.due(EVER) for shard in self.shards)
        assert under_way(self._statements()) == 0
        self.stack.close()

    def _statements(self) -> list[Statement]:
        return [shard.statement() for shard in self.shards]

    def _sent_until(self, sender: int, receiver: int, number: int) -> int:
        """Return the atoms that a log says were sent in the batches up to this number."""
        return sum(
            sum(step.spending.weights) + step.spending.idle
            for _, step in step_log.sendings(self.shards[sender].store.connection)
            if step.page == receiver and step.amount <= number
        )


TestShardsOfOneCrawl = ShardsOfOneCrawl.TestCase
TestShardsOfOneCrawl.settings = settings(max_examples=25, stateful_step_count=80, deadline=None)
