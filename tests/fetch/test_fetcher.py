import asyncio
import gzip
import json
import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minicrawl import __version__
from minicrawl.config import Network, Politeness
from minicrawl.fetch import connection, fetcher
from minicrawl.fetch.fetcher import HttpFetcher, pace_of
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
from tests.fetch.results import kind_of, page_of
from tests.fetch.wire import (
    FAULTS,
    ODD_PAGE,
    ODDITIES,
    Answer,
    Then,
    Wire,
    answer,
    certified,
    serving,
    wire,
)

PAGE = b"<html><a href=/x>x</a></html>"


async def no_names(host: str) -> LookupAnswer:
    raise OSError(f"the tests know no {host}")


def http_fetcher(
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


async def ask(url: str, network: Network | None = None) -> FetchResult:
    async with http_fetcher(network=network) as fetcher:
        return await fetcher.fetch(Request(url=url))


def fetch(*answers: Answer, **fields: object) -> tuple[FetchResult, Wire]:
    async def fetch_from_server() -> tuple[FetchResult, Wire]:
        async with wire(*answers) as server, http_fetcher() as fetcher:
            request = Request(url=server.url(), **fields)  # type: ignore[arg-type]  # any field
            return await fetcher.fetch(request), server

    return asyncio.run(fetch_from_server())


# ---------------------------------------------------------------- requests


def test_a_page_is_fetched() -> None:
    page, server = fetch(answer(PAGE))
    assert isinstance(page, Response)
    assert (page.status, page.body, page.wire_bytes, page.cut) == (200, PAGE, len(PAGE), None)
    assert page.headers["content-type"] == "text/html"
    assert page.elapsed_s > 0
    assert server.connections == 1


async def test_the_first_byte_is_timed_from_the_request_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    for module in (connection, fetcher):
        monkeypatch.setattr(module, "perf_counter", lambda: now[0])

    class LateServer(Wire):
        def next(self) -> Answer:
            now[0] += 0.5
            return super().next()

    async def late_lookup(_: str) -> LookupAnswer:
        now[0] += 2
        return LookupAnswer(["127.0.0.1"])

    network = Network(allow_private=True)
    async with (
        serving(LateServer([answer(PAGE)])) as server,
        HttpFetcher(network, Politeness(), lookup=late_lookup) as asking,
    ):
        page = await asking.fetch(Request(url=server.url(host="a.example")))
        assert (page.first_byte_s, page.elapsed_s) == (0.5, 2.5)
        nowhere = await asking.fetch(Request(url="ftp://a.example/"))
        assert nowhere.first_byte_s is None


async def test_a_request_names_the_crawler_and_carries_no_cookies_of_earlier_responses() -> None:
    cookies = ("Content-Type: text/html", "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d")
    politeness = Politeness(agent="minicrawl", contact="https://example.org/bot")
    async with (
        wire(answer(PAGE, headers=cookies)) as server,
        http_fetcher(politeness=politeness) as fetcher,
    ):
        for _ in range(2):
            await fetcher.fetch(Request(url=server.url("/a%7Eb|c?d='%27[1]")))
    first, second = server.asked
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


async def test_credentials_of_a_url_are_not_sent() -> None:
    async with wire(answer(PAGE)) as server:
        assert isinstance(await ask(server.url("/", host="me:secret@127.0.0.1")), Response)
    assert b"uthorization" not in server.asked[0]


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    page, _ = fetch(answer(PAGE))
    assert isinstance(page, Response)


def test_a_redirect_is_not_followed() -> None:
    moved, server = fetch(answer(status="302 Found", headers=["Location: /é other"]))
    assert isinstance(moved, Moved)
    assert moved.target == "/é other"
    assert len(server.asked) == 1


# ---------------------------------------------------------------- faults

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
LATE = "silence in the body"
CUT = [
    "a body too short",
    "a body reset",
    "chunks that end early",
    "chunks that turn to junk",
    "trailers without end",
]


def test_every_fault_is_tested_here() -> None:
    assert FAULTS.keys() == {*KINDS, *TIMEOUTS, *CUT, LATE, "a body without end"}


@pytest.mark.parametrize("fault", KINDS)
def test_each_fault_is_a_failure_of_its_kind(fault: str) -> None:
    assert kind_of(fetch(FAULTS[fault])[0]) is KINDS[fault]


@pytest.mark.parametrize("fault", CUT)
def test_a_body_that_breaks_off_is_a_page_that_is_cut(fault: str) -> None:
    page, _ = fetch(FAULTS[fault])
    assert isinstance(page, Response)
    assert page.body.startswith(b"abc")
    assert page.cut


@pytest.mark.parametrize("oddity", ODDITIES)
def test_oddities_that_browsers_forgive_are_forgiven(oddity: str) -> None:
    page, _ = fetch(ODDITIES[oddity])
    assert isinstance(page, Response)
    assert (page.body, page.wire_bytes, page.cut) == (ODD_PAGE, len(ODD_PAGE), None)


@pytest.mark.parametrize("fault", TIMEOUTS)
async def test_silence_before_the_body_ends_at_the_deadline(fault: str) -> None:
    async with wire(FAULTS[fault]) as server:
        assert kind_of(await ask(server.url(), Network(timeout_s=0.2))) is FailureKind.TIMEOUT


async def test_a_body_that_the_deadline_cuts_is_a_page_that_is_cut() -> None:
    async with wire(FAULTS[LATE]) as server:
        for timeout_s in (0.2, 1, 5, 25):  # on a busy machine even the head may come late
            page = await ask(server.url(), Network(timeout_s=timeout_s))
            if isinstance(page, Response):
                break
    assert isinstance(page, Response)
    assert (page.body, page.cut) == (b"abc", FailureKind.TIMEOUT)


async def test_a_lookup_that_hangs_ends_at_the_deadline() -> None:
    async def hanging(host: str) -> LookupAnswer:
        await asyncio.Event().wait()
        return LookupAnswer([host])

    async with HttpFetcher(Network(timeout_s=0.1), Politeness(), lookup=hanging) as fetcher:
        assert kind_of(await fetcher.fetch(Request(url="http://a.example/"))) is FailureKind.TIMEOUT
        located = await fetcher.locate("http://a.example/")
    assert kind_of(located) is FailureKind.TIMEOUT


@pytest.mark.parametrize("fault", [*TIMEOUTS, LATE])
async def test_cancelling_a_fetch_closes_its_connection(fault: str) -> None:
    async with wire(FAULTS[fault]) as server, http_fetcher() as fetcher:
        fetching = asyncio.create_task(fetcher.fetch(Request(url=server.url())))
        await server.until_asked(1)
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        await server.until_left(1)


async def test_a_url_that_is_too_long_for_the_client_is_a_failure() -> None:
    assert kind_of(await ask("http://127.0.0.1/" + "a" * 70_000)) is FailureKind.PROTOCOL


# ---------------------------------------------------------------- bodies and limits


def test_a_body_without_end_is_read_to_the_cap() -> None:
    page, server = fetch(FAULTS["a body without end"], max_bytes=50_000)
    assert isinstance(page, Response)
    assert (page.body, page.cut) == (b"x" * 50_000, FailureKind.TOO_LARGE)
    assert server.sent < 10_000_000


@pytest.mark.parametrize(
    ("headers", "limit", "detail"),
    [
        (["X: " + "x" * 900], {"max_head_bytes": 900}, "a head of more than 900 bytes"),
        (["Content-Encoding: gzip, gzip"], {"max_codings": 1}, "2 codings, one over another"),
    ],
)
async def test_settings_limit_responses(
    headers: list[str], limit: dict[str, Any], detail: str
) -> None:
    coded = gzip.compress(gzip.compress(PAGE))
    async with wire(answer(coded, headers=["Content-Type: text/html", *headers])) as server:
        assert isinstance(await ask(server.url(), Network()), Response)
        failed = await ask(server.url(), Network(**limit))
    assert isinstance(failed, Failed)
    assert failed.detail == detail


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (["HTTP/1.1 503 Busy", "X: " + "x" * 900], b"HTTP/1.1 503 Busy\r\nX: xx"),
        (["HTTP/1.1 " + "x" * 900], None),  # no status line
        (["HTTP/1.1 103 Early", "", ""] * 33, None),  # no final response
    ],
)
async def test_the_beginning_of_a_head_over_the_limit_is_kept_as_a_failure(
    head: list[str], kept: bytes | None
) -> None:
    said = Answer(("\r\n".join([*head, "", ""]).encode(),))
    limit = Network(max_head_bytes=900)
    async with wire(said) as server, http_fetcher(network=limit) as fetcher:
        found = await fetcher.fetch(Request(url=server.url(), keeps_failures=True))
        bare = await fetcher.fetch(Request(url=server.url()))
    assert isinstance(found, Failed)
    assert found.kind is FailureKind.TOO_LARGE
    assert isinstance(bare, Failed)
    assert bare.answer is None
    response = found.answer and found.answer.wire and found.answer.wire.response
    assert (response and response[: len(kept or b"")]) == kept
    if found.answer is not None:
        assert (found.answer.status, found.answer.body) == (503, b"")
        assert found.answer.cut_detail == "a head of more than 900 bytes"
        assert response is not None
        assert len(response) == 901


async def test_the_request_url_is_requested_in_place_of_the_url() -> None:
    async with wire(answer(PAGE)) as server, http_fetcher() as fetcher:
        url, request_url = server.url("/a"), server.url("/a;jsessionid=1")
        await fetcher.fetch(Request(url=url, request_url=request_url))
    assert server.asked[0].startswith(b"GET /a;jsessionid=1 HTTP/1.1")


@pytest.mark.parametrize(
    "head", ["HTTP/1.1 200 OK\r\nContent-Type: video/mp4", "HTTP/1.1 404 Not Found"]
)
def test_an_endless_body_of_no_use_is_not_read(head: str) -> None:
    endless = Answer((f"{head}\r\n\r\n".encode(), b"x" * 10_000), Then.REPEAT)
    fetched, server = fetch(endless)
    assert isinstance(fetched, Refused | Failed)
    assert fetched.status in (200, 404)
    assert server.sent < 10_000_000


def fetch_twice(*answers: Answer) -> tuple[FetchResult, Wire]:
    async def fetch_from_server() -> tuple[FetchResult, Wire]:
        politeness = Politeness(delay_s=0)
        async with wire(*answers) as server, http_fetcher(politeness=politeness) as fetcher:
            await fetcher.fetch(Request(url=server.url("/1")))
            return await fetcher.fetch(Request(url=server.url("/2"))), server

    return asyncio.run(fetch_from_server())


@pytest.mark.parametrize(
    ("first", "connections"),
    [
        (answer(PAGE), 1),
        (answer(b"not here", status="404 Not Found"), 1),  # unread, but it has arrived
        (answer(b"x" * 10_000_000, headers=["Content-Type: video/mp4"]), 2),
        (Answer(ODDITIES["more than its length"].pieces, Then.KEEP), 2),
        (Answer(ODDITIES["a length beside chunks"].pieces, Then.KEEP), 2),
    ],
    ids=["read", "arrived", "unread", "more than its length", "a length beside chunks"],
)
def test_a_connection_is_used_again_if_its_response_has_ended_beyond_doubt(
    first: Answer, connections: int
) -> None:
    page, server = fetch_twice(first, answer(PAGE))
    assert isinstance(page, Response)
    assert server.connections == connections


def test_a_kept_connection_that_breaks_off_a_response_is_a_failure_without_a_retry() -> None:
    broken = Answer((b"H",), Then.CLOSE)
    failed, server = fetch_twice(answer(PAGE), broken, answer(PAGE))
    assert kind_of(failed) is FailureKind.RESET
    assert len(server.asked) == 2


def test_a_new_connection_that_closes_without_a_response_is_not_retried() -> None:
    failed, server = fetch(FAULTS["closed at once"], answer(PAGE))
    assert isinstance(failed, Failed)
    assert len(server.asked) == 1


def test_a_kept_connection_that_died_is_replaced() -> None:
    page, server = fetch_twice(answer(PAGE), FAULTS["closed at once"], answer(PAGE))
    assert isinstance(page, Response)
    assert server.connections == 2
    assert len(server.asked) == 3


def test_a_dead_connection_is_replaced_after_a_pause_as_long_as_it_may_be_kept() -> None:
    assert pace_of(Politeness(delay_s=0)).pause_s == 0
    paces = [pace_of(Politeness(delay_s=delay_s)) for delay_s in (0.1, 1, 60)]
    assert all(pace.pause_s == pace.keep_s for pace in paces)


# ---------------------------------------------------------------- addresses


@pytest.mark.parametrize("url", ["ftp://1.1.1.1/", "file:///etc/passwd", "no url", "http://"])
async def test_urls_of_other_schemes_are_refused(url: str) -> None:
    refused = (await ask(url))._replace(elapsed_s=0)
    assert refused == Refused(reason=Refusal.ADDRESS, detail="neither http nor https")


async def test_a_private_address_is_refused_without_a_connection() -> None:
    async with wire(answer(PAGE)) as server, http_fetcher(private=None) as fetcher:
        refused = await fetcher.fetch(Request(url=server.url()))
        assert server.connections == 0
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.ADDRESS


async def test_the_address_that_was_checked_is_the_one_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second look-up, which DNS rebinding would abuse, fails here."""
    monkeypatch.setattr("minicrawl.fetch.resolver._KEPT_S", -1.0)
    addresses = [["127.0.0.1"]]

    async def rebinding(_: str) -> LookupAnswer:
        return LookupAnswer(addresses.pop())

    network = Network(timeout_s=60, allow_private=True)
    async with (
        wire(answer(PAGE)) as server,
        HttpFetcher(network, Politeness(), lookup=rebinding) as fetcher,
    ):
        page = await fetcher.fetch(Request(url=server.url(host="a.example")))
    assert isinstance(page, Response)
    assert f"Host: a.example:{server.port}\r\n".encode() in server.asked[0]


@pytest.mark.parametrize("host", ["a.example", "xn--bcher-kva.example", "9.9.9.9", "[2606::1]"])
async def test_a_rule_changes_the_address_and_not_the_host_header(host: str) -> None:
    async with (
        wire(answer(PAGE)) as server,
        http_fetcher(f"{host}:80=127.0.0.1:{server.port}", private=None) as fetcher,
    ):
        assert isinstance(await fetcher.fetch(Request(url=f"http://{host}/%7E")), Response)
    assert server.asked[0].startswith(b"GET /%7E HTTP/1.1\r\n")
    assert f"Host: {host}\r\n".encode() in server.asked[0]


async def test_urls_that_lead_to_private_addresses_are_refused_and_others_are_not(
    shared_vector: Callable[[str], Path],
) -> None:
    cases = json.loads(shared_vector("ssrf_urls.json").read_text("utf-8"))

    async def names(host: str) -> LookupAnswer:
        return LookupAnswer(["127.0.0.1"] if host == "localhost" else ["93.184.216.34"])

    async with HttpFetcher(Network(), Politeness(), lookup=names) as fetcher:
        for case in cases:
            is_located = isinstance(await fetcher.locate(case["url"]), str)
            assert is_located is case["allowed"], case["url"]


# ---------------------------------------------------------------- TLS


async def fetch_with_tls(host: str, *names: str, is_trusted: bool = True) -> FetchResult:
    server_tls, client_tls = certified(*names)
    async with (
        wire(answer(PAGE), tls=server_tls) as server,
        http_fetcher(
            f"{host}:443=127.0.0.1:{server.port}", tls=client_tls if is_trusted else None
        ) as fetcher,
    ):
        return await fetcher.fetch(Request(url=f"https://{host}/"))


@pytest.mark.parametrize("host", ["a.example", "9.9.9.9"])
async def test_a_certificate_must_be_for_the_host_of_the_url_whatever_its_address(
    host: str,
) -> None:
    page = page_of(await fetch_with_tls(host, host))
    assert page.wire
    assert page.wire.protocols == ("http/1.1", "tls/1.3")
    assert page.wire.cipher.startswith("TLS_")
    assert kind_of(await fetch_with_tls(host, "127.0.0.1", "b.example")) is FailureKind.TLS


async def test_https_to_a_server_without_tls_is_a_failure() -> None:
    async with wire(answer(PAGE)) as server:
        assert kind_of(await ask(server.url(scheme="https"))) is FailureKind.TLS
