"""An engine in memory that fails before or after a call, and shards that use it.

The engine never forgets what it confirmed, and never appends to a log whose end is not the one that
the writer expects. A test delivers waiting batches itself: again, late, in any order.
"""

from collections import defaultdict
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from minicrawl.cluster.channels import (
    Arrival,
    BatchError,
    Posting,
    Shard,
    Transfer,
    TransferBatch,
    judge,
    pack,
    unpack,
)
from minicrawl.opic.ledger import Books, Ledger, Spending, Step, StepKind, shard_of
from minicrawl.opic.money import fixed_edge


class EngineDown(Exception):
    """The engine did not answer: the call may have been carried out or not."""


class Fenced(Exception):
    """Another node has written to the log: the shard is lost."""


class Fault(Enum):
    """Moment of the next call at which it fails."""

    BEFORE = auto()
    AFTER = auto()


class Entry(NamedTuple):
    """A transaction of a shard: the URLs that became known, and the steps."""

    urls: Sequence[Transfer]
    steps: Sequence[Step]


class FakeEngine:
    """Logs of shards, and batches that wait for their receivers."""

    def __init__(self) -> None:
        self.logs: defaultdict[int, list[Entry]] = defaultdict(list)
        self.numbers: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.waiting: defaultdict[int, list[bytes]] = defaultdict(list)
        self.fault: Fault | None = None

    def append(self, shard: int, expected: int, entry: Entry) -> None:
        self._fail(Fault.BEFORE)
        if len(self.logs[shard]) != expected:
            raise Fenced
        self.logs[shard].append(entry)
        self._fail(Fault.AFTER)

    def publish(self, batch: TransferBatch) -> None:
        """Keep the batch if it is the next one of its channel."""
        self._fail(Fault.BEFORE)
        channel = batch.sender, batch.receiver
        if batch.number == self.numbers[channel] + 1:
            self.numbers[channel] = batch.number
            self.waiting[batch.receiver].append(pack(batch))
        self._fail(Fault.AFTER)

    def acknowledge(self, receiver: int, data: bytes) -> None:
        self._fail(Fault.BEFORE)
        if data in self.waiting[receiver]:
            self.waiting[receiver].remove(data)
        self._fail(Fault.AFTER)

    def _fail(self, when: Fault) -> None:
        if self.fault is when:
            self.fault = None
            raise EngineDown


class TablePages:
    """URLs that a shard knows, its own and foreign ones. The site of `http://a/1` is `a`."""

    def __init__(self, number: int, shards: int) -> None:
        self.number, self.shards = number, shards
        self.rows: list[Transfer] = []
        self.ids: dict[str, int] = {}

    def url(self, page: int) -> str:
        return self.rows[page].url

    def depth(self, page: int) -> int:
        return self.rows[page].depth

    def owner(self, page: int) -> int:
        return self.owner_of(self.rows[page].url)

    def owner_of(self, url: str) -> int:
        return shard_of(url.split("/")[2], self.shards)

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        if any(self.owner_of(transfer.url) != self.number for transfer in transfers):
            raise BatchError("a page of another shard")
        return self.add(transfers)

    def add(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        before = len(self.rows)
        for transfer in transfers:
            if transfer.url not in self.ids:
                self.ids[transfer.url] = len(self.rows)
                self.rows.append(transfer)
        return [self.ids[transfer.url] for transfer in transfers], len(self.rows) - before


class KeptShard:
    """A shard on a node. It applies the entries of its log, and nothing else."""

    def __init__(self, engine: FakeEngine, number: int, shards: int) -> None:
        self.engine, self.number, self.seq = engine, number, 0
        self.pages = TablePages(number, shards)
        ledger = Ledger(small_edge=fixed_edge(0.25))
        books = Books(ledger, lambda _page: Spending(()))
        self.shard = Shard(number, books, self.pages, Posting(transfers=2, wait_s=1))
        for entry in engine.logs[number]:
            self.pages.add(entry.urls)
            self._apply(entry)

    @property
    def ledger(self) -> Ledger:
        return self.shard.books.ledger

    def commit(self, known: int, steps: Sequence[Step]) -> None:
        """Write the steps with the URLs after the first `known` ones, then apply them."""
        entry = Entry(self.pages.rows[known:], list(steps))
        self.engine.append(self.number, self.seq, entry)
        self._apply(entry)

    def seed(self, urls: Sequence[str], units: int) -> None:
        pages, born = self.pages.meet([Transfer(url, 0) for url in urls])
        endowed = Step(StepKind.ENDOWED, spending=Spending(pages), amount=units)
        self.commit(0, [Step(StepKind.BORN, born=born), endowed])

    def read(self, page: int, urls: Sequence[str]) -> None:
        """Commit that the page was read and has these links."""
        known = len(self.pages.rows)
        targets, steps = self._known(page, urls)
        self.commit(known, [*steps, Step(StepKind.VISIT, page, 0, Spending(sorted(targets)))])

    def redirect(self, page: int, url: str) -> None:
        known = len(self.pages.rows)
        (target,), steps = self._known(page, [url])
        is_circle = self.shard.books.leads_to(target, page)
        kind = StepKind.DEAD_END if is_circle else StepKind.FORWARD
        links = () if is_circle else (target,)
        self.commit(known, [*steps, Step(kind, page, 0, Spending(links))])

    def _known(self, page: int, urls: Sequence[str]) -> tuple[list[int], list[Step]]:
        depth = self.pages.depth(page) + 1
        links = [Transfer(url, 0, depth) for url in dict.fromkeys(urls)]
        pages, born = self.pages.add(links)
        foreign = [
            new
            for new in range(len(self.pages.rows) - born, len(self.pages.rows))
            if self.pages.owner(new) != self.number
        ]
        return pages, [
            Step(StepKind.BORN, page, born, amount=len(links)),
            Step(StepKind.FOREIGN, spending=Spending(foreign)),
        ]

    def send(self, receiver: int, of_pot: int = 0) -> None:
        step = self.shard.sending(receiver, of_pot)
        if not step.spending.links and not of_pot:
            return
        batch = self.shard.batch(step)
        self.commit(len(self.pages.rows), [step])
        self.engine.publish(batch)

    def publish_again(self) -> None:
        """Publish the batches in the log that were not published, because of a kill in between."""
        for step in sendings(self.engine.logs[self.number]):
            if step.amount > self.engine.numbers[self.number, step.page]:
                self.engine.publish(self.shard.batch(step))

    def receive(self, data: bytes) -> None:
        known = len(self.pages.rows)
        batch = unpack(data)
        arrival = judge(self.shard.channels, batch)
        if steps := self.shard.receipt(batch):
            self.commit(known, steps)
        elif arrival is Arrival.EARLY:
            return
        self.engine.acknowledge(self.number, data)

    def _apply(self, entry: Entry) -> None:
        for step in entry.steps:
            self.shard.apply(step, now=0.0)
        self.seq += 1


def sendings(log: Sequence[Entry]) -> list[Step]:
    return [step for entry in log for step in entry.steps if step.kind is StepKind.SEND]
