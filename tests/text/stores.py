"""Stores with a page that was kept."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from minicrawl.archive.record import PLAIN, RecordKind, pack
from minicrawl.config import Storing
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.settle.keeping import ArchivingStore, Keeping, open_archive
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
            ArchivingStore(opened, Keeping(archive)).commit(Batch(answers=[page]))
    return path
