"""Reading pages without blocking the loop: small ones at once, large ones in another process.

Laws: nothing that a server sends keeps the loop from its work for longer than a blink, and nothing
that kills the reader, keeps it for ever or is a mistake of its own ends the crawl. However many
large bodies wait to be read, none is held in memory for it. Of the hosts whose bodies wait, the one
that has cost the other process least is next.

aside    where a large body waits: a file without a name

The other process is a plain one that is told what to do through its pipes. A process pool would
import the user's own script once more, and crawl again where that has no guard against it.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import BytesIO
from tempfile import TemporaryFile
from time import perf_counter, process_time
from typing import IO, Any, BinaryIO, TypeVar

from minicrawl.crawl.hosts.fairness import FairLock
from minicrawl.model import Failed, FailureKind, ParsedPage, Response, Want
from minicrawl.ports import Timed
from minicrawl.web.html.page import ParseOptions, parse_page
from minicrawl.web.robots import rules
from minicrawl.web.robots.rules import Rules
from minicrawl.web.sitemaps import sitemap
from minicrawl.web.sitemaps.sitemap import Sitemap
from minicrawl.web.urls import host

T = TypeVar("T")

SMALL = 128 * 1024
"""Bytes that are read in some milliseconds, whatever they are."""
SMALL_IN_A_WORKER = 2 * SMALL
"""Nobody but the worker itself waits for these."""
_QUICK = 32 * 1024
"""Bytes that are read in a few. Larger bodies are read one at a time."""
_BREATH_S = 0.01
"""After so much reading of them the loop has a turn."""
_ROBOTS_WEIGHT = 8
"""Rules take so much longer than other bytes."""
_GZIP_MAGIC = b"\x1f\x8b"
"""A sitemap that begins so is larger than it looks."""
MOST_TASKS = 2000
"""Of one process; holes that large bodies leave in its memory end with it."""
_SHOWN = 200  # characters of what an exception says
_SIZE_BYTES = 8
_PIECE_BYTES = 256 * 1024
_SERVE = (
    "import sys; from minicrawl.crawl.process_memory import keep_large_arrays_apart; "
    "from minicrawl.crawl.workers.parser import serve; "
    "keep_large_arrays_apart(); serve(sys.stdin.buffer, sys.stdout.buffer)"
)


class ParserLost(Exception):
    """The other process died of what it read, or did not come to an end with it."""

    cost_s = 0.0


class PageParser:
    """What minicrawl.web reads, read where it does no harm."""

    def __init__(self, wishes: ParseOptions, longest_s: float, small: int = SMALL) -> None:
        self._wishes = wishes
        self._small = small
        self._other = ParserProcess(longest_s)
        self._not_quick = FairLock()
        self._since_turn_s = 0.0

    def is_large(self, page: Response, want: Want = Want.PAGE) -> bool:
        """Whether it is read in the other process."""
        is_packed = want is Want.SITEMAP and page.body.startswith(_GZIP_MAGIC)
        return is_packed or len(page.body) > self._small

    def later(
        self, page: Response, url: str, want: Want = Want.PAGE, *, suspicious: int = 0
    ) -> Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed]]]:
        """Reads the page when it is called; a large one need not be held for that."""
        body = aside(page.body) if self.is_large(page, want) else page.body
        if want is Want.SITEMAP:
            marks = self._wishes.strip_marks
            return partial(
                self._done, partial(sitemap.parse, url=url, strip_marks=marks), body, url
            )
        wishes = replace(self._wishes, suspicious=suspicious) if suspicious else self._wishes
        task = partial(parse_page, url=url, headers=dict(page.headers), options=wishes)
        return partial(self._done, task, body, url)

    async def rules(self, page: Response, url: str) -> Timed[Rules | Failed]:
        """What a robots.txt says to us; a failure if it was too much."""
        agent, cut = self._wishes.agent, page.cut is not None
        task = partial(rules.parse, agent=agent, cut=cut)
        return await self._done(task, self._placed(page.body), url)

    async def recalled(self, text: str, url: str) -> Timed[Rules | Failed]:
        """Rules as they were kept."""
        body = text.encode()
        task = partial(rules.parse, agent="*")
        return await self._done(task, self._placed(body), url)

    def _placed(self, body: bytes) -> bytes | IO[bytes]:
        return body if len(body) * _ROBOTS_WEIGHT <= self._small else BytesIO(body)

    async def _done(
        self, task: Callable[..., T], body: bytes | IO[bytes], url: str
    ) -> Timed[T | Failed]:
        """At once, but elsewhere if the body is a file; a failure if it was too much."""
        if not isinstance(body, bytes):
            return await self._elsewhere(task, body, url)
        if len(body) <= _QUICK:
            return _timed(task, body)
        name = host(url)
        async with self._not_quick.held_for(name):
            done = _timed(task, body)
            self._not_quick.charge(name, done.cost_s)
            self._since_turn_s += done.cost_s
            if self._since_turn_s > _BREATH_S:
                self._since_turn_s = 0.0
                await asyncio.sleep(0)
        return done

    async def _elsewhere(
        self, task: Callable[..., T], body: IO[bytes], url: str
    ) -> Timed[T | Failed]:
        try:
            with body:
                return await self._other.run(task, body, host(url))
        except ParserLost as lost:
            return Timed(Failed(kind=FailureKind.TOO_LARGE, detail=str(lost)), lost.cost_s)

    async def close(self) -> None:
        """End the other process."""
        await self._other.close()


def _timed(task: Callable[..., T], body: bytes) -> Timed[T | Failed]:
    """A mistake of ours costs the page, and not the crawl."""
    began = perf_counter()
    answer: T | Failed
    try:
        answer = task(body)
    except Exception as mistake:
        detail = f"the reader made a mistake: {mistake!r}"[:_SHOWN]
        answer = Failed(kind=FailureKind.LOST, detail=detail)
    return Timed(answer, perf_counter() - began)


def aside(body: bytes) -> IO[bytes]:
    """In memory after all where the disk takes no more."""
    try:
        file = TemporaryFile()  # noqa: SIM115  # whoever reads it closes it
        file.write(body)
        file.seek(0)
    except OSError:
        return BytesIO(body)
    return file


class ParserProcess:
    """Does one task after the other; started with the first, and anew after one that ended it.

    After so many tasks it is started anew as well.
    """

    def __init__(self, longest_s: float, most_tasks: int = MOST_TASKS) -> None:
        self._longest_s, self._most_tasks = longest_s, most_tasks
        self._process: Process | None = None
        self._done = 0
        self._lock = FairLock()

    async def run(self, task: Callable[..., T], body: IO[bytes], of_host: str) -> Timed[T]:
        """What the task, which must be picklable, answers when it is called with the body."""
        async with self._lock.held_for(of_host):
            began = asyncio.get_running_loop().time()
            try:
                answer: Timed[T] = await self._in_time(task, body)
            except ParserLost as lost:
                lost.cost_s = asyncio.get_running_loop().time() - began
                self._lock.charge(of_host, lost.cost_s)
                raise
            self._lock.charge(of_host, answer.cost_s)
            return answer

    async def _in_time(self, task: Callable[..., T], body: IO[bytes]) -> Timed[T]:
        done = False
        try:
            async with asyncio.timeout(self._longest_s):
                answer: Timed[T] = pickle.loads(await self._ask(pickle.dumps(task), body))
            done = True
            await self._make_room()
            return answer
        except TimeoutError as error:
            told = f"it was not read in {self._longest_s:g} s (--max-reading)"
            raise ParserLost(told) from error
        except (OSError, EOFError, asyncio.IncompleteReadError) as error:
            raise ParserLost("it ended the process that read it") from error
        finally:
            if not done:
                await self.close()

    async def _make_room(self) -> None:
        """After so many tasks, for a new process, which begins while nobody waits for it."""
        self._done += 1
        if self._done >= self._most_tasks:
            await self.close()
            with suppress(OSError):  # whoever asks next tries again
                await self._start()

    async def _ask(self, question: bytes, body: IO[bytes]) -> bytes:
        process = self._process or await self._start()
        if process.stdin is None or process.stdout is None:
            raise EOFError
        process.stdin.write(_framed(question))
        while piece := body.read(_PIECE_BYTES):
            process.stdin.write(_framed(piece))
            await process.stdin.drain()
        process.stdin.write(_framed(b""))
        await process.stdin.drain()
        size = int.from_bytes(await process.stdout.readexactly(_SIZE_BYTES), "big")
        return await process.stdout.readexactly(size)

    async def _start(self) -> Process:
        """Signals from the terminal are not for it: it ends when its pipe is closed."""
        self._done = 0
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _SERVE, stdin=PIPE, stdout=PIPE, start_new_session=True
        )
        return self._process

    async def close(self) -> None:
        """Nothing is under way that anybody waits for."""
        process, self._process = self._process, None
        if process is not None:
            if process.returncode is None:
                process.kill()
            await process.communicate()


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """The other process: do what is asked, until nobody asks or listens any more."""
    with suppress(BrokenPipeError, EOFError):
        while question := _next_frame(questions):
            answers.write(_framed(_answer(question, questions)))
            answers.flush()


def _answer(question: bytes, questions: BinaryIO) -> bytes:
    """By itself, so that nothing of a body is held while nobody asks."""
    task: Callable[[bytes], Any] = pickle.loads(question)
    body = b"".join(iter(partial(_next_frame, questions), b""))
    began = process_time()
    answer = task(body)
    return pickle.dumps(Timed(answer, process_time() - began))


def _framed(frame: bytes) -> bytes:
    return len(frame).to_bytes(_SIZE_BYTES, "big") + frame


def _next_frame(questions: BinaryIO) -> bytes:
    """Nothing at its end; raises EOFError when the crawl has gone in the middle of it."""
    head = questions.read(_SIZE_BYTES)
    size = int.from_bytes(head, "big")
    frame = questions.read(size)
    if len(head) < _SIZE_BYTES or len(frame) < size:
        raise EOFError
    return frame
