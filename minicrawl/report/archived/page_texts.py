"""Texts that packages extract from archived pages, such as their main text.

Parsers of packages (`ext.PARSERS`) make the texts: functions of markup and its URL. One with
a method `for_site` first gets sample pages of each host, and returns the function for the pages of
that host.

Laws: a page that exceeds its deadline has no text, and no other page is affected: the process is
killed, and the next page starts another. A page with which a parser raises has no text either,
and costs no more than its time. After many slow pages the deadline becomes short, and a site
whose pages have cost far more than usual is read no further, so that slow pages cannot take hours,
however many they are.
"""

import gc
import marshal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from multiprocessing.connection import Connection, wait
from typing import cast
from urllib.parse import urlsplit

from minicrawl import ext
from minicrawl.errors import MinicrawlError, NoText, UsageError
from minicrawl.memory.limits import PATIENCE_S, limit_processor_time
from minicrawl.report.archived.killable_process import KillableProcess, Parent
from minicrawl.web.sites import site

DEADLINE_S, SHORT_DEADLINE_S = 5.0, 1.0
_MANY_SLOW = 20
"""Number of pages that took too long, after which deadlines are short."""
_MOST_OF_A_SITE_S = 20.0
"""Maximum time for the pages of a site, without the usual time of each."""
USUAL_S = 0.1
"""Time of a page that is not counted against its site."""
_TIMES_FOR_SAMPLE = 4
"""Time limit for learning from the sample pages of a host, in deadlines of a page."""
_SHOWN = 200
"""Maximum characters of an exception's message."""
_MOST_READ = 4 << 20
"""Maximum characters of a page that are read."""
_CODE = "from minicrawl.report.archived.page_texts import main; main()"
_FIRST_PAGE = "<p>The quick brown fox jumps over the lazy dog."


class PageTexts(AbstractContextManager["PageTexts"]):
    """Process that extracts the texts with these names, started on demand."""

    def __init__(
        self,
        names: Sequence[str],
        sample: Callable[[str], Sequence[str]] = lambda _host: (),
        deadline_s: float = DEADLINE_S,
        most_of_a_site_s: float = _MOST_OF_A_SITE_S,
        many_slow: int = _MANY_SLOW,
    ) -> None:
        """`sample` returns the markup of some pages of a host, from which parsers learn."""
        self.names, self._sample = names, sample
        self._most_of_a_site_s = most_of_a_site_s
        self._deadline_s, self._many_slow = deadline_s, many_slow
        self._hosts = set[str]()  # hosts whose samples the process has
        self._too_slow = set[str]()  # hosts whose samples took too long
        self._page: str | None = None  # to be sent when the process has learned from samples
        self._process: KillableProcess | None = None
        self._spent_s: defaultdict[str, float] = defaultdict(float)  # by site
        self._slow = 0

    def __exit__(self, *_: object) -> None:
        self._end()

    def of(self, markup: str, url: str) -> list[str]:
        """Return the texts of a page. Raise `NoText`, or UsageError for a missing package."""
        self.begin(markup, url)
        return self.finish(url)

    def begin(self, markup: str, url: str) -> None:
        """Start to extract the texts of a page, which `finish` returns. Raise `NoText`."""
        host = urlsplit(url).hostname or ""
        name = site(host)
        if self._spent_s[name] > self._most_of_a_site_s:
            raise NoText(f"its text was not made: other pages of {name} took too long")
        page = markup[:_MOST_READ]
        samples: list[str] = []
        if self.names and host not in self._hosts and host not in self._too_slow:
            self._hosts.add(host)
            samples = [page[:_MOST_READ] for page in self._sample(host)]
        if samples:
            # Other processes work while this one learns: a page behind the samples would not fit
            # into the pipe, and the parent would wait.
            self._ask(samples, host)
            self._page = page
        else:
            self._ask(page, url)

    def finish(self, url: str) -> list[str]:
        """Return the texts of the page that was begun, as `of` does."""
        host = urlsplit(url).hostname or ""
        name = site(host)
        if self._page is not None:
            # It first learns from the samples of the host.
            learned = self._answer()
            spent_s = _TIMES_FOR_SAMPLE * self._deadline_s if learned is None else learned[2]
            self._charge(name, spent_s)
            if learned is None:
                self._end()
                self._too_slow.add(host)
            self._ask(self._page, url)
            self._page = None
        answer = self._answer()
        if answer is None:
            self._charge(name, self._deadline_s)
            self._end()
            self._slow += 1
            if self._slow >= self._many_slow:
                self._deadline_s = min(self._deadline_s, SHORT_DEADLINE_S)
            raise NoText("its text was not made: it takes too long, or too much memory")
        error, texts, cost_s = answer
        self._charge(name, cost_s)
        if error:
            self._end()
            raise UsageError(error)
        if isinstance(texts, str):
            raise NoText(f"its text was not made: {texts}")
        return texts

    def _charge(self, name: str, cost_s: float) -> None:
        """Count the time beyond the usual, so that a large site of ordinary pages is read whole.

        It is processor time: on a busy machine every page would be a slow one.
        """
        self._spent_s[name] += max(0.0, cost_s - USUAL_S)

    def _ask(self, markup: str | list[str], url: str) -> None:
        if self._process is None:
            self._process = KillableProcess(_CODE, self.names)
        limit_s = self._deadline_s * (_TIMES_FOR_SAMPLE if isinstance(markup, list) else 1)
        self._process.ask(marshal.dumps((markup, url, limit_s)))

    def _answer(self) -> tuple[str, list[str] | str, float] | None:
        answer = None if self._process is None else self._process.answer(PATIENCE_S)
        return None if answer is None else marshal.loads(answer)

    def answers(self) -> Connection:
        """Return the pipe on which a page that was begun is answered."""
        assert self._process is not None, "a page was begun"
        return self._process.answers

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None
            self._hosts.clear()


def first_done(busy: Sequence[PageTexts]) -> PageTexts:
    """Return the first of these that has finished its page, or which may sleep."""
    of_pipe = {texts.answers(): texts for texts in busy}
    ready = wait([*of_pipe], PATIENCE_S)
    return of_pipe[cast(Connection, ready[0])] if ready else busy[0]


def main() -> None:
    """Run the process: make the texts of pages until the parent closes the pipe."""
    parent = Parent()
    gc.disable()  # the parsed trees have no cycles: collections would only cost time
    names, makers, error = sys.argv[1:], list[TextMaker](), ""
    of_host = dict[str, list[TextMaker]]()
    try:
        makers = list(map(text_maker, names))
        # Libraries and models are loaded now: later, the deadline of the first page would pay.
        _made(names, makers, _FIRST_PAGE, "http://localhost/")
    except MinicrawlError as missing:
        error = str(missing)
    parent.answer(b"")  # it is ready
    with suppress(EOFError, BrokenPipeError):  # the parent has closed the pipe
        while True:
            page, url, limit_s = marshal.loads(parent.asked())
            limit_processor_time(limit_s)
            texts: list[str] | str = []
            began = time.process_time()
            try:
                if isinstance(page, list):
                    learners = ((make, getattr(make, "for_site", None)) for make in makers)
                    of_host[url] = [learn(page) if learn else make for make, learn in learners]
                elif not error:
                    own = of_host.get(urlsplit(url).hostname or "", makers)
                    texts = _made(names, own, page, url)
            except MinicrawlError as missing:
                error = str(missing)
            parent.answer(marshal.dumps((error, texts, time.process_time() - began)))


TextMaker = Callable[[str, str], str]


def _made(
    names: Sequence[str], makers: Sequence[TextMaker], markup: str, url: str
) -> list[str] | str:
    texts = list[str]()
    for name, make in zip(names, makers, strict=True):
        try:
            text = make(markup, url)
        except (MinicrawlError, MemoryError):
            raise
        except Exception as error:
            return f"the parser {name!r} raised {type(error).__name__}: {error}"[:_SHOWN]
        if not isinstance(text, str | None):
            return f"the parser {name!r} returned no text but {type(text).__name__}"
        # No file can have lone surrogates, such as those of a package that reads JSON.
        texts.append(text and text.encode(errors="replace").decode())
    return texts


FIELD = "="
"""Mark before a selector, which takes the place of the name of a text."""


def text_maker(name: str) -> TextMaker:
    """Return the parser of a text, or of a selector. Raise `UsageError` if there is none."""
    if name.startswith(FIELD):
        if (point := ext.entry_points(ext.FIELDS).get("selector")) is None:
            raise UsageError("--field needs minicrawl[text]")
        return cast(Callable[[str], TextMaker], point.load())(name.removeprefix(FIELD))
    if (point := ext.entry_points(ext.PARSERS).get(name)) is None:
        raise UsageError(f"no installed package extracts the text {name!r} from pages")
    return cast(TextMaker, point.load())
