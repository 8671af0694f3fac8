import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import httpx
import pytest
import respx

from minicrawl.config import Network, Politeness
from minicrawl.fetch.fetcher import HttpFetcher
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
    Want,
)

URL = "http://1.2.3.4/page"
HTML = {"content-type": "text/html"}


class Unreadable(httpx.AsyncByteStream):
    """A body that must not be read."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")


class Once(httpx.AsyncByteStream):
    """A body as it goes over the wire."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.body


def ask(response: httpx.Response | Exception, request: Request | None = None) -> FetchResult:
    """What a fetcher makes of a response; how long it took is not of interest here."""

    server = respx.Router()
    route = server.get(URL)
    if isinstance(response, Exception):
        route.side_effect = response
    else:
        route.return_value = response
    transport = httpx.MockTransport(server.async_handler)

    async def fetch() -> FetchResult:
        async with HttpFetcher(Network(), Politeness(), transport=transport) as fetcher:
            return await fetcher.fetch(request or Request(url=URL))

    return without_time(asyncio.run(fetch()))


def without_time(fetched: FetchResult) -> FetchResult:
    assert fetched.elapsed_s > 0
    if isinstance(fetched, Response | Refused | Failed):
        fetched = fetched._replace(cost_s=0)
    return fetched._replace(elapsed_s=0)


def unread(status: int, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.Response(status, headers=headers or {}, stream=Unreadable())


@pytest.mark.parametrize("status", [404, 410, 429, 500, 503, 403, 418, 300])
def test_what_comes_with_a_failure_is_read_where_it_is_kept(status: int) -> None:
    wanted = Request(url=URL, keeps_failures=True)
    headers = HTML | {"content-encoding": "gzip"}
    came = ask(httpx.Response(status, headers=headers, stream=Once(gzip.compress(b"no"))), wanted)
    assert isinstance(came, Failed)
    assert came.answer is not None
    assert came.answer[:3] == (status, headers, b"no")
    assert came._replace(answer=None) == ask(unread(status, headers))


@pytest.mark.parametrize(
    ("headers", "body", "kept"),
    [
        ({}, b"x" * 70_000, 65_536),
        ({"content-encoding": "gzip"}, b"no gzip", 0),
        ({"content-encoding": "unheard-of"}, b"x", 0),
        ({"content-encoding": "gzip, gzip, gzip, gzip, gzip, gzip"}, b"x", 0),
    ],
)
def test_its_body_is_cut_or_missing_but_not_its_head(
    headers: dict[str, str], body: bytes, kept: int
) -> None:
    wanted = Request(url=URL, keeps_failures=True)
    came = ask(httpx.Response(404, headers=headers, stream=Once(body)), wanted)
    assert isinstance(came, Failed)
    assert came.kind is FailureKind.NOT_FOUND
    assert came.answer is not None
    assert (came.answer.status, dict(came.answer.headers)) == (404, headers)
    assert len(came.answer.body) == kept


def test_a_page_is_its_status_headers_and_body() -> None:
    page = ask(httpx.Response(200, headers=HTML, content=b"<html>"))
    headers = HTML | {"content-length": "6"}
    assert page == Response(status=200, headers=headers, body=b"<html>", wire_bytes=6)


@pytest.mark.parametrize("status", [201, 203, 299])
def test_any_success_with_html_is_a_page(status: int) -> None:
    page = ask(httpx.Response(status, headers=HTML, content=b"x"))
    assert isinstance(page, Response)
    assert page.status == status


WANTED_ALL = "a part, though the whole was asked for"


@pytest.mark.parametrize("headers", [{}, {"content-range": "bytes 0-0/1"}, {"content-range": "x"}])
def test_a_206_that_nobody_asked_for_is_not_a_whole_page(headers: dict[str, str]) -> None:
    page = ask(httpx.Response(206, headers=HTML | headers, content=b"x"))
    assert isinstance(page, Response)
    assert (page.body, page.cut, page.cut_detail) == (b"x", FailureKind.PROTOCOL, WANTED_ALL)
    assert page.broke_off


def test_a_206_past_the_cap_is_not_what_the_cap_left_of_a_whole() -> None:
    request = Request(url=URL, max_bytes=2)
    page = ask(httpx.Response(206, headers=HTML, content=b"abc"), request)
    assert isinstance(page, Response)
    assert (page.body, page.cut) == (b"ab", FailureKind.PROTOCOL)


def test_a_206_that_breaks_off_says_why() -> None:
    coded = HTML | {"content-encoding": "gzip"}
    page = ask(httpx.Response(206, headers=coded, stream=Once(gzip.compress(bytes(99))[:-9])))
    assert isinstance(page, Response)
    assert page.cut is FailureKind.ENCODING


def test_a_part_from_the_middle_is_a_failure_and_is_not_read() -> None:
    failed = ask(unread(206, HTML | {"content-range": "bytes 500-999/1000"}))
    detail = "a part from byte 500 on, though the whole was asked for"
    assert failed == Failed(kind=FailureKind.PROTOCOL, detail=detail, status=206)


@pytest.mark.parametrize("status", [204, 205])
def test_a_success_without_content_is_an_empty_page(status: int) -> None:
    assert ask(unread(status)) == Response(status=status, headers={}, body=b"")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_with_its_target_as_written(status: int) -> None:
    moved = ask(unread(status, {"location": "../other page#x"}))
    assert moved == Moved(status=status, target="../other page#x")


@pytest.mark.parametrize("scheme", ["https:", "HTTP:", ""])
def test_a_login_in_a_redirect_is_kept_nowhere(scheme: str) -> None:
    moved = ask(unread(302, {"location": f"{scheme}//me:s3cret@a.example/b@c"}))
    assert moved == Moved(status=302, target=f"{scheme}//a.example/b@c")


@pytest.mark.parametrize("headers", [{}, {"location": ""}])
def test_a_redirect_to_nowhere_is_a_failure(headers: dict[str, str]) -> None:
    failed = ask(unread(302, headers))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status) == (FailureKind.BAD_REDIRECT, 302)


def redirected(*targets: str) -> FetchResult:
    return ask(httpx.Response(302, headers=[("Location", target) for target in targets]))


def test_two_locations_that_are_the_same_are_one() -> None:
    assert redirected("/a, b", "/a, b") == Moved(status=302, target="/a, b")


def test_locations_that_differ_are_a_bad_redirect() -> None:
    detail = "Locations that differ"
    failed = Failed(kind=FailureKind.BAD_REDIRECT, detail=detail, status=302)
    assert redirected("/a", "/b") == redirected("/a", "/" + "b" * 5000) == failed


def test_a_target_longer_than_any_url_that_is_kept_is_a_bad_redirect_in_few_words() -> None:
    assert redirected("/" + "a" * 2047) == Moved(status=302, target="/" + "a" * 2047)
    detail = "a Location of more than 2,048 characters"
    failed = Failed(kind=FailureKind.BAD_REDIRECT, detail=detail, status=302)
    assert redirected("/" + "a" * 2048) == redirected("/" + "a" * 60_000) == failed


def test_nothing_that_an_answer_says_is_kept_at_length() -> None:
    long = "a" * 60_000
    headers = {"content-type": f"x/{long}", "retry-after": long, "location": long}
    headers |= {"etag": f'"{long}"', "last-modified": long, "content-encoding": long}
    for status in (200, 206, 302, 304, 404, 503):
        for kind in ({}, HTML):
            answer = ask(unread(status, headers | kind))
            assert isinstance(answer, Refused | Failed)
            assert len(repr(answer)) < 3000
    page = ask(httpx.Response(200, headers=HTML | headers | {"content-encoding": ""}))
    assert isinstance(page, Refused)
    page = ask(httpx.Response(200, headers=headers | HTML | {"content-encoding": ""}))
    assert isinstance(page, Response)
    assert not page.headers.keys() & {"etag", "last-modified"}


GZIPPED, CHUNKS = gzip.compress(b"<html>"), {"transfer-encoding": "gzip, chunked"}


def test_a_transfer_coding_is_undone_before_the_codings_of_the_content() -> None:
    page = ask(httpx.Response(200, headers=HTML | CHUNKS, stream=Once(GZIPPED)))
    assert isinstance(page, Response)
    assert page.body == b"<html>"
    deflated = gzip.compress(zlib.compress(b"<html>"))
    coded = HTML | CHUNKS | {"content-encoding": "deflate"}
    page = ask(httpx.Response(200, headers=coded, stream=Once(deflated)))
    assert isinstance(page, Response)
    assert (page.body, page.cut) == (b"<html>", None)


def test_an_unknown_transfer_coding_is_a_failure() -> None:
    failed = ask(unread(200, HTML | {"transfer-encoding": "cloud, chunked"}))
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.ENCODING
    assert "'cloud'" in failed.detail


@pytest.mark.parametrize(
    "request_", [Request(url=URL, etag='"a"'), Request(url=URL, last_modified="yesterday")]
)
def test_unchanged_is_an_answer_to_validators_only(request_: Request) -> None:
    assert ask(unread(304), request_) == Unchanged()
    assert ask(unread(304)) == Failed(kind=FailureKind.BAD_STATUS, status=304)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, FailureKind.NOT_FOUND),
        (410, FailureKind.NOT_FOUND),
        (400, FailureKind.CLIENT_ERROR),
        (403, FailureKind.CLIENT_ERROR),
        (451, FailureKind.CLIENT_ERROR),
        (429, FailureKind.THROTTLED),
        (500, FailureKind.SERVER_ERROR),
        (503, FailureKind.SERVER_ERROR),
        (599, FailureKind.SERVER_ERROR),
        (101, FailureKind.BAD_STATUS),
        (300, FailureKind.BAD_STATUS),
        (305, FailureKind.BAD_STATUS),
        (600, FailureKind.BAD_STATUS),
    ],
)
def test_any_other_status_is_a_failure_whose_body_is_not_read(
    status: int, kind: FailureKind
) -> None:
    failed = ask(unread(status, {"retry-after": "120"}))
    assert failed == Failed(kind=kind, status=status, retry_after="120")


def test_a_status_by_which_robots_are_blocked_is_named() -> None:
    failed = ask(unread(999))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status) == (FailureKind.BAD_STATUS, 999)
    assert "LinkedIn" in failed.detail


@pytest.mark.parametrize(
    ("content_type", "detail"),
    [("application/pdf", "application/pdf"), ("IMAGE/PNG; a=b", "image/png")],
)
def test_what_is_not_html_is_refused_unread(content_type: str, detail: str) -> None:
    refused = ask(unread(200, {"content-type": content_type}))
    assert refused == Refused(reason=Refusal.TYPE, detail=detail, status=200)


def test_where_the_type_says_nothing_the_first_bytes_decide() -> None:
    page = ask(httpx.Response(200, content=b"<!doctype html><p>"))
    assert isinstance(page, Response)
    refused = ask(httpx.Response(200, content=b"%PDF-1.7" * 1000))
    assert refused == Refused(reason=Refusal.TYPE, detail="no type", status=200)


def test_a_text_is_wanted_whatever_its_type() -> None:
    text = httpx.Response(200, headers={"content-type": "image/png"}, content=b"User-agent: *")
    page = ask(text, Request(url=URL, want=Want.TEXT))
    assert isinstance(page, Response)
    assert page.body == b"User-agent: *"


def test_an_unknown_coding_is_a_failure() -> None:
    failed = ask(unread(200, HTML | {"content-encoding": "lzma"}))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status) == (FailureKind.ENCODING, 200)
    assert "'lzma'" in failed.detail


def test_more_codings_than_are_undone_are_a_failure() -> None:
    failed = ask(unread(200, HTML | {"content-encoding": "gzip, identity, br, gzip, gzip"}))
    assert failed == Failed(
        kind=FailureKind.ENCODING,
        detail="4 codings, one over another",
        status=200,
    )


def test_what_a_client_raises_is_a_failure() -> None:
    failed = ask(httpx.ConnectError("down"))
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.CONNECT
