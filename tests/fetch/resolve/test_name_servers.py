"""Queries to a small name server on loopback: answers, errors and malformed answers."""

import asyncio
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pycares
import pycares.errno
import pytest

from minicrawl.fetch.resolver import name_servers
from minicrawl.fetch.resolver.lookups import LookupAnswer, NoSuchName, SystemLookup
from minicrawl.fetch.resolver.name_servers import NameServerLookup
from minicrawl.model import Request
from minicrawl.states import State
from tests.fetch.results import LOCAL, http_fetcher, kind_of, page_of
from tests.fetch.wire import answer, wire

A, AAAA, CNAME = 1, 28, 5
_HEADER = struct.Struct("!6H")
_RECORD = struct.Struct("!3HIH")
_POINTER = 0xC00C  # to the name that was asked for
NO_ERROR, SERVER_FAILURE, NO_SUCH_NAME = 0, 2, 3

Records = list[tuple[int, int, bytes]]
Malform = Callable[[bytes], bytes]


def address(text: str, ttl_s: int = 300) -> tuple[int, int, bytes]:
    packed = ip_address(text).packed
    return (A if len(packed) == 4 else AAAA, ttl_s, packed)


def alias(name: str, ttl_s: int) -> tuple[int, int, bytes]:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return CNAME, ttl_s, labels + b"\0"


class NameServer(asyncio.DatagramProtocol):
    """Name server for `records`; other names do not exist. A `fault` is its answer to everything.

    Answers for names that begin with `bad` go through `malformed`. Other answers are held back
    until there were `held_until` queries for `bad` names.
    """

    def __init__(self, records: dict[str, Records], fault: int | None = None) -> None:
        self.records, self.fault = records, fault
        self.asked: list[str] = []
        self.is_silent = False
        self.malformed: Malform = bytes
        self.held_until = self.bad_asked = 0
        self._held: list[tuple[bytes, tuple[str, int]]] = []
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        number, *_ = _HEADER.unpack_from(data)
        labels, at = list[str](), _HEADER.size
        while length := data[at]:
            labels.append(data[at + 1 : at + 1 + length].decode().lower())
            at += 1 + length
        question = data[_HEADER.size : at + 5]
        (kind,) = struct.unpack_from("!H", data, at + 1)
        name = ".".join(labels)
        self.asked.append(name)
        if self.is_silent:
            return
        found = self._answer(number, question, name, kind)
        if name.startswith("bad"):
            self.bad_asked += 1
            if malformed := self.malformed(found):
                self._transport.sendto(malformed, addr)
        else:
            self._held.append((found, addr))
        if self.bad_asked >= self.held_until:
            for waiting in self._held:
                self._transport.sendto(*waiting)
            self._held.clear()

    def _answer(self, number: int, question: bytes, name: str, kind: int) -> bytes:
        known = self.records.get(name)
        code = NO_SUCH_NAME if known is None else NO_ERROR
        code = code if self.fault is None else self.fault
        answers = [one for one in known or () if one[0] in (kind, CNAME)] if not code else []
        head = _HEADER.pack(number, 0x8180 | code, 1, len(answers), 0, 0)
        return b"".join([head, question, *map(_record, answers)])


def _record(record: tuple[int, int, bytes]) -> bytes:
    kind, ttl_s, content = record
    return _RECORD.pack(_POINTER, kind, 1, ttl_s, len(content)) + content


@asynccontextmanager
async def name_server(
    records: dict[str, Records], fault: int | None = None
) -> AsyncIterator[tuple[NameServer, str]]:
    served = NameServer(records, fault)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: served, local_addr=("127.0.0.1", 0)
    )
    host, port = transport.get_extra_info("sockname")
    try:
        yield served, f"{host}:{port}"
    finally:
        transport.close()


class CountingLookup(NameServerLookup):
    """Lookup that counts its channels, which nothing outside of it sees."""

    opened = most_at_once = 0

    @contextmanager
    def _new_channel(self) -> Iterator[Any]:
        with super()._new_channel() as channel:
            self.opened += 1
            self.most_at_once = max(self.most_at_once, len(self._apart))
            yield channel


@asynccontextmanager
async def lookup_at(
    records: dict[str, Records], fault: int | None = None
) -> AsyncIterator[tuple[NameServer, CountingLookup]]:
    async with name_server(records, fault) as (served, where):
        lookup = CountingLookup(SystemLookup(1), [where])
        try:
            yield served, lookup
        finally:
            lookup.close()


async def test_an_answer_has_all_addresses_and_the_shortest_ttl() -> None:
    four, six = "93.184.216.34", "2606:2800:220:1::1"
    records = {
        "a.example": [address(four, 77), address(six, 99)],
        "b.example": [alias("b.example", 5), address(four, 77)],
    }
    async with lookup_at(records) as (_, lookup):
        found = await lookup("a.example")
        assert await lookup("b.example") == LookupAnswer([four], 5)
    assert (sorted(found.addresses), found.ttl_s) == ([six, four], 77)


async def test_missing_names_missing_addresses_and_failing_servers_are_distinguished() -> None:
    async with lookup_at({"a.example": []}) as (_, lookup):
        with pytest.raises(NoSuchName, match="no such name"):
            await lookup("b.example")
        with pytest.raises(NoSuchName, match="no address"):
            await lookup("a.example")
    async with lookup_at({}, SERVER_FAILURE) as (_, lookup):
        with pytest.raises(OSError, match="the name servers fail") as caught:
            await lookup("a.example")
        assert not isinstance(caught.value, NoSuchName)


async def test_search_domains_are_not_added_to_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "corp.example")
    below = {"b.example.corp.example": [address("10.0.0.1")]}
    async with lookup_at(below) as (served, lookup):
        for name in ("b.example", "b.example."):
            with pytest.raises(NoSuchName):
                await lookup(name)
    assert set(served.asked) == {"b.example"}


@pytest.mark.parametrize("host", ["localhost", "printer", "printer.local", "printer.local."])
async def test_local_names_are_left_to_the_system(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(0, 0, 0, "", ("127.0.0.9", 0))])
    async with lookup_at({}) as (served, lookup):
        assert await lookup(host) == LookupAnswer(["127.0.0.9"])
    assert not served.asked


async def test_closing_does_not_wait_for_a_silent_name_server() -> None:
    async with name_server({}) as (served, where):
        served.is_silent = True
        lookup = NameServerLookup(SystemLookup(1), [where])
        waiting = asyncio.create_task(lookup("a.example"))
        while not served.asked:
            await asyncio.sleep(0.001)
        lookup.close()
        with pytest.raises(OSError, match="the name servers fail"):
            await waiting
        NameServerLookup(SystemLookup(1), [where]).close()  # without a query


async def test_a_cancelled_lookup_does_not_disturb_the_next() -> None:
    async with lookup_at({"a.example": [address("93.184.216.34")]}) as (served, lookup):
        served.is_silent = True
        waiting = asyncio.create_task(lookup("a.example"))
        while not served.asked:
            await asyncio.sleep(0.001)
        waiting.cancel()
        served.is_silent = False
        assert (await lookup("a.example")).addresses == ["93.184.216.34"]


_GOOD = {f"good{number}.example": [address("93.184.216.34")] for number in range(20)}
_BAD = {f"bad{number}.evil.example": [address("93.184.216.34")] for number in range(20)}


@pytest.mark.parametrize(
    "malformed",
    [
        lambda found: found[:5],
        lambda found: found[:-3],
        lambda found: found[:2] + b"\xa5" * 200,
        lambda found: found[:12] + (b"\x3f" + b"a" * 63) * 5 + found[12:],
        lambda found: found[:12] + b"\xc0\x0c" + found[12:],
    ],
    ids=["a few bytes", "cut off", "no DNS", "a long name", "a name in itself"],
)
@pytest.mark.parametrize("bad", [1, 4, 20])
async def test_a_malformed_answer_fails_the_lookup_of_its_own_name_alone(
    malformed: Malform, bad: int
) -> None:
    async with lookup_at(_GOOD | _BAD) as (served, lookup):
        served.malformed, served.held_until = malformed, 3
        names = [*list(_BAD)[:bad], *_GOOD]
        found = await asyncio.gather(*map(lookup, names), return_exceptions=True)
    assert all(isinstance(one, OSError) for one in found[:bad])
    assert found[bad:] == [LookupAnswer(["93.184.216.34"], 300)] * len(_GOOD)


@pytest.mark.parametrize("error", ["ARES_ENODATA", "ARES_ENOTFOUND", "ARES_ETIMEOUT"])
async def test_an_error_beside_malformed_answers_is_checked_by_another_query(error: str) -> None:
    """One of the two questions may have been dropped, and only the other one answered."""
    code = getattr(pycares.errno, error)
    found = pycares.AddrInfoResult(cnames=[], nodes=[_node("93.184.216.34")])

    class PlayedChannel:
        """Channel whose first instance fails all lookups when the bad name is queried."""

        opened = 0

        def __init__(self) -> None:
            PlayedChannel.opened += 1
            self._is_shared = PlayedChannel.opened == 1
            self._waiting: list[Callable[[object, int | None], None]] = []

        def getaddrinfo(self, host: str, *_: object, callback: Any, **__: object) -> None:
            if host.startswith("bad"):
                callback(None, pycares.errno.ARES_EBADRESP)
                for waiting in self._waiting:
                    waiting(None, code)
            elif self._is_shared:
                self._waiting.append(callback)
            else:
                callback(found, None)

        def close(self) -> None: ...

    lookup = NameServerLookup(SystemLookup(1))
    # No server makes c-ares lose the names of a channel whenever a test wants it.
    lookup._opened = PlayedChannel  # type: ignore[method-assign,assignment]
    names = ("good.example", "bad.evil.example")
    good, bad = await asyncio.gather(*map(lookup, names), return_exceptions=True)
    lookup.close()
    assert good == LookupAnswer(["93.184.216.34"], 60)
    assert isinstance(bad, OSError)
    assert not isinstance(bad, NoSuchName)


def _node(address: str) -> pycares.AddrInfoNode:
    return pycares.AddrInfoNode(
        ttl=60, flags=0, family=2, socktype=1, protocol=0, addr=(address.encode(), 0)
    )


async def test_the_number_of_channels_for_single_names_is_limited() -> None:
    sites = (f"bad{at}.evil{site}.example" for site in range(40) for at in range(2))
    names = {name: [address("93.184.216.34")] for name in sites}
    async with lookup_at(names) as (served, lookup):
        served.malformed = lambda found: found[:5]
        await asyncio.gather(*map(lookup, names), return_exceptions=True)
    assert lookup.opened == len(names)
    assert 1 < lookup.most_at_once <= name_servers.MOST_APART


async def test_a_silent_site_with_channels_of_its_own_holds_up_no_other_site() -> None:
    other = {"bad.other.example": [address("93.184.216.34")]}
    async with lookup_at(_BAD | other) as (served, lookup):
        served.malformed = lambda found: found[:5]
        for name in (*list(_BAD)[:1], *other):
            with pytest.raises(OSError, match="the name servers fail"):
                await lookup(name)
        served.malformed = lambda found: b"" if b"evil" in found else found
        waiting = [asyncio.create_task(lookup(name)) for name in _BAD]
        assert (await lookup(*other)).addresses == ["93.184.216.34"]
        assert lookup.most_at_once <= name_servers.MOST_OF_A_SITE + 1
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_fetcher_queries_the_name_server_of_the_settings_once_per_name() -> None:
    async with (
        name_server({"a.example": [address("127.0.0.1")]}) as (served, where),
        wire(answer(b"a")) as server,
    ):
        async with http_fetcher(replace(LOCAL, name_server=(where,)), lookup=None) as fetcher:
            for _ in range(2):
                page_of(await fetcher.fetch(Request(url=server.url(host="a.example"))))
            failed = await fetcher.fetch(Request(url="http://b.example/"))
        assert kind_of(failed) is State.DNS
        assert served.asked.count("a.example") == 2  # IPv4 and IPv6


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_crawl_ends_when_its_time_is_over_though_no_name_server_answers(
    workers: str, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        where = "{}:{}".format(*silent.getsockname())
        crawl = (sys.executable, "-m", "minicrawl", "crawl", "http://a.example/", "-q")
        limits = ("--for", "1s", "--timeout", "1s", "--workers", workers, "--name-server", where)
        done = subprocess.run([*crawl, *limits], cwd=tmp_path, check=False, timeout=300)
    assert done.returncode in (0, 3)
