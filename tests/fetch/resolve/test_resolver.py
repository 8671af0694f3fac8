import asyncio
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from minicrawl.fetch.http.targets import ConnectTarget
from minicrawl.fetch.resolver.lookups import LookupAnswer, NoSuchName, SystemLookup
from minicrawl.fetch.resolver.resolver import BLOCKED_PORTS, Resolver, trusted_among
from minicrawl.fetch.resolver.rules import ResolveRules, parse_rule
from minicrawl.model import Failed, Refused
from minicrawl.states import State
from minicrawl.web.urls import canonical_seed
from tests.processes import run_python

PUBLIC, OTHER_PUBLIC, PRIVATE = "93.184.216.34", "2606:2800:220:1::1", "10.0.0.1"


class Names:
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


def test_a_name_has_each_of_its_public_addresses_once_and_at_most_32() -> None:
    many = [f"93.184.{n // 256}.{n % 256}" for n in range(5000)]
    resolver = Names(a=[PUBLIC, PRIVATE, PUBLIC, OTHER_PUBLIC], b=many).resolver()
    assert locate(resolver, "a") == (ConnectTarget(PUBLIC, 80), ConnectTarget(OTHER_PUBLIC, 80))
    places = locate(resolver, "b")
    assert isinstance(places, tuple)
    assert len(places) == 32


@pytest.mark.parametrize(
    ("host", "named"),
    [
        ("in.example", f"{PRIVATE} --allow-private --resolve in.example={PRIVATE}"),
        ("six.example", "::1 --allow-private --resolve six.example=[::1]"),
        ("::1", "::1 --allow-private"),
    ],
)
def test_a_refused_private_address_is_named_with_the_options_that_allow_it(
    host: str, named: str
) -> None:
    resolver = Names(**{"in.example": [PRIVATE, "::1"], "six.example": ["::1"]}).resolver()
    found = locate(resolver, host)
    assert isinstance(found, Refused)
    assert found.reason is State.ADDRESS
    assert all(part in found.detail for part in named.split())


def test_an_address_is_checked_without_a_lookup() -> None:
    names = Names()
    assert locate(names.resolver(), PUBLIC) == (ConnectTarget(PUBLIC, 80),)
    assert isinstance(locate(names.resolver(), "::1"), Refused)
    assert names.asked == []


@pytest.mark.parametrize(
    ("written", "host", "port"),
    [
        *(
            (f"http://{address}:8000/", "127.0.0.1", 8000)
            for address in (
                *("127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "127.0.0.1."),
                *("me@127.0.0.1", "\u2460\u2461\u2466.0.0.\u2460"),
            )
        ),
        ("127.0.0.1:8000", "127.0.0.1", 8000),
        ("http://[::1]/", "::1", 80),
        ("https://[0:0:0:0:0:0:0:1]/", "::1", 443),
        ("http://[::ffff:7f00:1]:81/", "::ffff:7f00:1", 81),
        ("http://localhost/", "localhost", 80),
        ("http://a.LOCALHOST:81/", "a.localhost", 81),
        ("http://localhost.:81/", "localhost.", 81),
    ],
)
def test_a_seed_that_names_this_machine_opens_that_address_at_that_port(
    written: str, host: str, port: int
) -> None:
    names = Names(**{host: ["127.0.0.1"], "b": ["127.0.0.1"]})
    resolver = names.resolver(seeds=[written])
    assert isinstance(locate(resolver, host, port), tuple)
    for other, its_port in ((host, port + 1), (host, 6379), ("127.0.0.2", port), ("b", port)):
        assert isinstance(locate(resolver, other, its_port), Refused)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1.example", "localhost.example", "notlocalhost.example", "127-0-0-1.example", "a"],
)
def test_a_seed_that_is_a_name_is_not_trusted_even_if_it_looks_like_this_machine(host: str) -> None:
    resolver = Names(**{host: ["127.0.0.1"]}).resolver(seeds=[f"http://{host}/"])
    assert isinstance(locate(resolver, host), Refused)


def test_allow_private_allows_private_addresses_and_no_allow_private_none() -> None:
    names = Names(a=[PRIVATE], c=[PUBLIC])
    assert locate(names.resolver(private=True), "a") == (ConnectTarget(PRIVATE, 80),)
    seeds = ["http://127.0.0.1/", "http://localhost/"]
    resolver = names.resolver("b=10.0.0.1", f"d={PUBLIC}", seeds=seeds, private=False)
    for host, address in (("a", PRIVATE), ("b", "10.0.0.1"), ("127.0.0.1", "127.0.0.1")):
        found = locate(resolver, host)
        assert isinstance(found, Refused)
        for named in (host, address, "--no-allow-private"):
            assert named in found.detail
    assert locate(resolver, "c") == locate(resolver, "d") == (ConnectTarget(PUBLIC, 80),)


@pytest.mark.parametrize("port", sorted(BLOCKED_PORTS))
def test_a_port_that_browsers_block_is_refused(port: int) -> None:
    names = Names(a=[PUBLIC])
    for resolver in (names.resolver(private=True), names.resolver("a=10.0.0.1")):
        found = locate(resolver, "a", port)
        assert isinstance(found, Refused)
        assert f"port {port} " in found.detail
    assert names.asked == []


def test_a_rule_overrides_look_ups_and_the_check_for_private_addresses() -> None:
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
    assert failed.kind is State.DNS
    assert failed.detail.startswith("a: ")


@pytest.mark.parametrize(
    ("outcome", "kept_s"),
    [
        (LookupAnswer([PUBLIC]), 300),
        (LookupAnswer([PUBLIC], 0), 60),
        (LookupAnswer([PUBLIC], 100), 100),
        (LookupAnswer([PUBLIC], 86_400), 3600),
        (NoSuchName("no such name"), 300),
        (OSError("the name servers fail"), 30),
    ],
)
def test_an_outcome_is_kept_for_any_port_as_long_as_its_kind_and_ttl_say(
    outcome: LookupAnswer | OSError, kept_s: int
) -> None:
    asked, now = list[str](), [1000.0]

    async def lookup(host: str) -> LookupAnswer:
        asked.append(host)
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    resolver = Resolver(lookup, rules=ResolveRules(()), clock=lambda: now[0])
    for later_s, times in ((0, 1), (kept_s - 1, 1), (kept_s + 1, 2)):
        now[0] = 1000.0 + later_s
        found = locate(resolver, "a", 80 + times)
        assert isinstance(found, Failed) == isinstance(outcome, OSError)
        assert len(asked) == times


def test_the_least_recently_used_host_is_forgotten_first() -> None:
    names = Names(a=[PUBLIC], b=[PUBLIC], c=[PUBLIC])
    resolver = Resolver(names, rules=ResolveRules(()), most_hosts=2)
    for host in "abac":
        locate(resolver, host)
    names.asked.clear()
    for host in "acb":
        locate(resolver, host)
    assert names.asked == ["b"]


async def test_concurrent_callers_share_a_lookup_that_none_of_them_cancels() -> None:
    names = Names(a=[PUBLIC])
    resolver = names.resolver()
    first, second = (asyncio.create_task(resolver.locate("a", 80)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == (ConnectTarget(PUBLIC, 80),)
    assert first.cancelled()
    assert names.asked == ["a"]


async def test_closing_stops_the_lookups_under_way() -> None:
    async def never(host: str) -> LookupAnswer:
        await asyncio.Event().wait()
        return LookupAnswer([host])

    resolver = Resolver(never, rules=ResolveRules(()))
    waiting = asyncio.create_task(resolver.locate("a", 80))
    await asyncio.sleep(0)
    resolver.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_the_system_knows_localhost_and_no_invalid_name() -> None:
    lookup = SystemLookup(1)
    assert set((await lookup("localhost")).addresses) & {"127.0.0.1", "::1"}
    with pytest.raises(OSError, match="not known"):
        await lookup("a" * 64 + ".invalid")
    lookup.close()


class Hanging:
    """Replacement of `getaddrinfo` that hangs until `let_go` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.threads = list[bytes](), set[int]()
        self.let_go = threading.Event()
        monkeypatch.setattr("socket.getaddrinfo", self)

    def __call__(self, host: bytes, *_: object, **_rest: object) -> list[tuple[object, ...]]:
        self.asked.append(host)
        self.threads.add(threading.get_ident())
        assert self.let_go.wait(60)
        return [(0, 0, 0, "", (PUBLIC, 0))]


async def _until(has_happened: Callable[[], bool]) -> None:
    while not has_happened():
        await asyncio.sleep(0.001)


async def test_as_many_names_are_looked_up_at_once_as_there_are_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system, lookup = Hanging(monkeypatch), SystemLookup(3)
    asked = [asyncio.create_task(_addresses(lookup, name)) for name in "abcde"]
    await _until(lambda: len(system.asked) == 3)
    asked[4].cancel()
    system.let_go.set()
    assert await asyncio.gather(*asked[:4]) == [[PUBLIC]] * 4
    assert sorted(system.asked) == [b"a", b"b", b"c", b"d"]
    assert len(system.threads) == 3
    lookup.close()


async def _addresses(lookup: SystemLookup, host: str) -> list[str]:
    return list((await lookup(host)).addresses)


def test_an_answer_for_a_closed_loop_or_a_cancelled_caller_is_dropped(
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


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_process_ends_when_its_time_is_over_though_a_lookup_hangs(
    workers: str, tmp_path: Path
) -> None:
    """The look-up hangs for ever, so a process that waited for its thread would never end."""
    arguments = ["--for", "1s", "--timeout", "1s", "--workers", workers, "--name-server", "system"]
    done = run_python("-c", HANGING, *arguments, folder=tmp_path)
    assert done.returncode == 3
    assert "nothing could be fetched" in done.stderr
