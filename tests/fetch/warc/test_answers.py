"""Recorded responses have the same results as in a crawl."""

import asyncio
import gzip

import pytest

from minicrawl.config import Network
from minicrawl.fetch.warc.answers import RecordedAnswers, moment_of
from minicrawl.fetch.warc.records import WarcRecord
from minicrawl.model import FetchResult, Moved, Refused, Request
from minicrawl.states import State
from tests.fetch.results import kind_of, page_of
from tests.fetch.warc.files import DATE, HTML, http, url

BODY = b"<p>some words"
CHUNKS = b"5\r\n<p>so\r\n8\r\nme words\r\n0\r\n\r\n"
CHUNKED = (*HTML, ("Transfer-Encoding", "chunked"))
PACKED = (*HTML, ("Content-Encoding", "gzip"))


def answer(
    block: bytes, kind: str = "response", *, is_cut: bool = False, **fields: str
) -> FetchResult:
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    record = WarcRecord(kind, {"warc-date": DATE, **named}, block, is_cut)
    return asyncio.run(RecordedAnswers(Network()).read(Request(url(1)), record))


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (BODY, HTML),
        (BODY, ()),
        (CHUNKS, CHUNKED),
        (BODY, CHUNKED),
        (gzip.compress(BODY), PACKED),
        (BODY, PACKED),
        (BODY, (*HTML, ("Content-Length", "3"))),
    ],
    ids=["plain", "no headers", "chunks", "chunks undone", "packed", "packing undone", "length"],
)
def test_a_page_is_read_however_its_body_was_written(
    body: bytes, headers: tuple[tuple[str, str], ...]
) -> None:
    found = page_of(answer(http(body, headers=headers)))
    assert (found.status, found.body, found.cut) == (200, BODY, None)


@pytest.mark.parametrize(("count", "size"), [(99, 4), (100, 4), (500, 4), (3, 300_000)])
def test_all_chunks_of_a_body_are_read(count: int, size: int) -> None:
    chunks = b"".join(b"%x\r\n%b\r\n" % (size, b"word" * (size // 4)) for _ in range(count))
    found = page_of(answer(http(chunks + b"0\r\n\r\n", headers=CHUNKED)))
    assert (found.body, found.cut) == (b"word" * (count * size // 4), None)


def test_chunks_that_do_not_end_are_a_body_that_is_cut() -> None:
    for chunks, cut in (
        (b"5\r\n<p>so\r\n8\r\nme", State.RESET),
        (b"2\r\n<p\r\nx\r\n", State.PROTOCOL),
    ):
        found = page_of(answer(http(chunks, headers=CHUNKED)))
        assert found.cut == cut


def test_tiny_chunks_are_refused_after_the_first_10_000() -> None:
    found = page_of(answer(http(b"1\r\nx\r\n" * 2_000_000, headers=CHUNKED)))
    assert (len(found.body), found.cut) == (9_999, State.PROTOCOL)


def test_responses_that_are_no_pages_have_the_results_of_a_crawl() -> None:
    moved = answer(http(b"", "301 Moved", [("Location", "/x")]))
    assert isinstance(moved, Moved)
    assert (moved.status, moved.target) == (301, "/x")
    picture = answer(http(b"GIF", headers=[("Content-Type", "image/gif")]))
    assert isinstance(picture, Refused)
    for block, kind in (
        (http(b"", "404 Not Found"), State.NOT_FOUND),
        (http(b"", "503 Busy"), State.SERVER_ERROR),
        (b"HTTP/1.1 200 OK", State.PROTOCOL),
        (b"no HTTP\r\n\r\nx", State.PROTOCOL),
        (http(b"\1\2\3", headers=[*HTML, ("Content-Encoding", "sdch")]), State.ENCODING),
    ):
        assert kind_of(answer(block)) is kind


def test_a_resource_is_a_page_without_headers() -> None:
    found = page_of(answer(BODY, "resource", content_type="text/html"))
    assert found.body == BODY


@pytest.mark.parametrize(
    ("is_cut", "why", "cut"),
    [
        (True, "", State.TOO_LARGE),
        (False, "length", State.TOO_LARGE),
        (False, "disconnect", State.RESET),
    ],
)
def test_a_body_that_is_cut_says_so(is_cut: bool, why: str, cut: State) -> None:
    fields = {"warc_truncated": why} if why else {}
    found = page_of(answer(http(BODY), is_cut=is_cut, **fields))
    assert (found.body, found.cut) == (BODY, cut)


@pytest.mark.parametrize(
    ("date", "at"), [(DATE, 1_700_000_000.0), ("2023-11-14", 1_699_920_000.0), ("soon", 0.0)]
)
def test_a_malformed_date_is_0(date: str, at: float) -> None:
    assert moment_of(WarcRecord("response", {"warc-date": date}, b"", False)) == at
