"""A body, read as far as it is wanted.

Laws: no more is kept than the cap, of the bytes on the wire and of the bytes decoded. A body
that breaks off is what came of it, as it is for browsers; one of which nothing came is a failure.
"""

from collections.abc import AsyncIterable, Callable
from typing import NamedTuple

from minicrawl.fetch.decoding import Decoder
from minicrawl.fetch.failures import EXPECTED, failure
from minicrawl.model import Failed, FailureKind

_ENOUGH_TO_TELL = 1445  # bytes; the MIME Sniffing standard looks at no more

Judge = Callable[[bytes], bool]
"""Whether a body that begins like this is wanted."""


class Body(NamedTuple):
    """What came; `cut` where there was, or should have been, more."""

    content: bytes
    wire_bytes: int
    cut: bool


async def read_body(
    chunks: AsyncIterable[bytes], content_encoding: str, cap: int, is_wanted: Judge
) -> Body | Failed | None:
    """None: judged by its first bytes it is not wanted, and was read no further.

    Raises UnknownCoding.
    """
    reading = _Reading(content_encoding, cap, is_wanted)
    try:
        async for chunk in chunks:
            reading.take(chunk)
            if reading.is_enough:
                break
    except EXPECTED as error:
        if not reading.content:
            return failure(error)
        reading.cut = True
    return reading.outcome()


class _Reading:
    def __init__(self, content_encoding: str, cap: int, is_wanted: Judge) -> None:
        # One byte beyond the cap tells that there is more.
        self._decoder = Decoder(content_encoding, limit=cap + 1)
        self._cap = cap
        self._is_wanted = is_wanted
        self._wanted: bool | None = None
        self._wire_bytes = 0
        self.content = bytearray()
        self.cut = False

    def take(self, chunk: bytes) -> None:
        self.content += self._decoder.decode(chunk[: self._cap - self._wire_bytes])
        self._wire_bytes += len(chunk)
        if self._wanted is None and len(self.content) >= _ENOUGH_TO_TELL:
            self._wanted = self._is_wanted(bytes(self.content))
        if self._decoder.broken or max(self._wire_bytes, len(self.content)) > self._cap:
            self.cut = True

    @property
    def is_enough(self) -> bool:
        return self.cut or self._wanted is False

    def outcome(self) -> Body | Failed | None:
        whole = self._decoder.whole
        if self._wire_bytes and not self.content and not whole:
            return Failed(kind=FailureKind.ENCODING, detail="nothing of it could be decoded")
        if self._wanted is None:
            self._wanted = self._is_wanted(bytes(self.content))
        if not self._wanted:
            return None
        wire_bytes = min(self._wire_bytes, self._cap)
        return Body(bytes(self.content[: self._cap]), wire_bytes, self.cut or not whole)
