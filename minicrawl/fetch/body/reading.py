"""Reads and decodes response bodies, within limits of size, time and memory.

budget   decoding time in one iteration of the event loop, and memory of all bodies in progress
cut      a body is cut if its rest is missing or unwanted; the part that was read is used
list     a sitemap, which may be as long as its protocol allows
spooled  a long list or file is kept in a temporary file, and takes no memory

Laws of one body: at most `cap` bytes are kept, both of the encoded and of the decoded bytes, or
more of a list or file. A body that breaks off or misses its deadline is cut, as in browsers; it
is a failure only if nothing was decoded. Every result carries the processor time that it took.

Laws of all bodies together: between two iterations of the loop they take at most the budget plus
one slice of one body. They hold little more than `max_bytes`, or the cap of one body if that is
larger; beyond that, the largest body is cut where it is. Only a few lists are spooled at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from enum import Enum, auto
from time import perf_counter
from typing import IO, NamedTuple

from minicrawl.fetch.body.content import Content
from minicrawl.fetch.body.decoding import CHUNKS, Decoder, UnknownCoding
from minicrawl.fetch.http.faults import EXPECTED, Fault, failure, kind_of
from minicrawl.model import Failed, Refused, Response, SentBody, Wire
from minicrawl.states import State
from minicrawl.web.sitemaps.sitemap import MAX_BYTES

_TURN_S = 0.005  # of decoding per iteration of the loop
_ENOUGH_TO_JUDGE = 1445  # bytes; the MIME Sniffing standard looks at no more
_AT_ONCE = 0.0  # a loop time in the past
_SPOOLED_FROM = 1_000_000
"""Size in bytes at which a list is spooled; half of the cap if that is less."""
_FILES_SPOOLED_FROM = 200_000
"""Size in bytes at which a file is spooled: as many as a crawl reads at once fit in memory."""
_MOST_SPOOLED, _MOST_FILES = 4, 8  # at once


class BodyVerdict(Enum):
    """Use that the crawl has for a body."""

    UNWANTED = auto()
    WANTED = auto()
    DOCUMENT = auto()  # wanted; a file if it is longer than the cap
    LIST = auto()
    FILE = auto()


Judge = Callable[[bytes], BodyVerdict]
"""Function that classifies a body by its first bytes."""


class Body(NamedTuple):
    """Decoded body; `cut` is why it is incomplete, or None, and `cut_detail` explains it."""

    content: bytes
    wire_bytes: int
    cut: State | None
    cut_detail: str = ""
    cost_s: float = 0.0
    spooled: IO[bytes] | None = None
    """File with the content, if it was spooled. The reader closes it."""
    is_file: bool = False
    coded: SentBody = SentBody()


class DecodeBudget:
    """Limit on the time and memory of all bodies in progress together, not of each slice."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._spent_s = 0.0
        self.is_spent = False
        """True if decoding has to wait for the next iteration of the loop."""
        self._renewed = asyncio.Event()
        self.held_bytes = 0
        self._held: dict[_BodyReader, None] = {}
        self._spooled = set[_BodyReader]()
        self.files = asyncio.Semaphore(_MOST_FILES)
        """Slots for spooled files in transfer."""

    def spend(self, seconds: float) -> None:
        self._spent_s += seconds
        # Only at the slice that exceeds the budget: one call renews the budget for all bodies.
        if self._spent_s > _TURN_S and not self.is_spent:
            self.is_spent = True
            asyncio.get_running_loop().call_soon(self._renew)

    def hold(self, body: _BodyReader, size: int) -> None:
        """Charge `size` more bytes to a body, and cut the largest body if memory is exceeded."""
        self.held_bytes += size
        self._held[body] = None
        # The largest one is cut, not the latest: otherwise a server that sends many large bodies
        # slowly would have the small pages of others cut. One body alone is never cut for memory,
        # as its cap bounds it.
        if self.held_bytes > self._max_bytes and self.held_bytes > max(
            body.cap for body in self._held
        ):
            largest = max(self._held, key=lambda body: body.held)
            self.release(largest)
            largest.cut_here()

    def begin_spooling(self, body: _BodyReader) -> bool:
        """Reserve a slot to spool the body. Return False if all slots are taken."""
        if len(self._spooled) < _MOST_SPOOLED:
            self._spooled.add(body)
        return body in self._spooled

    def release(self, body: _BodyReader) -> None:
        self._spooled.discard(body)
        if body in self._held:
            self.held_bytes -= body.held
            del self._held[body]

    async def wait(self) -> None:
        while self.is_spent:
            self._renewed.clear()
            await self._renewed.wait()

    def _renew(self) -> None:
        self._spent_s, self.is_spent = 0.0, False
        self._renewed.set()


class BodyLimits(NamedTuple):
    """Limits of one body. `deadline` is a time of the loop's clock, or None."""

    decode_budget: DecodeBudget
    deadline: float | None = None
    file_bytes: int = 0
    """Size limit of a body that proves to be a file; 0 for the limit of other bodies."""
    file_s: float = 0.0
    """Time that a file has beyond the deadline."""
    keeps_coded: bool = False
    """True if a body is also kept as it was sent."""


async def read_body(
    chunks: AsyncIterable[bytes] | bytes,
    codings: Sequence[str],
    cap: int,
    verdict: Judge | BodyVerdict,
    limits: BodyLimits,
) -> Body | Failed | Refused:
    """Read and decode a body. `chunks` is a stream, or the complete body.

    Return `Refused` if the first bytes show that the body is unwanted; the rest is not read then.
    """
    most = min(cap, limits.file_bytes or cap)
    keeps_sent = limits.keeps_coded
    is_plain = verdict is BodyVerdict.WANTED and not codings
    if is_plain and isinstance(chunks, bytes) and len(chunks) <= most:
        return Body(chunks, len(chunks), None)  # nothing to decode, to judge or to cut
    unknown = None
    try:
        reader = _BodyReader(codings, cap, verdict, limits)
    except UnknownCoding as error:
        unknown = Failed(kind=State.ENCODING, detail=str(error))
        if not keeps_sent:
            return unknown
        framing = [name for name in codings if name == CHUNKS]
        reader = _BodyReader(framing, cap, BodyVerdict.WANTED, limits)
    try:
        if not isinstance(chunks, bytes):
            await _read_in_time(reader, chunks, limits)
        elif chunks:  # a complete body needs no deadline: it only waits for the budget
            await _feed(reader, chunks, limits.decode_budget)
    except EXPECTED as error:
        # Without a decoded byte this is a failure, which may be retried. Otherwise the part that
        # arrived is used, as in browsers.
        if not reader.content.length:
            failed = failure(error)._replace(cost_s=reader.cost_s)
            return reader.undecoded(failed) if keeps_sent else failed
        reader.cut = kind_of(error)
    except BaseException:
        reader.drop()
        raise
    finally:
        limits.decode_budget.release(reader)
    return reader.result() if unknown is None else reader.undecoded(unknown)


async def _read_in_time(
    reader: _BodyReader, chunks: AsyncIterable[bytes], limits: BodyLimits
) -> None:
    try:
        async with AsyncExitStack() as slot, asyncio.timeout_at(limits.deadline) as deadline:
            reader.stop = lambda: deadline.reschedule(_AT_ONCE)
            more_s, waits = limits.file_s, True
            async for chunk in chunks:
                await _feed(reader, chunk, limits.decode_budget)
                if reader.is_done:
                    break
                if not reader.is_file:
                    continue
                if more_s and (end := deadline.when()) is not None:
                    deadline.reschedule(end + more_s)
                    more_s = 0.0
                if reader.content.spooled is not None and waits:
                    waits = False
                    # Short files wait for no slot: endless ones may hold all of them for minutes.
                    # The deadline is put off by the time of the wait.
                    loop, end = asyncio.get_running_loop(), deadline.when()
                    began = loop.time()
                    deadline.reschedule(None)
                    await slot.enter_async_context(limits.decode_budget.files)
                    deadline.reschedule(None if end is None else end + loop.time() - began)
    except TimeoutError as error:
        if not reader.is_done:
            raise Fault(State.TIMEOUT, "the body did not arrive in time") from error
    finally:
        reader.stop = None


async def _feed(reader: _BodyReader, chunk: bytes, decode_budget: DecodeBudget) -> None:
    """Decode a chunk slice by slice. The budget may cut the body between two slices."""
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
    """Decoder of one body, which also notes why it was cut; it judges by the first bytes."""

    def __init__(
        self, codings: Sequence[str], cap: int, verdict: Judge | BodyVerdict, limits: BodyLimits
    ) -> None:
        self._budget = limits.decode_budget
        self._page_cap, self._file_cap = cap, limits.file_bytes or cap
        self._least = min(cap, self._file_cap)
        """Length up to which no body is too long: a quick test before `_most`."""
        self.is_done = False
        """True if no more of the body is needed."""
        self._settle(verdict)
        # One byte beyond the cap shows that the body is too long.
        self._decoder = Decoder(codings, limit=self._longest + 1) if codings else None
        self._wire_bytes = 0
        self.content = Content()
        self._coded = Content() if limits.keeps_coded and codings else None
        self.cost_s = 0.0
        self.cut: State | None = None
        self.stop: Callable[[], None] | None = None

    def _settle(self, verdict: Judge | BodyVerdict) -> None:
        self._verdict = verdict
        self.is_file = verdict is BodyVerdict.FILE
        """True if the body is known to be a file."""
        match verdict:
            case BodyVerdict.WANTED:
                longest = self._page_cap
            case BodyVerdict.DOCUMENT:
                longest = max(self._page_cap, self._file_cap)
            case BodyVerdict.FILE:
                longest = self._file_cap
            case _:
                longest = max(self._page_cap, MAX_BYTES, self._file_cap)
        self._longest = longest
        """Maximum length of the body if it is spooled; of all kinds, until its kind is known."""
        if verdict is BodyVerdict.UNWANTED:
            self.is_done = True

    @property
    def cap(self) -> int:
        return min(self._file_cap, _FILES_SPOOLED_FROM) if self.is_file else self._page_cap

    @property
    def held(self) -> int:
        return self.content.held + (0 if self._coded is None else self._coded.held)

    @property
    def _is_disk_full(self) -> bool:
        return self.content.is_disk_full or (self._coded is not None and self._coded.is_disk_full)

    @property
    def _most(self) -> int:
        return self._longest if self.is_file or self.content.spooled else self._page_cap

    def feed(self, chunk: bytes) -> Iterator[int]:
        """Decode a chunk as far as it is needed. Yield the change in memory after each slice."""
        # Bytes beyond the limit are counted, but neither decoded nor kept.
        taken = chunk[: self._longest - self._wire_bytes]
        self._wire_bytes += len(chunk)
        content, decoder, least = self.content, self._decoder, self._least
        # A property is slow, and nearly all bodies are kept in one form only.
        holder = content if self._coded is None else self
        before = holder.held
        if self._coded is not None:
            self._coded.add(taken)
        for piece in (taken,) if decoder is None else decoder.slices(taken):
            content.add(piece)
            if self._verdict is not BodyVerdict.WANTED:
                self._judge_or_spool()
            if (content.length > least and content.length > self._most) or (
                content.spooled is not None and self._is_disk_full
            ):
                self._end(State.TOO_LARGE)
            yield holder.held - before
            before = holder.held
        is_too_long = self._wire_bytes > least and self._wire_bytes > self._most
        if is_too_long or (decoder is not None and decoder.is_full):
            self._end(State.TOO_LARGE)
        elif decoder is not None and decoder.is_over:
            self._end(State.ENCODING)
            self.is_done = self._coded is None  # else the rest is kept as it is sent

    def _end(self, cut: State) -> None:
        self.cut, self.is_done = cut, True

    def cut_here(self) -> None:
        """Cut the body now, even while it waits for a chunk, to free memory at once."""
        self._end(State.CROWDED)
        if self.stop is not None:
            self.stop()

    def drop(self) -> None:
        for content in self._contents():
            content.drop()

    def result(self) -> Body | Failed | Refused:
        # Servers name a coding for an empty body, too.
        is_whole = not self._wire_bytes or self._decoder is None or self._decoder.whole
        if not self.content.length and not is_whole:
            detail = self._cut_detail() or "no part of the body could be decoded"
            failed = Failed(kind=State.ENCODING, detail=detail, cost_s=self.cost_s)
            return self.undecoded(failed) if self._coded else failed
        self._judge()
        if self._verdict is BodyVerdict.UNWANTED:
            return Refused(reason=State.TYPE, cost_s=self.cost_s)
        most, detail, coded = self._most, "", SentBody()
        cut = self.cut or (None if is_whole else State.ENCODING)
        wire_bytes = min(self._wire_bytes, most)
        content, spooled = self.content.take(most), self.content.end(most)
        if self.cut is not None:
            detail = self._cut_detail()
        if self._coded is not None:
            coded = SentBody(self._coded.take(most), self._coded.end(most))
        return Body(content, wire_bytes, cut, detail, self.cost_s, spooled, self.is_file, coded)

    def undecoded(self, failed: Failed) -> Failed:
        """Return the failure with the body as it was sent, of which no byte could be decoded."""
        sent = (self.content if self._coded is None else self._coded).take(self._most)
        cut, wire = self.cut or failed.kind, Wire(b"", b"", body=SentBody(sent))
        answer = Response(0, {}, b"", cut=cut, cut_detail=failed.detail, wire=wire)
        return failed._replace(answer=answer)

    def _contents(self) -> Iterator[Content]:
        yield self.content
        if self._coded is not None:
            yield self._coded

    def _judge_or_spool(self) -> None:
        if self.content.length >= _ENOUGH_TO_JUDGE:
            self._judge()
        if self._verdict is BodyVerdict.DOCUMENT and self.content.length > self._page_cap:
            self._settle(BodyVerdict.FILE)
        spooled_from = _FILES_SPOOLED_FROM if self.is_file else _SPOOLED_FROM
        if self.held <= min(spooled_from, self._page_cap // 2):
            return
        is_list = self._verdict is BodyVerdict.LIST and self._budget.begin_spooling(self)
        if is_list or self._verdict is BodyVerdict.FILE:
            for content in self._contents():
                content.spool()  # if that fails, the budget limits the body in memory

    def _judge(self) -> None:
        if not isinstance(self._verdict, BodyVerdict):
            self._settle(self._verdict(self.content.joined()))

    def _cut_detail(self) -> str:
        if self.content.spooled is not None and self.cut is State.TOO_LARGE:
            limit = "--max-file" if self._verdict is BodyVerdict.FILE else "the limit of sitemaps"
            why = "the disk is full" if self._is_disk_full else limit
            return f"cut after {min(self.content.length, self._most):,} bytes: {why}"
        if self._decoder is None or self.cut is not State.ENCODING:
            return ""
        return self._decoder.swelling
