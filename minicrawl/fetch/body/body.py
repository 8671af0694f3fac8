"""A body, read as far as it is wanted.

Laws: no more is kept than the cap, of the bytes on the wire and of the bytes decoded. A body
that breaks off, or is not there in time, is what came of it, as it is for browsers; one of which
nothing came is a failure. The loop has a turn after each slice that took its time. What was done
with a body says what it cost.

How long a body may take, and how much of the loop and of memory all of them together.

Laws: between two turns of the loop no more time is spent on bodies than a breath and one slice of
one of them. All bodies under way together are little larger than `max_bytes`, or than what one of
them may be: beyond that, the largest of them is cut where it is.
"""

import asyncio
from collections.abc import AsyncIterable, Callable, Iterator, Sequence
from time import perf_counter
from typing import Literal, NamedTuple, Protocol

from minicrawl.fetch.body.decoding import Decoder
from minicrawl.fetch.failures import EXPECTED, Fault, failure, kind_of
from minicrawl.model import Failed, FailureKind, Refusal, Refused

_BREATH_S = 0.005


class GrowingBody(Protocol):
    """A body under way."""

    length: int
    cap: int

    def cut_here(self) -> None:
        """No more of it is wanted."""


class DecodeBudget:
    """The time that bodies have taken since the loop had a turn for them, and all that is held.

    It has one when they have taken enough: one for each body would be many turns for nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._spent_s = 0.0
        self._anew = asyncio.Event()
        self._held_bytes = 0
        self._held: dict[GrowingBody, None] = {}

    @property
    def is_out(self) -> bool:
        """Enough was done for one turn."""
        return self._spent_s > _BREATH_S

    def spend(self, seconds: float) -> None:
        """Something was done with a body for so long."""
        before_s = self._spent_s
        self._spent_s = spent_s = before_s + seconds
        if before_s <= _BREATH_S < spent_s:
            asyncio.get_running_loop().call_soon(self._begin_anew)

    def hold(self, body: GrowingBody, size: int) -> None:
        """A body has grown so much."""
        self._held_bytes += size
        self._held[body] = None
        if self._held_bytes > self._max_bytes:
            self._cut_largest()

    def let_go(self, body: GrowingBody) -> None:
        """It is no longer under way."""
        if body in self._held:
            self._held_bytes -= body.length
            del self._held[body]

    async def wait(self) -> None:
        """Until the next turn of the loop, or a later one if others were quicker."""
        while self.is_out:
            self._anew.clear()
            await self._anew.wait()

    def _begin_anew(self) -> None:
        self._spent_s = 0.0
        self._anew.set()

    def _cut_largest(self) -> None:
        if self._held_bytes > max(body.cap for body in self._held):
            largest = max(self._held, key=lambda body: body.length)
            self.let_go(largest)
            largest.cut_here()


class BodyLimits(NamedTuple):
    """`until` is by the loop's clock; None is no hurry."""

    decode_budget: DecodeBudget
    until: float | None = None


_ENOUGH_TO_TELL = 1445  # bytes; the MIME Sniffing standard looks at no more
_AT_ONCE = 0.0  # a moment that has passed, by any loop's clock
_MOST_SLICES = 1000

Judge = Callable[[bytes], bool]
"""Whether a body that begins like this is wanted."""


class Body(NamedTuple):
    """What came; `cut` is why there is no more, where there was or should have been.

    `cut_detail` says it in words where there are any.
    """

    content: bytes
    wire_bytes: int
    cut: FailureKind | None
    cut_detail: str = ""
    cost_s: float = 0.0


async def read_body(
    pieces: AsyncIterable[bytes],
    codings: Sequence[str],
    cap: int,
    is_wanted: Judge | Literal[True],
    pace: BodyLimits,
) -> Body | Failed | Refused:
    """Refused: judged by its first bytes it is not wanted, and was read no further.

    Raises UnknownCoding.
    """
    reading = _Reading(codings, cap, is_wanted)
    try:
        await _read_in_time(reading, pieces, pace)
    except EXPECTED as error:
        if not reading.length:
            return failure(error)._replace(cost_s=reading.cost_s)
        reading.cut = kind_of(error)
    return reading.outcome()


async def _read_in_time(
    reading: "_Reading", pieces: AsyncIterable[bytes], pace: BodyLimits
) -> None:
    try:
        async with asyncio.timeout_at(pace.until) as deadline:
            reading.stop = lambda: deadline.reschedule(_AT_ONCE)
            async for piece in pieces:
                await _take(reading, piece, pace.decode_budget)
                if reading.is_enough:
                    break
    except TimeoutError as error:
        if not reading.is_enough:
            raise Fault(FailureKind.TIMEOUT, "the body did not come in time") from error
    finally:
        reading.stop = None
        pace.decode_budget.let_go(reading)


async def _take(reading: "_Reading", piece: bytes, decode_budget: DecodeBudget) -> None:
    """Slice by slice; the body may be cut by others while it waits for its turn."""
    slices = reading.take(piece)
    while not reading.is_enough:
        if decode_budget.is_out:
            await decode_budget.wait()
            continue
        began = perf_counter()
        size = next(slices, None)
        spent_s = perf_counter() - began
        reading.cost_s += spent_s
        decode_budget.spend(spent_s)
        if size is None:
            return
        decode_budget.hold(reading, size)


class _Reading:
    def __init__(self, codings: Sequence[str], cap: int, is_wanted: Judge | Literal[True]) -> None:
        # One byte beyond the cap tells that there is more.
        self._decoder = Decoder(codings, limit=cap + 1)
        self.cap = cap
        self._judge = None if is_wanted is True else is_wanted
        self._wire_bytes = 0
        self._slices: list[bytes] = []
        self._content = bytearray()  # of slices before them: a million small ones are large
        self._unwanted = False
        self.length = 0
        self.stop: Callable[[], None] | None = None
        self.cost_s = 0.0
        self.cut: FailureKind | None = None
        self._cut_detail = ""

    def take(self, piece: bytes) -> Iterator[int]:
        """The size of what it holds, slice by slice."""
        room = self.cap - self._wire_bytes
        self._wire_bytes += len(piece)
        for content in self._decoder.slices(piece[:room]):
            self._keep(content)
            if self._judge and self.length >= _ENOUGH_TO_TELL:
                self._hear(self._judge)
            if self.length > self.cap:
                self.cut = FailureKind.TOO_LARGE
            yield len(content)
        self._cut_at_its_end()

    def _keep(self, content: bytes) -> None:
        self._slices.append(content)
        self.length += len(content)
        if len(self._slices) > _MOST_SLICES:
            self._content += b"".join(self._slices)
            self._slices.clear()

    def _cut_at_its_end(self) -> None:
        """Where nothing more of what may come is of interest."""
        decoder = self._decoder
        if self._wire_bytes > self.cap or decoder.is_full:
            self.cut = FailureKind.TOO_LARGE
        elif decoder.is_over:
            self.cut, self._cut_detail = FailureKind.ENCODING, decoder.swelling

    def cut_here(self) -> None:
        """Whatever it waits for, what it holds is given away at once."""
        self.cut = FailureKind.CROWDED
        if self.stop is not None:
            self.stop()

    def _hear(self, judge: Judge) -> None:
        self._unwanted = not judge(self._joined())
        self._judge = None

    @property
    def is_enough(self) -> bool:
        return self._unwanted or self.cut is not None

    def outcome(self) -> Body | Failed | Refused:
        whole = self._decoder.whole
        if self._wire_bytes and not self.length and not whole:
            told = self._cut_detail or "nothing of it could be decoded"
            return Failed(kind=FailureKind.ENCODING, detail=told, cost_s=self.cost_s)
        if self._judge:
            self._hear(self._judge)
        if self._unwanted:
            return Refused(reason=Refusal.TYPE, cost_s=self.cost_s)
        cut = self.cut or (None if whole else FailureKind.ENCODING)
        wire_bytes = min(self._wire_bytes, self.cap)
        return Body(self._taken_out(), wire_bytes, cut, self._cut_detail, self.cost_s)

    def _taken_out(self) -> bytes:
        """All of it, within the cap; it is not held twice for longer than that takes."""
        content = self._joined()
        self._slices.clear()
        self._content.clear()
        return content[: self.cap]

    def _joined(self) -> bytes:
        content = b"".join(self._slices)
        return bytes(self._content) + content if self._content else content
