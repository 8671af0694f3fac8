"""Reading pages without blocking the loop: small ones at once, large ones in another process.

Law: nothing that a server sends keeps the loop from its work for longer than a blink, and nothing
that kills the reader, or keeps it for ever, ends the crawl.

The other process is a plain one that is told what to do through its pipes. A process pool would
import the user's own script once more, and crawl again where that has no guard against it.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, TypeVar

from minicrawl.model import Failed, FailureKind, Page, Reading
from minicrawl.web.reader import read
from minicrawl.web.sitemaps import Sitemap
from minicrawl.web.sitemaps import parse as parse_sitemap
from minicrawl.web.traps import said

T = TypeVar("T")

SMALL = 256 * 1024
"""Bytes that are read in a few milliseconds, whatever they are."""
LONGEST_S = 30.0
"""For one body in the other process."""
_SIZE_BYTES = 8
_SERVE = (
    "import sys; from minicrawl.crawl.reading import serve; "
    "serve(sys.stdin.buffer, sys.stdout.buffer)"
)


class ReaderLost(Exception):
    """The other process died of what it read, or did not come to an end with it."""


class Reader:
    """`read` of minicrawl.web, where it does no harm."""

    def __init__(self, *, agent: str, with_words: bool, small: int = SMALL) -> None:
        self._read = partial(_read, agent=agent, with_words=with_words)
        self._small = small
        self._other = OtherProcess()

    async def page(self, page: Page, url: str, *, with_text: bool = False) -> Reading | Failed:
        """What the page says; a failure if it was too much for the process that read it."""
        task = partial(self._read, page.body, url, dict(page.headers), with_text=with_text)
        if len(page.body) <= self._small:
            return task()
        try:
            return await self._other.run(task)
        except ReaderLost:
            return Failed(kind=FailureKind.TOO_LARGE, detail="it was too much for the reader")

    async def sitemap(self, body: bytes, url: str) -> Sitemap:
        """What the sitemap lists; nothing if it was too much."""
        task = partial(parse_sitemap, body, url)
        if len(body) <= self._small:
            return task()
        try:
            return await self._other.run(task)
        except ReaderLost:
            return Sitemap()

    async def close(self) -> None:
        """End the other process."""
        await self._other.close()


def _read(
    body: bytes, url: str, headers: dict[str, str], *, with_text: bool, **how: Any
) -> Reading:
    reading = read(body, url, headers, **how)
    return replace(reading, **said(body)._asdict()) if with_text else reading


class OtherProcess:
    """Does one task after the other; started with the first, and anew after one that ended it."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._longest_s = longest_s
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def run(self, task: Callable[[], T]) -> T:
        """What the task, which must be picklable, answers."""
        async with self._turn:
            done = False
            try:
                async with asyncio.timeout(self._longest_s):
                    answer: T = pickle.loads(await self._ask(pickle.dumps(task)))
                done = True
                return answer
            except (OSError, EOFError, asyncio.IncompleteReadError) as error:
                raise ReaderLost from error
            finally:
                if not done:
                    await self.close()

    async def _ask(self, question: bytes) -> bytes:
        process = self._process or await self._start()
        if process.stdin is None or process.stdout is None:
            raise EOFError
        process.stdin.write(len(question).to_bytes(_SIZE_BYTES, "big") + question)
        await process.stdin.drain()
        size = int.from_bytes(await process.stdout.readexactly(_SIZE_BYTES), "big")
        return await process.stdout.readexactly(size)

    async def _start(self) -> Process:
        """Signals from the terminal are not for it: it ends when its pipe is closed."""
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
    with suppress(BrokenPipeError):
        while (question := _next_question(questions)) is not None:
            answer = pickle.dumps(pickle.loads(question)())
            answers.write(len(answer).to_bytes(_SIZE_BYTES, "big") + answer)
            answers.flush()


def _next_question(questions: BinaryIO) -> bytes | None:
    """None when the crawl has gone, be it in the middle of a question."""
    size = int.from_bytes(questions.read(_SIZE_BYTES), "big")
    question = questions.read(size)
    return question if size and len(question) == size else None
