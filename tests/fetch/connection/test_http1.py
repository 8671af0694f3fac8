from collections.abc import Iterator
from typing import NamedTuple

import pytest

from minicrawl.fetch.http.heads import Head
from minicrawl.fetch.http.http1 import MOST_INTERIM_HEADS, ResponseParser, request_bytes
from minicrawl.states import State

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
MAX_HEAD_BYTES = 64 * 1024
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
LONG_INTERIM = b"HTTP/1.1 100 Continue\r\nX: " + b"x" * (MAX_HEAD_BYTES // 4) + b"\r\n\r\n"
LARGEST = OK + b"X: ".ljust(MAX_HEAD_BYTES - len(OK) - 4, b"x") + b"\r\n\r\n"
RESET, PROTOCOL, TOO_LARGE = State.RESET, State.PROTOCOL, State.TOO_LARGE


class Read(NamedTuple):
    """Parsed response; `whole` if it was complete before its connection ended."""

    head: Head | None
    body: bytes
    fault: State | None
    whole: bool
    keeps_connection: bool


def read(*pieces: bytes) -> Read:
    parser = ResponseParser(MAX_HEAD_BYTES)
    body = b"".join(part for piece in pieces for part in fed(parser, piece))
    whole, keeps_connection = parser.ended, parser.keeps_connection
    parser.end_connection()
    kind = parser.fault.kind if parser.fault else None
    return Read(parser.head, body, kind, whole, keeps_connection)


def fed(parser: ResponseParser, piece: bytes) -> Iterator[bytes]:
    yield parser.feed(piece)
    while parser.has_more:
        yield parser.feed(b"")


def test_a_request_names_its_host_and_asks_to_keep_the_connection() -> None:
    request = request_bytes("a.example:81", "/x?y", [(b"Accept", b"*/*"), (b"A", b"b")])
    assert request == (
        b"GET /x?y HTTP/1.1\r\nHost: a.example:81\r\nAccept: */*\r\nA: b\r\n"
        b"Connection: keep-alive\r\n\r\n"
    )


def test_a_body_is_as_long_as_its_length_says() -> None:
    answer = OK + b"Content-Length: 3\r\n\r\nabc"
    assert read(answer) == Read(Head(200, {"content-length": "3"}), b"abc", None, True, True)


@pytest.mark.parametrize(
    ("answer", "body", "is_whole"),
    [
        (OK + b"Content-Length: 0\r\n\r\n", b"", True),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", b"", True),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", b"", True),
        (OK + b"\r\nabc", b"abc", False),
        (OK + b"Content-Length: many\r\n\r\nabc", b"abc", False),
        (CHUNKED + b"aB\r\n" + b"x" * 171 + b"\r\n0\r\n\r\n", b"x" * 171, True),
        (CHUNKED.replace(b"1.1", b"1.0") + b"3\r\n", b"3\r\n", False),
    ],
)
def test_head_and_version_say_where_a_body_ends(answer: bytes, body: bytes, is_whole: bool) -> None:
    got = read(answer)
    assert (got.body, got.fault, got.whole) == (body, None, is_whole)


@pytest.mark.parametrize(
    "chunks",
    [
        b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        b"3\nabc\n2\nde\n0\n\n",
        b"0003 \r\nabc\r\n \t2\t\r\nde\r\n000\r\n\r\n",
        b"3;name=value\r\nabc\r\n2 ; x\r\nde\r\n0;last\r\n\r\n",
        b"5\r\nabcde\r\n0\r\nTrailer: one\r\nAnother: two\r\n\r\n",
        b"5\r\nabcde\r\n0\r\nTrailer: one\n\n",
    ],
)
def test_chunks_are_joined(chunks: bytes) -> None:
    got = read(CHUNKED + chunks)
    assert (got.body, got.fault, got.whole, got.keeps_connection) == (b"abcde", None, True, True)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        *(
            (CHUNKED + chunks, PROTOCOL)
            for chunks in (
                *(b"zz\r\n", b"\r\n3\r\n", b"-3\r\n", b"0x3\r\n", b"11111111111111111\r\n"),
                *(b"3" + b" " * 6000, b"3;" + b"x" * 4100 + b"\r\nabc\r\n0\r\n\r\n"),
                b"0\r\n" + b"X: y\r\n" * 10_000 + b"\r\n",
                *(b"0\r\nX: " + b"y" * 40_000, b"1\r\na\r\n" * 10_000),
            )
        ),
        # a response that breaks off
        *(
            (begun, RESET)
            for begun in (
                *(b"", b"\r\n", b"HTT", OK, OK + b"Content-Type: text/html\r\n"),
                *(OK + b"Content-Length: 9\r\n\r\nabc", CHUNKED, CHUNKED + b"3\r\nabc"),
                *(CHUNKED + b"3\r\nabc\r\n", CHUNKED + b"3\r\nabc\r\n0\r\n"),
                b"HTTP/1.1 100 Continue\r\n\r\n",
            )
        ),
        # interim responses are limited, and count as bytes of the head
        (INTERIM * MOST_INTERIM_HEADS + OK + b"\r\n", None),
        (INTERIM * (MOST_INTERIM_HEADS + 1) + OK + b"\r\n", TOO_LARGE),
        (LONG_INTERIM * 3 + OK + b"\r\n", None),
        (LONG_INTERIM * 4 + OK + b"\r\n", TOO_LARGE),
        (LARGEST, None),
        (LARGEST.replace(b"X", b"XY"), TOO_LARGE),
    ],
)
def test_malformed_and_large_responses_are_faults(answer: bytes, fault: State | None) -> None:
    assert read(answer).fault is fault


@pytest.mark.parametrize("junk", [b"zz\r\n", b"abc", b"\r\nzz\r\n", b"\rx"])
def test_the_body_before_a_fault_is_read(junk: bytes) -> None:
    got = read(CHUNKED + b"3\r\nabc" + junk)
    assert (got.body, got.fault) == (b"abc", PROTOCOL)


def test_after_a_fault_nothing_is_read() -> None:
    assert read(CHUNKED + b"zz\r\n", b"3\r\nabc\r\n").body == b""


def test_chunks_override_a_length_but_the_connection_is_not_kept() -> None:
    both = OK + b"Content-Length: 9, 8\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n"
    got = read(both + b"3\r\nabc\r\n0\r\n\r\n")
    assert (got.body, got.whole, got.keeps_connection) == (b"abc", True, False)


def test_a_switch_of_protocols_is_a_response_that_ends_with_its_connection() -> None:
    got = read(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    assert got.head == Head(101, {})
    assert not got.keeps_connection


@pytest.mark.parametrize(
    "answer", [b"<", b"hello", b"\r\n<html>", b"\0\0\x12\4", b"HTTP 200 OK", b"ICY 200 OK\r\n\r\n"]
)
def test_a_response_that_is_no_http_fails_at_its_first_bytes(answer: bytes) -> None:
    assert read(answer) == Read(None, b"", PROTOCOL, whole=False, keeps_connection=False)


@pytest.mark.parametrize(
    ("version", "header", "keeps"),
    [
        (b"1.1", b"X: y", True),
        (b"1.1", b"Connection: Close", False),
        (b"1.1", b"Connection: x, close", False),
        (b"1.0", b"X: y", False),
        (b"1.0", b"Connection: Keep-Alive", True),
    ],
)
def test_version_and_header_decide_whether_a_connection_is_kept(
    version: bytes, header: bytes, keeps: bool
) -> None:
    answer = b"HTTP/" + version + b" 200 OK\r\nContent-Length: 0\r\n" + header + b"\r\n\r\n"
    assert read(answer).keeps_connection is keeps


@pytest.mark.parametrize(
    "answer", [OK + b"Content-Length: 1\r\n\r\na", CHUNKED + b"1\r\na\r\n0\r\n\r\n"]
)
def test_a_connection_with_bytes_after_the_response_is_not_kept(answer: bytes) -> None:
    assert read(answer).keeps_connection
    for more in (read(answer + b"x"), read(answer, b"x")):
        assert more == read(answer)._replace(keeps_connection=False)


def test_tiny_chunks_are_parsed_some_at_a_time() -> None:
    parser = ResponseParser(MAX_HEAD_BYTES)
    parts = list(fed(parser, CHUNKED + b"8\r\n12345678\r\n" * 2_000 + b"0\r\n\r\n"))
    assert max(map(len, parts)) <= 500 * 8
    assert b"".join(parts) == b"12345678" * 2_000
    assert parser.ended
    assert parser.keeps_connection
