"""Servers that flood HTTP/2 with frames: a request ends long before its deadline."""

import asyncio
import ssl
from contextlib import suppress

import hpack
import pytest

from minicrawl.fetch.client.http2 import FrameMeter
from minicrawl.fetch.http.messages import Fault
from minicrawl.model import FailureKind, Response
from tests.fetch.results import kind_of
from tests.fetch.test_http2 import Http2Server, fetch, page

DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, WINDOW, CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9
END_HEADERS, END_STREAM = 4, 1
STREAM = 1  # of the first request


def frame(kind: int, flags: int = 0, stream: int = 0, content: bytes = b"") -> bytes:
    head = len(content).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4)
    return head + content


def headers(status: str) -> bytes:
    return hpack.Encoder().encode([(":status", status), ("content-type", "text/html")])


class Flood(Http2Server):
    """Server that answers with `begins` once, and then repeats `again` for ever."""

    def __init__(self, again: bytes, begins: bytes = b"", *, reads: bool = True) -> None:
        super().__init__(lambda *_: None)
        self.again, self.begins, self.reads = again * 500, begins, reads

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await reader.read(65536)
        hearing = asyncio.create_task(_read_all(reader)) if self.reads else None
        try:
            writer.write(frame(SETTINGS) + self.begins)
            while not writer.is_closing():
                writer.write(self.again)
                await writer.drain()
        finally:
            if hearing is not None:
                hearing.cancel()


async def _read_all(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError, ssl.SSLError):
        while await reader.read(65536):
            pass


OPEN = frame(HEADERS, END_HEADERS, STREAM, headers("200"))
OK_HEAD, OPEN_HEAD = headers("200"), frame(HEADERS, 0, STREAM, headers("200"))
FLOODS = {
    "interim heads": (frame(HEADERS, END_HEADERS, STREAM, headers("103")), b""),
    "settings": (frame(SETTINGS), b""),
    "settings that change": (frame(SETTINGS, content=b"\0\4\0\0\xff\xff" * 9), b""),
    "pings": (frame(PING, content=b"12345678"), b""),
    "windows": (frame(WINDOW, content=b"\0\0\0\1"), b""),
    "priorities": (frame(PRIORITY, 0, 3, b"\0\0\0\0\1"), b""),
    "unknown frames": (frame(0xFA, content=b"x"), b""),
    "empty data": (frame(DATA, 0, STREAM), OPEN),
    "padding": (frame(DATA, 8, STREAM, b"\0"), OPEN),
    "resets of nothing": (frame(RESET, 0, STREAM, b"\0\0\0\2"), b""),
    "resets after the end": (
        frame(RESET, 0, STREAM, b"\0\0\0\2"),
        frame(HEADERS, END_HEADERS | END_STREAM, STREAM, OK_HEAD),
    ),
    "empty continuations": (frame(CONTINUATION, 0, STREAM), OPEN_HEAD),
    "continuations": (
        frame(CONTINUATION, 0, STREAM, hpack.Encoder().encode([("a", "b" * 9)])),
        OPEN_HEAD,
    ),
}
_ENDS = (FailureKind.PROTOCOL, FailureKind.RESET, FailureKind.TOO_LARGE)


@pytest.mark.proof
@pytest.mark.parametrize("reads", [True, False], ids=["reads", "deaf"])
@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_ends_before_the_deadline(name: str, *, reads: bool) -> None:
    again, begins = FLOODS[name]
    (found,) = fetch(Flood(again, begins, reads=reads), page(), timeout_s=100)
    if isinstance(found, Response):
        assert (found.body, name) == (b"", "resets after the end")
    else:
        assert kind_of(found) in _ENDS


def test_ordinary_responses_never_look_like_a_flood() -> None:
    meter = FrameMeter()
    for _ in range(2000):
        meter.requests += 1
        for sent in (frame(HEADERS, 5, 1, b"x" * 40), frame(WINDOW), frame(PING)):
            assert meter.take(sent) == len(sent)
    meter, data = FrameMeter(), frame(DATA, 0, 1, bytes(100)) * 90
    for _ in range(100):
        assert meter.take(data) == len(data)


def test_frames_may_be_split_anywhere() -> None:
    frames = frame(SETTINGS) + frame(DATA, 0, 1, bytes(20)) + frame(PING, 0, 0, bytes(8))
    for size in range(1, len(frames) + 1):
        meter = FrameMeter()
        for at in range(0, len(frames), size):
            piece = frames[at : at + size]
            assert meter.take(piece) == len(piece)
        assert meter.take(frame(PING)) == 9


def test_no_more_than_100_frames_are_parsed_at_once() -> None:
    meter, pings = FrameMeter(), frame(PING, content=bytes(8)) * 250
    taken = []
    while pings:
        taken.append(meter.take(pings))
        pings = pings[taken[-1] :]
    assert taken == [1700 - 8, 1700, 850 + 8]


def test_a_request_with_too_many_frames_is_a_fault() -> None:
    meter, ping = FrameMeter(), frame(PING)
    meter.requests = 1
    for _ in range(3000):
        meter.take(ping)
    with pytest.raises(Fault, match="HTTP/2"):
        meter.take(ping)
