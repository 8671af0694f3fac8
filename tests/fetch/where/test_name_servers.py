"""Name servers are asked as DNS wants it, by the example of a small one on loopback."""

import asyncio
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from minicrawl.config import Network, Politeness
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.where.lookups import LookupAnswer, NoSuchName, SystemLookup
from minicrawl.fetch.where.name_servers import NameServerLookup, lookup_of
from minicrawl.model import Failed, FailureKind, Request, Response
from tests.fetch.wire import answer, wire

A, AAAA, CNAME = 1, 28, 5
_HEADER = struct.Struct("!6H")
_RECORD = struct.Struct("!3HIH")
_POINTER = 0xC00C  # to the name that was asked for
NO_ERROR, SERVER_FAILURE, NO_SUCH_NAME = 0, 2, 3

Records = list[tuple[int, int, bytes]]


def address(text: str, ttl_s: int = 300) -> tuple[int, int, bytes]:
    """A record with an address."""
    packed = ip_address(text).packed
    return (A if len(packed) == 4 else AAAA, ttl_s, packed)


def alias(name: str, ttl_s: int) -> tuple[int, int, bytes]:
    """A record that leads to another name."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return CNAME, ttl_s, labels + b"\0"


class NameServer(asyncio.DatagramProtocol):
    """Knows `records`; all other names do not exist. With a `fault` it says that, or nothing."""

    def __init__(self, records: dict[str, Records], fault: int | None = None) -> None:
        self.records, self.fault = records, fault
        self.asked: list[str] = []
        self.is_silent = False
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
        if not self.is_silent:
            self._transport.sendto(self._answer(number, question, name, kind), addr)

    def _answer(self, number: int, question: bytes, name: str, kind: int) -> bytes:
        known = self.records.get(name)
        code = NO_SUCH_NAME if known is None else NO_ERROR
        code = code if self.fault is None else self.fault
        said = [one for one in known or () if one[0] in (kind, CNAME)] if not code else []
        head = _HEADER.pack(number, 0x8180 | code, 1, len(said), 0, 0)
        return b"".join([head, question, *map(_record, said)])


def _record(record: tuple[int, int, bytes]) -> bytes:
    kind, ttl_s, content = record
    return _RECORD.pack(_POINTER, kind, 1, ttl_s, len(content)) + content


@asynccontextmanager
async def name_server(
    records: dict[str, Records], fault: int | None = None
) -> AsyncIterator[tuple[NameServer, str]]:
    """A server, and where it listens."""
    served = NameServer(records, fault)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: served, local_addr=("127.0.0.1", 0)
    )
    host, port = transport.get_extra_info("sockname")
    try:
        yield served, f"{host}:{port}"
    finally:
        transport.close()


async def ask(host: str, where: str) -> LookupAnswer:
    lookup = NameServerLookup(SystemLookup(1), [where])
    try:
        async with asyncio.timeout(60):
            return await lookup(host)
    finally:
        lookup.close()


def test_an_answer_has_all_addresses_and_says_for_how_long_they_hold() -> None:
    async def play() -> None:
        records = {"a.example": [address("93.184.216.34", 77), address("2606:2800:220:1::1", 99)]}
        async with name_server(records) as (_, where):
            found = await ask("a.example", where)
        assert sorted(found.addresses) == ["2606:2800:220:1::1", "93.184.216.34"]
        assert found.ttl_s == 77

    asyncio.run(play())


def test_an_answer_holds_no_longer_than_the_name_that_leads_to_it() -> None:
    async def play() -> None:
        records = {"a.example": [alias("a.example", 5), address("93.184.216.34", 77)]}
        async with name_server(records) as (_, where):
            assert await ask("a.example", where) == LookupAnswer(["93.184.216.34"], 5)

    asyncio.run(play())


def test_no_such_name_no_address_and_a_server_that_fails_are_told_apart() -> None:
    async def play() -> None:
        async with name_server({"a.example": []}) as (_, where):
            with pytest.raises(NoSuchName, match="no such name"):
                await ask("b.example", where)
            with pytest.raises(NoSuchName, match="no address"):
                await ask("a.example", where)
        async with name_server({}, SERVER_FAILURE) as (_, where):
            with pytest.raises(OSError, match="the name servers fail") as caught:
                await ask("a.example", where)
            assert not isinstance(caught.value, NoSuchName)

    asyncio.run(play())


def test_a_name_is_asked_for_as_it_is_without_search_domains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "corp.example")

    async def play() -> None:
        below = {"b.example.corp.example": [address("10.0.0.1")]}
        async with name_server(below) as (served, where):
            for name in ("b.example", "b.example."):
                with pytest.raises(NoSuchName):
                    await ask(name, where)
        assert set(served.asked) == {"b.example"}

    asyncio.run(play())


@pytest.mark.parametrize("host", ["localhost", "printer", "printer.local", "printer.local."])
def test_names_that_no_name_server_knows_are_left_to_the_system(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with name_server({}) as (served, where):
            assert await ask(host, where) == LookupAnswer(["127.0.0.9"])
        assert not served.asked

    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(0, 0, 0, "", ("127.0.0.9", 0))])
    asyncio.run(play())


def test_the_end_waits_for_no_name_server() -> None:
    async def play() -> None:
        async with name_server({}) as (served, where):
            served.is_silent = True
            lookup = NameServerLookup(SystemLookup(1), [where])
            waiting = asyncio.create_task(lookup("a.example"))
            while not served.asked:
                await asyncio.sleep(0.001)
            lookup.close()
            with pytest.raises(OSError, match="the name servers fail"):
                await waiting
            NameServerLookup(SystemLookup(1), [where]).close()  # that asked for nothing

    asyncio.run(play())


def test_an_answer_for_which_nobody_waits_any_more_is_dropped() -> None:
    async def play() -> None:
        async with name_server({"a.example": [address("93.184.216.34")]}) as (served, where):
            served.is_silent = True
            lookup = NameServerLookup(SystemLookup(1), [where])
            waiting = asyncio.create_task(lookup("a.example"))
            while not served.asked:
                await asyncio.sleep(0.001)
            waiting.cancel()
            served.is_silent = False
            assert (await lookup("a.example")).addresses == ["93.184.216.34"]
            lookup.close()

    asyncio.run(play())


def test_a_fetcher_asks_the_name_server_of_the_settings_once() -> None:
    async def play() -> None:
        async with (
            name_server({"a.example": [address("127.0.0.1")]}) as (served, where),
            wire(answer(b"a")) as server,
        ):
            network = Network(name_server=(where,), allow_private=True)
            async with HttpFetcher(network, Politeness(delay_s=0)) as fetcher:
                for _ in range(2):
                    url = f"http://a.example:{server.port}/"
                    assert isinstance(await fetcher.fetch(Request(url=url)), Response)
                failed = await fetcher.fetch(Request(url="http://b.example/"))
            assert isinstance(failed, Failed)
            assert (failed.kind, failed.detail) == (FailureKind.DNS, "b.example: no such name")
            assert served.asked.count("a.example") == 2  # IPv4 and IPv6

    asyncio.run(play())


def test_the_system_finds_the_addresses_if_the_settings_say_so() -> None:
    lookups: dict[tuple[str, ...], Callable[..., object]] = {
        ("system",): SystemLookup,
        (): NameServerLookup,
    }
    for servers, kind in lookups.items():
        lookup = lookup_of(Network(name_server=servers), 1)
        assert isinstance(lookup, kind)  # type: ignore[arg-type]  # a class
        lookup.close()


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_crawl_ends_when_its_time_is_over_though_no_name_server_answers(
    workers: str, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        where = "{}:{}".format(*silent.getsockname())
        crawl = (sys.executable, "-m", "minicrawl", "crawl", "http://a.example/", "-q")
        limits = ("--for", "1s", "--timeout", "1s", "--workers", workers, "--name-server", where)
        done = subprocess.run([*crawl, *limits], cwd=tmp_path, check=False, timeout=60)
    assert done.returncode in (0, 3)
