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
from minicrawl.fetch.fetcher import pace_of
from minicrawl.fetch.http.faults import described
from minicrawl.fetch.resolver.lookups import LookupAnswer
from minicrawl.model import Failed, FetchResult, Refused, Request, Response, Unchanged
from minicrawl.states import State
from tests.fetch.results import LOCAL, ask, http_fetcher, kind_of, page_of
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


def fetch(*answers: Answer, **fields: Any) -> tuple[FetchResult, Wire]:
    async def fetch_from_server() -> tuple[FetchResult, Wire]:
        async with wire(*answers) as server:
            return await ask(Request(url=server.url(), **fields)), server

    return asyncio.run(fetch_from_server())


def test_a_page_is_fetched() -> None:
    fetched, server = fetch(answer(PAGE))
    page = page_of(fetched)
    assert (page.status, page.body, page.wire_bytes, page.cut) == (200, PAGE, len(PAGE), None)
    assert page.headers["content-type"] == "text/html"
    assert page.elapsed_s > 0
    assert server.connections == 1
    assert f"User-Agent: minicrawl/{__version__}\r\n".encode() in server.asked[0]


async def test_the_first_byte_is_timed_from_the_request_on() -> None:
    """The server and the look-up each take at least as long as they sleep."""
    late_s = 0.01

    class LateServer(Wire):
        async def send(self, writer: asyncio.StreamWriter, piece: bytes) -> None:
            await asyncio.sleep(late_s)
            await super().send(writer, piece)

    async def late_lookup(_: str) -> LookupAnswer:
        await asyncio.sleep(late_s)
        return LookupAnswer(["127.0.0.1"])

    async with (
        serving(LateServer([answer(PAGE)])) as server,
        http_fetcher(lookup=late_lookup) as asking,
    ):
        page = await asking.fetch(Request(url=server.url(host="a.example")))
        assert page.first_byte_s is not None
        assert late_s * 0.99 < page.first_byte_s < page.elapsed_s - late_s * 0.99
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
    line, *fields = first.decode().split("\r\n")[:-2]
    assert line == "GET /a%7Eb|c?d='%27[1] HTTP/1.1"
    named = dict(field.split(": ", 1) for field in fields)
    assert named.pop("Host").startswith("127.0.0.1:")
    assert named.pop("Accept").startswith("text/html")
    assert named == {
        "User-Agent": f"minicrawl/{__version__} (+https://example.org/bot)",
        "Accept-Encoding": "gzip, deflate, br, zstd",
        "Connection": "keep-alive",
    }


def test_validators_are_sent_back_as_they_came_unless_they_would_break_the_request() -> None:
    unchanged, server = fetch(
        answer(status="304 Not Modified"), etag='W/"é"', last_modified="Fri, 20 Nov 2026 GMT"
    )
    assert isinstance(unchanged, Unchanged)
    assert 'If-None-Match: W/"é"\r\n'.encode() in server.asked[0]
    assert b"If-Modified-Since: Fri, 20 Nov 2026 GMT\r\n" in server.asked[0]
    _, server = fetch(answer(PAGE), etag="a\r\nEvil: 1", last_modified="b\n")
    assert b"If-" not in server.asked[0]
    assert b"Evil" not in server.asked[0]


async def test_credentials_of_a_url_are_not_sent() -> None:
    async with wire(answer(PAGE)) as server:
        page_of(await ask(server.url("/", host="me:secret@127.0.0.1")))
    assert b"uthorization" not in server.asked[0]


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    page_of(fetch(answer(PAGE))[0])


KINDS = {
    **dict.fromkeys(
        [
            *("closed at once", "reset at once", "closed in the headers"),
            *("a length and no body", "chunks and no body"),
        ],
        State.RESET,
    ),
    **dict.fromkeys(
        [
            *("no HTTP", "HTTP/2", "a status of two digits", "no HTTP, and no end", "two lengths"),
            *("chunks that are none", "a chunk's size without end"),
        ],
        State.PROTOCOL,
    ),
    **dict.fromkeys(
        [
            *("nothing but 100 Continue", "a header too long", "a header without end"),
            *("too many headers", "headers without end", "blank lines without end"),
            *("headers too long in all", "a reason too long"),
        ],
        State.TOO_LARGE,
    ),
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


def within(timeout_s: float) -> Network:
    return replace(LOCAL, timeout_s=timeout_s)


@pytest.mark.parametrize("fault", KINDS)
def test_each_fault_is_a_failure_of_its_kind(fault: str) -> None:
    assert kind_of(fetch(FAULTS[fault])[0]) is KINDS[fault]


@pytest.mark.parametrize("fault", CUT)
def test_a_body_that_breaks_off_is_a_page_that_is_cut(fault: str) -> None:
    page = page_of(fetch(FAULTS[fault])[0])
    assert page.body.startswith(b"abc")
    assert page.cut


@pytest.mark.parametrize("oddity", ODDITIES)
def test_oddities_that_browsers_forgive_are_forgiven(oddity: str) -> None:
    page = page_of(fetch(ODDITIES[oddity])[0])
    assert (page.body, page.wire_bytes, page.cut) == (ODD_PAGE, len(ODD_PAGE), None)


@pytest.mark.parametrize("fault", TIMEOUTS)
async def test_silence_before_the_body_ends_at_the_deadline(fault: str) -> None:
    async with wire(FAULTS[fault]) as server:
        assert kind_of(await ask(server.url(), within(0.2))) is State.TIMEOUT


async def test_a_body_that_the_deadline_cuts_is_a_page_that_is_cut() -> None:
    async with wire(FAULTS[LATE]) as server:
        for timeout_s in (0.2, 1, 5, 25):  # on a busy machine even the head may come late
            page = await ask(server.url(), within(timeout_s))
            if isinstance(page, Response):
                break
    assert (page_of(page).body, page_of(page).cut) == (b"abc", State.TIMEOUT)


async def test_a_lookup_that_hangs_ends_at_the_deadline() -> None:
    async def hanging(host: str) -> LookupAnswer:
        await asyncio.Event().wait()
        return LookupAnswer([host])

    async with http_fetcher(within(0.1), lookup=hanging) as fetcher:
        for asked in (
            fetcher.fetch(Request(url="http://a.example/")),
            fetcher.locate("http://a.example/"),
        ):
            assert kind_of(await asked) is State.TIMEOUT


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
    assert kind_of(await ask("http://127.0.0.1/" + "a" * 70_000)) is State.PROTOCOL


def test_a_body_without_end_is_read_to_the_cap() -> None:
    fetched, server = fetch(FAULTS["a body without end"], max_bytes=50_000)
    page = page_of(fetched)
    assert (page.body, page.cut) == (b"x" * 50_000, State.TOO_LARGE)
    assert server.sent < 10_000_000


@pytest.mark.parametrize(
    ("headers", "limit", "named"),
    [
        (["X: " + "x" * 900], {"max_head_bytes": 900}, "900 bytes"),
        (["Content-Encoding: gzip, gzip"], {"max_codings": 1}, "2 codings"),
    ],
)
async def test_settings_limit_responses(
    headers: list[str], limit: dict[str, Any], named: str
) -> None:
    coded = gzip.compress(gzip.compress(PAGE))
    async with wire(answer(coded, headers=["Content-Type: text/html", *headers])) as server:
        page_of(await ask(server.url()))
        failed = await ask(server.url(), replace(LOCAL, **limit))
    assert isinstance(failed, Failed)
    assert named in failed.detail


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
    async with (
        wire(said) as server,
        http_fetcher(replace(LOCAL, max_head_bytes=900)) as fetcher,
    ):
        found = await fetcher.fetch(Request(url=server.url(), keeps_failures=True))
        bare = await fetcher.fetch(Request(url=server.url()))
    assert isinstance(found, Failed)
    assert found.kind is State.TOO_LARGE
    assert isinstance(bare, Failed)
    assert bare.answer is None
    if kept is None:
        assert found.answer is None
        return
    assert found.answer is not None
    assert (found.answer.status, found.answer.body) == (503, b"")
    assert "900 bytes" in found.answer.cut_detail
    assert found.answer.wire is not None
    assert found.answer.wire.response.startswith(kept)
    assert len(found.answer.wire.response) == 901


async def test_the_request_url_is_requested_in_place_of_the_url() -> None:
    async with wire(answer(PAGE)) as server:
        url = server.url("/a")
        await ask(Request(url=url, request_url=f"{url};jsessionid=1"))
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
    fetched, server = fetch_twice(first, answer(PAGE))
    page_of(fetched)
    assert server.connections == connections


@pytest.mark.parametrize(
    ("answers", "kind", "requests"),
    [
        ([answer(PAGE), Answer((b"H",), Then.CLOSE), answer(PAGE)], State.RESET, 2),
        ([answer(PAGE), FAULTS["closed at once"], answer(PAGE)], None, 3),
        # a first connection that closes without a response
        ([FAULTS["closed at once"], FAULTS["closed at once"], answer(PAGE)], State.RESET, 2),
    ],
)
def test_only_a_kept_connection_that_died_without_a_response_is_replaced(
    answers: list[Answer], kind: State | None, requests: int
) -> None:
    found, server = fetch_twice(*answers)
    assert (found.kind if isinstance(found, Failed) else None) is kind
    assert len(server.asked) == requests


def test_a_dead_connection_is_replaced_after_a_pause_as_long_as_it_may_be_kept() -> None:
    assert pace_of(Politeness(delay_s=0)).pause_s == 0
    paces = [pace_of(Politeness(delay_s=delay_s)) for delay_s in (0.1, 1, 60)]
    assert all(pace.pause_s == pace.keep_s for pace in paces)


@pytest.mark.parametrize(
    "url",
    ["ftp://1.1.1.1/", "file:///etc/passwd", "no url", "http://", "http://a b/", "http://a:x/", ""],
)
async def test_urls_of_other_schemes_and_malformed_urls_are_refused(url: str) -> None:
    refused = await ask(url)
    assert isinstance(refused, Refused)
    assert refused.reason is State.ADDRESS


async def test_a_private_address_is_refused_without_a_connection() -> None:
    async with wire(answer(PAGE)) as server:
        refused = await ask(server.url(), Network())
        assert server.connections == 0
    assert isinstance(refused, Refused)
    assert refused.reason is State.ADDRESS


async def test_the_address_that_was_checked_is_the_one_connected_to() -> None:
    """A second look-up, which DNS rebinding would abuse, fails here."""
    addresses = [["127.0.0.1"]]

    async def rebinding(_: str) -> LookupAnswer:
        return LookupAnswer(addresses.pop())

    async with wire(answer(PAGE)) as server:
        page_of(await ask(server.url(host="a.example"), lookup=rebinding))
    assert f"Host: a.example:{server.port}\r\n".encode() in server.asked[0]


@pytest.mark.parametrize("host", ["a.example", "xn--bcher-kva.example", "9.9.9.9", "[2606::1]"])
async def test_a_rule_changes_the_address_and_not_the_host_header(host: str) -> None:
    async with wire(answer(PAGE)) as server:
        network = Network(resolve=(f"{host}:80=127.0.0.1:{server.port}",))
        page_of(await ask(f"http://{host}/%7E", network))
    assert server.asked[0].startswith(b"GET /%7E HTTP/1.1\r\n")
    assert f"Host: {host}\r\n".encode() in server.asked[0]


async def test_urls_that_lead_to_private_addresses_are_refused_and_others_are_not(
    shared_vector: Callable[[str], Path],
) -> None:
    cases = json.loads(shared_vector("ssrf_urls.json").read_text("utf-8"))

    async def names(host: str) -> LookupAnswer:
        return LookupAnswer(["127.0.0.1"] if host == "localhost" else ["93.184.216.34"])

    async with http_fetcher(Network(), lookup=names) as fetcher:
        for case in cases:
            is_located = isinstance(await fetcher.locate(case["url"]), str)
            assert is_located is case["allowed"], case["url"]


async def fetch_with_tls(host: str, *names: str) -> FetchResult:
    server_tls, client_tls = certified(*names)
    async with wire(answer(PAGE), tls=server_tls) as server:
        network = Network(timeout_s=60, resolve=(f"{host}:443=127.0.0.1:{server.port}",))
        return await ask(f"https://{host}/", network, tls=client_tls)


@pytest.mark.parametrize("host", ["a.example", "9.9.9.9"])
async def test_a_certificate_must_be_for_the_host_of_the_url_whatever_its_address(
    host: str,
) -> None:
    page = page_of(await fetch_with_tls(host, host))
    assert page.wire
    assert page.wire.protocols == ("http/1.1", "tls/1.3")
    assert page.wire.cipher.startswith("TLS_")
    assert kind_of(await fetch_with_tls(host, "127.0.0.1", "b.example")) is State.TLS


async def test_https_to_a_server_without_tls_is_a_failure() -> None:
    async with wire(answer(PAGE)) as server:
        failed = await ask(server.url(scheme="https"))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.detail) == (
        State.TLS,
        "the server speaks no TLS at this port: WRONG_VERSION_NUMBER",
    )


def test_an_error_of_tls_is_described_in_its_own_words() -> None:
    eof = "EOF occurred in violation of protocol"
    assert described(ssl.SSLEOFError(8, eof)) == eof
