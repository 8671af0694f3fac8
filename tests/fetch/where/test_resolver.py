import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from minicrawl.fetch.resolver import (
    BLOCKED_PORTS,
    Lookup,
    LookupAnswer,
    NoSuchName,
    Resolver,
    ResolveRules,
    SystemLookup,
    parse_rule,
    trusted_among,
)
from minicrawl.fetch.transport import ConnectTarget
from minicrawl.model import Failed, FailureKind, Refusal, Refused
from minicrawl.web.urls import canonical_seed

PUBLIC, OTHER_PUBLIC, PRIVATE = "93.184.216.34", "2606:2800:220:1::1", "10.0.0.1"


class Names:
    """A resolver that knows a few names and counts who asks; and a clock that tests turn."""

    def __init__(self, **addresses: list[str]) -> None:
        self.addresses = addresses
        self.asked: list[str] = []
        self.now = 1000.0

    async def __call__(self, host: str) -> LookupAnswer:
        self.asked.append(host)
        await asyncio.sleep(0)
        if host not in self.addresses:
            raise OSError("no such name")
        return LookupAnswer(self.addresses[host])

    def resolver(
        self, *rules: str, seeds: Iterable[str] = (), private: bool | None = None
    ) -> Resolver:
        return Resolver(
            self,
            rules=ResolveRules(map(parse_rule, rules)),
            trusted_hosts=trusted_among(filter(None, map(canonical_seed, seeds))),
            allow_private=private,
            clock=lambda: self.now,
        )


def locate(
    resolver: Resolver, host: str, port: int = 80
) -> tuple[ConnectTarget, ...] | Refused | Failed:
    return asyncio.run(resolver.locate(host, port))


def test_a_name_is_at_all_of_its_public_addresses_each_once() -> None:
    names = Names(a=[PUBLIC, PRIVATE, PUBLIC, OTHER_PUBLIC])
    assert locate(names.resolver(), "a") == (
        ConnectTarget(PUBLIC, 80),
        ConnectTarget(OTHER_PUBLIC, 80),
    )


def refused(detail: str) -> Refused:
    return Refused(reason=Refusal.ADDRESS, detail=detail)


def test_a_name_with_private_addresses_only_is_refused_and_told_what_lets_it_in() -> None:
    names = {"in.example": [PRIVATE, "::1"], "six.example": ["::1"]}
    resolver = Names(**names).resolver()
    told = f"is at {PRIVATE}, which is not public: --allow-private, or --resolve in.example="
    assert locate(resolver, "in.example") == refused(f"in.example {told}{PRIVATE}")
    told = "is at ::1, which is not public: --allow-private, or --resolve six.example=[::1]"
    assert locate(resolver, "six.example") == refused(f"six.example {told}")
    assert locate(resolver, "::1") == refused("::1 is not public: --allow-private")


def test_an_address_is_judged_without_a_lookup() -> None:
    names = Names()
    assert locate(names.resolver(), PUBLIC) == (ConnectTarget(PUBLIC, 80),)
    assert isinstance(locate(names.resolver(), "::1"), Refused)
    assert names.asked == []


def test_a_seed_that_is_a_name_is_no_more_trusted_than_any_other() -> None:
    resolver = Names(**{"in.example": [PRIVATE]}).resolver(seeds=["http://in.example/"])
    assert isinstance(locate(resolver, "in.example"), Refused)


@pytest.mark.parametrize(
    "written",
    [
        "http://127.0.0.1:8000/",
        "127.0.0.1:8000",
        "http://127.1:8000/x",
        "http://0x7f000001:8000/",
        "http://2130706433:8000/",
        "http://0177.0.0.1:8000/",
        "http://127.0.0.1.:8000/",
        "http://me@127.0.0.1:8000/",
        "http://\u2460\u2461\u2466.0.0.\u2460:8000/",
    ],
)
def test_a_seed_written_as_an_address_opens_that_address_at_that_port(written: str) -> None:
    resolver = Names().resolver(seeds=[written])
    assert locate(resolver, "127.0.0.1", 8000) == (ConnectTarget("127.0.0.1", 8000),)
    for host, port in (("127.0.0.1", 6379), ("127.0.0.1", 80), ("127.0.0.2", 8000), ("::1", 8000)):
        assert isinstance(locate(resolver, host, port), Refused)


@pytest.mark.parametrize(
    ("written", "host", "port"),
    [
        ("http://[::1]/", "::1", 80),
        ("https://[0:0:0:0:0:0:0:1]/", "::1", 443),
        ("http://[::ffff:7f00:1]:81/", "::ffff:7f00:1", 81),
        ("http://localhost/", "localhost", 80),
        ("http://a.LOCALHOST:81/", "a.localhost", 81),
        ("http://localhost.:81/", "localhost.", 81),
    ],
)
def test_other_ways_to_name_this_machine_are_trusted(written: str, host: str, port: int) -> None:
    resolver = Names(**{host: ["127.0.0.1"]}).resolver(seeds=[written])
    assert isinstance(locate(resolver, host, port), tuple)
    assert isinstance(locate(resolver, host, port + 1), Refused)


@pytest.mark.parametrize(
    "host", ["127.0.0.1.example", "localhost.example", "notlocalhost.example", "127-0-0-1.example"]
)
def test_a_name_that_looks_like_this_machine_is_a_name(host: str) -> None:
    resolver = Names(**{host: ["127.0.0.1"]}).resolver(seeds=[f"http://{host}/"])
    assert isinstance(locate(resolver, host), Refused)


def test_another_name_of_a_trusted_address_is_refused() -> None:
    resolver = Names(b=["127.0.0.1"]).resolver(seeds=["http://127.0.0.1/"])
    assert isinstance(locate(resolver, "b"), Refused)


def test_all_hosts_may_be_anywhere_if_the_user_says_so() -> None:
    assert locate(Names(a=[PRIVATE]).resolver(private=True), "a") == (ConnectTarget(PRIVATE, 80),)


def test_nothing_private_is_asked_if_the_user_says_so_neither_seeds_nor_what_rules_name() -> None:
    names = Names(a=[PRIVATE], c=[PUBLIC])
    seeds = ["http://127.0.0.1/", "http://localhost/"]
    resolver = names.resolver("b=10.0.0.1", f"d={PUBLIC}", seeds=seeds, private=False)
    told = "not public (--no-allow-private)"
    assert locate(resolver, "a") == refused(f"a is at {PRIVATE}, which is {told}")
    assert locate(resolver, "b") == refused(f"b is at 10.0.0.1, which is {told}")
    assert locate(resolver, "127.0.0.1") == refused(f"127.0.0.1 is {told}")
    assert locate(resolver, "c") == locate(resolver, "d") == (ConnectTarget(PUBLIC, 80),)


@pytest.mark.parametrize("port", sorted(BLOCKED_PORTS))
def test_a_port_that_browsers_block_is_never_asked_for(port: int) -> None:
    names = Names(a=[PUBLIC])
    for resolver in (names.resolver(private=True), names.resolver("a=10.0.0.1")):
        told = f"port {port} is not one of the web: browsers block it"
        assert locate(resolver, "a", port) == refused(told)
    assert names.asked == []


def test_of_countless_addresses_of_one_name_a_few_are_kept() -> None:
    resolver = Names(a=[f"93.184.{n // 256}.{n % 256}" for n in range(5000)]).resolver()
    places = locate(resolver, "a")
    assert isinstance(places, tuple)
    assert len(places) == 32


def test_a_rule_goes_before_names_and_guard() -> None:
    names = Names(a=[PUBLIC])
    resolver = names.resolver("a:80=127.0.0.1:8080", "93.184.216.34=127.0.0.2")
    assert locate(resolver, "a", 80) == (ConnectTarget("127.0.0.1", 8080),)
    assert locate(resolver, PUBLIC, 80) == (ConnectTarget("127.0.0.2", 80),)
    assert names.asked == []
    assert locate(resolver, "a", 81) == (ConnectTarget(PUBLIC, 81),)


@pytest.mark.parametrize("names", [Names(), Names(a=[])])
def test_a_name_without_addresses_is_a_failure(names: Names) -> None:
    failed = locate(names.resolver(), "a")
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.DNS
    assert failed.detail.startswith("a: ")


def test_an_answer_is_kept_for_five_minutes_and_a_failure_for_half_of_one() -> None:
    names = Names(a=[PUBLIC])
    resolver = names.resolver()
    for now, asked in ((0, "a b"), (29, ""), (31, "b"), (299, "b"), (301, "a")):
        names.asked.clear()
        names.now = 1000.0 + now
        locate(resolver, "a")
        locate(resolver, "b", 443)
        assert names.asked == asked.split()


@pytest.mark.parametrize(("ttl_s", "kept_s"), [(0, 60), (100, 100), (86_400, 3600)])
def test_an_answer_is_kept_for_as_long_as_it_holds_within_bounds(ttl_s: int, kept_s: int) -> None:
    names = Names(a=[PUBLIC])

    async def with_ttl(host: str) -> LookupAnswer:
        return (await names(host))._replace(ttl_s=ttl_s)

    resolver = Resolver(with_ttl, rules=ResolveRules(()), clock=lambda: names.now)
    for later_s, asked in ((0, 1), (kept_s - 1, 1), (kept_s + 1, 2)):
        names.now = 1000.0 + later_s
        locate(resolver, "a")
        assert len(names.asked) == asked


def test_that_there_is_no_such_name_is_kept_for_longer_than_a_failure() -> None:
    names, now = list[str](), [1000.0]

    async def unknown(host: str) -> LookupAnswer:
        names.append(host)
        raise NoSuchName("no such name")

    resolver = Resolver(unknown, rules=ResolveRules(()), clock=lambda: now[0])
    for later_s, asked in ((0, 1), (299, 1), (301, 2)):
        now[0] = 1000.0 + later_s
        failed = locate(resolver, "a")
        assert isinstance(failed, Failed)
        assert failed.detail == "a: no such name"
        assert len(names) == asked


def test_the_host_that_was_not_asked_for_longest_is_forgotten_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("minicrawl.fetch.resolver._MOST_HOSTS", 2)
    names = Names(a=[PUBLIC], b=[PUBLIC], c=[PUBLIC])
    resolver = names.resolver()
    for host in "abac":
        locate(resolver, host)
    names.asked.clear()
    for host in "acb":
        locate(resolver, host)
    assert names.asked == ["b"]


def test_who_asks_at_the_same_time_shares_one_lookup_and_none_can_cancel_it() -> None:
    names = Names(a=[PUBLIC])

    async def ask() -> None:
        resolver = names.resolver()
        first, second = (asyncio.create_task(resolver.locate("a", 80)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == (ConnectTarget(PUBLIC, 80),)
        assert first.cancelled()

    asyncio.run(ask())
    assert names.asked == ["a"]


def test_closing_stops_the_lookups_under_way() -> None:
    async def never(host: str) -> LookupAnswer:
        await asyncio.Event().wait()
        return LookupAnswer([host])

    async def ask() -> None:
        resolver = Resolver(never, rules=ResolveRules(()))
        waiting = asyncio.create_task(resolver.locate("a", 80))
        await asyncio.sleep(0)
        resolver.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(ask())


def test_the_system_knows_localhost_and_knows_no_name_that_is_none() -> None:
    async def ask(look_up: Lookup) -> None:
        assert set((await look_up("localhost")).addresses) & {"127.0.0.1", "::1"}
        with pytest.raises(OSError, match="not known"):
            await look_up("a" * 64 + ".invalid")

    lookup = SystemLookup(1)
    asyncio.run(ask(lookup))
    lookup.close()


class Hanging:
    """A `getaddrinfo` that answers nobody until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = list[bytes]()
        self.let_go = threading.Event()
        monkeypatch.setattr("socket.getaddrinfo", self)

    def __call__(self, host: bytes, *_: object, **_rest: object) -> list[tuple[object, ...]]:
        self.asked.append(host)
        assert self.let_go.wait(60)
        return [(0, 0, 0, "", (PUBLIC, 0))]


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.sleep(0.001)


def test_as_many_names_are_looked_up_at_once_as_there_are_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system, lookup = Hanging(monkeypatch), SystemLookup(3)

    async def ask() -> None:
        asked = [asyncio.create_task(_addresses(lookup, name)) for name in "abcde"]
        await _until(lambda: len(system.asked) == 3)
        asked[4].cancel()
        system.let_go.set()
        assert await asyncio.gather(*asked[:4]) == [[PUBLIC]] * 4

    asyncio.run(ask())
    assert sorted(system.asked) == [b"a", b"b", b"c", b"d"]
    assert lookup._threads == 3
    lookup.close()


async def _addresses(lookup: SystemLookup, host: str) -> list[str]:
    return list((await lookup(host)).addresses)


def test_a_thread_that_has_nothing_to_do_takes_the_next_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system, lookup = Hanging(monkeypatch), SystemLookup(3)
    system.let_go.set()

    async def ask() -> None:
        for name in "abc":
            await lookup(name)
            await _until(lambda: lookup._idle._value == 1)

    asyncio.run(ask())
    assert lookup._threads == 1
    lookup.close()


def test_an_answer_that_comes_when_the_loop_is_closed_or_nobody_waits_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system, lookup = Hanging(monkeypatch), SystemLookup(1)

    async def give_up(name: str) -> None:
        task = asyncio.create_task(_addresses(lookup, name))
        await _until(lambda: name.encode() in system.asked)
        task.cancel()

    async def ask_again() -> list[str]:
        await give_up("b")
        return list((await lookup("c")).addresses)

    asyncio.run(give_up("a"))  # whose loop is closed now
    system.let_go.set()
    assert asyncio.run(ask_again()) == [PUBLIC]
    lookup.close()


HANGING = """
import socket, sys, threading
socket.getaddrinfo = lambda *_, **__: threading.Event().wait()
from minicrawl.cli import main
sys.exit(main(["crawl", "http://a.example/", "-q", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_process_ends_when_its_time_is_over_though_a_lookup_hangs(
    workers: str, tmp_path: Path
) -> None:
    """Were it waited for, it would never end."""
    arguments = ["--for", "1s", "--timeout", "1s", "--workers", workers, "--name-server", "system"]
    done = subprocess.run(
        [sys.executable, "-c", HANGING, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("minicrawl: nothing could be fetched")
