"""Reading pages without blocking the loop: small ones at once, large ones in another process.

Law: nothing that a server sends keeps the loop from its work for longer than a blink, and nothing
that kills the reader, keeps it for ever or is a mistake of its own ends the crawl.

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
from functools import partial
from typing import BinaryIO, TypeVar

from minicrawl.model import Failed, FailureKind, Page, Reading
from minicrawl.web import robots, sitemaps
from minicrawl.web.reader import Wishes, read
from minicrawl.web.robots import Rules
from minicrawl.web.sitemaps import Sitemap

T = TypeVar("T")

SMALL = 256 * 1024
"""Bytes that are read in a few milliseconds, whatever they are."""
_ROBOTS_WEIGHT = 8
"""Rules take so much longer than other bytes."""
LONGEST_S = 30.0
"""For one body in the other process."""
_SHOWN = 200  # characters of what an exception says
_SIZE_BYTES = 8
_SERVE = (
    "import sys; from minicrawl.crawl.memory import keep_large_arrays_apart; "
    "from minicrawl.crawl.reading import serve; "
    "keep_large_arrays_apart(); serve(sys.stdin.buffer, sys.stdout.buffer)"
)


class ReaderLost(Exception):
    """The other process died of what it read, or did not come to an end with it."""


class Reader:
    """What minicrawl.web reads, read where it does no harm."""

    def __init__(self, wishes: Wishes, small: int = SMALL) -> None:
        self._wishes = wishes
        self._small = small
        self._other = OtherProcess()

    async def page(self, page: Page, url: str) -> Reading | Failed:
        """What the page says; a failure if it was too much for who read it."""
        task = partial(read, page.body, url, dict(page.headers), self._wishes)
        return await self._done(task, len(page.body))

    async def rules(self, page: Page) -> Rules | Failed:
        """What a robots.txt says to us; a failure if it was too much."""
        task = partial(robots.parse, page.body, self._wishes.agent, cut=page.cut is not None)
        return await self._done(task, len(page.body) * _ROBOTS_WEIGHT)

    async def sitemap(self, body: bytes, url: str) -> Sitemap:
        """What the sitemap lists; nothing if it was too much."""
        task = partial(sitemaps.parse, body, url, strip_marks=self._wishes.strip_marks)
        listed = await self._done(task, len(body))
        return Sitemap(limit=listed.detail) if isinstance(listed, Failed) else listed

    async def _done(self, task: Callable[[], T], size: int) -> T | Failed:
        try:
            return await self._other.run(task) if size > self._small else task()
        except ReaderLost as lost:
            return Failed(kind=FailureKind.TOO_LARGE, detail=str(lost))
        except Exception as mistake:
            detail = f"the reader made a mistake: {mistake!r}"[:_SHOWN]
            return Failed(kind=FailureKind.LOST, detail=detail)

    async def close(self) -> None:
        """End the other process."""
        await self._other.close()


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
            except TimeoutError as error:
                raise ReaderLost(f"it was not read in {self._longest_s:g} s") from error
            except (OSError, EOFError, asyncio.IncompleteReadError) as error:
                raise ReaderLost("it ended the process that read it") from error
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
