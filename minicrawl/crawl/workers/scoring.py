"""Gives values to pages, by scorers of packages and of Python programs.

A scorer of a package runs in a child of the process that parses; the child can be killed. A scorer
of a Python program runs in the crawl process, as the program does: a function in a thread, one page
at a time; a coroutine function in the loop, for pages of all turns at once.

Laws: a scorer is called once a page, after parsing. If it raises, takes longer than `SCORING_S`, by
processor time in a process or a thread, or returns anything but a number from 0 to 1, its page gets
no value, and the crawl goes on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from inspect import iscoroutinefunction
from pathlib import Path
from threading import Thread
from typing import IO, Any, cast

from minicrawl import ext
from minicrawl.config.values.access import SECRET, why_no_header
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess
from minicrawl.errors import UsageError
from minicrawl.memory.limits import PATIENCE_S, SleepWatch
from minicrawl.model import FULL_VALUE, OwnRequest, ParsedPage, Response
from minicrawl.web.urls import LONGEST, ResolvedUrl, host, posted, resolve

SCORING_S = 10.0


EnqueuedLink = tuple[ResolvedUrl, OwnRequest | None]
"""Link that a program added to a page, with its request if that is not a plain GET."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """A page that was just read, for `on_page` and for scorers."""

    url: str
    status: int
    headers: Mapping[str, str] = field(repr=False)  # by lower-case name
    body: bytes = field(repr=False)  # decoded; may be incomplete, see `cut`
    title: str
    links: tuple[str, ...] = field(repr=False)  # distinct, in page order, without nofollow
    encoding: str
    cut: str = ""  # why the body is incomplete
    reading: int = 0
    """Number of earlier times that the page was read or found unchanged, as of the store.

    Together with the URL, a key that stays the same if a page is handed over again after a kill.
    """
    strip_marks: bool = field(default=True, repr=False)
    enqueued: list[EnqueuedLink] = field(default_factory=list, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The body as text, decoded with its encoding; invalid bytes are replaced."""
        return self.body.decode(self.encoding, "replace")

    def enqueue(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> bool:
        """Add a link to the page, for a URL that only your program sees; it may be relative.

        It counts like a link of the page: it gets its share of the page's cash, and the scope,
        robots.txt and the limits of the crawl decide whether it is fetched. Return False if it is
        no URL of the web, or the page's own.

        `headers` are sent with every request for that page, after a kill and by later runs, too.
        The store keeps them, so a header that logs in is refused: use the settings `auth`,
        `bearer`, `header` and `cookies` for that. Redirects do not get them.

        With `method="POST"`, the body is sent, as a form unless the header Content-Type says
        otherwise. The response is a page of its own, whose URL ends in a digest of the body. A
        POST is sent again after a failure or a kill, so it should change nothing on the server.
        A page with headers or a body of its own is never skipped as a trap.
        """
        resolved = resolve(url, self.url, strip_marks=self.strip_marks)
        own = own_request(method, headers or {}, body)
        if resolved is not None and own is not None and own.method == "POST":
            resolved = ResolvedUrl(posted(resolved.url, body))
        if resolved is None or resolved.url == self.url or len(resolved.url) > LONGEST:
            return False
        self.enqueued.append((resolved, own))
        return True


MOST_BODY_BYTES = 1_000_000
"""Limit of the body of a POST. The store keeps it until the page is forgotten."""
_FORM = "application/x-www-form-urlencoded"
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def own_request(method: str, headers: Mapping[str, str], body: bytes) -> OwnRequest | None:
    """Return the request, or None for a plain GET; raises `UsageError` if it may not be sent."""
    if method not in ("GET", "POST"):
        raise UsageError(f"enqueue: method {method!r} is neither GET nor POST")
    if not isinstance(body, bytes):
        raise UsageError(f"enqueue: the body must be bytes, not {type(body).__name__}")
    if body and method == "GET":
        raise UsageError("enqueue: a body needs method='POST'")
    if len(body) > MOST_BODY_BYTES:
        raise UsageError(f"enqueue: a body of more than {MOST_BODY_BYTES:,} bytes")
    sent = {"content-type": _FORM} if method == "POST" else {}
    for name, value in headers.items():
        if why := _why_no_header(name.lower(), value, method):
            raise UsageError(f"enqueue: the header {name!a:.60} {why}")
        sent[name.lower()] = value
    return OwnRequest(method, tuple(sent.items()), body) if sent else None


def _why_no_header(name: str, value: object, method: str) -> str:
    """Return why a header must not be sent or stored, or an empty string."""
    if not _HEADER_NAME.fullmatch(name):
        return "has no valid name"
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        return "has a value that is not printable ASCII"
    if name in SECRET:
        return "would be stored: use the settings auth, bearer, header or cookies"
    return "" if name == "content-type" and method == "POST" else why_no_header(name)


def page_read(
    url: str, fetched: Response, parsed: ParsedPage, reading: int = 0, *, strip_marks: bool = True
) -> PageRead:
    """Return the page as programs see it."""
    return PageRead(
        url=url,
        status=fetched.status,
        headers=fetched.headers,
        body=fetched.body,
        title=parsed.title,
        links=parsed.links,
        encoding=parsed.encoding,
        cut="" if fetched.cut is None else fetched.cut_detail or fetched.cut.label,
        reading=reading,
        strip_marks=strip_marks,
    )


Scorer = Callable[[PageRead], float]
"""Function that returns the value of a page, from 0 to 1."""


def scored(parsed: ParsedPage, result: object) -> ParsedPage:
    if isinstance(result, str):
        return parsed._replace(unscored=result)
    try:
        share = float(cast(Any, result))
    except (TypeError, ValueError):
        share = -1.0
    if not 0 <= share <= 1:  # as with NaN
        return parsed._replace(unscored=f"{result!r:.60} is not a number from 0 to 1")
    return parsed._replace(value=round(share * FULL_VALUE))


def scorers_of(names: Sequence[str]) -> list[Scorer]:
    """Return the scorers that `--score` names; raises `UsageError` if one cannot be made."""
    scorers = []
    for text in names:
        name, _, arguments = text.partition(":")
        make = ext.required(ext.SCORERS, name, "scorer")
        try:
            scorers.append(cast(Callable[[str], Scorer], make)(arguments))
        except Exception as error:
            raise UsageError(f"--score {text}: {error}") from error
    return scorers


class PageScorer:
    def __init__(self, names: Sequence[str], within_s: float = SCORING_S) -> None:
        self._names = tuple(names)
        self._process = ParserProcess(within_s)
        self.close = self._process.close

    async def scored(self, page: PageRead, parsed: ParsedPage, body: IO[bytes]) -> ParsedPage:
        task = partial(_score, names=self._names, page=page)
        try:
            with body:
                result = await self._process.run(task, body, host(page.url))
        except ParserLost as lost:
            return scored(parsed, f"the scorer was stopped: {lost}")
        return scored(parsed, result.value)


_made = lru_cache(1)(scorers_of)


def _score(body: bytes, names: tuple[str, ...], page: PageRead) -> object:
    """Return the largest value, or the text of an exception that a scorer raised."""
    whole = replace(page, body=body)
    try:
        # As a list: `max` would hide that one of several values is NaN.
        values = [float(scorer(whole)) for scorer in _made(names)]
        return next((value for value in values if not 0 <= value <= 1), max(values))
    except Exception as error:
        return _error_text(error)


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


OwnScorer = Callable[[PageRead], float | Awaitable[float]]
_THREADS = Path("/proc/self/task")


class ProgramScorer:
    def __init__(self, score: OwnScorer) -> None:
        self._score, self._is_free = score, asyncio.Lock()
        self._last: asyncio.Future[object] | None = None  # the last call in a thread

    async def scored(self, page: PageRead, parsed: ParsedPage) -> ParsedPage:
        try:
            if iscoroutinefunction(self._score):
                async with asyncio.timeout(SCORING_S):
                    return scored(parsed, await self._score(page))
            async with self._is_free:
                if self._last is not None and not self._last.done():
                    # A thread cannot be ended. Waiting for it would hold up the crawl for as long
                    # as the scorer hangs, and a second call beside it may surprise the scorer.
                    return scored(parsed, "the scorer is still busy with an earlier page")
                (self._last, thread), watch = self._in_thread(page), SleepWatch()
                while not (await asyncio.wait((self._last,), timeout=PATIENCE_S))[0]:
                    if watch.sleeps(thread, PATIENCE_S, _THREADS) or watch.used_s > SCORING_S:
                        raise TimeoutError
                return scored(parsed, self._last.result())
        except TimeoutError:
            return scored(parsed, f"the scorer took longer than {SCORING_S:g} s")
        except Exception as error:
            return scored(parsed, _error_text(error))

    def _in_thread(self, page: PageRead) -> tuple[asyncio.Future[object], int]:
        """Call the scorer in a daemon thread of its own; return its answer, and the thread's id.

        A thread of an executor would keep the program alive if the scorer hangs.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[object] = loop.create_future()

        def settle(result: object) -> None:
            if not answer.done():
                answer.set_result(result)

        def run() -> None:
            try:
                result: object = self._score(page)
            except Exception as error:
                result = _error_text(error)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, result)

        thread = Thread(target=run, name="scorer", daemon=True)
        thread.start()
        return answer, thread.native_id or 0
