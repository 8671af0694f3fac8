import asyncio
import gzip
import json
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
import trustme

from minicrawl.config import Network, Politeness
from minicrawl.errors import UsageError
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.opening import pace_of
from minicrawl.fetch.resolver import LookupAnswer
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    Moved,
    Refusal,
    Refused,
    Request,
    Response,
    Unchanged,
)
from minicrawl.version import __version__
from tests.fetch.wire import FAULTS, ODD_PAGE, ODDITIES, Answer, Then, Wire, answer, wire

T = TypeVar("T")
PAGE = b"<html><a href=/x>x</a></html>"


async def no_names(host: str) -> LookupAnswer:
    raise OSError(f"the tests know no {host}")


def fetcher(
    *rules: str,
    network: Network | None = None,
    tls: ssl.SSLContext | None = None,
    politeness: Politeness | None = None,
    private: bool | None = True,
) -> HttpFetcher:
    usual = Network(timeout_s=60, resolve=rules)
    return HttpFetcher(
        replace(network or usual, allow_private=private),
        politeness or Politeness(),
        lookup=no_names,
        tls=tls,
    )


def meet(
    answers: Iterable[Answer],
    talk: Callable[[Wire], Awaitable[T]],
    tls: ssl.SSLContext | None = None,
) -> T:
    """Let `talk` talk to a server with these answers."""

    async def meeting() -> T:
        async with wire(*answers, tls=tls) as server:
            return await talk(server)

    return asyncio.run(meeting())


def fetch(*answers: Answer, **fields: object) -> tuple[FetchResult, Wire]:
    async def talk(server: Wire) -> tuple[FetchResult, Wire]:
        async with fetcher() as asker:
            return await asker.fetch(Request(url=server.url(), **fields)), server  # type: ignore[arg-type]  # a test's fields are a request's

    return meet(answers, talk)


# ---------------------------------------------------------------- what is asked


def test_a_page_comes_over_the_wire() -> None:
    page, server = fetch(answer(PAGE))
    assert isinstance(page, Response)
    assert (page.status, page.body, page.wire_bytes, page.cut) == (200, PAGE, len(PAGE), None)
    assert page.headers["content-type"] == "text/html"
    assert page.elapsed_s > 0
    assert server.connections == 1


def test_a_request_says_who_asks_and_what_it_takes_and_nothing_of_the_past() -> None:
    async def talk(server: Wire) -> list[bytes]:
        politeness = Politeness(agent="minicrawl", contact="https://example.org/bot")
        async with fetcher(politeness=politeness) as asker:
            for _ in range(2):
                await asker.fetch(Request(url=server.url("/a%7Eb|c?d='%27[1]")))
        return server.asked

    cookies = ("Content-Type: text/html", "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d")
    first, second = meet([answer(PAGE, headers=cookies)], talk)
    assert first == second
    lines = first.decode().split("\r\n")
    assert lines[0] == "GET /a%7Eb|c?d='%27[1] HTTP/1.1"
    named = dict(line.split(": ", 1) for line in lines[1:-2])
    assert named.pop("Host").startswith("127.0.0.1:")
    assert named.pop("Accept").startswith("text/html")
    assert named == {
        "User-Agent": f"minicrawl/{__version__} (+https://example.org/bot)",
        "Accept-Encoding": "gzip, deflate, br, zstd",
        "Connection": "keep-alive",
    }


def test_without_a_contact_the_agent_is_name_and_version() -> None:
    _, server = fetch(answer(PAGE))
    assert f"User-Agent: minicrawl/{__version__}\r\n".encode() in server.asked[0]


def test_validators_are_sent_back_as_they_came() -> None:
    unchanged, server = fetch(
        answer(status="304 Not Modified"), etag='W/"é"', last_modified="Fri, 20 Nov 2026 GMT"
    )
    assert isinstance(unchanged, Unchanged)
    assert 'If-None-Match: W/"é"\r\n'.encode() in server.asked[0]
    assert b"If-Modified-Since: Fri, 20 Nov 2026 GMT\r\n" in server.asked[0]


def test_a_validator_that_would_break_the_request_is_left_out() -> None:
    _, server = fetch(answer(PAGE), etag="a\r\nEvil: 1", last_modified="b\n")
    assert b"If-" not in server.asked[0]
    assert b"Evil" not in server.asked[0]


def test_credentials_of_a_url_are_not_sent() -> None:
    async def talk(server: Wire) -> bytes:
        async with fetcher() as asker:
            page = await asker.fetch(Request(url=server.url("/", host="me:secret@127.0.0.1")))
        assert isinstance(page, Response)
        return server.asked[0]

    assert b"uthorization" not in meet([answer(PAGE)], talk)


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    page, _ = fetch(answer(PAGE))
    assert isinstance(page, Response)


def test_a_redirect_is_not_followed() -> None:
    moved, server = fetch(answer(status="302 Found", headers=["Location: /é other"]))
    assert isinstance(moved, Moved)
    assert moved.target == "/é other"
    assert len(server.asked) == 1


# ---------------------------------------------------------------- what may go wrong

KINDS = {
    "closed at once": FailureKind.RESET,
    "reset at once": FailureKind.RESET,
    "closed in the headers": FailureKind.RESET,
    "no HTTP": FailureKind.PROTOCOL,
    "HTTP/2": FailureKind.PROTOCOL,
    "a status of two digits": FailureKind.PROTOCOL,
    "no HTTP, and no end": FailureKind.PROTOCOL,
    "nothing but 100 Continue": FailureKind.TOO_LARGE,
    "two lengths": FailureKind.PROTOCOL,
    "a header too long": FailureKind.TOO_LARGE,
    "a header without end": FailureKind.TOO_LARGE,
    "too many headers": FailureKind.TOO_LARGE,
    "headers without end": FailureKind.TOO_LARGE,
    "blank lines without end": FailureKind.TOO_LARGE,
    "headers too long in all": FailureKind.TOO_LARGE,
    "a reason too long": FailureKind.TOO_LARGE,
    "a length and no body": FailureKind.RESET,
    "chunks and no body": FailureKind.RESET,
    "chunks that are none": FailureKind.PROTOCOL,
    "a chunk's size without end": FailureKind.PROTOCOL,
}
TIMEOUTS = ["silence", "silence in the headers"]
LATE = ["silence in the body"]
CUT = [
    "a body too short",
    "a body reset",
    "chunks that end early",
    "chunks that turn to junk",
    "trailers without end",
]


def test_every_fault_has_its_law() -> None:
    assert FAULTS.keys() == {*KINDS, *TIMEOUTS, *CUT, *LATE, "a body without end"}


@pytest.mark.parametrize("fault", KINDS)
def test_a_fault_is_a_failure_of_a_named_kind(fault: str) -> None:
    failed, _ = fetch(FAULTS[fault])
    assert isinstance(failed, Failed)
    assert failed.kind is KINDS[fault], failed


@pytest.mark.parametrize("fault", CUT)
def test_a_body_that_breaks_off_is_a_page_that_is_cut(fault: str) -> None:
    page, _ = fetch(FAULTS[fault])
    assert isinstance(page, Response)
    assert page.body.startswith(b"abc")
    assert page.cut


@pytest.mark.parametrize("oddity", ODDITIES)
def test_what_browsers_forgive_is_forgiven(oddity: str) -> None:
    page, _ = fetch(ODDITIES[oddity])
    assert isinstance(page, Response)
    assert (page.body, page.wire_bytes, page.cut) == (ODD_PAGE, len(ODD_PAGE), None)


async def ask_hastily(server: Wire, timeout_s: float = 0.2) -> FetchResult:
    async with fetcher(network=Network(timeout_s=timeout_s)) as asker:
        return await asker.fetch(Request(url=server.url()))


@pytest.mark.parametrize("fault", TIMEOUTS)
def test_one_deadline_stands_over_everything(fault: str) -> None:
    failed = meet([FAULTS[fault]], ask_hastily)
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.TIMEOUT


@pytest.mark.parametrize("fault", LATE)
def test_a_body_that_the_deadline_cuts_is_a_page_that_is_cut(fault: str) -> None:
    for timeout_s in (0.2, 1, 5, 25):  # on a busy machine the head of the response comes late, too
        page = meet([FAULTS[fault]], partial(ask_hastily, timeout_s=timeout_s))
        if isinstance(page, Response):
            break
    assert isinstance(page, Response)
    assert (page.body, page.cut) == (b"abc", FailureKind.TIMEOUT)


def test_a_lookup_that_hangs_runs_into_the_deadline() -> None:
    async def hanging(host: str) -> LookupAnswer:
        await asyncio.Event().wait()
        return LookupAnswer([host])

    async def ask() -> tuple[object, ...]:
        network = Network(timeout_s=0.1)
        async with HttpFetcher(network, Politeness(), lookup=hanging) as asker:
            url = "http://a.example/"
            return await asker.fetch(Request(url=url)), await asker.locate(url)

    for failed in asyncio.run(ask()):
        assert isinstance(failed, Failed)
        assert failed.kind is FailureKind.TIMEOUT


def test_a_cancellation_goes_through_and_hangs_up() -> None:
    async def talk(server: Wire) -> None:
        async with fetcher() as asker:
            asking = asyncio.create_task(asker.fetch(Request(url=server.url())))
            while not server.asked:
                await asyncio.sleep(0)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await server.until_left(1)

    for fault in TIMEOUTS + LATE:
        meet([FAULTS[fault]], talk)


def test_nobody_listening_is_a_failure_to_connect() -> None:
    async def ask() -> FetchResult:
        async with wire() as server:
            pass
        async with fetcher() as asker:
            return await asker.fetch(Request(url=server.url()))

    failed = asyncio.run(ask())
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.CONNECT


def test_a_url_too_long_for_the_client_is_a_failure() -> None:
    async def ask() -> FetchResult:
        async with fetcher() as asker:
            return await asker.fetch(Request(url="http://127.0.0.1/" + "a" * 70_000))

    failed = asyncio.run(ask())
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.PROTOCOL


# ---------------------------------------------------------------- what is read, and what is kept


def test_a_body_without_end_is_read_to_the_cap() -> None:
    page, server = fetch(FAULTS["a body without end"], max_bytes=50_000)
    assert isinstance(page, Response)
    assert (page.body, page.cut) == (b"x" * 50_000, FailureKind.TOO_LARGE)
    assert server.sent < 10_000_000


@pytest.mark.parametrize(
    ("headers", "limit", "detail"),
    [
        (
            ["X: " + "x" * 900],
            {"max_head_bytes": 900},
            "a head of more than 900 bytes",
        ),
        (
            ["Content-Encoding: gzip, gzip"],
            {"max_codings": 1},
            "2 codings, one over another",
        ),
    ],
)
def test_what_an_answer_may_be_is_set(
    headers: list[str], limit: dict[str, Any], detail: str
) -> None:
    async def ask(server: Wire, network: Network) -> FetchResult:
        async with fetcher(network=network) as asker:
            return await asker.fetch(Request(url=server.url()))

    async def talk(server: Wire) -> list[FetchResult]:
        return [await ask(server, Network(**given)) for given in ({}, limit)]

    headers = ["Content-Type: text/html", *headers]
    free, bound = meet([answer(gzip.compress(gzip.compress(PAGE)), headers=headers)] * 2, talk)
    assert isinstance(free, Response)
    assert isinstance(bound, Failed)
    assert bound.detail == detail


def test_a_url_is_asked_for_as_it_is_spelled() -> None:
    async def talk(server: Wire) -> list[bytes]:
        async with fetcher() as asker:
            await asker.fetch(
                Request(url=server.url("/a"), request_url=server.url("/a;jsessionid=1"))
            )
        return server.asked

    (asked,) = meet([answer(PAGE)], talk)
    assert asked.startswith(b"GET /a;jsessionid=1 HTTP/1.1")


def test_a_length_beyond_the_cap_is_no_failure() -> None:
    page, _ = fetch(answer(b"x" * 50_000), max_bytes=1000)
    assert isinstance(page, Response)
    assert (page.body, page.wire_bytes, page.cut) == (b"x" * 1000, 1000, FailureKind.TOO_LARGE)


@pytest.mark.parametrize(
    "head", ["HTTP/1.1 200 OK\r\nContent-Type: video/mp4", "HTTP/1.1 404 Not Found"]
)
def test_a_body_nobody_wants_is_hung_up_on(head: str) -> None:
    endless = Answer((f"{head}\r\n\r\n".encode(), b"x" * 10_000), Then.REPEAT)
    fetched, server = fetch(endless)
    assert isinstance(fetched, Refused | Failed)
    assert fetched.status in (200, 404)
    assert server.sent < 10_000_000


def test_a_coded_body_is_decoded_and_its_size_on_the_wire_is_told() -> None:
    coded = gzip.compress(PAGE)
    page, _ = fetch(answer(coded, headers=["Content-Type: text/html", "Content-Encoding: gzip"]))
    assert isinstance(page, Response)
    assert (page.body, page.wire_bytes) == (PAGE, len(coded))


def ask_again(*answers: Answer) -> tuple[FetchResult, Wire]:
    """Ask twice with one fetcher; the second answer counts."""

    async def talk(server: Wire) -> tuple[FetchResult, Wire]:
        async with fetcher(politeness=Politeness(delay_s=0)) as asker:
            await asker.fetch(Request(url=server.url("/1")))
            return await asker.fetch(Request(url=server.url("/2"))), server

    return meet(answers, talk)


def test_a_connection_is_used_again() -> None:
    page, server = ask_again(answer(PAGE))
    assert isinstance(page, Response)
    assert server.connections == 1


def test_a_connection_whose_answer_was_left_unread_is_not_used_again() -> None:
    left = answer(b"x" * 10_000_000, headers=["Content-Type: video/mp4"])
    _, server = ask_again(left, answer(PAGE))
    assert server.connections == 2


def test_a_connection_is_used_again_after_an_answer_that_came_whole_though_it_was_unread() -> None:
    missing = answer(b"not here", status="404 Not Found")
    page, server = ask_again(missing, answer(PAGE))
    assert isinstance(page, Response)
    assert server.connections == 1


@pytest.mark.parametrize("oddity", ["more than its length", "a length beside chunks"])
def test_a_connection_whose_answers_end_is_in_doubt_is_not_used_again(oddity: str) -> None:
    odd = Answer(ODDITIES[oddity].pieces, Then.KEEP)
    page, server = ask_again(odd, answer(PAGE))
    assert isinstance(page, Response)
    assert server.connections == 2


def test_a_kept_connection_that_broke_off_an_answer_is_a_failure_and_not_asked_again() -> None:
    broken = Answer((b"H",), Then.CLOSE)
    failed, server = ask_again(answer(PAGE), broken, answer(PAGE))
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.RESET
    assert len(server.asked) == 2


def test_a_new_connection_that_says_nothing_is_not_asked_again() -> None:
    failed, server = fetch(FAULTS["closed at once"], answer(PAGE))
    assert isinstance(failed, Failed)
    assert len(server.asked) == 1


def test_a_kept_connection_that_died_is_replaced_and_is_no_failure() -> None:
    page, server = ask_again(answer(PAGE), FAULTS["closed at once"], answer(PAGE))
    assert isinstance(page, Response)
    assert server.connections == 2
    assert len(server.asked) == 3


def test_it_is_replaced_after_a_pause_no_shorter_than_any_delay_it_may_have_been_kept_for() -> None:
    assert pace_of(Politeness(delay_s=0)).pause_s == 0
    paces = [pace_of(Politeness(delay_s=delay_s)) for delay_s in (0.1, 1, 60)]
    assert all(pace.pause_s == pace.keep_s for pace in paces)


# ---------------------------------------------------------------- where connections go


def test_a_host_is_located_before_it_is_asked() -> None:
    async def ask() -> None:
        async with fetcher("a.example:81=10.0.0.1:8", "[::2]=10.0.0.2") as asker:
            assert await asker.locate("http://a.example:81/x") == "10.0.0.1"
            assert await asker.locate("https://[::2]:443/x") == "10.0.0.2"

    asyncio.run(ask())


@pytest.mark.parametrize("url", ["ftp://1.1.1.1/", "file:///etc/passwd", "no url", "http://"])
def test_what_is_no_url_of_the_web_is_refused(url: str) -> None:
    async def ask() -> FetchResult:
        async with fetcher() as asker:
            return await asker.fetch(Request(url=url))

    refused = asyncio.run(ask())._replace(elapsed_s=0)
    assert refused == Refused(reason=Refusal.ADDRESS, detail="neither http nor https")


def test_a_private_address_is_refused_unasked() -> None:
    async def talk(server: Wire) -> FetchResult:
        async with fetcher(private=None) as asker:
            refused = await asker.fetch(Request(url=server.url()))
        assert server.connections == 0
        return refused

    refused = meet([answer(PAGE)], talk)
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.ADDRESS


def test_a_name_is_looked_up_once_so_what_was_judged_is_what_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("minicrawl.fetch.resolver._KEPT_S", -1.0)
    addresses = [["127.0.0.1"]]

    async def rebinding(_: str) -> LookupAnswer:
        return LookupAnswer(addresses.pop())

    async def talk(server: Wire) -> FetchResult:
        network = Network(timeout_s=60, allow_private=True)
        async with HttpFetcher(network, Politeness(), lookup=rebinding) as asker:
            return await asker.fetch(Request(url=server.url(host="a.example")))

    assert isinstance(meet([answer(PAGE)], talk), Response)


def test_a_name_is_asked_at_the_address_that_was_found() -> None:
    async def found(_: str) -> LookupAnswer:
        return LookupAnswer(["127.0.0.1"])

    async def talk(server: Wire) -> None:
        network = Network(timeout_s=60, allow_private=True)
        async with HttpFetcher(network, Politeness(), lookup=found) as asker:
            page = await asker.fetch(Request(url=server.url(host="a.example")))
        assert isinstance(page, Response)
        assert f"Host: a.example:{server.port}\r\n".encode() in server.asked[0]

    meet([answer(PAGE)], talk)


@pytest.mark.parametrize("host", ["a.example", "xn--bcher-kva.example", "9.9.9.9", "[2606::1]"])
def test_a_rule_moves_the_connection_and_not_the_host_header(host: str) -> None:
    async def talk(server: Wire) -> None:
        async with fetcher(f"{host}:80=127.0.0.1:{server.port}", private=None) as asker:
            page = await asker.fetch(Request(url=f"http://{host}/%7E"))
        assert isinstance(page, Response)
        assert server.asked[0].startswith(b"GET /%7E HTTP/1.1\r\n")
        assert f"Host: {host}\r\n".encode() in server.asked[0]

    meet([answer(PAGE)], talk)


def test_a_rule_that_cannot_be_read_is_refused_before_anything_is_fetched() -> None:
    with pytest.raises(UsageError, match="nonsense"):
        fetcher("nonsense")


def test_urls_that_try_to_reach_inside_are_refused_and_others_are_not(
    shared_vector: Callable[[str], Path],
) -> None:
    cases = json.loads(shared_vector("ssrf_urls.json").read_text("utf-8"))

    async def names(host: str) -> LookupAnswer:
        return LookupAnswer(["127.0.0.1"] if host == "localhost" else ["93.184.216.34"])

    async def judge() -> list[str]:
        async with HttpFetcher(Network(), Politeness(), lookup=names) as asker:
            return [
                case["url"]
                for case in cases
                if isinstance(await asker.locate(case["url"]), str) != case["allowed"]
            ]

    assert asyncio.run(judge()) == []


# ---------------------------------------------------------------- TLS


def certified(*names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a certificate for these names, and a client's that trusts it."""
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return server, client


def fetch_with_tls(host: str, names: list[str], *, trusting: bool = True) -> FetchResult:
    server_tls, client_tls = certified(*names)

    async def talk(server: Wire) -> FetchResult:
        rule = f"{host}:443=127.0.0.1:{server.port}"
        async with fetcher(rule, tls=client_tls if trusting else None) as asker:
            return await asker.fetch(Request(url=f"https://{host}/"))

    return meet([answer(PAGE)], talk, server_tls)


@pytest.mark.parametrize("host", ["a.example", "9.9.9.9"])
def test_a_certificate_must_carry_the_urls_host_wherever_a_rule_leads(host: str) -> None:
    assert isinstance(fetch_with_tls(host, [host]), Response)
    failed = fetch_with_tls(host, ["127.0.0.1", "b.example"])
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.TLS


def test_a_certificate_that_nobody_vouches_for_is_a_failure() -> None:
    failed = fetch_with_tls("a.example", ["a.example"], trusting=False)
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.TLS


def test_tls_with_a_server_that_speaks_none_is_a_failure() -> None:
    async def talk(server: Wire) -> FetchResult:
        async with fetcher() as asker:
            return await asker.fetch(Request(url=server.url(scheme="https")))

    failed = meet([answer(PAGE)], talk)
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.TLS
