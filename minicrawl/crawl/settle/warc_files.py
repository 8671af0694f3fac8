"""The WARC files that a crawl writes: a new one at about 1 GB, exact as of the last commit.

Laws: what is appended counts from `confirm` on, which is called when the store has committed the
steps of these answers; until then the next append writes over it. The next start cuts off what the
store does not know of: each record is a gzip member of its own, so what is left is a whole file.
Files that no store knows of are never touched: each store writes to files with a name of its own.

place   where a record begins: the number of its file and the offset in it, as in segments
series  the files of one store in one folder
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Self

from minicrawl.archive.captures import open_captures
from minicrawl.archive.index import index_errors
from minicrawl.archive.record import Answer, Codec, RecordKind, key_of, read_packed
from minicrawl.archive.segments import (
    FIRST,
    disk_errors,
    offset_of,
    place_at,
    segment_of,
    sync,
    write_at,
)
from minicrawl.export.warc import QUICK, Capture, Original, WarcWriter, payload_digest
from minicrawl.model import KeptAnswer
from minicrawl.own_files import refuse_links

FILE_BYTES = 1 << 30
"""A file that is as long as this gets no more records."""
_WRITTEN_AT_ONCE = 1 << 22


class WarcSeries(NamedTuple):
    """The files of a store in a folder, and where the last one ends."""

    folder: str
    prefix: str
    store: str
    end: int = FIRST

    @classmethod
    def of(cls, folder: Path, store: Path, now: float) -> Self:
        """A new series, with a name that no other one has."""
        moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M%S%f")[:-3]
        return cls(str(folder), f"{store.stem}-{moment}", str(store))

    @classmethod
    def read(cls, value: object) -> Self | None:
        """From a counter of the store; None if it has none."""
        if not isinstance(value, dict):
            return None
        with suppress(TypeError, ValueError):
            found = cls(**value)
            if Path(found.prefix).name == found.prefix:  # else a stranger's, which leads elsewhere
                return found._replace(end=int(found.end))
        return None


class WarcFiles:
    """A series that is open for writing. Whoever opens it holds the lock of its store."""

    def __init__(self, series: WarcSeries, codec: Codec) -> None:
        """Cuts off what lies behind its end; `codec` reads the records of answers."""
        self._series, self._codec = series, codec
        self._folder = Path(series.folder)
        with disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        for file in self._folder.glob(f"{series.prefix}-*"):
            refuse_links(file)
        cut_off(series)
        self._mark = self._ahead = self._continued()
        self.was_shortened = self._mark != series.end and self._path(series.end).exists()
        self._captures = open_captures(self._folder / f"{series.prefix}-bodies.db")
        self._unwritten = BytesIO()
        self._writer = self._writer_at(self._mark)

    @property
    def series(self) -> WarcSeries:
        """The series, with the place behind the last record that was confirmed."""
        return self._series._replace(end=self._mark)

    def append(self, answers: Iterable[KeptAnswer]) -> dict[str, object]:
        """Write answers behind the last confirmed record; answers with the series as it is then."""
        self._ahead = begin = self._mark
        self._writer = self._writer_at(begin)
        with index_errors(self._folder):
            self._captures.begin(begin)
            for answer in answers:
                self._append(answer)
            self._write()
            self._sync(begin)
            self._captures.commit()
        return self._series._replace(end=self._ahead)._asdict()

    def confirm(self) -> None:
        """What was appended last stays."""
        self._mark = self._ahead

    def close(self, *, cuts_off: bool = True) -> None:
        """Drop what was not confirmed; without `cuts_off`, change nothing."""
        self._captures.close()
        if cuts_off:
            cut_off(self.series)

    # ------------------------------------------------------------ one answer

    def _append(self, kept: KeptAnswer) -> None:
        if self._writer.offset >= FILE_BYTES:
            self._write()
            self._ahead = place_at(segment_of(self._ahead) + 1, 0)
            self._writer = self._writer_at(self._ahead)
        if self._writer.offset == 0:
            self._writer.begin(kept.at)
        capture = _capture(kept, self._codec)
        key = key_of(capture.url)
        digest, original = self._body_of(capture, key)
        place = place_at(segment_of(self._ahead), self._writer.offset)
        self._writer.add(capture, digest, original)
        self._captures.add(place, key, digest, capture.at, None if original else capture.url)
        if self._unwritten.tell() >= _WRITTEN_AT_ONCE:
            self._write()

    def _body_of(self, capture: Capture, key: int) -> tuple[str, Original | None]:
        """The digest of the body, and the answer that has it already."""
        last = self._captures.last_digest(key) if capture.is_confirmed else None
        digest = last or payload_digest(capture.body)
        found = self._captures.original(digest) if last or capture.body else None
        return digest, None if found is None else Original(*found)

    # ------------------------------------------------------------ files

    def _continued(self) -> int:
        """Where to go on: in a file of its own, if the last one is not there as it was."""
        end = self._series.end
        path = self._path(end)
        length = path.stat().st_size if path.exists() else 0
        return end if length == offset_of(end) else place_at(segment_of(end) + 1, 0)

    def _path(self, place: int) -> Path:
        return _path(self._series, segment_of(place))

    def _writer_at(self, place: int) -> WarcWriter:
        self._unwritten = BytesIO()
        name, offset = self._path(place).name, offset_of(place)
        return WarcWriter(self._unwritten, name, offset=offset, level=QUICK)

    def _write(self) -> None:
        content = self._unwritten.getvalue()
        if content:
            write_at(self._path(self._ahead), offset_of(self._ahead), content)
            self._ahead += len(content)
            self._unwritten.seek(0)
            self._unwritten.truncate()

    def _sync(self, begin: int) -> None:
        with disk_errors(self._folder):
            for number in range(segment_of(begin), segment_of(self._ahead) + 1):
                with suppress(FileNotFoundError):  # nothing was written yet
                    sync(_path(self._series, number))
            if offset_of(begin) == 0 or segment_of(begin) != segment_of(self._ahead):
                sync(self._folder)


def cut_off(series: WarcSeries) -> None:
    """Remove what lies behind the end of a series."""
    number, keep = segment_of(series.end), offset_of(series.end)
    with disk_errors(Path(series.folder)):
        if (path := _path(series, number)).exists() and path.stat().st_size > keep:
            os.truncate(path, keep) if keep else path.unlink()
        while (path := _path(series, number := number + 1)).exists():
            path.unlink()


def _path(series: WarcSeries, number: int) -> Path:
    return Path(series.folder) / f"{series.prefix}-{number:05}.warc.gz"


def _capture(kept: KeptAnswer, codec: Codec) -> Capture:
    answer = read_packed(kept.record, codec) if kept.record else _unchanged(kept.url)
    return Capture(
        url=answer.spelled or answer.url,
        status=answer.status,
        headers=answer.headers,
        body=answer.body,
        at=kept.at,
        is_confirmed=answer.status == HTTPStatus.NOT_MODIFIED,
        cut=answer.cut,
        title="",
        rank=0,
        importance=kept.importance,
        hops=kept.hops,
    )


def _unchanged(url: str) -> Answer:
    """What a server said that the page has not changed."""
    return Answer(url, HTTPStatus.NOT_MODIFIED, {}, b"", 0.0, RecordKind.REVISIT)
