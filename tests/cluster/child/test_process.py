"""What the child process of a shard does as its node says."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from minicrawl.cluster.child import ShardChild, settings_of_shard
from minicrawl.cluster.engine import ClusterAccess
from minicrawl.cluster.node.supervisor import ShardCommand, ShardJob, ShardOrders
from minicrawl.config.values import folder_and_name
from minicrawl.crawl.events import Warned


@pytest.mark.parametrize(("given", "name"), [("/there", "crawl-03"), ("news=/there", "news-03")])
def test_the_warc_files_of_each_shard_have_names_of_their_own(given: str, name: str) -> None:
    job = ShardJob(
        shard=3,
        shards=8,
        run=1,
        access=ClusterAccess("nats://127.0.0.1"),
        generation=1,
        folder=Path(),
        settings={"pages": 5},
        own_settings={"warc": given},
        seeds="seeds",
    )
    storing = settings_of_shard(job, Path("crawl.db")).settings.storing
    assert folder_and_name(storing.warc or "") == (Path("/there"), name)


@pytest.mark.parametrize(("free", "is_stopped"), [(100, True), (1 << 30, False)])
def test_a_crawl_waits_for_room_at_the_servers_and_leaves_a_full_disk(
    free: int, is_stopped: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def warned() -> bool:
        stopped = asyncio.Event()
        child = ShardChild()
        storing = SimpleNamespace(store=tmp_path / "crawl.db")
        crawl: Any = SimpleNamespace(stop=stopped.set, settings=SimpleNamespace(storing=storing))
        child._crawl = crawl
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
        child._warn(Warned(text="no room"))
        assert child._warnings.empty() == stopped.is_set()
        return stopped.is_set()

    assert asyncio.run(warned()) == is_stopped


def test_the_first_order_counts_even_if_it_is_for_no_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A shard may have begun with others, if somebody wished for none at that moment."""

    async def steering() -> dict[str, object]:
        child, exchange = ShardChild(), SimpleNamespace(is_halted=False)
        wanted = asyncio.get_running_loop().create_future()

        async def set_in_crawl(_crawl: object, values: dict[str, object]) -> None:
            wanted.set_result(values)

        monkeypatch.setattr(child, "_set", set_in_crawl)
        orders: Any = ShardOrders(workers=0)
        child._hear((1, ShardCommand.STEER, orders))
        steer = asyncio.create_task(child._steer(cast(Any, None), cast(Any, exchange)))
        try:
            return cast(dict[str, object], await wanted)
        finally:
            steer.cancel()

    assert asyncio.run(asyncio.wait_for(steering(), 60)) == {"workers": 0}


def test_pages_that_are_given_back_are_not_fetched_by_an_order_from_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The order of 60 pages is being carried out when 10 of them are given back."""

    async def steering() -> list[tuple[object, bool]]:
        child, exchange, ended = ShardChild(), SimpleNamespace(is_halted=True), asyncio.Event()
        seen: list[tuple[object, bool]] = []

        async def set_in_crawl(_crawl: object, values: dict[str, object]) -> None:
            seen.append((values["pages"], exchange.is_halted))
            if values["pages"] == 60:
                exchange.is_halted = True
                child._orders = replace(cast(ShardOrders, child._orders), pages=50)
                child._has_news.set()
            else:
                ended.set()

        monkeypatch.setattr(child, "_set", set_in_crawl)
        orders: Any = ShardOrders(pages=60)
        child._hear((1, ShardCommand.STEER, orders))
        steer = asyncio.create_task(child._steer(cast(Any, None), cast(Any, exchange)))
        await ended.wait()
        steer.cancel()
        return seen

    assert asyncio.run(steering()) == [(60, True), (50, True)]


def test_nothing_is_asked_for_before_it_is_known_how_many_pages_are_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The order of 60 pages was carried out while the crawl was asked how many it has fetched."""

    async def yielding() -> list[bool]:
        child, exchange, shown = ShardChild(), SimpleNamespace(is_halted=True), asyncio.Event()
        was_set, halted = asyncio.Event(), list[bool]()

        async def set_in_crawl(_crawl: object, values: dict[str, object]) -> None:
            if values["pages"] == 60:
                was_set.set()
            await asyncio.sleep(0)

        async def ask(_request: object) -> dict[str, object]:
            await shown.wait()
            return {"in_flight": 3}

        monkeypatch.setattr(child, "_set", set_in_crawl)
        monkeypatch.setattr(child, "_ask", ask)
        child._crawl = cast(
            Any, SimpleNamespace(progress=lambda: SimpleNamespace(fetched=7), is_over=False)
        )
        child._exchange = cast(Any, exchange)
        orders: Any = ShardOrders(pages=60)
        child._hear((1, ShardCommand.STEER, orders))
        giving = asyncio.create_task(child._yield_pages())
        steer = asyncio.create_task(child._steer(cast(Any, None), cast(Any, exchange)))
        await was_set.wait()
        for _ in range(5):
            await asyncio.sleep(0)
            halted.append(exchange.is_halted)
        shown.set()
        assert await giving == 10
        while exchange.is_halted:
            await asyncio.sleep(0)
        assert child._orders == ShardOrders(pages=10)
        steer.cancel()
        return halted

    assert asyncio.run(asyncio.wait_for(yielding(), 60)) == [True] * 5
