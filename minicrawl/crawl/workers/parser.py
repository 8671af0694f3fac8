"""Parses large bodies in a child process, which is killed if one takes too long.

Laws: a body that takes too long to parse, by processor time, or ends the process, fails only its
own page, and its host is charged for the time. A waiting body is not held in memory. The host whose
bodies have cost least so far is next. Of pages that arrive at once, only some continue in a round
of the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import BytesIO
from math import inf
from time import perf_counter
from typing import IO, TYPE_CHECKING, NamedTuple, TypeVar

from minicrawl.crawl.hosts.pacing import FairLock
from minicrawl.crawl.workers.parser_child import ParserCommand
from minicrawl.crawl.workers.supervisor import ChildJob, ChildLost, ChildProcess
from minicrawl.memory import PATIENCE_S, SleepWatch, why_ended
from minicrawl.model import Failed, FailureKind, ParsedPage, Request, Response, Want
from minicrawl.ports import Timed
from minicrawl.web.html_page import ParseOptions, parse_page
from minicrawl.web.markup import TooExpensive
from minicrawl.web.responses import (
    HTML,
    PDF,
    SNIFFED,
    DocumentType,
    document_price_s,
    list_price_s,
    robots_price_s,
    type_of,
)
from minicrawl.web.urls import host

if TYPE_CHECKING:
    from minicrawl.web.robots import Rules
    from minicrawl.web.sitemaps import Sitemap


T = TypeVar("T")

MOST_TASKS = 2000
"""Tasks of a child before it is replaced, which frees memory that large bodies have fragmented."""
_PIECE_BYTES = 256 * 1024
_CODE = "from minicrawl.crawl.workers.parser_child import main; main()"


class ParserLost(Exception):
    """The child ended while parsing a body, or was killed because it took too long."""

    cost_s = 0.0


class ParserProcess:
    """Runs one task at a time in a child process.

    The child starts with the first task. A new child replaces it after a task that ended it, and
    after `most_tasks` tasks.
    """

    def __init__(
        self, max_s: float, most_tasks: int = MOST_TASKS, patience_s: float = PATIENCE_S
    ) -> None:
        """`max_s` is of processor time; a child is given up if it sleeps for `patience_s`, too."""
        self._max_s, self._most_tasks, self._patience_s = max_s, most_tasks, patience_s
        self._child: ChildProcess | None = None
        self._done = 0
        self._lock = FairLock()

    async def run(self, task: Callable[[bytes], T], body: IO[bytes], host: str) -> Timed[T]:
        """Return the result of `task` for the body; `task` must be picklable."""
        async with self._lock.held_for(host):
            began = asyncio.get_running_loop().time()
            try:
                result = await self._run_in_time(task, body)
            except ParserLost as lost:
                lost.cost_s = asyncio.get_running_loop().time() - began
                self._lock.charge(host, lost.cost_s)
                raise
            self._lock.charge(host, result.cost_s)
            return result

    async def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.close()

    async def _run_in_time(self, task: Callable[[bytes], T], body: IO[bytes]) -> Timed[T]:
        try:
            child = self._child or self._start()
        except OSError as error:
            raise ParserLost("the parser process ended") from error
        call, watch = asyncio.ensure_future(self._call(child, task, body)), SleepWatch()
        try:
            while not (await asyncio.wait((call,), timeout=self._patience_s))[0]:
                if child.pid is not None and watch.sleeps(child.pid, self._patience_s):
                    raise ChildLost
            result = call.result()
            await self._renew_when_due()
            return result
        except (OSError, ChildLost) as error:
            await self.close()
            raise ParserLost(why_ended(child.returncode, self._max_s)) from error
        finally:
            if call.cancel() or call.cancelled() or call.exception():
                await self.close()

    async def _call(
        self, child: ChildProcess, task: Callable[[bytes], T], body: IO[bytes]
    ) -> Timed[T]:
        while piece := body.read(_PIECE_BYTES):
            await child.feed(ParserCommand.BODY, piece)
        result, cost_s = await child.call(ParserCommand.PARSE, (task, self._max_s))
        return Timed(result, cost_s)

    async def _renew_when_due(self) -> None:
        """Replace the child after `most_tasks` tasks.

        The new child starts now, while nobody waits for it.
        """
        self._done += 1
        if self._done >= self._most_tasks:
            await self.close()
            with suppress(OSError):  # the next task tries again
                self._start()

    def _start(self) -> ChildProcess:
        self._done = 0
        self._child = ChildProcess(ChildJob(code=_CODE, end_s=0.0))
        return self._child


# ================================================================ page parser
#
# Parses bodies in this process or in a child process.
#
# Laws: no parse in a process that serves others takes more than `ENOUGH_S`, whatever a server
# sends. A body that kills the parser, takes too long or hits a bug of ours fails its page, not the
# crawl. Expensive bodies wait on disk, not in memory. The host whose bodies have cost least so
# far is next; hosts that were never charged share one account.
#
# expensive  a body that is large, or takes more than `ENOUGH_S` by its price (`web.responses`) or
#            by what the scan of HTML finds (`web.markup`); a child process parses it
#
# The child is a plain process. A pool of `multiprocessing` was rejected: it would import the user's
# script once more, and crawl again if that script has no `__main__` guard.

ENOUGH_S = 0.010
"""Longest time in seconds that a parser may block an event loop."""
LARGE = 256 * 1024
"""Size in bytes above which a body is expensive, and waits on disk."""
_QUICK = 16 * 1024
"""Size in bytes above which bodies are parsed one at a time, with a turn of the loop after each
`ENOUGH_S` of parsing.
"""
_SHOWN = 200  # characters of the message of an exception


class Reading:
    """Body to be parsed once: in this process if that is quick, else in the child."""

    def __init__(self, parser: PageParser, task: Task, body: bytes | IO[bytes], url: str) -> None:
        self._parser, self._task, self._body, self._url = parser, task, body, url
        self._spent_s = 0.0

    async def quickly(self) -> Timed[ParsedPage | Sitemap | Failed] | None:
        """Parse the body in this process; None if it is expensive: then it waits on disk."""
        if not isinstance(self._body, bytes):
            return None
        result, cost_s = await self._parser.parse_here(self._task.quick, self._body, self._url)
        if result is not None:
            return Timed(result, cost_s)
        self._spent_s, self._body = cost_s, to_disk(self._body)
        return None

    async def anyhow(self) -> Timed[ParsedPage | Sitemap | Failed]:
        """Parse the body, however long it takes."""
        if (found := await self.quickly()) is not None:
            return found
        assert not isinstance(self._body, bytes)
        result, cost_s = await self._parser.parse_in_child(self._task.whole, self._body, self._url)
        return Timed(result, cost_s + self._spent_s)


class Task(NamedTuple):
    """Parsers of a body: one for the whole, and one that stops if it takes too long."""

    whole: Callable[[bytes], ParsedPage | Sitemap]
    quick: Callable[[bytes], ParsedPage | Sitemap]


class PageParser:
    """Runs the parsers of `minicrawl.web`, here or in a child process."""

    def __init__(self, options: ParseOptions, max_s: float, enough_s: float = ENOUGH_S) -> None:
        self._options = options
        self._enough_s = enough_s
        self._process = ParserProcess(max_s)
        self._one_at_a_time = FairLock()
        self._since_turn_s = 0.0

    def reading(self, response: Response, request: Request, content: int | None = None) -> Reading:
        """Prepare to parse a page or a sitemap. `content` is the hash of its body, if known."""
        body = response.spooled or response.body
        if isinstance(body, bytes) and self._is_expensive(response, request):
            body = to_disk(body)
        return Reading(self, self._task(response, request, content), body, request.url)

    def _is_expensive(self, response: Response, request: Request) -> bool:
        """Return whether the body looks expensive. HTML may prove to be while it is parsed."""
        body = response.body
        if len(body) > LARGE:
            price_s = inf
        elif request.want is Want.SITEMAP:
            price_s = list_price_s(body)
        else:
            price_s = document_price_s(body, _kind(response, request))
        return price_s > self._enough_s

    def _task(self, response: Response, request: Request, content: int | None) -> Task:
        url = request.url
        if request.want is Want.SITEMAP:
            from minicrawl.web import sitemaps as sitemap  # many workers meet no sitemap

            parse = partial(sitemap.parse, url=url, strip_marks=self._options.strip_marks)
            return Task(parse, parse)
        if request.types == HTML:
            read: Callable[..., ParsedPage] = parse_page
        else:
            from minicrawl.web.documents import parse_document  # most crawls read HTML alone

            read = partial(parse_document, types=request.types)
        page = partial(
            read,
            url=url,
            headers=dict(response.headers),
            options=self._options,
            suspicious=request.suspicious,
            content=content,
        )
        return Task(page, partial(page, most_us=self._enough_s * 1e6))

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """Parse a robots.txt for our agent; a failure if it takes too long."""
        from minicrawl.web import robots as rules  # workers leave robots.txt to the crawl

        agent, cut = self._options.agent, response.cut is not None
        task = partial(rules.parse, agent=agent, cut=cut)
        return await self._parse_rules(task, response.body, url)

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """Parse the rules of a robots.txt as a store keeps them."""
        from minicrawl.web import robots as rules

        task = partial(rules.parse, agent="*")
        return await self._parse_rules(task, text.encode(), url)

    async def close(self) -> None:
        """End the child process."""
        await self._process.close()

    async def _parse_rules(
        self, task: Callable[[bytes], Rules], body: bytes, url: str
    ) -> Timed[Rules | Failed]:
        if robots_price_s(body) > self._enough_s:
            return await self.parse_in_child(task, BytesIO(body), url)
        result, cost_s = await self.parse_here(task, body, url)
        assert result is not None
        return Timed(result, cost_s)

    async def parse_here(
        self, task: Callable[[bytes], T], body: bytes, url: str
    ) -> Timed[T | Failed | None]:
        """Parse the body in this process; None if that is too expensive."""
        if len(body) <= _QUICK:
            return _timed(task, body)
        name = host(url)
        async with self._one_at_a_time.held_for(name):
            result = _timed(task, body)
            self._one_at_a_time.charge(name, result.cost_s)
            self._since_turn_s += result.cost_s
            if self._since_turn_s > ENOUGH_S:
                self._since_turn_s = 0.0
                await asyncio.sleep(0)
        return result

    async def parse_in_child(
        self, task: Callable[[bytes], T], body: IO[bytes], url: str
    ) -> Timed[T | Failed]:
        """Parse the body in the child process, which can be killed."""
        try:
            with body:
                result: Timed[T | Failed] = await self._process.run(task, body, host(url))
                return result
        except ParserLost as lost:
            return Timed(Failed(kind=FailureKind.TOO_LARGE, detail=str(lost)), lost.cost_s)


def is_pdf(response: Response, request: Request) -> bool:
    """Return whether the response is read as PDF."""
    return request.types & PDF != 0 and _kind(response, request) is DocumentType.PDF


def _kind(response: Response, request: Request) -> DocumentType | None:
    if request.types == HTML:
        return DocumentType.HTML
    content_type, begins = response.headers.get("content-type"), response.body[:SNIFFED]
    return type_of(content_type, request.url, begins, request.types)


def _timed(task: Callable[[bytes], T], body: bytes) -> Timed[T | Failed | None]:
    """Run a parser. A bug in it fails the page, and does not end the crawl."""
    began = perf_counter()
    result: T | Failed | None
    try:
        result = task(body)
    except TooExpensive:
        result = None
    except Exception as bug:
        detail = f"bug in the parser: {bug!r}"[:_SHOWN]
        result = Failed(kind=FailureKind.LOST, detail=detail)
    return Timed(result, perf_counter() - began)


def to_disk(body: bytes) -> IO[bytes]:
    """Return the body as a temporary file, or in memory if the disk is full.

    The caller closes it.
    """
    from tempfile import TemporaryFile  # few bodies are that large

    try:
        file = TemporaryFile()  # noqa: SIM115  # the reader closes it
        file.write(body)
        file.seek(0)
    except OSError:
        return BytesIO(body)
    return file


# ================================================================ loop rounds
#
# Limits the pages that continue in one round of the event loop, so that pages that arrive at once
# do not block it.
#
# A round is one iteration of the event loop. With pages that take 1.5 ms each and rounds of 4 ms,
# five pages that arrive at once continue as follows:
#
#     round 1   a, b, c pass, and take 4.5 ms; d and e come too late and wait
#     between   the loop looks at its sockets, and runs other tasks
#     round 2   as many pages as passed in round 1 are released: d, e
#
# Each round releases the pages of the next one. Refused: each waiting page looks at the time in
# each iteration. With 80 pages under way, that would resume 80 tasks per iteration.

ROUND_S = 0.004
"""Length of a round. Workers get new pages between rounds: with 0.02 s they were idle at times."""


class LoopRounds:
    """Lets pages continue in rounds of the event loop."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._is_running = False
        self._began, self._passed = 0.0, 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def turn(self) -> None:
        """Wait for a round that has time left."""
        if not self._is_running:
            self._is_running = True
            asyncio.get_running_loop().call_soon(self._end)
        elif self._waiting or self._is_late():
            enqueue, is_late = self._waiting.append, True
            while is_late:
                called = asyncio.get_running_loop().create_future()
                enqueue(called)
                await called
                # Pages released earlier may have taken longer than usual: this one stays first.
                enqueue, is_late = self._waiting.appendleft, self._is_late()
        if not self._passed:
            self._began = self._clock()
        self._passed += 1

    def _is_late(self) -> bool:
        return self._passed > 0 and self._clock() - self._began > ROUND_S

    def _end(self) -> None:
        """End the round, and release waiting pages for the next one."""
        most = max(self._passed if self._is_late() else 2 * self._passed, 1)
        self._passed = 0
        released = 0
        while self._waiting and released < most:
            called = self._waiting.popleft()
            if not called.done():  # the future of a cancelled turn is done
                called.set_result(None)
                released += 1
        self._is_running = released > 0
        if released:
            asyncio.get_running_loop().call_soon(self._end)  # behind the released pages
