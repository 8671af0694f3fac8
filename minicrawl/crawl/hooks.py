"""Hooks of a Python program: a filter of URLs, a scorer, a call for each page, a stop rule.

Laws: a crawl without hooks pays one comparison with None for each. A hook that raises ends the
crawl as `stop` does, so that nothing is lost; the first exception is raised again when the crawl
is over. Only for `on_page` may the program choose otherwise (`ON_ERROR`).

A page is handed over before it is settled. So a page whose step is in the store was handed over,
and a page that was not is requested again, by this run or the next. A cursor over settled pages
was rejected: it needs kept bodies, and it too hands a page over twice if a kill comes before the
cursor moves.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable

from minicrawl.crawl.events import Listener, Warned, nobody_listens
from minicrawl.crawl.progress import Progress
from minicrawl.crawl.workers.scoring import (
    EnqueuedLink,
    OwnScorer,
    PageRead,
    ProgramScorer,
    page_read,
)
from minicrawl.errors import UsageError
from minicrawl.model import ParsedPage, Response

ON_ERROR = ("stop", "retry", "skip")
"""Reactions to `on_page` raising: end the crawl, call it again first, or go on without it."""
MOST_CALLS = 3
"""Maximum number of calls of `on_page` with one page, with on_error="retry"."""
CALL_AGAIN_S = 0.5
"""Pause before the second call; it doubles for each further one."""


def _with_links(parsed: ParsedPage, added: Sequence[EnqueuedLink]) -> ParsedPage:
    """Return the page with the `added` links, without words, behind its own."""
    new = {link.url: link.original for link, _ in added}
    own = {link.url: own for link, own in added if own is not None}
    for url in parsed.links:
        new.pop(url, None)
    if own:
        parsed = parsed._replace(own_requests=tuple(own.items()))
    if not new:
        return parsed
    no_words = ("",) * len(new)
    originals = tuple((url, original) for url, original in new.items() if original)
    return parsed._replace(
        links=(*parsed.links, *new),
        words=parsed.words and (*parsed.words, *no_words),
        written=parsed.written and (*parsed.written, *no_words),
        originals=(*parsed.originals, *originals),
    )


Accept = Callable[[str], bool]
OnPage = Callable[[PageRead], Awaitable[None] | None]
"""Function that is called with each page that was read; may be a coroutine function."""
StopRule = Callable[[Progress], bool]


class Hooks:
    """Hooks of one crawl; `halt` is called when the stop rule applies or a hook has raised."""

    def __init__(
        self,
        accept: Accept | None = None,
        on_page: OnPage | None = None,
        stop: StopRule | None = None,
        on_error: str = ON_ERROR[0],
        emit: Listener = nobody_listens,
        score: OwnScorer | None = None,
    ) -> None:
        if on_error not in ON_ERROR:
            raise UsageError(f"on_error: {on_error!r} is none of {', '.join(ON_ERROR)}")
        self._accept, self.on_page, self._stop = accept, on_page, stop
        self._on_error, self._emit = on_error, emit
        self.scorer = None if score is None else ProgramScorer(score)
        self.halt: Callable[[], None] = lambda: None  # there is no crawl yet
        self.is_shard = False
        self.error: Exception | None = None

    @property
    def filters(self) -> bool:
        """True if there is a filter."""
        return self._accept is not None

    def may_fetch(self, url: str) -> bool:
        """Return whether the filter lets the page be fetched; True without one."""
        if self._accept is None:
            return True
        try:
            return bool(self._accept(url))
        except Exception as error:
            self.fail(error)
            return False

    async def hand_over(
        self, url: str, fetched: Response, parsed: ParsedPage, reading: int, *, strip_marks: bool
    ) -> ParsedPage | Exception:
        """Call `on_page`. Return the page with links that it enqueued, or why it does not count."""
        page = page_read(url, fetched, parsed, reading, strip_marks=strip_marks)
        error = await self._call(page)
        again = MOST_CALLS - 1 if self._on_error == "retry" else 0
        for call in range(again):
            if error is None:
                break
            await asyncio.sleep(CALL_AGAIN_S * 2**call)
            error = await self._call(page)
        if error is not None and self._on_error != "skip":
            self.fail(error)
            return error
        if error is not None:
            raised = f"{type(error).__name__}: {error}"
            self._emit(Warned(text=f"on_page raised {raised} with {page.url}, which is skipped"))
        return _with_links(parsed, page.enqueued)

    async def _call(self, page: PageRead) -> Exception | None:
        assert self.on_page is not None
        try:
            waits = self.on_page(page)
            if isawaitable(waits):
                await waits
            if self.is_shard and any(own for _, own in page.enqueued):
                raise UsageError(
                    "enqueue: headers and POST work on one machine only, not in shards"
                )
        except Exception as error:
            page.enqueued.clear()
            return error
        return None

    def look(self, progress: Progress | None) -> None:
        """Halt the crawl if the stop rule applies."""
        if self._stop is None or progress is None:
            return
        try:
            if self._stop(progress):
                self.halt()
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Keep the exception of a hook and end the crawl."""
        self.error = self.error or error
        self.halt()
