"""A data set: an export as files of limited size, with a manifest and a data card.

    pages-00000.parquet   rows of pages, or records of a web archive
    index-00000.parquet   beside pages-00000.warc.gz: Common Crawl's columnar index of its records
    README.md             data card; its head tells `datasets` of Hugging Face where the rows are
    manifest.json         settings, counts, permitted uses, and the files with their hashes

Laws: one store and the same options make the same bytes, at any time and in any folder, so times
are those of the store. The manifest is written last: a folder without one is incomplete. Memory
holds a block of rows and the index of one file. Only files with the names above are replaced.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import file_digest
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from minicrawl.archive.warc.capture import Capture
from minicrawl.archive.warc.writer import WarcWriter
from minicrawl.errors import UsageError
from minicrawl.own_files import replacing
from minicrawl.report.files.columnar_index import INDEX, IndexRow, index_blocks, index_row
from minicrawl.report.files.data_card import card
from minicrawl.report.files.parquet import write_parquet
from minicrawl.report.files.rows import Writer
from minicrawl.report.selected_pages import Block

MANIFEST, CARD = "manifest.json", "README.md"
_OWN = re.compile(rf"(?:pages|index)-\d{{5,}}\.[a-z.]+|{re.escape(MANIFEST)}|{re.escape(CARD)}")


class DataSet:
    """Folder of files, each of about `most_bytes`."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder, self._most_bytes = folder, most_bytes
        self.files: list[dict[str, Any]] = []
        """Name, bytes, rows and sha256 of each file."""

    def prepare(self, *, force: bool) -> None:
        """Make the folder. Raise `UsageError` if it has files, unless they may be replaced."""
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{self.folder} is a file: name a folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        old_files = [file for file in self.folder.iterdir() if _OWN.fullmatch(file.name)]
        if old_files and not force:
            raise UsageError(f"{self.folder} has a data set: --force replaces it")
        for file in sorted(old_files, key=lambda file: file.name != MANIFEST):
            file.unlink()

    def write_rows(
        self, rows: Iterable[Block], suffix: str, columns: Sequence[str], write: Writer
    ) -> None:
        """Write blocks of rows into at least one file, even without rows."""
        remaining = iter(rows)
        first = next(remaining, None)
        while not self.files or first is not None:
            blocks = chain(() if first is None else (first,), remaining)
            with self._file("pages", suffix) as (_, file, count):
                write(self._until_full(blocks, file, count), file, columns)
            first = next(remaining, None)

    def write_warcs(
        self,
        captures: Iterator[Capture],
        made_at: float,
        about: Mapping[str, str],
        crawl: str,
    ) -> None:
        """Write captures, each file with its index; `crawl` is the crawl's name in the index."""
        first = next(captures, None)
        while not self.files or first is not None:
            all_captures = chain(() if first is None else (first,), captures)
            rows: list[IndexRow] = []
            with self._file("pages", "warc.gz") as (name, file, count):
                writer = WarcWriter(file.write, name)
                for line in writer.write(all_captures, made_at, about):
                    count(1)
                    rows.append(index_row(line, name, crawl))
                    if writer.offset >= self._most_bytes:
                        break
            with self._file("index", "parquet") as (_, file, count):
                count(len(rows))
                write_parquet(index_blocks(rows), file, tuple(INDEX), types=INDEX)
            first = next(captures, None)

    def finish(self, manifest: Mapping[str, object]) -> None:
        whole = {**manifest, "files": self.files}
        with replacing(self.folder / CARD) as file:
            file.write(card(whole).encode())
        with replacing(self.folder / MANIFEST) as file:
            file.write(f"{json.dumps(whole, indent=1, sort_keys=True)}\n".encode())

    @contextmanager
    def _file(
        self, kind: str, suffix: str
    ) -> Iterator[tuple[str, BinaryIO, Callable[[int], None]]]:
        """Yield the name of the next file, the file, and a function that counts its rows."""
        rows = 0

        def count(more: int) -> None:
            nonlocal rows
            rows += more

        number = sum(made["name"].startswith(kind) for made in self.files)
        name = f"{kind}-{number:05}.{suffix}"
        place = self.folder / name
        with replacing(place) as file:
            yield name, file, count
        with place.open("rb") as written:
            digest = file_digest(written, "sha256").hexdigest()
        size = place.stat().st_size
        self.files.append({"name": name, "bytes": size, "rows": rows, "sha256": digest})

    def _until_full(
        self, blocks: Iterable[Block], file: BinaryIO, count: Callable[[int], None]
    ) -> Iterator[Block]:
        for block in blocks:
            count(len(next(iter(block.values()))))
            yield block
            if file.tell() >= self._most_bytes:
                return


def read_until(folder: Path) -> float:
    """Return the time of the last fetch in a data set, from its manifest."""
    place = folder / MANIFEST if folder.is_dir() else folder
    try:
        value = json.loads(place.read_text(encoding="utf-8"))["read_until"]
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        value = None
    if not isinstance(value, int | float):
        raise UsageError(f'{place} is not the manifest of a data set: it has no "read_until"')
    return float(value)
