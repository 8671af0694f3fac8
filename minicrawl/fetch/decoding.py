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
        """Decode a chunk in slices, at least one; they may be empty."""
        ...


class _Inflate:
    """Deflate streams one after another. Bytes after the last one that begin none are padding."""

    def __init__(self, wrapping: Callable[[bytes], int | None], members: int) -> None:
        self._wrapping = wrapping
        self._members_left = members
        self._stream: zlib._Decompress | None = None
        self._held = b""  # an incomplete head
        self.ended = False
        self.broken = False

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        chunk, self._held = self._held + chunk, b""
        given = b""
        # A stream that filled the output may have more.
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
        """The decoded bytes, and the part of the chunk that is left for the next slice."""
        assert self._stream is not None
        # At an error zlib does not give what it decoded before it: hence the copy.
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
    """Decode the longest beginning of a chunk that is without error."""
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
    """In the wrapping of zlib, as HTTP defines it, or in none, as some servers send it."""
    return _Inflate(lambda head: _ZLIB if _is_zlib_head(head) else _BARE, 1)


def _is_zlib_head(head: bytes) -> bool:
    return head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head, "big") % 31 == 0


def _cut_up(chunk: bytes, size: int) -> Iterator[bytes]:
    return (chunk[at : at + size] for at in range(0, len(chunk), size))


def _slices(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join small pieces into slices; the last one may be empty."""
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
        # At an error the library does not give what it decoded of a bite: hence small ones.
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
        # The library has no limit: a bite is so small that it cannot grow far.
        for bite in _cut_up(chunk, _BITE):
            rest = bite
            while rest and not self.broken:
                given, rest = self._decompress(rest)
                yield given

    def _decompress(self, bite: bytes) -> tuple[bytes, bytes]:
        """The decoded bytes, and the part of the bite that comes after the frame."""
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
    """The names that a header lists, in the order in which the codings were applied."""
    names = map(str.strip, content_encoding.lower().split(","))
    return [name for name in names if name not in _NO_CODINGS]


class _Bounded:
    """A layer that decodes no more than the limit, and stops if it swells."""

    def __init__(self, layer: _Layer, limit: int, factor: int) -> None:
        self.layer = layer
        self.factor = factor
        self.swollen = self.full = False
        self._limit = limit
        self._given = 0

    def decode(self, chunks: Iterable[bytes], sent_bytes: Callable[[], int]) -> Iterator[bytes]:
        """Decode chunks in slices."""
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
        """Decode a chunk of the body in slices; in all no more than the limit."""
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
        """Counts bytes as they are used, so that it does not matter how they were split."""
        for part in _cut_up(chunk, _TAKEN):
            self._sent_bytes += len(part)
            yield part

    def decode(self, chunk: bytes) -> bytes:
        """Decode a chunk of the body at once."""
        return b"".join(self.slices(chunk))

    @property
    def whole(self) -> bool:
        """Whether everything was decoded: no layer is broken or waits for more."""
        return not self._layers or all(
            it.layer.ended and not it.layer.broken for it in self._layers
        )

    @property
    def is_over(self) -> bool:
        """Whether a layer swells or is broken, so that nothing more will come."""
        return bool(self._layers) and any(it.swollen or it.layer.broken for it in self._layers)

    @property
    def is_full(self) -> bool:
        """Whether a layer has reached the limit."""
        return bool(self._layers) and any(it.full for it in self._layers)

    @property
    def swelling(self) -> str:
        """Which bound a layer has passed; empty if none has."""
        for it in self._layers:
            if it.swollen:
                return (
                    f"a bomb: {self._sent_bytes:,} bytes grew past {FLOOR_BYTES:,} "
                    f"and {it.factor} times their number"
                )
        return ""
