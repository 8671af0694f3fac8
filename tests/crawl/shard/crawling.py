"""A crawl of the demo web in shards, all of them in this process."""

import asyncio
from pathlib import Path
from random import Random

from minicrawl.app import Crawl
from minicrawl.config import Loaded, Settings
from minicrawl.crawl.events import Reason
from minicrawl.crawl.shard.exchange import ShardSetup
from minicrawl.demo.server import DemoServer
from minicrawl.demo.settings import demo_settings
from minicrawl.demo.web import DemoWeb
from minicrawl.shards.outbox import Posting
from minicrawl.shards.owners import ShardPlace
from tests.crawl.shard.exchange import FakeExchanges

QUICK = Posting(transfers=50, wait_s=0.05)


class ShardedCrawl:
    """Crawls of all shards, with their stores in a folder."""

    def __init__(self, folder: Path, shards: int, web: DemoWeb, server: DemoServer) -> None:
        self._folder, self.shards, self._web, self._server = folder, shards, web, server
        self.exchanges = FakeExchanges(shards, chance=Random(7))

    def store(self, shard: int) -> Path:
        return self._folder / f"shard-{shard}" / "crawl.db"

    def settings(self, shard: int) -> Settings:
        given = Settings.of(store=str(self.store(shard)), workers=0)
        names = {"store": "--store", "workers": "--workers"}
        loaded = Loaded.of(given)
        origins = loaded.origins | names
        loaded = Loaded(settings=given, origins=origins)
        return demo_settings(loaded, 1_000_000, self._server.address).settings

    def crawl(self, shard: int) -> Crawl:
        place, exchange = ShardPlace(shard, self.shards), self.exchanges.of(shard)
        setup = ShardSetup(place, exchange, posting=QUICK, tell_s=0.05)
        return Crawl(self._web.seeds, self.settings(shard), shard=setup)

    async def run(self) -> list[Reason]:
        crawls = [self.crawl(shard) for shard in range(self.shards)]
        return await asyncio.gather(*(crawl.run_async() for crawl in crawls))
