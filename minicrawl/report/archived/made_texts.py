"""Texts of archived pages, made by processes beside whoever reads them.

A parser of texts may be anybody's package: slow, learning from other pages of the site, or never
done with one page. So a process of its own makes them, which is given up with the page if it takes
too long, and pages go on in order:

    page      1        2        3        4
    process   a        b        a        b      whichever is done first gets the next page
    yielded   1        2        3        4      at most `MOST_AHEAD` wait for an earlier one
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Self

import numpy as np

from minicrawl import ext
from minicrawl.archive.reader import ArchiveReader, last_page
from minicrawl.archive.record import RecordKind
from minicrawl.errors import MinicrawlError, NoText
from minicrawl.report.archived.page_versions import PageVersion, kept_pages, markup_of
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import tables
from minicrawl.web.responses.types import DocumentType

if TYPE_CHECKING:  # reports that show a few links start without the parsers
    from minicrawl.report.archived.page_texts import PageTexts

MAIN = "main"
_MAIN_TEXTS = (MAIN, "markdown")
_PAGES_OF_SITE, _LARGEST_OF_SITE = 200, 1 << 18
"""Maximum sample pages of a host, from which parsers learn, and maximum characters of each."""
MOST_AHEAD = 16
"""Maximum number of pages that wait for the texts of an earlier page."""


def _begin_texts(page: PageVersion, texts: PageTexts) -> None:
    is_page = page.document is DocumentType.HTML
    texts.begin(page.markup if is_page else f"<pre>{escape(page.text)}</pre>", page.answer.url)


def _finished_texts(page: PageVersion, texts: PageTexts) -> Sequence[str]:
    made = texts.finish(page.answer.url)
    if page.document is DocumentType.HTML:
        return made
    return [
        page.text if name in _MAIN_TEXTS else text
        for name, text in zip(texts.names, made, strict=True)
    ]


class MadeTexts:
    """Maker of the texts of a snapshot's pages, with a process for each text that was asked for."""

    def __enter__(self) -> Self:
        return self

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, self._open = snapshot, ExitStack()
        self._gone = tables.taken_down(tables.counters(snapshot.connection))
        self._texts: dict[str, PageTexts] = {}

    def __exit__(self, *_: object) -> None:
        self._texts.clear()
        self._open.close()

    def of(self, page: PageVersion, name: str) -> str | None:
        """Return the text that a package extracts; None if only the whole text was archived."""
        if page.answer.kind is RecordKind.TEXT:
            return None
        if name not in self._texts:
            from minicrawl.report.archived.page_texts import PageTexts

            archive = self._open.enter_context(kept_pages(self._snapshot))
            sample = partial(pages_of_site, self._snapshot, archive)
            self._texts[name] = self._open.enter_context(PageTexts([name], sample))
        maker = self._texts[name]
        _begin_texts(page, maker)
        return self._gone.conceal_in(_finished_texts(page, maker)[0] or "")


class ComparedTexts(MadeTexts):
    """Comparer of two versions of a page: by main text if both have one, else by whole text."""

    def __init__(self, snapshot: Snapshot, archive: ArchiveReader) -> None:
        super().__init__(snapshot)
        self._archive, self._has_main = archive, MAIN in ext.entry_points(ext.PARSERS)

    def around(self, url: str, moment: float) -> tuple[str, str] | None:
        """Return the texts of the last version before a moment and of the last one, if any."""
        rows = self._archive.versions(url)
        before, last = last_page([row for row in rows if row.at < moment]), last_page(rows)
        if not before or before == last:
            return None
        old, new = (
            PageVersion(self._archive.answer(rows[number - 1].place), number, len(rows))
            for number in (before, last)
        )
        whole = old.text, new.text
        # Most pages have the same words when they are read again: skip their slow main texts.
        if whole[0].split() == whole[1].split():
            return whole
        mains = self._main_of(old), self._main_of(new)
        return (mains[0], mains[1]) if mains[0] and mains[1] else whole

    def _main_of(self, page: PageVersion) -> str | None:
        """Return the main text, or None if it cannot be extracted."""
        try:
            return self.of(page, MAIN) if self._has_main else None
        except NoText:
            return None
        except MinicrawlError:  # the extractor is not installed
            self._has_main = False
            return None


def pages_of_site(snapshot: Snapshot, archive: ArchiveReader, host: str) -> list[str]:
    """Return the markup of up to 200 pages of a host, spread evenly over the pages read."""
    numbers = [number for number, name in enumerate(snapshot.hosts) if name == host]
    pages = np.flatnonzero(np.isin(snapshot.host_of, numbers) & snapshot.was_read)
    # Spread evenly, because pages found together are alike: the first 200 pages of a host are often
    # from one section.
    chosen = pages[:: len(pages) // _PAGES_OF_SITE + 1]
    markups: list[str] = []
    for url in map(snapshot.url, chosen.tolist()):
        markup = markup_of(archive, url)
        if markup is not None and len(markup) <= _LARGEST_OF_SITE:
            markups.append(markup)
    return markups


OfPage = tuple[str, PageVersion | None]


@dataclass(slots=True)
class _TextTurn:
    """A page whose texts are made; `maker` works on it, and `texts` are None meanwhile."""

    of: OfPage
    maker: PageTexts | None = None
    texts: dict[str, str | None] | None = None


class _TextTurns:
    """Pages whose texts several processes make; one that is done gets the next page."""

    def __init__(self, makers: Sequence[PageTexts], warn: Callable[[str], None]) -> None:
        self._names, self._idle, self._warn = makers[0].names, [*makers], warn
        self.turns = deque[_TextTurn]()

    def begin(self, url_and_page: OfPage) -> None:
        """Begin with a page, after an earlier one if all processes are busy."""
        from minicrawl.report.archived.page_texts import first_done

        page, turn = url_and_page[1], _TextTurn(url_and_page)
        self.turns.append(turn)
        if not self._names or page is None or page.answer.kind is RecordKind.TEXT:
            turn.texts = dict.fromkeys(self._names)
            return
        if not self._idle:
            busy = {turn.maker: turn for turn in self.turns if turn.maker is not None}
            self.finish(busy[first_done([*busy])])
        maker = self._idle.pop()
        try:
            _begin_texts(page, maker)
            turn.maker = maker
        except NoText as error:
            self._idle.append(maker)
            self._refuse(turn, error)

    def finish(self, turn: _TextTurn) -> None:
        """Take the texts of a page; if it takes too long, they are None."""
        maker, page = turn.maker, turn.of[1]
        if maker is None or page is None:
            return
        turn.maker = None
        self._idle.append(maker)
        try:
            turn.texts = dict(zip(self._names, _finished_texts(page, maker), strict=True))
        except NoText as error:
            self._refuse(turn, error)

    def _refuse(self, turn: _TextTurn, error: NoText) -> None:
        self._warn(f"{turn.of[0]}: {error}")
        turn.texts = dict.fromkeys(self._names)


def with_texts(
    pages: Iterable[OfPage], makers: Sequence[PageTexts], warn: Callable[[str], None]
) -> Iterator[tuple[OfPage, dict[str, str | None]]]:
    """Yield the pages in order with their texts by name, which processes make beside."""
    making = _TextTurns(makers, warn)
    turns = making.turns
    for page in pages:
        making.begin(page)
        while turns and (turns[0].texts is not None or len(turns) > MOST_AHEAD):
            making.finish(turn := turns.popleft())
            yield turn.of, turn.texts or {}
    for turn in turns:
        making.finish(turn)
        yield turn.of, turn.texts or {}
