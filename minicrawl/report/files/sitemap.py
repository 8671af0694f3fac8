"""Export format `xml`: a sitemap of the pages that search engines should know.

It lists the pages of the host with most pages that answered 200, may be indexed and stand for
themselves. `lastmod` is when the crawl found that a page had changed, or found the page. Beyond
50,000 pages the file is an index of `sitemap-1.xml`, `sitemap-2.xml`, … beside it.
"""

from collections.abc import Callable, Iterable, Iterator
from xml.sax.saxutils import escape

import numpy as np

from minicrawl.report.links.verdicts import soft_404s
from minicrawl.report.snapshot import Snapshot, urls
from minicrawl.states import State
from minicrawl.store import questions, request_log
from minicrawl.wording import iso

MOST = 50_000
"""Most pages of a sitemap that search engines read."""
_AT_ONCE = 10_000
_OK = 200
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<{} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'

Pages = np.typing.NDArray[np.int64]


class SitemapFormat:
    """Format of sitemaps, for `minicrawl.exporters`."""

    def lines(self, snapshot: Snapshot, warn: Callable[[str], None]) -> Iterator[bytes]:
        """Yield a line for each page, or for each file of an index."""
        pages = _pages(snapshot)
        if not len(pages):
            warn("no page may be indexed")
        origin = snapshot.origins[snapshot.host_of[pages[0]]] if len(pages) else ""
        if len(pages) <= MOST:
            return _written("urlset", "url", _entries(snapshot, pages))
        names = (name for name, _ in self.parts(snapshot))
        return _written("sitemapindex", "sitemap", ((f"{origin}/{name}", "") for name in names))

    def parts(self, snapshot: Snapshot) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield names and lines of the files of an index; none if there is no index."""
        pages = _pages(snapshot)
        if len(pages) > MOST:
            for number, start in enumerate(range(0, len(pages), MOST), 1):
                block = pages[start : start + MOST]
                lines = _written("urlset", "url", _entries(snapshot, block))
                yield f"sitemap-{number}.xml", lines


SITEMAP = SitemapFormat()


def _pages(snapshot: Snapshot) -> Pages:
    is_listed = snapshot.states == State.FETCHED
    is_listed[questions.noindex_pages(snapshot.connection)] = False
    is_listed[soft_404s(snapshot)] = False
    counts = np.bincount(snapshot.host_of[is_listed], minlength=1)
    return np.flatnonzero(is_listed & (snapshot.host_of == counts.argmax()))


def _entries(snapshot: Snapshot, pages: Pages) -> Iterator[tuple[str, str]]:
    """Yield URL and lastmod of each page that answered 200."""
    changes = dict(request_log.changes(snapshot.connection, 0))
    for start in range(0, len(pages), _AT_ONCE):
        block = pages[start : start + _AT_ONCE]
        rows = questions.documents(snapshot.connection, block.tolist())
        for row, url in zip(rows, urls(snapshot, block), strict=True):
            if row.status == _OK:
                yield url, iso(changes.get(row.page, row.first_at))


def _written(root: str, tag: str, entries: Iterable[tuple[str, str]]) -> Iterator[bytes]:
    """Yield an element for each entry; the first one has the head with it, the last one the end."""
    begin = _HEAD.format(root)
    line = ""
    for url, lastmod in entries:
        if line:
            yield line.encode()
        changed = lastmod and f"<lastmod>{lastmod}</lastmod>"
        line = f"{begin}<{tag}><loc>{escape(url)}</loc>{changed}</{tag}>\n"
        begin = ""
    yield f"{line or begin}</{root}>\n".encode()
