"""Faults of content codings: bombs, truncated bodies, bodies without their coding."""

import gzip
import zlib
from collections.abc import Callable
from functools import cache, partial

import brotli  # type: ignore[import-untyped]  # it comes without types
import zstandard

from tests.fetch.wire import Answer, Then, answer
from tests.proofs.hostile.fault import (
    BAD_CODING,
    BEGIN,
    BOMB,
    CROWDED,
    ENCODING,
    LARGE,
    LATE,
    PAGE,
    Fault,
)

_BOMB_BYTES = 64 * 1024 * 1024


def coded(names: str, coded_body: Callable[[], bytes], *outcomes: str) -> Fault:
    """Return a fault whose body has these content codings."""

    def answers() -> tuple[Answer, ...]:
        headers = ("Content-Type: text/html", f"Content-Encoding: {names}")
        return (answer(coded_body(), headers=headers, then=Then.CLOSE),)

    return Fault(outcomes=outcomes, answers=answers)


@cache
def _text(size: int) -> bytes:
    return BEGIN + b"a little text " * (size // 14)


@cache
def _bomb(name: str) -> bytes:
    return _CODERS[name](_text(_BOMB_BYTES))


_CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, 6),
    "deflate": lambda body: zlib.compress(body, 6),
    "br": lambda body: bytes(brotli.compress(body, quality=4)),
    "zstd": lambda body: zstandard.compress(body, 3),
}


def _wrapped_bomb(name: str) -> bytes:
    return gzip.compress(_bomb(name))


def _bare_deflate(body: bytes) -> bytes:
    squeezer = zlib.compressobj(wbits=-15)
    return squeezer.compress(body) + squeezer.flush()


def _empty_blocks() -> bytes:
    """Return millions of empty deflate blocks, in gzip members, in gzip."""
    inner = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\x00\x00\x00\xff\xff" * 1_990_000 + b"\x07"
    members = (gzip.compress(inner[at : at + 10_000]) for at in range(0, len(inner), 10_000))
    return gzip.compress(b"".join(members))


# Numbers in text form, which compress badly.
_MANY = b"".join(b"%d," % (number * number) for number in range(1_000_000))
BEGIN_GZIPPED = gzip.compress(BEGIN)
_FEW = b"".join(b"%d," % number for number in range(20_000))
CODINGS = {
    **{f"{name} bomb": coded(name, partial(_bomb, name), BOMB, CROWDED) for name in _CODERS},
    **{
        f"{name} bomb in gzip": coded(f"{name}, gzip", partial(_wrapped_bomb, name), BOMB, CROWDED)
        for name in _CODERS
    },
    "gzip thrice": coded(
        "gzip, gzip, gzip", lambda: gzip.compress(gzip.compress(_bomb("gzip"))), BOMB, CROWDED
    ),
    # On a busy machine the deadline may come before the cap.
    "gzip past the cap": coded("gzip", lambda: gzip.compress(_MANY, 1), LARGE, CROWDED, LATE),
    "318 bytes of gzip thrice": coded("gzip, gzip, gzip", _empty_blocks, ENCODING),
    "50,000 members of a byte": coded("gzip", lambda: gzip.compress(b"a") * 50_000, PAGE, LATE),
    "50,000 frames of a byte": coded("zstd", lambda: zstandard.compress(b"a") * 50_000, BAD_CODING),
    "a window of 16 MiB": coded("br", lambda: brotli.compress(BEGIN, lgwin=24), ENCODING),
    "gzip ten times": coded(", ".join(["gzip"] * 10), lambda: b"x", ENCODING),
    "truncated gzip": coded("gzip", lambda: gzip.compress(_FEW)[:9000], BAD_CODING),
    "truncated br": coded("br", lambda: brotli.compress(_FEW)[:9000], BAD_CODING),
    "truncated zstd": coded("zstd", lambda: zstandard.compress(_FEW)[:-900], BAD_CODING, ENCODING),
    "gzip with a wrong sum": coded(
        "gzip", lambda: gzip.compress(_FEW)[:-8] + b"\0" * 8, BAD_CODING
    ),
    "gzip that turns to junk": coded(
        "gzip", lambda: gzip.compress(_FEW, 0)[:5000] + b"\xff" * 5000, BAD_CODING, PAGE
    ),
    "no gzip": coded("gzip", lambda: BEGIN, ENCODING),
    "gzip of nothing": coded("gzip", lambda: b"", PAGE, BAD_CODING),
    "no br": coded("br", lambda: BEGIN * 9, ENCODING),
    "no zstd": coded("zstd", lambda: BEGIN * 9, ENCODING),
    "bare deflate": coded("deflate", lambda: _bare_deflate(BEGIN), PAGE),
    "gzip with padding": coded("gzip", lambda: BEGIN_GZIPPED + b"\0" * 999, PAGE),
    "1,500 empty members of gzip": coded(
        "gzip", lambda: gzip.compress(b"") * 1500 + BEGIN_GZIPPED, PAGE, BAD_CODING, ENCODING
    ),
    "unknown coding": coded("middle-out", lambda: BEGIN, ENCODING),
    "coding of control characters": coded("\x01\x02", lambda: BEGIN, ENCODING),
}
