"""Stores with archives, for tests of what a crawl keeps."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from minicrawl.config import Storing
from minicrawl.crawl.events import Listener, nobody_listens
from minicrawl.crawl.settle.keeping import StoreWithArchive, open_keeping
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import body, kept, url


@contextmanager
def archiving(
    path: Path, tell: Listener = nobody_listens, **storing: Any
) -> Iterator[StoreWithArchive]:
    """Open a store with its archive and WARC files, as `app` does."""
    with (
        closing(StoreWriter.open(path)) as store,
        closing(open_keeping(store, Storing(**storing), tell)) as keeping,
    ):
        yield StoreWithArchive(store, keeping)


def keep(both: StoreWithArchive, *numbers: int) -> None:
    """Commit the responses of pages with these numbers."""
    both.commit(Batch(answers=[kept(url(number), body(number)) for number in numbers]))
