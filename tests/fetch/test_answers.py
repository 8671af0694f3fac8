import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import respx

from minicrawl.config import Network, Politeness
from minicrawl.fetch.fetcher import Fetcher
from minicrawl.model import (
    Failed,
    FailureKind,
    Fetched,
    Moved,
    Page,
    Refusal,
    Refused,
    Request,
    Unchanged,
    Want,
)

URL = "http://1.2.3.4/page"
HTML = {"content-type": "text/html"}


class Unreadable(httpx.AsyncByteStream):
    """A body that must not be read."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")


def ask(response: httpx.Response | Exception, request: Request | None = None) -> Fetched:
    """What a fetcher makes of a response; how long it took is not of interest here."""

    server = respx.Router()
    route = server.get(URL)
    if isinstance(response, Exception):
        route.side_effect = response
    else:
        route.return_value = response
    transport = httpx.MockTransport(server.async_handler)

    async def fetch() -> Fetched:
        async with Fetcher(Network(), Politeness(), transport=transport) as fetcher:
            return await fetcher.fetch(request or Request(url=URL))

    return without_time(asyncio.run(fetch()))


def without_time(fetched: Fetched) -> Fetched:
    assert fetched.elapsed_s > 0
    return fetched._replace(elapsed_s=0)


def unread(status: int, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.Response(status, headers=headers or {}, stream=Unreadable())


def test_a_page_is_its_status_headers_and_body() -> None:
    page = ask(httpx.Response(200, headers=HTML, content=b"<html>"))
    headers = HTML | {"content-length": "6"}
    assert page == Page(status=200, headers=headers, body=b"<html>", wire_bytes=6)


@pytest.mark.parametrize("status", [201, 203, 206, 299])
def test_any_success_with_html_is_a_page(status: int) -> None:
    page = ask(httpx.Response(status, headers=HTML, content=b"x"))
    assert isinstance(page, Page)
    assert page.status == status


@pytest.mark.parametrize("status", [204, 205])
def test_a_success_without_content_is_an_empty_page(status: int) -> None:
    assert ask(unread(status)) == Page(status=status, headers={}, body=b"")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_with_its_target_as_written(status: int) -> None:
    moved = ask(unread(status, {"location": "../other page#x"}))
    assert moved == Moved(status=status, target="../other page#x")


@pytest.mark.parametrize("headers", [{}, {"location": ""}])
def test_a_redirect_to_nowhere_is_a_failure(headers: dict[str, str]) -> None:
    failed = ask(unread(302, headers))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status) == (FailureKind.BAD_REDIRECT, 302)


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
        (999, FailureKind.BAD_STATUS),
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
def test_what_is_not_html_is_refused_unread(content_type: str, detail: str) -> None:
    refused = ask(unread(200, {"content-type": content_type}))
    assert refused == Refused(reason=Refusal.TYPE, detail=detail, status=200)


def test_where_the_type_says_nothing_the_first_bytes_decide() -> None:
    page = ask(httpx.Response(200, content=b"<!doctype html><p>"))
    assert isinstance(page, Page)
    refused = ask(httpx.Response(200, content=b"%PDF-1.7" * 1000))
    assert refused == Refused(reason=Refusal.TYPE, detail="no type", status=200)


def test_a_text_is_wanted_whatever_its_type() -> None:
    text = httpx.Response(200, headers={"content-type": "image/png"}, content=b"User-agent: *")
    page = ask(text, Request(url=URL, want=Want.TEXT))
    assert isinstance(page, Page)
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
        detail="4 codings, one over another (--max-codings)",
        status=200,
    )


def test_what_a_client_raises_is_a_failure() -> None:
    failed = ask(httpx.ConnectError("down"))
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.CONNECT
