"""A crawl in shards that all run in this process, and readers of their stores."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

from minicrawl import Crawl, Reason, Settings, State
from minicrawl.cluster.channels.outbox import Posting
from minicrawl.cluster.conclusions import fetched_together, has_ended
from minicrawl.cluster.records import ShardFacts
from minicrawl.cluster.traffic.exchange import BatchExchange
from minicrawl.cluster.traffic.local_shard import ClusterShard
from minicrawl.demo.server import DemoServer
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.ledger.books import StepKind
from minicrawl.opic.ledger.channels import Channels, ShardPlace
from minicrawl.report.snapshot import unproven
from minicrawl.store import step_log, tables
from minicrawl.store.reader import reading
from tests.cluster.fake_engine import FakeEngine, FakeServers
from tests.cluster.shards.audit import Statement, statement_of
from tests.limits import settings_of

QUICK = Posting(transfers=50, wait_s=0.02, again_s=0.2)
TELL_S = 0.05
PATIENCE_S = 240.0
RUN = 1


class ShardExchange(BatchExchange):
    """Exchange of one holder of a shard, without a node: it finds out itself when all is over."""

    def __init__(self, crawl: "ShardedCrawl", place: ShardPlace) -> None:
        super().__init__(FakeEngine(crawl.servers), place, RUN)
        self._crawl = crawl
        self.until, self.is_halted = inf, False
        self.stop: Callable[[], None]

    async def tell(self, facts: ShardFacts, *, are_last: bool = False) -> None:
        if not are_last:  # each shard must find out by itself that all are idle
            self._crawl.told[facts.shard] = facts
            await super().tell(facts)
            told, budget = self._crawl.told, self._crawl.budget
            is_spent = budget is not None and fetched_together(told) >= budget
            if is_spent or has_ended(told, self._crawl.shards):
                self.stop()


class ShardedCrawl:
    """Crawls of all shards over unruly servers, with their stores in a folder."""

    def __init__(
        self, folder: Path, server: DemoServer, seeds: Sequence[str], shards: int, **settings: Any
    ) -> None:
        self.folder, self.shards, self.seeds = folder, shards, seeds
        self.servers = FakeServers(seed=7)
        self.budget: int | None = None
        self.told: dict[int, ShardFacts] = {}
        self.held: dict[int, ShardExchange] = {}
        self._listening: list[asyncio.Task[None]] = []
        self._settings: dict[str, Any] = {
            "workers": 0,
            "delay": 0,
            "barren_pages": "none",
            "max_delay_s": 0.01,
            "max_pause_s": 0.05,
            "endowment": 100,
            "per_address": 64,
            "resolve": [f"*={server.address}"],
            "allow_private": True,
            "proxy": "none",
            "deny": ["calendar[.]"],  # endless, so that the pages read depend on the order
        } | settings

    @property
    def stores(self) -> list[Path]:
        return [self.store(shard) for shard in range(self.shards)]

    def store(self, shard: int) -> Path:
        return self.folder / f"shard-{shard}" / "crawl.db"

    def settings(self, store: Path) -> Settings:
        return settings_of(**self._settings, store=str(store))

    def crawl(self, shard: int) -> Crawl:
        """Return the crawl of a new holder of the shard, which begins or resumes it."""
        place = ShardPlace(shard, self.shards)
        exchange = self.held[shard] = ShardExchange(self, place)
        self._listening.append(asyncio.create_task(exchange.listen()))
        setup = ClusterShard(
            place,
            exchange,
            FakeEngine(self.servers),
            1,
            posting=QUICK,
            tell_s=TELL_S,
            tells_importance="until" in self._settings,
        )
        crawl = Crawl(self.seeds, self.settings(self.store(shard)), shard=setup)
        exchange.stop = crawl.stop
        return crawl

    async def run(self) -> list[Reason]:
        crawls = [self.crawl(shard) for shard in range(self.shards)]
        async with asyncio.timeout(PATIENCE_S):
            return await asyncio.gather(*(crawl.run_async() for crawl in crawls))

    async def run_alone(self) -> Path:
        store = self.folder / "alone.db"
        async with asyncio.timeout(PATIENCE_S):
            await Crawl(self.seeds, self.settings(store)).run_async()
        return store


@contextmanager
def frontier_of(store: Path) -> Iterator[tuple[Frontier, list[str]]]:
    with reading(store) as connection:
        frontier = unproven(store, connection)
        yield frontier, list(tables.urls_of(connection, range(len(frontier))))


def statements_of(stores: Sequence[Path]) -> list[Statement]:
    found = []
    for store in stores:
        with frontier_of(store) as (frontier, _):
            found.append(statement_of(frontier.ledger, frontier.channels or Channels()))
    return found


def sent_until(stores: Sequence[Path], sender: int, receiver: int, number: int) -> int:
    """Return the atoms that the sender's log says were sent in the batches up to this one."""
    with reading(stores[sender]) as connection:
        return sum(
            sum(step.spending.weights) + step.spending.idle
            for _, step in step_log.sendings(connection)
            if step.page == receiver and step.amount <= number
        )


def states_of(stores: Sequence[Path]) -> dict[str, State]:
    found: dict[str, State] = {}
    for store in stores:
        with frontier_of(store) as (frontier, urls):
            own = {
                url: State(state)
                for url, state in zip(urls, frontier.state, strict=True)
                if state != State.FOREIGN
            }
        assert not found.keys() & own.keys(), "two shards own a page"
        found |= own
    return found


def links_of(stores: Sequence[Path]) -> dict[str, list[str]]:
    """Return the receivers of each page's cash: its links, or the page that it stands for."""
    found: dict[str, list[str]] = {}
    for store in stores:
        with frontier_of(store) as (frontier, urls):
            ends = ((page, frontier.spendings.of(page).links) for page in range(len(frontier)))
            found |= {
                urls[page]: sorted(urls[link] for link in links) for page, links in ends if links
            }
    return found


def kinds_of(store: Path) -> set[StepKind]:
    with reading(store) as connection:
        return {row.step.kind for row in step_log.steps_after(connection, 0)}
