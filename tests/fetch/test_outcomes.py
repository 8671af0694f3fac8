"""The outcome of a response, and of an error, through a transport of httpx."""

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from minicrawl.model import Failed, FetchResult, Moved, Refused, Request, Response, Unchanged, Want
from minicrawl.states import State
from tests.fetch import results
from tests.fetch.results import page_of

URL = "http://1.2.3.4/page"
HTML = {"content-type": "text/html"}


class Body(httpx.AsyncByteStream):
    """Body as it is on the wire, not decoded by httpx; without pieces it must not be read."""

    def __init__(self, *pieces: bytes, error: Exception | None = None) -> None:
        self.pieces, self.error, self.is_closed = pieces, error, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert self.pieces, "the body was read"
        for piece in self.pieces:
            yield piece
        if self.error:
            raise self.error

    async def aclose(self) -> None:
        self.is_closed = True


class Transport(httpx.AsyncBaseTransport):
    def __init__(self, response: httpx.Response | Exception) -> None:
        self.response, self.asked, self.is_closed = response, list[httpx.Request](), False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if isinstance(self.response, Exception):
            raise self.response
        return self.response

    async def aclose(self) -> None:
        self.is_closed = True


def ask(response: httpx.Response | Exception, **fields: Any) -> FetchResult:
    request = Request(url=URL, **fields)
    fetched = asyncio.run(results.ask(request, transport=Transport(response)))
    assert fetched.elapsed_s > 0
    if isinstance(fetched, Response | Refused | Failed):
        fetched = fetched._replace(cost_s=0)
    return fetched._replace(elapsed_s=0, first_byte_s=None)


def unread(status: int, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.Response(status, headers=headers or {}, stream=Body())


def test_a_transport_of_httpx_replaces_the_client_and_is_closed() -> None:
    body = Body(b"abc", error=httpx.ReadError("gone"))
    transport = Transport(httpx.Response(200, headers=HTML, stream=body))
    request = Request(url="http://me@1.2.3.4/a%7Eb#c", etag='"é"')
    fetched = page_of(asyncio.run(results.ask(request, transport=transport)))
    assert (fetched.body, fetched.cut) == (b"abc", State.RESET)
    (asked,) = transport.asked
    assert (asked.method, str(asked.url)) == ("GET", "http://1.2.3.4/a%7Eb")
    assert asked.headers["host"] == "1.2.3.4"
    assert asked.headers.raw[-1] == (b"If-None-Match", '"é"'.encode())
    assert body.is_closed
    assert transport.is_closed


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectTimeout("bad"), State.TIMEOUT),
        (httpx.ConnectError("bad"), State.CONNECT),
        (httpx.ReadError("bad"), State.RESET),
        (httpx.RemoteProtocolError("bad"), State.PROTOCOL),
        (httpx.InvalidURL("bad"), State.PROTOCOL),
        (ssl.SSLError(1, "bad"), State.TLS),
        (ssl.SSLCertVerificationError(1, "bad"), State.TLS),
        (ConnectionResetError("bad"), State.RESET),
        (TimeoutError("bad"), State.TIMEOUT),
    ],
)
def test_each_expected_error_is_a_failure_of_its_kind(error: Exception, kind: State) -> None:
    failed = ask(error)
    assert isinstance(failed, Failed)
    assert failed.kind is kind


@pytest.mark.parametrize("bug", [TypeError, ValueError, AssertionError])
def test_bugs_are_not_expected(bug: type[Exception]) -> None:
    with pytest.raises(bug):
        ask(bug())


def test_the_detail_of_a_failure_is_one_short_line() -> None:
    failed = ask(httpx.ReadError("first line\n  second line " + "x" * 300))
    assert isinstance(failed, Failed)
    assert failed.detail.startswith("first line second line xxx")
    assert len(failed.detail) == 200


@pytest.mark.parametrize("status", [404, 410, 429, 500, 503, 403, 418, 300])
def test_the_response_of_a_failure_is_read_only_if_failures_are_kept(status: int) -> None:
    headers = HTML | {"content-encoding": "gzip"}
    response = httpx.Response(status, headers=headers, stream=Body(gzip.compress(b"no")))
    failed = ask(response, keeps_failures=True)
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
    response = httpx.Response(404, headers=headers, stream=Body(body))
    failed = ask(response, keeps_failures=True)
    assert isinstance(failed, Failed)
    assert failed.kind is State.NOT_FOUND
    assert failed.answer is not None
    assert (failed.answer.status, dict(failed.answer.headers)) == (404, headers)
    assert len(failed.answer.body) == kept


@pytest.mark.parametrize("status", [201, 203, 299])
def test_any_success_with_html_is_a_page(status: int) -> None:
    assert page_of(ask(httpx.Response(status, headers=HTML, content=b"x"))).status == status


@pytest.mark.parametrize("headers", [{}, {"content-range": "bytes 0-0/1"}, {"content-range": "x"}])
def test_a_206_without_a_range_request_is_not_a_whole_page(headers: dict[str, str]) -> None:
    page = page_of(ask(httpx.Response(206, headers=HTML | headers, content=b"x")))
    assert (page.body, page.cut) == (b"x", State.PROTOCOL)
    assert page.broke_off


def test_a_206_past_the_cap_is_not_a_whole_page_either() -> None:
    page = page_of(ask(httpx.Response(206, headers=HTML, content=b"abc"), max_bytes=2))
    assert (page.body, page.cut) == (b"ab", State.PROTOCOL)


def test_a_206_that_breaks_off_says_why() -> None:
    coded = HTML | {"content-encoding": "gzip"}
    broken = Body(gzip.compress(bytes(99))[:-9])
    assert page_of(ask(httpx.Response(206, headers=coded, stream=broken))).cut is (State.ENCODING)


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


@pytest.mark.parametrize("targets", [("/a, b", "/a, b"), ("/" + "a" * 2047,)])
def test_equal_locations_are_one_and_the_longest_has_2048_characters(
    targets: tuple[str, ...],
) -> None:
    assert redirected(*targets) == Moved(status=302, target=targets[0])


@pytest.mark.parametrize(
    "targets",
    [("/a", "/b"), ("/a", "/" + "b" * 5000), ("/" + "a" * 2048,), ("/" + "a" * 60_000,)],
    ids=["differ", "differ and are long", "too long", "far too long"],
)
def test_locations_that_differ_or_are_too_long_are_a_bad_redirect(targets: tuple[str, ...]) -> None:
    failed = redirected(*targets)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status) == (State.BAD_REDIRECT, 302)
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
    page = page_of(ask(httpx.Response(200, headers=HTML | CHUNKS, stream=Body(GZIPPED))))
    assert page.body == b"<html>"
    deflated = gzip.compress(zlib.compress(b"<html>"))
    coded = HTML | CHUNKS | {"content-encoding": "deflate"}
    page = page_of(ask(httpx.Response(200, headers=coded, stream=Body(deflated))))
    assert (page.body, page.cut) == (b"<html>", None)


@pytest.mark.parametrize("fields", [{"etag": '"a"'}, {"last_modified": "yesterday"}])
def test_a_304_means_unchanged_only_after_validators(fields: dict[str, str]) -> None:
    assert ask(unread(304), **fields) == Unchanged()
    assert ask(unread(304)) == Failed(kind=State.BAD_STATUS, status=304)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, State.NOT_FOUND),
        (410, State.NOT_FOUND),
        (400, State.CLIENT_ERROR),
        (403, State.CLIENT_ERROR),
        (451, State.CLIENT_ERROR),
        (429, State.THROTTLED),
        (500, State.SERVER_ERROR),
        (503, State.SERVER_ERROR),
        (599, State.SERVER_ERROR),
        (101, State.BAD_STATUS),
        (300, State.BAD_STATUS),
        (305, State.BAD_STATUS),
        (600, State.BAD_STATUS),
    ],
)
def test_any_other_status_is_a_failure_whose_body_is_not_read(status: int, kind: State) -> None:
    failed = ask(unread(status, {"retry-after": "120"}))
    assert failed == Failed(kind=kind, status=status, retry_after="120")


@pytest.mark.parametrize(
    ("content_type", "detail"),
    [("application/pdf", "application/pdf"), ("IMAGE/PNG; a=b", "image/png")],
)
def test_types_that_are_not_html_are_refused_unread(content_type: str, detail: str) -> None:
    refused = ask(unread(200, {"content-type": content_type}))
    assert refused == Refused(reason=State.TYPE, detail=detail, status=200)


def test_without_a_content_type_the_first_bytes_decide() -> None:
    assert isinstance(ask(httpx.Response(200, content=b"<!doctype html><p>")), Response)
    refused = ask(httpx.Response(200, content=b"%PDF-1.7" * 1000))
    assert refused == Refused(reason=State.TYPE, detail="no type", status=200)


def test_a_wanted_text_may_have_any_type() -> None:
    text = httpx.Response(200, headers={"content-type": "image/png"}, content=b"User-agent: *")
    assert page_of(ask(text, want=Want.TEXT)).body == b"User-agent: *"


@pytest.mark.parametrize(
    ("status", "headers", "kind", "named"),
    [
        (206, HTML | {"content-range": "bytes 500-999/1000"}, State.PROTOCOL, "byte 500"),
        (302, {}, State.BAD_REDIRECT, ""),
        (302, {"location": ""}, State.BAD_REDIRECT, ""),
        (200, HTML | {"transfer-encoding": "cloud, chunked"}, State.ENCODING, "'cloud'"),
        (200, HTML | {"content-encoding": "lzma"}, State.ENCODING, "'lzma'"),
        (200, HTML | {"content-encoding": "gzip, identity, br, gzip, gzip"}, State.ENCODING,
         "4 codings"),
        (999, {}, State.BAD_STATUS, "LinkedIn"),
    ],
)  # fmt: skip
def test_a_head_that_makes_a_response_useless_is_a_failure_that_names_it(
    status: int, headers: dict[str, str], kind: State, named: str
) -> None:
    failed = ask(unread(status, headers))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status) == (kind, status)
    assert named in failed.detail
