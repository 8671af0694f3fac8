"""Soft 404s: pages that look like what their server answers where nothing is.

    folders     the hundred with most pages that were read, such as https://a.org/shop/
    requests    two URLs in each of them where nothing is
    lines       what these answers say that usual pages of the folder and of the host do not
    findings    pages in the folder, or below it, that say little else

How texts are compared is in `web.responses.soft_404`. If the URLs were requested in the last day,
the findings of then stand.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Set
from functools import partial
from itertools import islice
from pathlib import Path

from minicrawl.checking.link_asker import BodyReader, Hops
from minicrawl.checking.targets import read_pages
from minicrawl.crawl.workers.loop_rounds import LoopRounds
from minicrawl.model import Response
from minicrawl.report.archived.page_versions import kept_pages, markup_of
from minicrawl.report.snapshot import Snapshot, places_of_largest, snapshot
from minicrawl.store.derived.checks import FindingRow, all_findings
from minicrawl.web.encoding.detection import decode
from minicrawl.web.html.page_text import plain_text
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.responses.soft_404 import (
    SOFT_404,
    MissingPage,
    asks_for_password,
    missing_siblings,
)
from minicrawl.web.urls import origin

_MOST_FOLDERS, _USUAL_PAGES = 100, 9
"""Most folders to request missing pages in, and most pages to learn a folder's usual lines from."""
_DEEPEST = 8
"""Folders of a page that count, from the root: a hostile URL has thousands."""


class MissingPages:
    """Answers of folders where nothing is; each of its three methods is called once, in order."""

    def __init__(self, store: Path, fresh: Set[str], reader: BodyReader) -> None:
        """`fresh` are the URLs that were checked in the last day."""
        self._store, self._fresh, self._reader = store, fresh, reader
        self.hops: list[Hops] = []
        self._missing: dict[str, dict[str, str]] = defaultdict(dict)  # folder -> URL -> text
        self._with_login = set[str]()  # folders whose missing pages ask for a password
        self._was_asked = False

    def missing_urls(self) -> list[str]:
        """Return URLs of the largest folders where nothing should be; none if asked lately."""
        with snapshot(self._store) as view:
            counts = Counter(folder for _, url in read_pages(view) for folder in _folders(url))
        largest = [folder for folder, count in counts.most_common(_MOST_FOLDERS) if count > 1]
        urls = [url for folder in largest for url in missing_siblings(folder)]
        self._was_asked = not self._fresh.isdisjoint(urls)
        return [] if self._was_asked else urls

    async def keep(self, hops: Hops) -> None:
        """Keep the text of a page that should not exist, unless it redirects to another page."""
        self.hops.append(hops)
        (url, result), *redirects = hops
        if isinstance(result, Response) and result.body and not redirects:
            folder = _folders(url)[-1]
            read = partial(_text_and_login, content_type=result.headers.get("content-type"))
            if (answer := await self._reader.read(read, result, url)) is not None:
                self._missing[folder][url], has_login = answer
                if has_login:
                    self._with_login.add(folder)

    async def soft_404s(self) -> list[FindingRow]:
        """Return pages that look like missing ones; those of the last check if it was lately."""
        with snapshot(self._store) as view:
            if self._was_asked:
                return list(all_findings(self._store, view.connection, SOFT_404))
            return [row async for row in self._like_missing(view)] if self._missing else []

    async def _like_missing(self, snapshot: Snapshot) -> AsyncIterator[FindingRow]:
        pages = read_pages(snapshot)
        usual: dict[str, list[str]] = {
            name: [] for folder in self._missing for name in (_folders(folder)[0], folder)
        }
        importance = snapshot.importance[[page for page, _ in pages]]
        for place in places_of_largest(importance, 0).tolist():
            for folder in _folders(url := pages[place][1]):
                if folder in usual and len(usual[folder]) < _USUAL_PAGES:
                    usual[folder].append(url)
        with kept_pages(snapshot) as archive:

            def markup(url: str) -> str:
                return markup_of(archive, url) or ""

            def missing_page(folder: str) -> MissingPage | None:
                root = _folders(folder)[0]
                groups = [{url: markup(url) for url in usual[name]} for name in (root, folder)]
                if folder in self._with_login:
                    has_login = [
                        asks_for_password(html) for group in groups for html in group.values()
                    ]
                    if 2 * sum(has_login) <= len(has_login):  # not that of the site's header
                        return None
                texts = [{url: plain_text(html) for url, html in group.items()} for group in groups]
                return MissingPage(self._missing[folder], plain_text(markup(root)), texts)

            missing, rounds = {}, LoopRounds()
            for folder in self._missing:
                await rounds.turn()
                if (example := missing_page(folder)) is not None:
                    missing[folder] = example
            for page, url in pages:
                await rounds.turn()
                # Pages of a folder that is gone as a whole look like missing pages of one above it.
                above = [missing[folder] for folder in _folders(url) if folder in missing]
                text = plain_text(markup(url)) if above else ""
                if text and any(sample.is_like(url, text) for sample in above):
                    yield FindingRow(page, url, SOFT_404, "")


def _text_and_login(body: bytes, content_type: str | None) -> tuple[str, bool]:
    markup, _ = decode(body, parse_content_type(content_type)[1])
    return plain_text(markup), asks_for_password(markup)


def _folders(url: str) -> list[str]:
    """Return the folders that a page is in, the root of its host first, down to a limit."""
    path, start = url.partition("?")[0], len(origin(url))
    ends = (at + 1 for at in range(start, len(path)) if path[at] == "/")
    return [path[:end] for end in islice(ends, _DEEPEST)]
