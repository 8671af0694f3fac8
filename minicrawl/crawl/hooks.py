"""What a Python program hangs into a crawl: a filter of URLs, a call for each page, a rule to stop.

Laws: a crawl without hooks pays one look at None for each. A hook that raises ends the crawl as
`stop` does, so that nothing is lost; the first exception is raised again when the crawl is over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import isawaitable

from minicrawl.crawl.progress import Progress
from minicrawl.model import FetchResult, ParsedPage, Response


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """A page that was just read, for `on_page`."""

    url: str
    status: int
    headers: Mapping[str, str]  # by lower-case name
    body: bytes  # decoded; of a page that broke off, what came
    title: str
    links: tuple[str, ...]  # each once, in the order of the page, and none with nofollow
    encoding: str
    cut: str = ""  # why the body is not whole

    @property
    def text(self) -> str:
        """The body as text, in its encoding; what is not valid in it is replaced."""
        return self.body.decode(self.encoding, "replace")


Accept = Callable[[str], bool]
OnPage = Callable[[PageRead], Awaitable[None] | None]
StopRule = Callable[[Progress], bool]


class Hooks:
    """The hooks of one crawl; `halt` is called when the rule says so, or one of them has raised."""

    def __init__(
        self,
        accept: Accept | None = None,
        on_page: OnPage | None = None,
        stop: StopRule | None = None,
    ) -> None:
        self._accept, self._on_page, self._stop = accept, on_page, stop
        self.halt: Callable[[], None] = _nothing
        self.error: Exception | None = None

    @property
    def filters(self) -> bool:
        """Whether there is a filter."""
        return self._accept is not None

    @property
    def has_rule(self) -> bool:
        """Whether a rule says when the crawl ends."""
        return self._stop is not None

    @property
    def needs_bodies(self) -> bool:
        """Whether somebody wants the bodies of pages."""
        return self._on_page is not None

    def may_fetch(self, url: str) -> bool:
        """Whether the filter lets the page be fetched. Without one it may."""
        if self._accept is None:
            return True
        try:
            return bool(self._accept(url))
        except Exception as error:
            self.fail(error)
            return False

    async def hand_over(self, url: str, fetched: FetchResult, parsed: ParsedPage | None) -> None:
        """Call `on_page`, if the page was read."""
        if self._on_page is None or parsed is None or not isinstance(fetched, Response):
            return
        page = PageRead(
            url=url,
            status=fetched.status,
            headers=fetched.headers,
            body=fetched.body,
            title=parsed.title,
            links=parsed.links,
            encoding=parsed.encoding,
            cut="" if fetched.cut is None else fetched.cut_detail or fetched.cut.value,
        )
        try:
            waits = self._on_page(page)
            if isawaitable(waits):
                await waits
        except Exception as error:
            self.fail(error)

    def look(self, progress: Progress | None) -> None:
        """Halt the crawl if the rule says so."""
        if self._stop is None or progress is None:
            return
        try:
            if self._stop(progress):
                self.halt()
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """A hook has raised this: end the crawl."""
        self.error = self.error or error
        self.halt()


def _nothing() -> None:
    """There is no crawl yet."""
