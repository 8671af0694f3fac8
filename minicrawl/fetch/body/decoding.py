"""Undoes Content-Encoding within limits: time and memory grow with the bytes that were sent.

layer     the decoder of one coding, which is fed as bytes come
slice     what a layer decodes in one step; the caller may do something else before the next
limit     the most bytes that a body may have; the rest is not decoded
swelling  a layer that decodes to more than FLOOR_BYTES and more than FACTOR times what was sent

Laws: n bytes cost no more than c * n time and memory, whatever they are. A slice takes no more than
a few milliseconds. If a stream is broken or incomplete, what came before is decoded.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import brotli  # type: ignore[import-untyped]  # it comes without types
import zstandard

ACCEPTED = "gzip, deflate, br, zstd"
"""The codings that a request may offer."""

FLOOR_BYTES = 256 * 1024
"""A body may always have so many bytes."""
FACTOR = 200
"""A larger body may have so many times the bytes that were sent. Of 2,000 pages of manuals over
30 kB, half shrink to a 6th, one of a hundred to a 28th, the most repetitive to a 59th."""
FACTOR_WITHIN = 20
"""The same for a layer under another: what was compressed once hardly shrinks again."""

_MAX_MEMBERS = 1000  # of one gzip stream: each costs time, though it may hold nothing
_GZIP, _ZLIB, _BARE = 31, 15, -15  # zlib's numbers for what a deflate stream is wrapped in
_GZIP_HEAD = b"\x1f\x8b"
_HEAD = 2  # bytes that tell the wrapping
_ZSTD_WINDOW = 8 * 1024 * 1024  # the largest that RFC 9659 lets a server ask for
# A decoder of brotli fills its window before it gives anything. Encoders use 4 MiB or less, but for
# files of more than that; the standard allows 16 MiB, 40 ms of work for 26 bytes.
_BROTLI_WINDOW_BITS = 0x0F  # of the first byte
_BROTLI_WINDOWS_TOO_LARGE = (0x0D, 0x0F)  # 8 and 16 MiB
_SHOWN = 40  # characters of an unknown coding

_TAKEN = 16 * 1024  # bytes of input for one slice
_GIVEN = 64 * 1024  # bytes of output, after which a slice ends
_MOST_PIECES = 32  # in a slice
_BITE = 64  # bytes; of zstd, each four of them may be a block of 128 KiB


class UnknownCoding(Exception):
    """The message names a coding that is not supported."""


class _Layer(Protocol):
    ended: bool  # the stream came to its own end
    broken: bool  # what came is not of this coding; nothing more is given

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        """Slices, at least one for each chunk; they may be empty."""
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

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        chunk, self._held = self._held + chunk, b""
        given = b""
        # A stream that gave all it might may hold more.
        while (chunk or len(given) == _GIVEN) and not self.broken:
            if self._stream is None and not self._opens(chunk):
                break
            given, chunk = self._inflate(chunk)
            yield given
        yield b""

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

    def _inflate(self, chunk: bytes) -> tuple[bytes, bytes]:
        """What the stream makes of a chunk, and what of the chunk is left for the next slice."""
        assert self._stream is not None
        # At an error zlib keeps what it had decoded of the chunk: hence the copy.
        before = self._stream.copy()
        try:
            decoded = self._stream.decompress(chunk, _GIVEN)
        except zlib.error:
            self.broken = True
            return _salvaged(before, chunk), b""
        if not self._stream.eof:
            return decoded, self._stream.unconsumed_tail
        rest, self._stream, self.ended = self._stream.unused_data, None, True
        return decoded, rest


def _salvaged(stream: "zlib._Decompress", chunk: bytes) -> bytes:
    """What comes of a chunk before its error: of its longest beginning that has none."""
    saved: list[bytes] = []
    while len(chunk) > 1:
        half, trial = chunk[: len(chunk) // 2], stream.copy()
        try:
            saved.append(trial.decompress(half, _GIVEN))
        except zlib.error:
            chunk = half
        else:
            stream, chunk = trial, chunk[len(half) :]
    return b"".join(saved)


def _gzip() -> _Layer:
    return _Inflate(lambda head: _GZIP if head == _GZIP_HEAD else None, _MAX_MEMBERS)


def _deflate() -> _Layer:
    """As HTTP means it, in zlib's wrapping, or as some servers do, in none."""
    return _Inflate(lambda head: _ZLIB if _is_zlib_head(head) else _BARE, 1)


def _is_zlib_head(head: bytes) -> bool:
    return head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head, "big") % 31 == 0


def _cut_up(chunk: bytes, size: int) -> Iterator[bytes]:
    return (chunk[at : at + size] for at in range(0, len(chunk), size))


def _slices(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Small pieces, together until they are a slice; the last one may be empty."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _GIVEN or len(held) >= _MOST_PIECES:
            yield b"".join(held)
            held.clear()
            size = 0
    yield b"".join(held)


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self._is_begun = False
        self.ended = False
        self.broken = False

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        if not self._is_begun:
            self.broken = chunk[0] & _BROTLI_WINDOW_BITS in _BROTLI_WINDOWS_TOO_LARGE
            self._is_begun = True
        return _slices(self._pieces(chunk))

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        # At an error the library keeps what it had decoded of a bite: hence small ones.
        for bite in _cut_up(chunk, _BITE):
            if self.ended or self.broken:
                return
            yield from self._decompress(bite)

    def _decompress(self, bite: bytes) -> Iterator[bytes]:
        try:
            yield (piece := self._stream.process(bite, output_buffer_limit=_GIVEN))
            while len(piece) >= _GIVEN or not self._stream.can_accept_more_data():
                yield (piece := self._stream.process(b"", output_buffer_limit=_GIVEN))
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

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        return _slices(self._pieces(chunk))

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        # The library knows no limit: it is fed so little that one bite cannot grow far.
        for bite in _cut_up(chunk, _BITE):
            rest = bite
            while rest and not self.broken:
                given, rest = self._decompress(rest)
                yield given

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


class _Bounded:
    """A layer that gives no more than the limit, and no more than what was sent may swell to."""

    def __init__(self, layer: _Layer, limit: int, factor: int) -> None:
        self.layer = layer
        self.factor = factor
        self.swollen = self.full = False
        self._limit = limit
        self._given = 0

    def decode(self, chunks: Iterable[bytes], sent_bytes: Callable[[], int]) -> Iterator[bytes]:
        """Slices of what the chunks hold."""
        for chunk in chunks:
            most = min(self._limit, FLOOR_BYTES + self.factor * sent_bytes())
            for piece in self._fed(chunk):
                given = piece[: most - self._given]
                self._given += len(given)
                yield given
                if len(given) < len(piece):
                    self.swollen = most < self._limit
                    self.full = not self.swollen
                    return

    def _fed(self, chunk: bytes) -> Iterator[bytes]:
        for part in _cut_up(chunk, _TAKEN):
            if self.layer.broken:
                return
            yield from self.layer.decode(part)


class Decoder:
    """Undoes the codings of one body, the last one first, within a limit."""

    def __init__(self, names: Sequence[str], limit: int) -> None:
        if unknown := [name for name in names if name not in _CODINGS]:
            raise UnknownCoding(f"no coding that is known: {unknown[-1][:_SHOWN]!r}")
        layers = [
            _Bounded(_CODINGS[name](), limit, FACTOR_WITHIN if within else FACTOR)
            for within, name in enumerate(names)
        ]
        self._layers = layers[::-1]
        self._room = limit
        self._sent_bytes = 0

    def slices(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk of the body adds, slice by slice; in all, no more than the limit."""
        return self._decoded(chunk) if self._layers else iter((self._within_limit(chunk),))

    def _decoded(self, chunk: bytes) -> Iterator[bytes]:
        slices: Iterable[bytes] = self._sent(chunk)
        for layer in self._layers:
            slices = layer.decode(slices, lambda: self._sent_bytes)
        for piece in slices:
            yield self._within_limit(piece)
            if not self._room:
                return

    def _within_limit(self, piece: bytes) -> bytes:
        given = piece[: self._room]
        self._room -= len(given)
        return given

    def _sent(self, chunk: bytes) -> Iterator[bytes]:
        """Counted as it is used, so that it does not matter in which pieces it came."""
        for part in _cut_up(chunk, _TAKEN):
            self._sent_bytes += len(part)
            yield part

    def decode(self, chunk: bytes) -> bytes:
        """All of it at once."""
        return b"".join(self.slices(chunk))

    @property
    def whole(self) -> bool:
        """All that was coded was decoded: no layer broke or waits for more."""
        return all(it.layer.ended and not it.layer.broken for it in self._layers)

    @property
    def is_over(self) -> bool:
        """A layer swells, or met what is not of its coding: nothing more will come."""
        return any(it.swollen or it.layer.broken for it in self._layers)

    @property
    def is_full(self) -> bool:
        """A layer has given all that the limit lets it."""
        return any(it.full for it in self._layers)

    @property
    def swelling(self) -> str:
        """Which bound a layer has passed, in words."""
        for it in self._layers:
            if it.swollen:
                return (
                    f"a bomb: {self._sent_bytes:,} bytes grew past {FLOOR_BYTES:,} "
                    f"and {it.factor} times their number"
                )
        return ""
