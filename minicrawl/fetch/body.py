"""The body of a response: read in time and decoded within limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterator, Sequence
from contextlib import suppress
from enum import Enum, auto
from time import perf_counter
from typing import IO, NamedTuple, Protocol

from minicrawl.fetch.decoding import Decoder
from minicrawl.fetch.transport import EXPECTED, Fault, failure, kind_of
from minicrawl.model import Failed, FailureKind, Refusal, Refused
from minicrawl.web.sitemaps import MAX_BYTES

# ================================================================ content
#
# What came of a body: in memory, or in a file if it is spooled.
#
# Law: what is in a file takes no memory. A full disk is no fault of the server.

_MOST_SLICES = 1000


class Content:
    """The decoded bytes of one body. `held` are those in memory."""

    def __init__(self) -> None:
        self.length = self.held = 0
        self.spooled: IO[bytes] | None = None
        self.is_disk_full = False
        self._slices: list[bytes] = []
        self._earlier = bytearray()  # slices: a million small ones take much memory

    def add(self, piece: bytes) -> None:
        """More has come."""
        self.length += len(piece)
        if self.spooled is not None:
            self._write(self.spooled, piece)
            return
        self.held += len(piece)
        self._slices.append(piece)
        if len(self._slices) > _MOST_SLICES:
            self._earlier += b"".join(self._slices)
            self._slices.clear()

    def joined(self) -> bytes:
        """All of it that is in memory."""
        content = b"".join(self._slices)
        return bytes(self._earlier) + content if self._earlier else content

    def take(self, most: int) -> bytes:
        """The same, up to so many bytes; afterwards nothing of it is held here."""
        content = self.joined()
        self._slices.clear()
        self._earlier.clear()
        return content[:most]

    def spool(self) -> bool:
        """Let it be in a file from now on; whether there is one."""
        from tempfile import TemporaryFile  # few bodies are that long

        with suppress(OSError):
            self.spooled = TemporaryFile()  # noqa: SIM115  # the reader closes it
            self._write(self.spooled, self.take(self.held))
            self.held = 0
        return self.spooled is not None

    def end(self, most: int) -> IO[bytes] | None:
        """The file, to be read from its beginning, with so many bytes at most."""
        if self.spooled is not None:
            with suppress(OSError):
                self.spooled.truncate(min(most, self.spooled.tell()))
            self.spooled.seek(0)
        return self.spooled

    def drop(self) -> None:
        """Nobody will read it."""
        if self.spooled is not None:
            self.spooled.close()

    def _write(self, file: IO[bytes], piece: bytes) -> None:
        try:
            file.write(piece)
        except OSError:
            self.is_disk_full = True


# ================================================================ body
#
# Reads the body of a response and decodes it, within limits of size, time and memory.
#
# budget   the time that decoding may take in one turn of the event loop, and the memory that all
#          bodies under way may hold together
# cut      a body is cut when the rest of it is missing or not wanted; what came of it is used
# list     a sitemap: it may be as long as its protocol lets it be
# spooled  what came of a long list is in a file, and takes no memory
#
# Laws of one body: no more than the cap is kept, of the bytes on the wire and of the decoded bytes.
# A body that breaks off or misses its deadline is cut, as browsers do it; if nothing of it came, it
# is a failure. Every result carries the processor time that it took.
#
# Laws of all bodies together: between two turns of the loop they take no longer than the budget and
# one slice of one body. They hold little more than `max_bytes`, or than the cap of one body if that
# is larger: beyond that, the largest of them is cut where it is. Few lists are spooled at once.

_TURN_S = 0.005  # of decoding in one turn of the loop
_ENOUGH_TO_JUDGE = 1445  # bytes; the MIME Sniffing standard looks at no more
_AT_ONCE = 0.0  # a time that has passed, by the clock of any loop
_SPOOLED_FROM = 1_000_000
"""Bytes of a list, or half of the cap of other bodies, if that is less."""
_MOST_SPOOLED = 4


class BodyVerdict(Enum):
    """What a body is to us."""

    UNWANTED = auto()
    WANTED = auto()
    LIST = auto()


Judge = Callable[[bytes], BodyVerdict]
"""What a body is that begins with these bytes."""


class Body(NamedTuple):
    """What came of a body. `cut` is why it is not whole, None if it is.

    `cut_detail` explains that, where the kind alone does not.
    """

    content: bytes
    wire_bytes: int
    cut: FailureKind | None
    cut_detail: str = ""
    cost_s: float = 0.0
    spooled: IO[bytes] | None = None
    """The content, if it is in a file; the reader closes it."""


# ---------------------------------------------------------------- limits that bodies share


class GrowingBody(Protocol):
    """A body under way, as the budget sees it."""

    @property
    def held(self) -> int:
        """The bytes of it that are in memory."""
        ...

    @property
    def cap(self) -> int:
        """The most that may be."""
        ...

    def cut_here(self) -> None:
        """Read no more of it."""


class DecodeBudget:
    """Limits the time and the memory that all bodies under way take together.

    The loop gets a turn when the bodies have used up the time, not after each of them.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._spent_s = 0.0
        self._renewed = asyncio.Event()
        self.held_bytes = 0
        self._held: dict[GrowingBody, None] = {}
        self._spooled = set[GrowingBody]()

    @property
    def is_spent(self) -> bool:
        """Whether decoding has to wait for the next turn of the loop."""
        return self._spent_s > _TURN_S

    def spend(self, seconds: float) -> None:
        """Count the time that one slice took."""
        before_s = self._spent_s
        self._spent_s = spent_s = before_s + seconds
        if before_s <= _TURN_S < spent_s:
            asyncio.get_running_loop().call_soon(self._renew)

    def hold(self, body: GrowingBody, size: int) -> None:
        """Count the bytes by which a body has grown, and cut the largest body if need be."""
        self.held_bytes += size
        self._held[body] = None
        if self.held_bytes > self._max_bytes:
            self._cut_largest()

    def begin_spooling(self, body: GrowingBody) -> bool:
        """Let a body grow in a file, if not too many do already."""
        if len(self._spooled) < _MOST_SPOOLED:
            self._spooled.add(body)
        return body in self._spooled

    def release(self, body: GrowingBody) -> None:
        """Count a body no longer."""
        self._spooled.discard(body)
        if body in self._held:
            self.held_bytes -= body.held
            del self._held[body]

    async def wait(self) -> None:
        """Wait for a turn of the loop in which there is time left."""
        while self.is_spent:
            self._renewed.clear()
            await self._renewed.wait()

    def _renew(self) -> None:
        self._spent_s = 0.0
        self._renewed.set()

    def _cut_largest(self) -> None:
        if self.held_bytes > max(body.cap for body in self._held):
            largest = max(self._held, key=lambda body: body.held)
            self.release(largest)
            largest.cut_here()


class BodyLimits(NamedTuple):
    """`deadline` is a time of the loop's clock; None is no deadline."""

    decode_budget: DecodeBudget
    deadline: float | None = None


# ---------------------------------------------------------------- one body


async def read_body(
    chunks: AsyncIterable[bytes] | bytes,
    codings: Sequence[str],
    cap: int,
    verdict: Judge | BodyVerdict,
    limits: BodyLimits,
) -> Body | Failed | Refused:
    """`chunks` is the body as it comes, or all of it.

    Refused: its first bytes show that it is not wanted, and no more of it was read. Raises
    UnknownCoding.
    """
    reader = _BodyReader(codings, cap, verdict, limits.decode_budget)
    try:
        if isinstance(chunks, bytes):
            await _read_at_once(reader, chunks, limits.decode_budget)
        else:
            await _read_in_time(reader, chunks, limits)
    except EXPECTED as error:
        if not reader.length:
            return failure(error)._replace(cost_s=reader.cost_s)
        reader.cut = kind_of(error)
    except BaseException:
        reader.drop()
        raise
    return reader.result()


async def _read_at_once(reader: _BodyReader, body: bytes, decode_budget: DecodeBudget) -> None:
    """All of it is there: nothing is waited for but turns of the loop."""
    try:
        if body:
            await _feed(reader, body, decode_budget)
    finally:
        decode_budget.release(reader)


async def _read_in_time(
    reader: _BodyReader, chunks: AsyncIterable[bytes], limits: BodyLimits
) -> None:
    try:
        async with asyncio.timeout_at(limits.deadline) as deadline:
            reader.stop = lambda: deadline.reschedule(_AT_ONCE)
            async for chunk in chunks:
                await _feed(reader, chunk, limits.decode_budget)
                if reader.is_done:
                    break
    except TimeoutError as error:
        if not reader.is_done:
            raise Fault(FailureKind.TIMEOUT, "the body did not come in time") from error
    finally:
        reader.stop = None
        limits.decode_budget.release(reader)


async def _feed(reader: _BodyReader, chunk: bytes, decode_budget: DecodeBudget) -> None:
    """Slice by slice. The budget may cut this body while it waits for its turn."""
    slices = reader.feed(chunk)
    while not reader.is_done:
        if decode_budget.is_spent:
            await decode_budget.wait()
            continue
        began = perf_counter()
        size = next(slices, None)
        spent_s = perf_counter() - began
        reader.cost_s += spent_s
        decode_budget.spend(spent_s)
        if size is None:
            return
        decode_budget.hold(reader, size)


class _BodyReader:
    """Decodes one body, keeps what it holds and notes why it ends.

    `verdict` is a function until enough has come to judge the body, and then its result.
    """

    def __init__(
        self, codings: Sequence[str], cap: int, verdict: Judge | BodyVerdict, budget: DecodeBudget
    ) -> None:
        # One byte beyond the cap shows that there is more.
        limit = cap if verdict is BodyVerdict.WANTED else max(cap, MAX_BYTES)
        self._decoder = Decoder(codings, limit=limit + 1)
        self._verdict, self._budget = verdict, budget
        self._wire_bytes = 0
        self._content = Content()
        self.cap = cap
        self.cost_s = 0.0
        self.cut: FailureKind | None = None
        self.stop: Callable[[], None] | None = None

    @property
    def is_done(self) -> bool:
        """Whether no more of the body is of use."""
        return self._verdict is BodyVerdict.UNWANTED or self.cut is not None

    @property
    def held(self) -> int:
        """The bytes of it that are in memory."""
        return self._content.held

    @property
    def length(self) -> int:
        """How much has come."""
        return self._content.length

    @property
    def _most(self) -> int:
        """How long it may be."""
        return self.cap if self._content.spooled is None else max(self.cap, MAX_BYTES)

    def feed(self, chunk: bytes) -> Iterator[int]:
        """Decode a chunk; yields by how many bytes of memory the body grows with each slice. Cut
        the body where no more is of use.
        """
        most = self.cap if self._verdict is BodyVerdict.WANTED else max(self.cap, MAX_BYTES)
        room = most - self._wire_bytes
        self._wire_bytes += len(chunk)
        for piece in self._decoder.slices(chunk[:room]):
            before = self._content.held
            self._content.add(piece)
            if self._verdict is not BodyVerdict.WANTED:
                self._judge_or_spool()
            if self._content.length > self._most or self._content.is_disk_full:
                self.cut = FailureKind.TOO_LARGE
            yield self._content.held - before
        if self._wire_bytes > self._most or self._decoder.is_full:
            self.cut = FailureKind.TOO_LARGE
        elif self._decoder.is_over:
            self.cut = FailureKind.ENCODING

    def cut_here(self) -> None:
        """Stop, even while waiting for a chunk: the memory is freed at once."""
        self.cut = FailureKind.CROWDED
        if self.stop is not None:
            self.stop()

    def drop(self) -> None:
        """Nobody will read it."""
        self._content.drop()

    def result(self) -> Body | Failed | Refused:
        """What came of the body."""
        is_whole = self._decoder.whole
        if self._wire_bytes and not self.length and not is_whole:
            detail = self._cut_detail() or "nothing of it could be decoded"
            return Failed(kind=FailureKind.ENCODING, detail=detail, cost_s=self.cost_s)
        self._judge()
        if self._verdict is BodyVerdict.UNWANTED:
            return Refused(reason=Refusal.TYPE, cost_s=self.cost_s)
        cut = self.cut or (None if is_whole else FailureKind.ENCODING)
        wire_bytes = min(self._wire_bytes, self._most)
        content, spooled = self._content.take(self.cap), self._content.end(self._most)
        return Body(content, wire_bytes, cut, self._cut_detail(), self.cost_s, spooled)

    def _judge_or_spool(self) -> None:
        if self._content.length >= _ENOUGH_TO_JUDGE:
            self._judge()
        is_long = self.held > min(_SPOOLED_FROM, self.cap // 2)
        if is_long and self._verdict is BodyVerdict.LIST and self._budget.begin_spooling(self):
            self._content.spool()  # else it is a body like others

    def _judge(self) -> None:
        if not isinstance(self._verdict, BodyVerdict):
            self._verdict = self._verdict(self._content.joined())

    def _cut_detail(self) -> str:
        if self._content.spooled is not None and self.cut is FailureKind.TOO_LARGE:
            why = "the disk is full" if self._content.is_disk_full else "the limit of sitemaps"
            return f"{min(self.length, self._most):,} bytes of it came: {why}"
        return self._decoder.swelling if self.cut is FailureKind.ENCODING else ""
