"""Stores with kept pages."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from minicrawl.archive.codec import PLAIN
from minicrawl.archive.record import RecordKind, pack
from minicrawl.config import Storing
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.record.archiving import ArchiveSinks, open_archive
from minicrawl.crawl.record.store_with_archive import StoreWithArchive
from minicrawl.model import KeptAnswer, Response
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import HEADERS, answered
from tests.stores import NOON, HandCrawl

URLS = ("http://a.example/", "http://a.example/unread")


def store_of(
    folder: Path, body: bytes, headers: Mapping[str, str] | None = None, keep: str = "pages"
) -> Path:
    """Create a store with one page that was kept, and one that was not read."""
    response = Response(status=200, headers=HEADERS | dict(headers or {}), body=body)
    return _store(folder, URLS, URLS[:1], {URLS[0]: response}, keep)


def store_of_many(folder: Path, bodies: Sequence[bytes]) -> Path:
    """Create a store of pages /0, /1 and so on; every third was not kept."""
    urls = [f"http://a.example/{n}" for n in range(len(bodies))]
    kept = {urls[n]: answered(body) for n, body in enumerate(bodies) if n % 3}
    return _store(folder, urls, urls, kept, "pages")


def _store(
    folder: Path,
    urls: Sequence[str],
    read: Sequence[str],
    kept: Mapping[str, Response],
    keep: str,
) -> Path:
    path = folder / "crawl.db"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(urls)
        for url in read:
            crawl.read(url)
    keep_more(path, kept, keep)
    return path


def keep_more(path: Path, kept: Mapping[str, Response], keep: str = "pages") -> None:
    """Add responses to the archive of a store, as the latest versions of their pages."""
    kind = RecordKind.TEXT if keep == "text" else RecordKind.PAGE
    with closing(StoreWriter.open(path)) as opened:
        archive = open_archive(opened, Storing(keep=keep), nobody_listens)
        assert archive is not None
        with closing(archive):
            pages = [
                KeptAnswer(pack(kind, url, response, PLAIN, number=0), NOON)
                for url, response in kept.items()
            ]
            StoreWithArchive(opened, ArchiveSinks(archive)).commit(Batch(answers=pages))
