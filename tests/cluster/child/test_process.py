"""The child process of a shard obeys the orders of its node."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from minicrawl import Warned
from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.child import ShardChild, settings_of_shard
from minicrawl.cluster.node.shard_process import ShardCommand, ShardJob, ShardOrders
from minicrawl.config.values.kinds import WarcPlace, warc_place

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


@pytest.mark.parametrize("is_stopped", [True, False])
async def test_a_warning_stops_the_crawl_only_if_the_disk_of_the_node_is_full(
    tmp_path: Path, *, is_stopped: bool
) -> None:
    stopped, child = asyncio.Event(), ShardChild()
    folder = Path("/proc") if is_stopped else tmp_path  # /proc never has free space
    storing = SimpleNamespace(store=folder / "crawl.db")
    crawl: Any = SimpleNamespace(stop=stopped.set, settings=SimpleNamespace(storing=storing))
    # The child's own crawl, process and pipe are replaced: the laws are those of its orders.
    child._crawl = crawl
    child._warn(Warned(text="no room"))
    assert child._warnings.empty() == stopped.is_set() == is_stopped


def crawling(child: ShardChild, fetched: int = 0, in_flight: int = 0) -> list[dict[str, object]]:
    """Give the child a running crawl, and return a list of the changes of its settings."""
    changes: list[dict[str, object]] = []
    exchange = SimpleNamespace(is_halted=True)

    steering = SimpleNamespace(change=changes.append, reply=lambda: {"in_flight": in_flight})
    progress = SimpleNamespace(fetched=fetched)
    # As `run` sets them, which begins a whole crawl.
    child._crawl = cast(Any, SimpleNamespace(steering=steering, progress=lambda: progress))
    child._exchange = cast(Any, exchange)
    return changes


def steer(child: ShardChild, **orders: Any) -> None:
    # As if it came through the pipe.
    child._hear((1, ShardCommand.STEER, cast(Any, ShardOrders(**orders))))


def is_halted(child: ShardChild) -> bool:
    return child._exchange is None or child._exchange.is_halted


async def test_an_order_that_comes_before_the_crawl_is_obeyed_when_it_begins() -> None:
    child = ShardChild()
    steer(child, pages=60)
    # What a node asks for through the pipe.
    assert await child._yield_pages() is None
    changes = crawling(child)
    await child._obey_from_the_start(cast(Any, child._crawl))
    assert changes == [{"pages": 60}]
    assert not is_halted(child)


async def test_pages_that_are_given_back_are_out_of_the_orders_at_once() -> None:
    child = ShardChild()
    changes = crawling(child, fetched=7, in_flight=3)
    steer(child, pages=60, paused=True)
    assert is_halted(child)
    steer(child, pages=60)
    assert not is_halted(child)
    assert await child._yield_pages() == 10
    assert changes == [{"pages": 60}, {"pages": 10}]
    # Later orders are measured against these.
    assert child._orders == ShardOrders(pages=10)
    assert not is_halted(child)


async def test_a_shard_that_has_spent_no_page_and_gives_all_back_is_paused() -> None:
    child = ShardChild()
    changes = crawling(child)
    steer(child, pages=60)
    assert not is_halted(child)
    # Only a node calls it, through a pipe.
    assert await child._yield_pages() == 0
    assert changes == [{"pages": 60}]
    assert is_halted(child)
