"""Finds pages with the same content, and the page that had the content first.

Laws: the index only yields candidates; a page's document tells whether it still has a content. A
thin page is compared with pages of its own host only, because short pages of other hosts are alike
without being copies.

content    hash of the text of a page
thin       page with hardly any text
original   page that has a content and stands for itself; other pages with it are its aliases
"""

from collections.abc import Set

import numpy as np

from minicrawl.compact_map import CompactHashMap
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.model import PageId, ParsedPage, Response
from minicrawl.states import State
from minicrawl.store.page_columns import Numbers as AnyNumbers
from minicrawl.store.records import DocumentRow

_MASK = (1 << 64) - 1
_SPREAD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio


class ContentIndex:
    """Map from a content to its original."""

    def __init__(self, recorder: Recorder, reopened: Set[int]) -> None:
        """Set up; of the waiting pages, only the `reopened` ones may have a document."""
        self._recorder, self._frontier = recorder, recorder.frontier
        self._reopened = reopened
        self._slots = CompactHashMap()

    def __len__(self) -> int:
        return len(self._slots)

    def load(self, pages: AnyNumbers, contents: AnyNumbers) -> None:
        """Load contents of earlier runs, except those of aliases: their originals have them."""
        are_originals = self._frontier.states()[pages] != State.ALIAS
        originals, codes = pages[are_originals], contents[are_originals].view(np.uint64)
        _, firsts = np.unique(codes, return_index=True)
        is_first = np.zeros(len(codes), dtype=np.bool_)
        is_first[firsts] = True
        # The others repeat a content, and most are thin pages. Their codes include the host:
        # otherwise one code would collect pages of many hosts.
        hosts = np.frombuffer(self._frontier.urls.host_of, dtype=np.uint32)[originals]
        codes = np.where(is_first, codes, codes ^ hosts * np.uint64(_SPREAD))
        self._slots.put_all(codes, originals.astype(np.uint32))

    def finish_loading(self) -> None:
        """Build the hash map now, so that the first look-up is quick."""
        self._slots.insert_pending()

    def describe(self, page: PageId, response: Response, parsed: ParsedPage, today: float) -> bool:
        """Record the document of a page, and return whether its content has changed."""
        # The store knows nothing of a page that is read for the first time: skip the query.
        is_first = self._frontier.state[page] == State.UNREAD and page not in self._reopened
        before = None if is_first else self._recorder.pages.document(page)
        has_changed = before is not None and before.content != parsed.content
        # A truncated page has no validators, or a server might report the rest as unchanged.
        validators = {} if response.broke_off else response.headers
        document = DocumentRow(
            page=page,
            title=parsed.title,
            status=response.status,
            etag=validators.get("etag"),
            last_modified=validators.get("last-modified"),
            content=parsed.content,
            noindex=parsed.noindex,
            first_at=today if before is None else before.first_at,
            last_at=today,
            checks=0 if before is None else before.checks + 1,
            changes=0 if before is None else before.changes + has_changed,
        )
        self._recorder.describe(document)
        if before is not None and has_changed:
            self._drop(page, before.content)
        return has_changed

    def find_or_add(self, page: PageId, parsed: ParsedPage) -> int | None:
        """Return the original with this content, or None if that is the page itself.

        A page without an original is added as one. An original that stands for the page is ignored.
        """
        content = parsed.content
        code = content & _MASK
        (pages,) = self._slots.matches((code,))
        if parsed.is_thin:
            host_of = self._frontier.urls.host_of
            code = self._code_on_host(content, page)
            pages = [other for other in pages if host_of[other] == host_of[page]]
            pages += self._slots.matches((code,))[0]
        for original in pages:
            document = self._recorder.pages.document(original)
            was_read = State(self._frontier.state[original]).was_read
            if was_read and document is not None and document.content == content:
                return None if self._frontier.books.leads_to(original, page) else original
        if page not in pages:
            self._slots.put((code,), page)
        return None

    def replace(self, first: int, page: PageId, content: int) -> None:
        for other in (first, page):
            self._drop(other, content)
        self._slots.put((content & _MASK,), page)

    def _drop(self, page: PageId, content: int) -> None:
        """Remove a page under both codes: the index does not know whether it was added as thin."""
        for code in (content & _MASK, self._code_on_host(content, page)):
            self._slots.drop(code, page)

    def _code_on_host(self, content: int, page: PageId) -> int:
        return (content ^ self._frontier.urls.host_of[page] * _SPREAD) & _MASK
