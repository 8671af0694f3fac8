"""A slow response delays no other response and no stream."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from minicrawl.dashboard.access import TOKEN_HEADER
from minicrawl.dashboard.routes import MOST_ANSWERS, Dashboard
from minicrawl.dashboard.views import Json, Views
from tests.dashboard.asking import ACCESS, client_of
from tests.processes import PATIENCE_S
from tests.stores import filled_store


class SlowViews(Views):
    """Views whose `page`, `hosts` and `log` wait until `may_end` is set."""

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()

    def _wait(self) -> None:
        self.begun.release()
        assert self.may_end.wait(PATIENCE_S)

    def page(self, url: str) -> Json:
        self._wait()
        return super().page(url)

    def hosts(self) -> Json:
        self._wait()
        return super().hosts()

    def log(self, last: int) -> list[Json]:
        self._wait()
        return super().log(last)


@pytest.fixture
def views(path: Path) -> Iterator[SlowViews]:
    found = SlowViews(filled_store(path))
    yield found
    found.may_end.set()


def test_slow_responses_delay_no_other_until_the_limit_and_then_others_are_refused(
    views: SlowViews,
) -> None:
    async def ask() -> None:
        async with client_of(views) as client:
            client.headers[TOKEN_HEADER] = ACCESS.token
            slow = [_asked(client) for _ in range(MOST_ANSWERS - 1)]
            await _all_begun(views, MOST_ANSWERS - 1)
            found = await client.get("api/errors?kind=not-found")
            assert found.json()["pages"], "one thread is free"
            slow.append(_asked(client))
            await _all_begun(views, 1)
            busy = await client.get("api/errors?kind=not-found")
            assert busy.status_code == 503
            assert str(MOST_ANSWERS) in busy.json()["error"]
            ping = {"url": "http://a.example/", "key": ACCESS.ping_key}
            assert (await client.get("indexnow", params=ping)).status_code == 429
            assert not any(task.done() for task in slow)
            views.may_end.set()
            for answer in await asyncio.gather(*slow):
                assert answer.json()["error"]
            assert (await client.get("api/errors?kind=not-found")).json()["pages"]

    asyncio.run(ask())


@pytest.mark.slow
def test_a_slow_view_or_log_stops_no_stream(views: SlowViews) -> None:
    async def read() -> None:
        dashboard = Dashboard(views, ACCESS)
        # httpx would wait for the end of a response, which a stream never has.
        streams = [dashboard._stream(["hosts", "errors", "top"], 0) for _ in range(3)]
        for stream in streams:
            seen = await _until(stream, "errors", "top")
            assert "event: hosts" not in seen
            assert "event: log" not in seen
        views.may_end.set()
        for stream in streams:
            seen = await _until(stream, "hosts", "log")
            await stream.aclose()  # type: ignore[attr-defined]

    asyncio.run(read())


def _asked(client: httpx.AsyncClient) -> "asyncio.Task[httpx.Response]":
    return asyncio.create_task(client.get("api/page?url=x"))


async def _until(stream: AsyncIterator[str], *names: str) -> str:
    """Return the text of a stream up to the last event with one of these names."""
    seen = ""
    async with asyncio.timeout(PATIENCE_S):
        async for text in stream:
            seen += text
            if all(f"event: {name}\n" in seen for name in names):
                return seen
    raise AssertionError(seen)


async def _all_begun(views: SlowViews, count: int) -> None:
    for _ in range(count):
        assert await asyncio.to_thread(views.begun.acquire, timeout=PATIENCE_S)
