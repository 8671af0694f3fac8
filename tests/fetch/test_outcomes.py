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
from tests.fetch.results import page_of

URL = "http://1.2.3.4/page"
HTML = {"content-type": "text/html"}


class Unreadable(httpx.AsyncByteStream):
    def __aiter__(self) -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")


class Once(httpx.AsyncByteStream):
    """Body as it is on the wire, which httpx has not decoded."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.body


def ask(response: httpx.Response, request: Request | None = None) -> FetchResult:
    server = respx.Router()
    server.get(URL).return_value = response
    transport = httpx.MockTransport(server.async_handler)

    async def fetch() -> FetchResult:
        async with HttpFetcher(Network(), Politeness(), transport=transport) as fetcher:
            return await fetcher.fetch(request or Request(url=URL))

    return without_time(asyncio.run(fetch()))


def without_time(fetched: FetchResult) -> FetchResult:
    assert fetched.elapsed_s > 0
    if isinstance(fetched, Response | Refused | Failed):
        fetched = fetched._replace(cost_s=0)
    return fetched._replace(elapsed_s=0, first_byte_s=None)


def unread(status: int, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.Response(status, headers=headers or {}, stream=Unreadable())


@pytest.mark.parametrize("status", [404, 410, 429, 500, 503, 403, 418, 300])
def test_the_response_of_a_failure_is_read_only_if_failures_are_kept(status: int) -> None:
    headers = HTML | {"content-encoding": "gzip"}
    response = httpx.Response(status, headers=headers, stream=Once(gzip.compress(b"no")))
    failed = ask(response, Request(url=URL, keeps_failures=True))
    assert isinstance(failed, Failed)
    assert failed.answer is not None
    assert failed.answer[:3] == (status, headers, b"no")
    assert failed._replace(answer=None) == ask(unread(status, headers))


@pytest.mark.parametrize(
    ("headers", "body", "kept"),
    [
        ({}, b"x" * 70_000, 65_536),
        ({"content-encoding": "gzip"}, b"no gzip", 0),
        ({"content-encoding": "unheard-of"}, b"x", 0),
        ({"content-encoding": "gzip, gzip, gzip, gzip, gzip, gzip"}, b"x", 0),
    ],
)
def test_the_kept_body_of_a_failure_may_be_cut_or_missing_but_not_its_head(
    headers: dict[str, str], body: bytes, kept: int
) -> None:
    response = httpx.Response(404, headers=headers, stream=Once(body))
    failed = ask(response, Request(url=URL, keeps_failures=True))
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.NOT_FOUND
    assert failed.answer is not None
    assert (failed.answer.status, dict(failed.answer.headers)) == (404, headers)
    assert len(failed.answer.body) == kept


@pytest.mark.parametrize("status", [201, 203, 299])
def test_any_success_with_html_is_a_page(status: int) -> None:
    page = page_of(ask(httpx.Response(status, headers=HTML, content=b"x")))
    assert page.status == status


@pytest.mark.parametrize("headers", [{}, {"content-range": "bytes 0-0/1"}, {"content-range": "x"}])
def test_a_206_without_a_range_request_is_not_a_whole_page(headers: dict[str, str]) -> None:
    page = page_of(ask(httpx.Response(206, headers=HTML | headers, content=b"x")))
    assert (page.body, page.cut) == (b"x", FailureKind.PROTOCOL)
    assert page.broke_off


def test_a_206_past_the_cap_is_not_a_whole_page_either() -> None:
    request = Request(url=URL, max_bytes=2)
    page = page_of(ask(httpx.Response(206, headers=HTML, content=b"abc"), request))
    assert (page.body, page.cut) == (b"ab", FailureKind.PROTOCOL)


def test_a_206_that_breaks_off_says_why() -> None:
    coded = HTML | {"content-encoding": "gzip"}
    page = ask(httpx.Response(206, headers=coded, stream=Once(gzip.compress(bytes(99))[:-9])))
    assert isinstance(page, Response)
    assert page.cut is FailureKind.ENCODING


@pytest.mark.parametrize("status", [204, 205])
def test_a_success_without_content_is_an_empty_page(status: int) -> None:
    assert ask(unread(status)) == Response(status=status, headers={}, body=b"")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_reported_with_its_target_as_written(status: int) -> None:
    moved = ask(unread(status, {"location": "../other page#x"}))
    assert moved == Moved(status=status, target="../other page#x")


@pytest.mark.parametrize("scheme", ["https:", "HTTP:", ""])
def test_a_login_in_a_redirect_is_removed(scheme: str) -> None:
    moved = ask(unread(302, {"location": f"{scheme}//me:s3cret@a.example/b@c"}))
    assert moved == Moved(status=302, target=f"{scheme}//a.example/b@c")


def redirected(*targets: str) -> FetchResult:
    return ask(httpx.Response(302, headers=[("Location", target) for target in targets]))


def test_equal_locations_are_one() -> None:
    assert redirected("/a, b", "/a, b") == Moved(status=302, target="/a, b")


def test_the_longest_target_is_2048_characters() -> None:
    assert redirected("/" + "a" * 2047) == Moved(status=302, target="/" + "a" * 2047)


@pytest.mark.parametrize(
    "targets",
    [("/a", "/b"), ("/a", "/" + "b" * 5000), ("/" + "a" * 2048,), ("/" + "a" * 60_000,)],
    ids=["differ", "differ and are long", "too long", "far too long"],
)
def test_locations_that_differ_or_are_too_long_are_a_bad_redirect(targets: tuple[str, ...]) -> None:
    failed = redirected(*targets)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status) == (FailureKind.BAD_REDIRECT, 302)
    assert len(failed.detail) < 100


def test_no_long_text_of_a_response_is_kept() -> None:
    long = "a" * 60_000
    headers = {"content-type": f"x/{long}", "retry-after": long, "location": long}
    headers |= {"etag": f'"{long}"', "last-modified": long, "content-encoding": long}
    for status in (200, 206, 302, 304, 404, 503):
        for kind in ({}, HTML):
            result = ask(unread(status, headers | kind))
            assert isinstance(result, Refused | Failed)
            assert len(repr(result)) < 3000
    refused = ask(httpx.Response(200, headers=HTML | headers | {"content-encoding": ""}))
    assert isinstance(refused, Refused)
    page = page_of(ask(httpx.Response(200, headers=headers | HTML | {"content-encoding": ""})))
    assert not page.headers.keys() & {"etag", "last-modified"}


GZIPPED, CHUNKS = gzip.compress(b"<html>"), {"transfer-encoding": "gzip, chunked"}


def test_a_transfer_coding_is_undone_before_the_codings_of_the_content() -> None:
    page = page_of(ask(httpx.Response(200, headers=HTML | CHUNKS, stream=Once(GZIPPED))))
    assert page.body == b"<html>"
    deflated = gzip.compress(zlib.compress(b"<html>"))
    coded = HTML | CHUNKS | {"content-encoding": "deflate"}
    page = page_of(ask(httpx.Response(200, headers=coded, stream=Once(deflated))))
    assert (page.body, page.cut) == (b"<html>", None)


@pytest.mark.parametrize(
    "request_", [Request(url=URL, etag='"a"'), Request(url=URL, last_modified="yesterday")]
)
def test_a_304_means_unchanged_only_after_validators(request_: Request) -> None:
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


@pytest.mark.parametrize(
    ("content_type", "detail"),
    [("application/pdf", "application/pdf"), ("IMAGE/PNG; a=b", "image/png")],
)
def test_types_that_are_not_html_are_refused_unread(content_type: str, detail: str) -> None:
    refused = ask(unread(200, {"content-type": content_type}))
    assert refused == Refused(reason=Refusal.TYPE, detail=detail, status=200)


def test_without_a_content_type_the_first_bytes_decide() -> None:
    assert isinstance(ask(httpx.Response(200, content=b"<!doctype html><p>")), Response)
    refused = ask(httpx.Response(200, content=b"%PDF-1.7" * 1000))
    assert refused == Refused(reason=Refusal.TYPE, detail="no type", status=200)


def test_a_wanted_text_may_have_any_type() -> None:
    text = httpx.Response(200, headers={"content-type": "image/png"}, content=b"User-agent: *")
    page = page_of(ask(text, Request(url=URL, want=Want.TEXT)))
    assert page.body == b"User-agent: *"


@pytest.mark.parametrize(
    ("status", "headers", "kind", "named"),
    [
        (206, HTML | {"content-range": "bytes 500-999/1000"}, FailureKind.PROTOCOL, "byte 500"),
        (302, {}, FailureKind.BAD_REDIRECT, ""),
        (302, {"location": ""}, FailureKind.BAD_REDIRECT, ""),
        (200, HTML | {"transfer-encoding": "cloud, chunked"}, FailureKind.ENCODING, "'cloud'"),
        (200, HTML | {"content-encoding": "lzma"}, FailureKind.ENCODING, "'lzma'"),
        (200, HTML | {"content-encoding": "gzip, identity, br, gzip, gzip"}, FailureKind.ENCODING,
         "4 codings"),
        (999, {}, FailureKind.BAD_STATUS, "LinkedIn"),
    ],
)  # fmt: skip
def test_a_head_that_makes_a_response_useless_is_a_failure_that_names_it(
    status: int, headers: dict[str, str], kind: FailureKind, named: str
) -> None:
    failed = ask(unread(status, headers))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status) == (kind, status)
    assert named in failed.detail
