"""Delays and limits of a crawl, measured by the log of the servers.

gap    time from the end of a response to the first byte of the next request to the same host
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.proofs.hostile.thread import beside
from tests.proofs.hostile.trial import Plan, run

DELAY_S = 0.1
RESPONSE_S = 0.03
CRAWL_DELAY_S = 0.3
LONG_DELAY_S = 3.0  # longer than the start of another run takes
HERE, THERE = "127.0.0.1", "127.0.0.2"
ADDRESSES = dict.fromkeys("abcd", HERE) | dict.fromkeys(("e", "f", "g", "warm"), THERE)


class Asked(NamedTuple):
    """Request in the server's log."""

    host: str
    path: str
    address: str
    began: float
    ended: float


def moved(target: str) -> str:
    return f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n"


def shown(body: str, kind: str = "text/html") -> str:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head + body


def linked(title: str, *links: str) -> str:
    return shown(f"<html><title>{title}</title>" + "".join(f"<a href={to}>x</a>" for to in links))


NOT_FOUND = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
BUSY = "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
CLOSED = ""

HOMES = tuple(f"http://{host}.example/" for host in "gabcdef")
WEB: dict[str, Sequence[str]] = {
    "a/robots.txt": [moved("/elsewhere.txt")],
    "a/elsewhere.txt": [moved("http://b.example/robots.txt")],
    "b/robots.txt": [
        shown("Sitemap: http://b.example/b.xml\nSitemap: http://c.example/c.xml", "text/plain")
    ],
    "b/b.xml": [shown("http://b.example/listed", "text/plain")],
    "c/c.xml": [shown("http://c.example/listed", "text/plain")],
    "c/robots.txt": [BUSY, shown(f"User-agent: *\nCrawl-delay: {CRAWL_DELAY_S}", "text/plain")],
    "a/": [linked("a", *HOMES, "/moved", "/2")],
    "a/moved": [moved("http://c.example/there")],
    "b/": [linked("b", *HOMES, "/busy", "/2")],
    "b/busy": [BUSY, BUSY, linked("b busy")],
    "c/": [linked("c", *HOMES, "/2")],
    "c/there": [moved("/there/too")],
    "d/": [linked("d", *HOMES, "/dies", "/2", "/3")],
    "d/dies": [CLOSED, linked("d lives")],
    "e/": [linked("e", *HOMES, "/2")],
    "f/robots.txt": [moved("http://e.example/robots.txt")],
    "f/": [linked("f", "/2", "/3")],
    "g/robots.txt": [shown(f"User-agent: *\nCrawl-delay: {LONG_DELAY_S}", "text/plain")],
    "g/": [linked("g")],
    "warm/": [linked("warm")],
}


class Town:
    """Hosts at two addresses, with a log of all requests."""

    def __init__(self) -> None:
        self.log: list[Asked] = []
        self.port = 0
        self._answers: defaultdict[str, list[str]] = defaultdict(list)

    async def open(self, leaving: AsyncExitStack) -> None:
        for address in (HERE, THERE):
            server = await asyncio.start_server(self._serve, address, self.port)
            self.port = (await leaving.enter_async_context(server)).sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client closed the connection
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first = await reader.readexactly(1)
        began = time.monotonic()
        lines = (first + await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        path = lines[0].split()[1]
        host = next(line for line in lines if line.startswith("Host: "))[6:].partition(".")[0]
        await asyncio.sleep(RESPONSE_S)
        answer = self._next(host + path)
        address = writer.get_extra_info("sockname")[0]
        # Log before writing: afterwards the client may already have read the response.
        self.log.append(Asked(host, path, address, began, time.monotonic()))
        writer.write(answer.encode())
        await writer.drain()
        return answer != CLOSED

    def _next(self, name: str) -> str:
        answers = self._answers[name] or list(WEB.get(name, ())) or [self._usual(name)]
        self._answers[name] = answers[1:] or answers
        return answers[0]

    def _usual(self, name: str) -> str:
        return NOT_FOUND if name.endswith(".txt") else linked(name)


@contextmanager
def town() -> Iterator[Town]:
    built = Town()
    with beside(built.open):
        yield built


def crawl(built: Town, folder: Path, seeds: Sequence[str] = HOMES, **settings: object) -> None:
    rules = [f"*={HERE}:{built.port}"]
    rules += [f"{host}.example={address}:{built.port}" for host, address in ADDRESSES.items()]
    usual = {"delay": DELAY_S, "timeout": 60, "sitemaps": True, "workers": 0}
    plan = Plan(
        seeds=list(seeds),
        warm_seed="http://warm.example/",
        rules=rules,
        names={},
        authority="",
        store=str(folder / "crawl.db"),
        settings=usual | settings,
    )
    run(plan)
    (folder / "warm.db").unlink()


def gaps(log: Sequence[Asked], host: str) -> list[float]:
    mine = sorted(asked[3:] for asked in log if asked.host == host)
    return [began - ended for (_, ended), (began, _) in pairwise(mine)]


def since_rules(log: Sequence[Asked], host: str) -> list[Asked]:
    """Return all requests since the last one for the host's robots.txt."""
    last = max(asked.began for asked in log if asked[:2] == (host, "/robots.txt"))
    return [asked for asked in log if asked.began >= last]


def most_at_once(log: Sequence[Asked]) -> int:
    return max(sum(one.began <= asked.began < one.ended for one in log) for asked in log)


@pytest.mark.parametrize(("workers", "per_address"), [(0, 1), (2, 2)])
@pytest.mark.proof
def test_redirects_retries_sitemaps_and_a_new_run_keep_delays_and_limits(
    workers: int, per_address: int, tmp_path: Path
) -> None:
    with town() as built:
        settings: dict[str, Any] = {"workers": workers, "per_address": per_address}
        crawl(built, tmp_path, pages=4, **settings)
        cut_at = len(built.log)
        crawl(built, tmp_path, **settings)
    log = [asked for asked in built.log if asked.host != "warm"]
    for host in "abcdefg":
        assert min(gaps(log, host)) >= DELAY_S, host
        assert most_at_once([asked for asked in log if asked.host == host]) == 1
    assert min(gaps(since_rules(log, "c"), "c")) >= CRAWL_DELAY_S
    assert min(gaps(log, "g")) >= LONG_DELAY_S
    for address in (HERE, THERE):
        assert most_at_once([one for one in log if one.address == address]) <= per_address
    assert 0 < cut_at < len(built.log)
    asked = Counter(f"{one.host}{one.path}" for one in log)
    assert (asked["b/busy"], asked["d/dies"]) == (3, 2)
    assert asked["c/there/too"] == asked["b/listed"] == asked["c/listed"] == 1
    assert {one.address for one in log if one.host in "abcd"} == {HERE}
