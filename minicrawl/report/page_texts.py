"""Makes texts of archived pages, such as their main text, in a process that can be killed.

What texts there are, packages say (`plugins.TEXTS`): functions of markup and of its URL.

Laws: a page that exceeds its deadline has no text, and no other page is affected: the process is
killed, and the next page starts another. After many slow pages the deadline becomes short, and a
site whose pages have cost far more than usual is read no further. So no number of such pages takes
hours.
"""

from __future__ import annotations

import gc
import marshal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import cast
from urllib.parse import urlsplit

from minicrawl import plugins
from minicrawl.errors import MinicrawlError, TooSlow
from minicrawl.report.killable import KillableProcess, Parent
from minicrawl.web.urls import site

DEADLINE_S, SHORT_DEADLINE_S = 5.0, 1.0
_MANY_SLOW = 20
"""Pages that took too long, after which deadlines are short."""
_MOST_OF_A_SITE_S = 20.0
_USUAL_S = 0.1
"""Time of a page that is not counted against its site."""
_MOST_READ = 4 << 20
"""Characters of a page that are read."""
_CODE = "from minicrawl.report.page_texts import main; main()"


class PageTexts(AbstractContextManager["PageTexts"]):
    """Process that makes the texts of these names. It is started on demand."""

    def __init__(self, names: Sequence[str], deadline_s: float = DEADLINE_S) -> None:
        self.names = names
        self._deadline_s = deadline_s
        self._process: KillableProcess | None = None
        self._spent_s: defaultdict[str, float] = defaultdict(float)  # by site
        self._slow = 0

    def __exit__(self, *_: object) -> None:
        self._end()

    def of(self, markup: str, url: str) -> list[str]:
        """Return the texts of a page. Raises `TooSlow`, or what a package says is missing."""
        name = site(urlsplit(url).hostname or "")
        if self._spent_s[name] > _MOST_OF_A_SITE_S:
            raise TooSlow(f"its text was not made: other pages of {name} took too long")
        began = time.monotonic()
        found = self._made(markup, url)
        self._spent_s[name] += max(0.0, time.monotonic() - began - _USUAL_S)
        if found is None:
            raise TooSlow("its text was not made: it takes too long, or too much memory")
        error, texts = found
        if error:
            self._end()
            raise MinicrawlError(error)
        return texts

    def _made(self, markup: str, url: str) -> tuple[str, list[str]] | None:
        found = self._answer(markup, url)
        if found is None:
            self._end()
            self._slow += 1
            if self._slow >= _MANY_SLOW:
                self._deadline_s = min(self._deadline_s, SHORT_DEADLINE_S)
        return found

    def _answer(self, markup: str, url: str) -> tuple[str, list[str]] | None:
        if self._process is None:
            self._process = KillableProcess(_CODE, self.names)
        self._process.ask(marshal.dumps((markup[:_MOST_READ], url)))
        answer = self._process.answer(self._deadline_s)
        return None if answer is None else marshal.loads(answer)

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


def main() -> None:
    """Run the process: make the texts of pages until the parent closes the pipe."""
    parent = Parent()
    gc.disable()  # trees of boxes have no cycles
    makers, error = list[Callable[[str, str], str]](), ""
    try:
        makers = [_maker(name) for name in sys.argv[1:]]
    except MinicrawlError as missing:
        error = str(missing)
    parent.answer(b"")  # it is ready
    with suppress(EOFError, BrokenPipeError):  # the parent has closed the pipe
        while True:
            page = marshal.loads(parent.asked())
            parent.answer(marshal.dumps((error, []) if error else _made(makers, page)))


def _made(
    makers: Sequence[Callable[[str, str], str]], page: tuple[str, str]
) -> tuple[str, list[str]]:
    try:
        return "", [make(*page) for make in makers]
    except MinicrawlError as error:
        return str(error), []


def _maker(name: str) -> Callable[[str, str], str]:
    point = plugins.entry_points(plugins.TEXTS).get(name)
    if point is None:
        raise MinicrawlError(f"no installed package makes the text {name!r} of a page")
    return cast(Callable[[str, str], str], point.load())
