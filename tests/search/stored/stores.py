"""Stores with kept pages, for tests of the search."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from minicrawl.store import tables
from minicrawl.web.html.page import parse_page
from tests.archive.archives import HEADERS, answered
from tests.stores import HandCrawl
from tests.text.stores import keep_more

if TYPE_CHECKING:
    from minicrawl.search.entries import PageEntry

Pages = Mapping[str, bytes]

HOME, SEA, PIER, UNREAD, HIDDEN, OLD = (
    f"http://a.example/{name}" for name in ("", "sea", "pier", "unread", "hidden", "old")
)
PAGES = {
    HOME: b"<title>Home - A</title><nav>Menu</nav><p>Welcome <a href=sea>The sea</a>"
    b"<a href=unread>A secret lighthouse</a><a href=hidden>hidden</a><a href=old>The old sea</a>",
    SEA: b"<title>The sea - A</title><nav>Menu</nav><p>Water, salt &amp; fish."
    b"<a href=pier>A wooden pier</a>",
    PIER: b"<title>Pier - A</title><nav>Menu</nav><p>Planks over water. \x1b[31m\xe2\x80\xae",
    HIDDEN: b"<title>Hidden</title><p>quicksilver",
}


@contextmanager
def going_on(path: Path) -> Iterator[HandCrawl]:
    """Continue the crawl of a store by hand."""
    with closing(HandCrawl(path)) as crawl:
        crawl.frontier = crawl.loaded()
        crawl.batch.counters |= tables.counters(crawl.store.connection)
        yield crawl
        crawl.checkpoint()


def read_into(path: Path, pages: Pages, *, noindex: Iterable[str] = ()) -> None:
    """Add pages to a store in order, with their links, and keep them in its archive."""
    hidden = set(noindex)
    with going_on(path) as crawl:
        for url, body in pages.items():
            if crawl.frontier.urls.find(url) is None:
                crawl.seeds([url])
            parsed = parse_page(body, url, HEADERS)
            crawl.read(url, parsed.links, title=parsed.title, noindex=url in hidden)
    keep(path, pages)


def indexed(path: Path, pages: Mapping[str, str]) -> Path:
    """Create a store with pages and its search index, and return its path."""
    from minicrawl.search.indexing.rounds import bring_up_to_date  # the room may be absent

    read_into(path, {url: page.encode() for url, page in pages.items()})
    bring_up_to_date(path)
    return path


def index_of(folder: Path, entries: Iterable["PageEntry"]) -> Path:
    """Create an index of read pages in a search folder, and return the folder."""
    from minicrawl.search.index import FOLDER, SearchIndex

    index = SearchIndex(folder / FOLDER)
    index.write()
    for entry in entries:
        index.replace(entry._replace(at=1e9))
    index.commit()
    index.close()
    return folder


def prose(seed: int, length: int = 200) -> str:
    """Return reproducible random text of 400 different words."""
    return " ".join(Random(seed).choices([f"word{number}" for number in range(400)], k=length))


def keep(path: Path, pages: Pages) -> None:
    """Add pages to the archive of a store."""
    keep_more(path, {url: answered(body) for url, body in pages.items()})
