"""A crawl in shards by hand: each shard has a store, and a test decides what happens."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from minicrawl import State
from minicrawl.cluster.channels.batches import TransferBatch
from minicrawl.cluster.channels.outbox import Posting
from minicrawl.cluster.channels.shard import Shard
from minicrawl.cluster.records import RecordError, Transfer
from minicrawl.frontier.loading import load_frontier
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.channels import Channels, shard_of
from minicrawl.opic.ledger.ledger import Ledger
from minicrawl.store.records import StepRow, StoreTerms
from minicrawl.web.sites import site
from minicrawl.web.urls import host
from tests.cluster.shards.audit import Statement, statement_of
from tests.stores import HandCrawl, urls_of


def owner_of(url: str, shards: int) -> int:
    return shard_of(site(host(url)), shards)


class HandShard(HandCrawl):
    """One shard. `send` returns its next batch for another shard, `receive` posts a batch."""

    def __init__(self, path: Path, terms: StoreTerms, posting: Posting | None = None) -> None:
        """Load the shard, as its next holder does, or begin it."""
        super().__init__(path, terms)
        found = self.frontier = load_frontier(
            self.store.connection, terms, self._spending_at, self._urls_of
        )
        found.channels = channels = found.channels or Channels()
        self._urls = urls_of(self.store.connection, range(len(found)))
        self.shard = Shard(terms.shard, found.books, self, posting, channels)
        self.shard.outbox.restore(0.0, channels.unsent)

    @property
    def ledger(self) -> Ledger:
        return self.frontier.ledger

    def statement(self) -> Statement:
        return statement_of(self.ledger, self.shard.channels)

    def url(self, page: int) -> str:
        return self._urls[page]

    def depth(self, page: int) -> int:
        return self.frontier.urls.depth[page]

    def owner(self, page: int) -> int:
        return owner_of(self._urls[page], self.terms.shards)

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        if any(owner_of(one.url, self.terms.shards) != self.terms.shard for one in transfers):
            raise RecordError("a page of another shard")
        pages, born = [], 0
        for one in transfers:
            (page,), new = self.meet_urls([one.url], one.depth)
            pages.append(page)
            born += new
        return pages, born

    def send(self, receiver: int, of_pot: int = 0) -> TransferBatch | None:
        """Return the next batch for the receiver, or None if there is nothing to send."""
        step = self.shard.sending(receiver, of_pot)
        if not step.spending.links and not of_pot:
            return None
        batch = self.shard.batch(step)
        self.take_step(step)
        return batch

    def receive(self, batch: TransferBatch) -> None:
        assert batch.number == self.shard.expected(batch.sender)
        for step in self.shard.receipt(batch):
            state = State.BAD_REDIRECT if step.kind is StepKind.DEAD_END else State.UNREAD
            self.take_step(step, state)

    def meet_urls(self, urls: Iterable[str], depth: int) -> tuple[list[int], int]:
        named = list(urls)
        pages, born = super().meet_urls(named, depth)
        self._urls.update(zip(pages, named, strict=True))
        return pages, born

    def take_step(self, step: Step, state: int = 0) -> None:
        """Post the step, after steps that make its new pages known, foreign ones as such."""
        if step.born and step.kind is not StepKind.RECEIVE:
            known = len(self.frontier)
            self._post(Step(StepKind.BORN, step.page, step.born), State.UNREAD)
            foreign = [
                page
                for page in range(known, known + step.born)
                if self.owner(page) != self.terms.shard
            ]
            if foreign:
                self._post(Step(StepKind.FOREIGN, spending=Spending(foreign)), State.UNREAD)
            step = step._replace(born=0)
        if step.kind is not StepKind.BORN:
            self._post(step, state)

    def _post(self, step: Step, state: int) -> None:
        row = StepRow(self.frontier.last_seq + 1, state, step)
        self._spendings[row.seq] = step.spending
        self.shard.saw(step, self.frontier.apply(row), 0.0)
        self.batch.steps.append(row)


class HandCluster:
    """All shards of a crawl, and the batches under way between them."""

    def __init__(
        self,
        folder: Path,
        shards: int,
        stack: ExitStack,
        terms: StoreTerms | None = None,
        posting: Posting | None = None,
    ) -> None:
        self.folder = folder
        self.paths = [folder / f"shard-{number:02}" / "crawl.db" for number in range(shards)]
        terms, self._posting = replace(terms or StoreTerms(), shards=shards), posting
        self.shards = [
            HandShard(path, replace(terms, shard=number), posting)
            for number, path in enumerate(self.paths)
        ]
        self.on_the_way: list[TransferBatch] = []
        stack.callback(self._close)

    def _close(self) -> None:
        for shard in self.shards:
            shard.close()

    def kill(self, number: int) -> None:
        """Kill the holder of a shard, and let another one load what is committed."""
        killed = self.shards[number]
        killed.store.close()
        self.shards[number] = HandShard(killed.path, killed.terms, self._posting)

    def of(self, url: str) -> HandShard:
        return self.shards[owner_of(url, len(self.shards))]

    def seeds(self, urls: Sequence[str], endowment: int = 0) -> None:
        """Give each shard its own seeds, with `endowment` units for each of them."""
        for shard in self.shards:
            own = [url for url in urls if self.of(url) is shard]
            if own:
                shard.seeds(own, endowment * len(own))

    def knows(self, url: str) -> bool:
        return self.of(url).frontier.urls.find(url) is not None

    def waiting_for(self, url: str) -> int:
        """Return the atoms that shards hold for a page of another one."""
        holders = [one for one in self.shards if one is not self.of(url)]
        pages = ((one, one.frontier.urls.find(url)) for one in holders)
        return sum(one.ledger.key[page] for one, page in pages if page is not None)

    def send_all(self, of_pot: int = 0) -> None:
        """Let every shard send what waits for the others, and up to `of_pot` atoms of its pot."""
        for number, shard in enumerate(self.shards):
            for receiver in range(len(self.shards)):
                if receiver == number:
                    continue
                pot = min(of_pot, max(0, shard.frontier.ledger.virtual_page.pot))
                if (batch := shard.send(receiver, pot)) is not None:
                    self.on_the_way.append(batch)

    def deliver(self, most: int | None = None) -> None:
        """Deliver the first batches under way, or all."""
        end = len(self.on_the_way) if most is None else most
        arrived, self.on_the_way = self.on_the_way[:end], self.on_the_way[end:]
        for batch in arrived:
            self.shards[batch.receiver].receive(batch)

    def settle(self) -> None:
        while True:
            self.send_all()
            if not self.on_the_way:
                return
            self.deliver()

    def commit(self) -> None:
        for shard in self.shards:
            shard.commit()
