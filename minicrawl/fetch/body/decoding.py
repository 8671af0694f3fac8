"""Content-Encoding decoders with limits: time and memory grow with the bytes received.

layer     decoder of one coding, fed as bytes arrive
slice     output of one decoding step; the caller can do other work before the next
limit     maximum length of a body; the rest is not decoded
swelling  a layer swells if its output exceeds both FLOOR_BYTES and FACTOR times the input

Laws: n bytes cost at most c * n time and memory, whatever they contain. A slice takes at most a
few milliseconds. If a stream is corrupt or truncated, everything before the error is decoded.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import brotli  # type: ignore[import-untyped]  # it comes without types
import zstandard

from minicrawl.fetch.http.framing import ByChunks
from minicrawl.web.encoding.labels import encoding_of_label

ACCEPTED = "gzip, deflate, br, zstd"
"""Value of Accept-Encoding."""

FLOOR_BYTES = 256 * 1024
"""Output that is always allowed, in bytes."""
FACTOR = 200
"""Maximum ratio of output to input for larger bodies.

Of 2,000 manual pages over 30 kB, half compress 6:1, one in a hundred 28:1, and the most repetitive
59:1.
"""
FACTOR_WITHIN = 20
"""`FACTOR` of a layer whose output is compressed itself: such data hardly compresses again."""

_MAX_MEMBERS = 1000  # members of a gzip stream: each costs time, though it may be empty
_GZIP, _ZLIB, _BARE = 31, 15, -15  # zlib's wbits, by wrapping of the deflate stream
_GZIP_HEAD = b"\x1f\x8b"
_HEAD = 2  # bytes that identify the wrapping
_ZSTD_WINDOW = 8 * 1024 * 1024  # the maximum that RFC 9659 allows servers
# A brotli decoder fills its window before it produces output. Encoders use 4 MiB or less, except
# for larger files; the standard allows 16 MiB, which is 40 ms of work for 26 bytes.
_BROTLI_WINDOW_BITS = 0x0F  # bits of the first byte
_BROTLI_WINDOWS_TOO_LARGE = (0x0D, 0x0F)  # 8 and 16 MiB
_SHOWN = 40  # characters of an unknown coding in messages

_TAKEN = 16 * 1024  # input bytes per slice
_GIVEN = 64 * 1024  # output bytes after which a slice ends
_MOST_PIECES = 32  # per slice
_BITE = 64  # input bytes per call; in zstd, every four may expand to a block of 128 KiB


class UnknownCoding(Exception):
    """Unsupported coding. The message names it."""


class _Layer:
    ended = False
    """True if the stream reached its end marker."""
    broken = False
    """True if the input is invalid for this coding: there is no further output."""

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        """Decode a chunk in at least one slice, possibly empty."""
        raise NotImplementedError


class _Inflate(_Layer):
    """Decoder of concatenated deflate streams; other bytes after the first one are padding."""

    def __init__(self, wrapping: Callable[[bytes], int | None], members: int) -> None:
        self._wrapping = wrapping
        self._members_left = members
        self._stream: zlib._Decompress | None = None
        self._held = b""  # an incomplete header

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        chunk, self._held = self._held + chunk, b""
        given = b""
        # A stream that filled the output buffer may have more.
        while (chunk or len(given) == _GIVEN) and not self.broken:
            if self._stream is None and not self._opens(chunk):
                break
            assert self._stream is not None
            # The copy is needed because zlib discards the output before an error.
            before = self._stream.copy()
            try:
                given = self._stream.decompress(chunk, _GIVEN)
            except zlib.error:
                self.broken = True
                yield _salvaged(before, chunk)
                break
            if self._stream.eof:
                chunk, self._stream, self.ended = self._stream.unused_data, None, True
            else:
                chunk = self._stream.unconsumed_tail
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


def _salvaged(stream: "zlib._Decompress", chunk: bytes) -> bytes:
    """Decode the longest valid prefix of a chunk."""
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


def _wrapping_of_gzip(head: bytes) -> int | None:
    return _GZIP if head == _GZIP_HEAD else None


def _wrapping_of_deflate(head: bytes) -> int:
    """Return that of zlib, the standard, or none, which some servers send."""
    is_zlib = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head, "big") % 31 == 0
    return _ZLIB if is_zlib else _BARE


def _cut_up(chunk: bytes, size: int) -> Iterator[bytes]:
    return (chunk[at : at + size] for at in range(0, len(chunk), size))


def _slices(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join small pieces into slices; the last slice may be empty."""
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


class _Brotli(_Layer):
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self._is_begun = False

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        if not self._is_begun:
            self.broken = chunk[0] & _BROTLI_WINDOW_BITS in _BROTLI_WINDOWS_TOO_LARGE
            self._is_begun = True
        return _slices(self._pieces(chunk))

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        # Bites are small because the library discards the output of a bite with an error.
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


class _Zstd(_Layer):
    """Decoder of concatenated zstd frames."""

    def __init__(self) -> None:
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._frame = self._decompressor.decompressobj()
        self._frames_left = _MAX_MEMBERS

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        return _slices(self._pieces(chunk))

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        # Bites are small because the library cannot limit its output.
        for bite in _cut_up(chunk, _BITE):
            unread = bite
            while unread and not self.broken:
                given, unread = self._decompress(unread)
                yield given

    def _decompress(self, bite: bytes) -> tuple[bytes, bytes]:
        """Return the decoded bytes, and the rest of the bite after the end of the frame."""
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


class _Dechunk(_Layer):
    """Decoder of a chunked body that was read as sent."""

    def __init__(self) -> None:
        self._chunks = ByChunks()

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        yield self._chunks.feed(chunk)
        while self._chunks.has_more:
            yield self._chunks.feed(b"")
        self.ended, self.broken = self._chunks.ended, self._chunks.fault is not None


CHUNKS = "chunks as sent"
"""Coding of a body that was read with the sizes of its chunks. No header can name it."""

_CODINGS: dict[str, Callable[[], _Layer]] = {
    CHUNKS: _Dechunk,
    "gzip": partial(_Inflate, _wrapping_of_gzip, _MAX_MEMBERS),
    "x-gzip": partial(_Inflate, _wrapping_of_gzip, _MAX_MEMBERS),
    "deflate": partial(_Inflate, _wrapping_of_deflate, 1),
    "br": _Brotli,
    "zstd": _Zstd,
}

# All but the first two are mistakes, as are the labels of character encodings.
_NO_CODINGS = frozenset(("", "identity", "none", "binary", "7bit", "8bit", "aws-chunked"))


def codings(content_encoding: str) -> list[str]:
    names = map(str.strip, content_encoding.lower().split(","))
    return [name for name in names if not (name in _NO_CODINGS or encoding_of_label(name))]


class _Bounded:
    """Layer with an output limit, which stops if it swells."""

    def __init__(self, layer: _Layer, limit: int, factor: int) -> None:
        self.layer = layer
        self.factor = factor
        self.swollen = self.full = False
        self._limit = limit
        self._given = 0

    def decode(self, chunks: Iterable[bytes], sent_bytes: Callable[[], int]) -> Iterator[bytes]:
        """Decode chunks in slices."""
        for chunk in chunks:
            # The limit follows the bytes that the server sent, not the input of this layer:
            # otherwise stacked codings would multiply their factors.
            most = min(self._limit, FLOOR_BYTES + self.factor * sent_bytes())
            parts = (part for part in _cut_up(chunk, _TAKEN) if not self.layer.broken)
            for piece in chain.from_iterable(map(self.layer.decode, parts)):
                given = piece[: most - self._given]
                self._given += len(given)
                yield given
                if len(given) < len(piece):
                    self.swollen = most < self._limit
                    self.full = not self.swollen
                    return


class Decoder:
    """Decoder of all codings of one body, outermost first, with an output limit."""

    def __init__(self, names: Sequence[str], limit: int) -> None:
        if unknown := [name for name in names if name not in _CODINGS]:
            raise UnknownCoding(f"unknown content coding: {unknown[-1][:_SHOWN]!r}")
        layers = [
            _Bounded(_CODINGS[name](), limit, FACTOR_WITHIN if within else FACTOR)
            for within, name in enumerate(names)
        ]
        self._layers = layers[::-1]
        self._room = limit
        self._sent_bytes = 0

    def slices(self, chunk: bytes) -> Iterator[bytes]:
        """Decode a chunk in slices, up to the limit in total."""
        slices: Iterable[bytes] = self._sent(chunk)
        for layer in self._layers:
            slices = layer.decode(slices, lambda: self._sent_bytes)
        for piece in slices:
            given = piece[: self._room]
            self._room -= len(given)
            yield given
            if not self._room:
                return

    def _sent(self, chunk: bytes) -> Iterator[bytes]:
        """Yield small parts, counting their bytes as they are consumed.

        This makes the result independent of how the network split the body.
        """
        for part in _cut_up(chunk, _TAKEN):
            self._sent_bytes += len(part)
            yield part

    @property
    def whole(self) -> bool:
        return all(stage.layer.ended and not stage.layer.broken for stage in self._layers)

    @property
    def is_over(self) -> bool:
        """True if a layer swells or is broken, so that there will be no further output."""
        return any(stage.swollen or stage.layer.broken for stage in self._layers)

    @property
    def is_full(self) -> bool:
        return any(stage.full for stage in self._layers)

    @property
    def swelling(self) -> str:
        """Bound that a layer exceeded, as text; "" if none."""
        for stage in self._layers:
            if stage.swollen:
                return (
                    f"a bomb: {self._sent_bytes:,} bytes grew past {FLOOR_BYTES:,} "
                    f"and {stage.factor} times their number"
                )
        return ""
