"""Worst input of hostile servers: the time grows linearly with the bytes, and bombs are cut short.

Each case makes n units of input and returns a function that reads them.
"""

import asyncio
import gzip
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial

import brotli  # type: ignore[import-untyped]  # it comes without types
import pytest
import zstandard

from minicrawl.fetch.body.decoding import FACTOR, FLOOR_BYTES, Decoder
from minicrawl.fetch.body.reading import BodyLimits, BodyVerdict, DecodeBudget, read_body
from minicrawl.fetch.client.connection import READ_BUFFER_BYTES
from minicrawl.fetch.http.framing import ByChunks
from minicrawl.fetch.http.http1 import ResponseParser
from tests.linear_time import TIMES, expect_linear

_LONGEST_SLICE_S = 0.02
_TRIES = 6
NO_LIMIT = 1 << 40
OK = b"HTTP/1.1 200 OK\r\n"
GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"

Read = Callable[[], object]


def one_by_one(body: bytes) -> Iterator[bytes]:
    return (body[at : at + 1] for at in range(len(body)))


def decode(coding: str, body: bytes, size: int = 1 << 16) -> Read:
    def work() -> None:
        decoder = Decoder([coding], NO_LIMIT)
        for at in range(0, len(body), size):
            for _ in decoder.slices(body[at : at + size]):
                pass

    return work


def feed(make: Callable[[], ResponseParser | ByChunks], pieces: Iterable[bytes]) -> Read:
    held = list(pieces)

    def work() -> None:
        reader = make()
        for piece in held:
            reader.feed(piece)
            while reader.has_more:
                reader.feed(b"")

    return work


answer = partial(feed, partial(ResponseParser, NO_LIMIT))
chunks = partial(feed, ByChunks)


def body(pieces: Iterable[bytes], *codings: str) -> Read:
    held = list(pieces)

    async def stream() -> AsyncIterator[bytes]:
        for piece in held:
            yield piece

    async def take() -> None:
        limits = BodyLimits(DecodeBudget(1 << 30))
        await read_body(stream(), codings, 1 << 30, BodyVerdict.WANTED, limits)

    return lambda: asyncio.run(take())


def blocks(size: int) -> bytes:
    return GZIP_HEAD + EMPTY_BLOCK * size


def broken(coded: bytes) -> bytes:
    return coded[: len(coded) - 9] + b"\xff" * 9


def noise(count: int) -> bytes:
    """Return text that compresses badly."""
    return b"".join(b"%d," % (number * number) for number in range(count))


WORST: dict[str, Callable[[int], Read]] = {
    "gzip": lambda n: decode("gzip", gzip.compress(noise(n), 1)),
    "gzip that swells": lambda n: decode("gzip", gzip.compress(bytes(n * 500))),
    "gzip of empty blocks": lambda n: decode("gzip", blocks(n * 50)),
    "gzip of empty members": lambda n: decode("gzip", gzip.compress(b"") * (n // 45)),
    "gzip of members of a byte": lambda n: decode("gzip", gzip.compress(b"a") * (n // 45)),
    "gzip byte by byte": lambda n: decode("gzip", gzip.compress(noise(n // 8), 1), 1),
    "gzip that breaks": lambda n: decode("gzip", broken(gzip.compress(noise(n), 1))),
    "gzip and padding": lambda n: decode("gzip", gzip.compress(b"a") + bytes(n * 2000)),
    "zlib": lambda n: decode("deflate", zlib.compress(noise(n), 1)),
    "deflate that breaks": lambda n: decode("deflate", broken(zlib.compress(noise(n), 1))),
    "brotli": lambda n: decode("br", brotli.compress(noise(n), quality=1)),
    "brotli that swells": lambda n: decode("br", brotli.compress(bytes(n * 500), quality=1)),
    "brotli byte by byte": lambda n: decode("br", brotli.compress(noise(n // 8), quality=1), 1),
    "zstd": lambda n: decode("zstd", zstandard.compress(noise(n), 1)),
    "zstd that swells": lambda n: decode("zstd", zstandard.compress(bytes(n * 500))),
    "zstd of frames of a byte": lambda n: decode("zstd", zstandard.compress(b"a") * (n // 45)),
    "a head byte by byte": lambda n: answer(one_by_one(OK + b"X: " + b"y" * n + b"\r\n\r\n")),
    "headers byte by byte": lambda n: answer(one_by_one(OK + b"X: y\r\n" * (n // 6) + b"\r\n")),
    "blank lines byte by byte": lambda n: answer(one_by_one(b"\r\n" * (n // 2))),
    "interim heads": lambda n: answer([b"HTTP/1.1 100 C\r\n\r\n" * n]),
    "interim heads byte by byte": lambda n: answer(one_by_one(b"HTTP/1.1 100 \r\n\r\n" * (n // 9))),
    "headers of one name": lambda n: answer([OK + b"A: b\r\n" * n + b"\r\n"]),
    "headers that fold": lambda n: answer([OK + b"A: b\r\n" + b" c\r\n" * n + b"\r\n"]),
    "locations": lambda n: answer([OK + b"Location: /\r\n" * n + b"\r\n"]),
    "carriage returns": lambda n: answer([OK + b"\r" * (n * 9) + b"\n\r\n"]),
    "chunks of a byte": lambda n: chunks([b"8\r\n12345678\r\n" * n]),
    "chunks byte by byte": lambda n: chunks(one_by_one(b"8\r\n12345678\r\n" * (n // 9))),
    "sizes with long extensions": lambda n: chunks([b"8;%b\r\n12345678\r\n" % (b"x" * 4000)] * n),
    "sizes with long extensions byte by byte": lambda n: chunks(
        one_by_one(b"8;%b\r\n12345678\r\n" % (b"x" * 4000) * (n // 2000))
    ),
    "one chunk byte by byte": lambda n: chunks([b"fffffff\r\n", *one_by_one(b"x" * n)]),
    "trailers byte by byte": lambda n: chunks([b"0\r\n", *one_by_one(b"a:b\r\n" * (n // 5))]),
    "bytes after the last chunk": lambda n: chunks([b"0\r\n\r\n", *one_by_one(b"x" * n)]),
    "a body byte by byte": lambda n: body(one_by_one(b"x" * n)),
    "a coded body byte by byte": lambda n: body(
        one_by_one(gzip.compress(noise(n // 8), 1)), "gzip"
    ),
    "a body in small pieces": lambda n: body([b"xy"] * n),
}


@pytest.mark.proof
@pytest.mark.parametrize("name", WORST)
def test_the_time_grows_with_the_input(name: str) -> None:
    expect_linear(WORST[name](10_000), WORST[name](10_000 * TIMES))


def gzip_members(content: bytes, size: int = 10_000) -> bytes:
    return b"".join(
        gzip.compress(content[at : at + size], 9) for at in range(0, len(content), size)
    )


def dynamic_blocks(count: int) -> bytes:
    """Return empty deflate blocks with dynamic tables: work for the decoder without output."""
    bits, at = 0, 0
    lengths = [1 if symbol in (1, 18) else 0 for symbol in (16, 17, 18, 0, 8, 7, 9, 6, 10, 5)]
    lengths += [0, 0, 0, 0, 0, 0, 0, 1]  # of 11, 4, 12, 3, 13, 2, 14 and 1
    fields = [(0, 1), (2, 2), (0, 5), (0, 5), (14, 4), *((length, 3) for length in lengths)]
    fields += [(1, 1), (127, 7), (1, 1), (107, 7), (0, 1), (0, 1), (0, 1)]
    for value, width in fields:
        bits |= value << at
        at += width
    block = 0
    for number in range(8):  # eight blocks end on a byte boundary
        block |= bits << at * number
    return block.to_bytes(at, "little") * (count // 8)


def thrice() -> bytes:
    """Return 318 bytes that once took 2.4 seconds to decode."""
    inner = GZIP_HEAD + EMPTY_BLOCK * 1_990_000 + b"\x07"
    return gzip.compress(gzip_members(inner), 9)


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "318 bytes": ("gzip, gzip, gzip", thrice),
    "10 kB of gzip": ("gzip", lambda: gzip.compress(bytes(10_000_000), 9)),
    "gzip of gzip": ("gzip, gzip", lambda: gzip_members(gzip.compress(bytes(50_000_000), 9), 500)),
    "empty blocks": ("gzip", lambda: blocks(500_000)),
    "blocks with tables": ("gzip", lambda: GZIP_HEAD + dynamic_blocks(100_000)),
    "blocks with tables in gzip": (
        "gzip, gzip",
        lambda: gzip.compress(GZIP_HEAD + dynamic_blocks(800_000), 9),
    ),
    "members of a byte": ("gzip", lambda: gzip.compress(b"a") * 50_000),
    "brotli": ("br", lambda: brotli.compress(bytes(60_000_000), quality=5, lgwin=22)),
    "brotli in brotli": (
        "br, br",
        lambda: brotli.compress(brotli.compress(bytes(60_000_000), quality=5)),
    ),
    "zstd": ("zstd", lambda: zstandard.compress(bytes(60_000_000))),
    "frames of zstd": ("zstd", lambda: zstandard.compress(b"a") * 50_000),
    "zstd in gzip": ("zstd, gzip", lambda: gzip.compress(zstandard.compress(bytes(60_000_000)))),
}


def longest_slice_s(codings: list[str], coded: bytes) -> float:
    decoder, longest_s, given = Decoder(codings, 10_000_001), 0.0, 0
    for at in range(0, len(coded), READ_BUFFER_BYTES):
        slices = decoder.slices(coded[at : at + READ_BUFFER_BYTES])
        piece: bytes | None = b""
        while piece is not None:
            began = time.thread_time()
            piece = next(slices, None)
            longest_s = max(longest_s, time.thread_time() - began)
            given += len(piece or b"")
        if decoder.is_over:
            break
    assert given <= FLOOR_BYTES + FACTOR * len(coded)
    return longest_s


@pytest.mark.parametrize("name", BOMBS)
def test_no_slice_of_a_bomb_holds_the_loop_for_long(name: str) -> None:
    codings, make = BOMBS[name]
    coded = make()
    times_s = []
    for _ in range(_TRIES):
        times_s.append(longest_slice_s(codings.split(", "), coded))
        if times_s[-1] < _LONGEST_SLICE_S:
            return
    pytest.fail(f"{min(times_s):.3f} s without a pause")
