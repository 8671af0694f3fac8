"""Contents: what each page said when it was read last, and which page has said it first.

Laws: the index gives candidates; the document of a page proves that it has a content still. A thin
page is compared with pages of its own host only, because pages of other hosts say as little without
being copies of it.

content    a hash of the text of a page
thin       said of a page with hardly any text
original   the page that has a content and is itself; others with the same are its aliases
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import PageId, ParsedPage, Response, State
from minicrawl.slots import Slots
from minicrawl.store.columns import Numbers
from minicrawl.store.records import DocumentRow

_MASK = (1 << 64) - 1
_SPREAD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio


class ContentIndex:
    """content -> the original."""

    def __init__(self, recorder: Recorder, reopened: Set[int]) -> None:
        """Of the pages that wait, only the `reopened` ones may have a document."""
        self._recorder, self._frontier = recorder, recorder.frontier
        self._reopened = reopened
        self._slots = Slots()

    def __len__(self) -> int:
        return len(self._slots)

    def load(self, pages: Numbers, contents: Numbers) -> None:
        """Contents of earlier runs; the content of an alias is that of another page."""
        are_originals = self._frontier.states()[pages] != State.ALIAS
        originals, codes = pages[are_originals], contents[are_originals].view(np.uint64)
        _, firsts = np.unique(codes, return_index=True)
        is_first = np.zeros(len(codes), dtype=np.bool_)
        is_first[firsts] = True
        # The others are thin, or many hosts would stand under one code.
        hosts = np.frombuffer(self._frontier.urls.host_of, dtype=np.uint32)[originals]
        codes = np.where(is_first, codes, codes ^ hosts * np.uint64(_SPREAD))
        self._slots.put_all(codes, originals.astype(np.uint32))

    def finish_loading(self) -> None:
        """Build the hash map now, so that the first look-up is not slow."""
        self._slots.insert_pending()

    def describe(self, page: PageId, response: Response, parsed: ParsedPage, today: float) -> bool:
        """The page was read: keep what it is now, and drop the content that it had before.

        Answers with whether that was another one.
        """
        # Of a page that is read for the first time the store knows nothing: spare the question.
        is_first = self._frontier.state[page] == State.UNREAD and page not in self._reopened
        before = None if is_first else self._recorder.pages.document(page)
        self._recorder.describe(_document(page, response, parsed, today, before))
        if before is None or before.content == parsed.content:
            return False
        self._drop(page, before.content)
        return True

    def find_or_add(self, page: PageId, parsed: ParsedPage) -> int | None:
        """The original with the content of the page; without one, the page is it from now on."""
        content = parsed.content
        code = content & _MASK
        pages = self._slots.matches(code)
        if parsed.is_thin:
            host_of = self._frontier.urls.host_of
            code = self._code_on_host(content, page)
            pages = [other for other in pages if host_of[other] == host_of[page]]
            pages += self._slots.matches(code)
        first = next((other for other in pages if self._has_still(other, content)), None)
        if first is None and page not in pages:
            self._slots.put(code, page)
        return None if first is None or self._frontier.books.leads_to(first, page) else first

    def replace(self, first: int, page: PageId, content: int) -> None:
        """The page is the original with this content from now on, and no longer the first one."""
        for other in (first, page):
            self._drop(other, content)
        self._slots.put(content & _MASK, page)

    def _drop(self, page: PageId, content: int) -> None:
        """Whether it was added as a thin page or not."""
        for code in (content & _MASK, self._code_on_host(content, page)):
            self._slots.drop(code, page)

    def _code_on_host(self, content: int, page: PageId) -> int:
        return (content ^ self._frontier.urls.host_of[page] * _SPREAD) & _MASK

    def _has_still(self, page: PageId, content: int) -> bool:
        document = self._recorder.pages.document(page)
        was_read = State(self._frontier.state[page]).was_read
        return was_read and document is not None and document.content == content


def _document(
    page: PageId, response: Response, parsed: ParsedPage, today: float, before: DocumentRow | None
) -> DocumentRow:
    # A page that broke off has no validators, or a server might say that the rest is unchanged.
    validators = {} if response.broke_off else response.headers
    first_at, checks, changes = today, 0, 0
    if before is not None:
        first_at, checks = before.first_at, before.checks + 1
        changes = before.changes + (before.content != parsed.content)
    return DocumentRow(
        page=page,
        title=parsed.title,
        status=response.status,
        etag=validators.get("etag"),
        last_modified=validators.get("last-modified"),
        content=parsed.content,
        noindex=parsed.noindex,
        first_at=first_at,
        last_at=today,
        checks=checks,
        changes=changes,
    )
