"""Content-Encoding undone, in bounds: no body grows past its limit, however small it was sent.

layer     one coding undone, as its bytes come
limit     the most that any layer gives in all; what a body has beyond it is of no interest

Laws: no layer gives more than the limit, so that neither memory nor time is the sender's to
choose. A stream that breaks, or breaks off, gives what came before.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol

import brotli  # type: ignore[import-untyped]  # it comes without types
import zstandard

ACCEPTED = "gzip, deflate, br, zstd"
"""The codings that a request may offer."""

_MAX_MEMBERS = 1000  # of one gzip stream: each costs time, though it may hold nothing
_GZIP, _ZLIB, _BARE = 31, 15, -15  # zlib's numbers for what a deflate stream is wrapped in
_GZIP_HEAD = b"\x1f\x8b"
_HEAD = 2  # bytes that tell the wrapping
_ZSTD_WINDOW = 8 * 1024 * 1024  # the largest that RFC 9659 lets a server ask for
_BITE = 64  # bytes; of zstd, each four of them may be a block of 128 KiB


class UnknownCoding(Exception):
    """The message names a coding that cannot be undone."""


class _Layer(Protocol):
    ended: bool  # the stream came to its own end
    broken: bool  # what came is not of this coding; nothing more is given

    def decode(self, chunk: bytes, room: int) -> bytes:
        """At most `room` bytes, where there is room; what exceeds it may be lost."""
        ...


class _Inflate:
    """Streams of deflate one after another; what follows the last and opens none is padding."""

    def __init__(self, wrapping: Callable[[bytes], int | None], members: int) -> None:
        self._wrapping = wrapping
        self._members_left = members
        self._stream: zlib._Decompress | None = None
        self._held = b""  # too little of a head
        self.ended = False
        self.broken = False

    def decode(self, chunk: bytes, room: int) -> bytes:
        decoded = b""
        chunk, self._held = self._held + chunk, b""
        while chunk and len(decoded) < room and not self.broken:
            if self._stream is None and not self._opens(chunk):
                break
            given, chunk = self._inflate(chunk, room - len(decoded))
            decoded += given
        return decoded

    def _opens(self, chunk: bytes) -> bool:
        if len(chunk) < _HEAD and self._members_left:
            self._held = chunk
            return False
        wrapping = self._wrapping(chunk[:_HEAD]) if self._members_left else None
        if wrapping is None:
            self.broken = not self.ended
            self._members_left = 0
            return False
        self._stream = zlib.decompressobj(wrapping)
        self._members_left -= 1
        self.ended = False
        return True

    def _inflate(self, chunk: bytes, room: int) -> tuple[bytes, bytes]:
        """What the stream makes of a chunk, and what of the chunk comes after the stream."""
        assert self._stream is not None
        # At an error zlib keeps what it had decoded of the chunk: hence the copy.
        before = self._stream.copy()
        try:
            decoded = self._stream.decompress(chunk, room)
        except zlib.error:
            self.broken = True
            return _salvaged(before, chunk, room), b""
        if not self._stream.eof:
            return decoded, b""
        rest, self._stream, self.ended = self._stream.unused_data, None, True
        return decoded, rest


def _salvaged(stream: "zlib._Decompress", chunk: bytes, room: int) -> bytes:
    """What comes of a chunk before its error."""
    saved = bytearray()
    with suppress(zlib.error):
        for at in range(len(chunk)):
            saved += stream.decompress(chunk[at : at + 1])
    return bytes(saved[:room])


def _gzip() -> _Layer:
    return _Inflate(lambda head: _GZIP if head == _GZIP_HEAD else None, _MAX_MEMBERS)


def _deflate() -> _Layer:
    """As HTTP means it, in zlib's wrapping, or as some servers do, in none."""
    return _Inflate(lambda head: _ZLIB if _is_zlib_head(head) else _BARE, 1)


def _is_zlib_head(head: bytes) -> bool:
    return head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head, "big") % 31 == 0


def _bites(chunk: bytes) -> Iterator[bytes]:
    return (chunk[at : at + _BITE] for at in range(0, len(chunk), _BITE))


def _joined(pieces: list[bytes], room: int) -> bytes:
    """Of what is too much nothing is copied but the pieces themselves."""
    excess = sum(map(len, pieces)) - room
    if excess > 0:
        pieces[-1] = pieces[-1][:-excess]
    return b"".join(pieces)


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self.ended = False
        self.broken = False

    def decode(self, chunk: bytes, room: int) -> bytes:
        decoded: list[bytes] = []
        left = room
        # At an error the library keeps what it had decoded of a bite: hence small ones.
        for bite in _bites(chunk):
            if self.ended or self.broken or left <= 0:
                break
            for piece in self._decompress(bite, left):
                decoded.append(piece)
                left -= len(piece)
        return _joined(decoded, room)

    def _decompress(self, bite: bytes, room: int) -> Iterator[bytes]:
        try:
            while room > 0 and (piece := self._stream.process(bite, output_buffer_limit=room)):
                yield piece
                room -= len(piece)
                bite = b""
            self.ended = self._stream.is_finished()
        except brotli.error:
            self.broken = True


class _Zstd:
    """Frames one after another."""

    def __init__(self) -> None:
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._frame = self._decompressor.decompressobj()
        self._frames_left = _MAX_MEMBERS
        self.ended = False
        self.broken = False

    def decode(self, chunk: bytes, room: int) -> bytes:
        decoded: list[bytes] = []
        left = room
        # The library knows no limit: it is fed so little that one bite cannot grow far.
        for bite in _bites(chunk):
            rest = bite
            while rest and left > 0 and not self.broken:
                given, rest = self._decompress(rest)
                decoded.append(given)
                left -= len(given)
        return _joined(decoded, room)

    def _decompress(self, bite: bytes) -> tuple[bytes, bytes]:
        """What the frame makes of a bite, and what of the bite comes after the frame."""
        if self.ended:
            self._frame = self._decompressor.decompressobj()
            self._frames_left -= 1
        try:
            decoded = self._frame.decompress(bite)
        except zstandard.ZstdError:
            self.broken = True
            return b"", b""
        self.ended = self._frame.eof
        self.broken = self._frames_left == 0
        return decoded, self._frame.unused_data


_CODINGS: dict[str, Callable[[], _Layer]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}

_NO_CODINGS = frozenset(("", "identity", "none", "utf-8"))  # the last two by mistake, but often


def codings(content_encoding: str) -> list[str]:
    """The names of those that a header lists, in the order in which they were done."""
    names = (name.strip() for name in content_encoding.lower().split(","))
    return [name for name in names if name not in _NO_CODINGS]


class Decoder:
    """Undoes the codings of one body, the last one first, within a limit."""

    def __init__(self, names: Sequence[str], limit: int) -> None:
        if unknown := [name for name in names if name not in _CODINGS]:
            raise UnknownCoding(f"no coding that is known: {unknown[-1]!r}")
        self._layers = [_CODINGS[name]() for name in reversed(names)]
        self._room = [limit] * len(names)
        self._room_at_the_end = limit

    def decode(self, chunk: bytes) -> bytes:
        """What a chunk of the body adds; in all, no more than the limit."""
        for index, layer in enumerate(self._layers):
            if layer.broken or not self._room[index]:
                return b""
            chunk = layer.decode(chunk, self._room[index])
            self._room[index] -= len(chunk)
        chunk = chunk[: self._room_at_the_end]
        self._room_at_the_end -= len(chunk)
        return chunk

    @property
    def whole(self) -> bool:
        """All that was coded was decoded: no layer broke or waits for more."""
        return all(layer.ended and not layer.broken for layer in self._layers)

    @property
    def broken(self) -> bool:
        """A layer met what is not of its coding: nothing more will come."""
        return any(layer.broken for layer in self._layers)
