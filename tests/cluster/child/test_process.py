"""The child process of a shard obeys the orders of its node."""

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
from minicrawl.config.values import WarcPlace, warc_place
from minicrawl.crawl.events import Warned

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("/there", WarcPlace(Path("/there"), "crawl-03")),
        ("news=/there", WarcPlace(Path("/there"), "news-03")),
        (":5MB=/there", WarcPlace(Path("/there"), "crawl-03", 5_000_000)),
    ],
)
def test_the_names_of_warc_files_have_the_number_of_the_shard(given: str, place: WarcPlace) -> None:
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
    assert warc_place(storing.warc or "") == place


@pytest.mark.parametrize(("free", "is_stopped"), [(100, True), (1 << 30, False)])
async def test_a_warning_stops_the_crawl_only_if_the_disk_of_the_node_is_full(
    free: int, is_stopped: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stopped, child = asyncio.Event(), ShardChild()
    storing = SimpleNamespace(store=tmp_path / "crawl.db")
    crawl: Any = SimpleNamespace(stop=stopped.set, settings=SimpleNamespace(storing=storing))
    child._crawl = crawl
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    child._warn(Warned(text="no room"))
    assert child._warnings.empty() == stopped.is_set() == is_stopped


def steered(child: ShardChild, exchange: SimpleNamespace, **orders: Any) -> "asyncio.Task[None]":
    """Give the child its first orders, and begin to steer its crawl."""
    child._hear((1, ShardCommand.STEER, cast(Any, ShardOrders(**orders))))
    return asyncio.create_task(child._steer(cast(Any, None), cast(Any, exchange)))


async def test_the_first_order_is_obeyed_even_if_it_is_for_no_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The shard may have begun with workers, just before the user asked for none.
    child, exchange = ShardChild(), SimpleNamespace(is_halted=False)
    wanted = asyncio.get_running_loop().create_future()

    async def set_in_crawl(_crawl: object, values: dict[str, object]) -> None:
        wanted.set_result(values)

    monkeypatch.setattr(child, "_set", set_in_crawl)
    steer = steered(child, exchange, workers=0)
    assert await wanted == {"workers": 0}
    steer.cancel()


async def test_a_crawl_stays_halted_until_its_pages_given_back_are_out_of_its_orders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The order of 60 pages is being carried out when 10 of them are given back.
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
    steer = steered(child, exchange, pages=60)
    await ended.wait()
    steer.cancel()
    assert seen == [(60, True), (50, True)]


async def test_a_crawl_stays_halted_until_the_number_of_pages_given_back_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The order of 60 pages is carried out while the crawl is asked how many it has fetched.
    child, exchange, shown = ShardChild(), SimpleNamespace(is_halted=True), asyncio.Event()
    was_set = asyncio.Event()

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
    steer = steered(child, exchange, pages=60)
    giving = asyncio.create_task(child._yield_pages())
    await was_set.wait()
    for _ in range(5):
        await asyncio.sleep(0)
        assert exchange.is_halted
    shown.set()
    assert await giving == 10
    while exchange.is_halted:
        await asyncio.sleep(0)
    assert child._orders == ShardOrders(pages=10)
    steer.cancel()
