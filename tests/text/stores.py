"""Stores with a page that was kept."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from minicrawl.archive.record import PLAIN, RecordKind, pack
from minicrawl.config import Storing
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.settle.keeping import ArchiveSinks, StoreWithArchive, open_archive
from minicrawl.model import KeptAnswer, Response
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import HEADERS
from tests.stores import HandCrawl

URLS = ("http://a.example/", "http://a.example/unread")


def store_of(
    folder: Path, body: bytes, headers: Mapping[str, str] | None = None, keep: str = "pages"
) -> Path:
    """Return the path of a store with one page that was kept, and one that was not read."""
    path = folder / "crawl.db"
    crawl = HandCrawl(path)
    crawl.seeds(URLS)
    crawl.read(URLS[0])
    crawl.commit()
    crawl.store.close()
    kind = RecordKind.TEXT if keep == "text" else RecordKind.PAGE
    with closing(StoreWriter.open(path)) as opened:
        archive = open_archive(opened, Storing(keep=keep), nobody_listens)
        assert archive is not None
        with closing(archive):
            answer = Response(status=200, headers=HEADERS | dict(headers or {}), body=body)
            page = KeptAnswer(pack(kind, URLS[0], answer, PLAIN, number=0), 1.0)
            StoreWithArchive(opened, ArchiveSinks(archive)).commit(Batch(answers=[page]))
    return path


def store_of_many(folder: Path, bodies: Sequence[bytes]) -> Path:
    """Return the path of a store of pages /0, /1 and so on, of which every third was not kept."""
    path, urls = folder / "crawl.db", [f"http://a.example/{n}" for n in range(len(bodies))]
    crawl = HandCrawl(path)
    crawl.seeds(urls)
    for url in urls:
        crawl.read(url)
    crawl.commit()
    crawl.store.close()
    with closing(StoreWriter.open(path)) as opened:
        archive = open_archive(opened, Storing(), nobody_listens)
        assert archive is not None
        with closing(archive):
            for number, (url, body) in enumerate(zip(urls, bodies, strict=True)):
                if number % 3:
                    answer = Response(status=200, headers=HEADERS, body=body)
                    page = KeptAnswer(pack(RecordKind.PAGE, url, answer, PLAIN, number=0), 1.0)
                    StoreWithArchive(opened, ArchiveSinks(archive)).commit(Batch(answers=[page]))
    return path
