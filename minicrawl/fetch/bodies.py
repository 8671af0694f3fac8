"""A body, read as far as it is wanted.

Laws: no more is kept than the cap, of the bytes on the wire and of the bytes decoded. A body
that breaks off, or is not there in time, is what came of it, as it is for browsers; one of which
nothing came is a failure.
"""

import asyncio
from collections.abc import AsyncIterable, Callable, Sequence
from typing import Literal, NamedTuple

from minicrawl.fetch.decoding import Decoder
from minicrawl.fetch.failures import EXPECTED, Fault, failure, kind_of
from minicrawl.fetch.pace import Pace
from minicrawl.model import Failed, FailureKind

_ENOUGH_TO_TELL = 1445  # bytes; the MIME Sniffing standard looks at no more

Judge = Callable[[bytes], bool]
"""Whether a body that begins like this is wanted."""


class Body(NamedTuple):
    """What came; `cut` is why there is no more, where there was or should have been."""

    content: bytes
    wire_bytes: int
    cut: FailureKind | None


async def read_body(
    pieces: AsyncIterable[bytes],
    codings: Sequence[str],
    cap: int,
    is_wanted: Judge | Literal[True],
    pace: Pace,
) -> Body | Failed | None:
    """None: judged by its first bytes it is not wanted, and was read no further.

    Raises UnknownCoding.
    """
    reading = _Reading(codings, cap, is_wanted)
    try:
        await _read_in_time(reading, pieces, pace)
    except EXPECTED as error:
        if not reading.length:
            return failure(error)
        reading.cut = kind_of(error)
    return reading.outcome()


async def _read_in_time(reading: "_Reading", pieces: AsyncIterable[bytes], pace: Pace) -> None:
    try:
        async with asyncio.timeout_at(pace.until):
            async for piece in pieces:
                if pace.breath.is_out:
                    await pace.breath.wait()
                if not reading.is_enough:
                    pace.breath.draw(reading, reading.take(piece), len(piece))
                if reading.is_enough:
                    break
    except TimeoutError as error:
        raise Fault(FailureKind.TIMEOUT, "the body did not come in time") from error
    finally:
        pace.breath.let_go(reading)


class _Reading:
    def __init__(self, codings: Sequence[str], cap: int, is_wanted: Judge | Literal[True]) -> None:
        # One byte beyond the cap tells that there is more.
        self._decoder = Decoder(codings, limit=cap + 1)
        self.cap = cap
        self._judge = None if is_wanted is True else is_wanted
        self._wire_bytes = 0
        self._content: list[bytes] = []
        self._unwanted = False
        self.length = 0
        self.cut: FailureKind | None = None

    def take(self, piece: bytes) -> int:
        """The size of what it holds."""
        content = self._decoder.decode(piece[: self.cap - self._wire_bytes])
        self._content.append(content)
        self.length += len(content)
        self._wire_bytes += len(piece)
        if self._judge and self.length >= _ENOUGH_TO_TELL:
            self._hear(self._judge)
        if max(self._wire_bytes, self.length) > self.cap:
            self.cut = FailureKind.TOO_LARGE
        elif self._decoder.broken:
            self.cut = FailureKind.ENCODING
        return len(content)

    def cut_here(self) -> None:
        self.cut = FailureKind.CROWDED

    def _hear(self, judge: Judge) -> None:
        self._content = [b"".join(self._content)]
        self._unwanted = not judge(self._content[0])
        self._judge = None

    @property
    def is_enough(self) -> bool:
        return self._unwanted or self.cut is not None

    def outcome(self) -> Body | Failed | None:
        whole = self._decoder.whole
        if self._wire_bytes and not self.length and not whole:
            return Failed(kind=FailureKind.ENCODING, detail="nothing of it could be decoded")
        if self._judge:
            self._hear(self._judge)
        if self._unwanted:
            return None
        if self.length > self.cap:
            self._content[-1] = self._content[-1][: self.cap - self.length]
        content = b"".join(self._content)
        self._content.clear()
        cut = self.cut or (None if whole else FailureKind.ENCODING)
        return Body(content, min(self._wire_bytes, self.cap), cut)
