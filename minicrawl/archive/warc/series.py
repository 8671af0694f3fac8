"""WARC files of a crawl, each up to a certain size.

A file that is being written has a name that ends in `.open`. When it is complete, its index (CDXJ)
is written beside it and it loses that suffix: from then on nobody changes it. A run ends by
completing its file, and the next run begins another one; after a kill, the next run goes on in the
open file. If the store was moved meanwhile, or the run has another name for its files, it completes
that file and begins a series of its own.

Laws: appended records count only after `confirm`, which is called when the store has committed the
steps of these responses; until then the next append overwrites them. The next start cuts off
records that the store does not know: each record is a gzip member of its own, so what remains is
a valid file. Files of other stores are never touched: each store uses its own file names.

place   number of a file and offset of a record in it, as in segments
series  the files of one store in one folder
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha1
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, Self

from minicrawl.archive.codec import Codec
from minicrawl.archive.index import index_errors
from minicrawl.archive.record import MOST_OF_A_HEAD, Answer, RecordKind, header_of, key_of
from minicrawl.archive.segments import FIRST, disk_errors, offset_of, place_at, segment_of, write_at
from minicrawl.archive.unpacking import read_head, read_packed, unpacked
from minicrawl.archive.warc.bodies import open_captures
from minicrawl.archive.warc.capture import (
    Capture,
    Original,
    capture_of,
    moment,
    payload_digest,
    shown_digest,
)
from minicrawl.archive.warc.cdxj import CdxLine, cdxj_line
from minicrawl.archive.warc.earlier import EarlierArchive
from minicrawl.archive.warc.writer import QUICK, WarcWriter
from minicrawl.model import KeptAnswer
from minicrawl.own_files import make_folder, put_in_place, refuse_links, sync

OPEN = ".open"
"""Suffix of a file that is being written, as Heritrix names it."""
_WRITTEN_AT_ONCE = 1 << 22
_SUCCESS = 2  # hundreds: the class of a status
_NO_KEY = 0
_WITHOUT_BODY = ("", payload_digest(b""))
"""Digests of captures that refer to no other one."""


class WarcSeries(NamedTuple):
    """The WARC files of a store in a folder, and the end of the last one."""

    folder: str
    prefix: str
    store: str
    end: int = FIRST
    bodies: int = 0
    """Number of bodies that an earlier response has, so that they are not written again."""
    saved_bytes: int = 0
    """Bytes of these bodies."""

    @classmethod
    def of(cls, folder: Path, store: Path, now: float, name: str = "") -> Self:
        """Return a new series with a unique prefix that begins with a name, or with the store's."""
        moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M%S%f")[:-3]
        return cls(str(folder), f"{name or store.stem}-{moment}", str(store))

    @classmethod
    def read(cls, value: object) -> Self | None:
        """Return the series that a counter of the store describes; None if it describes none."""
        if not isinstance(value, dict):
            return None
        with suppress(TypeError, ValueError):
            series = cls(**value)
            if Path(series.prefix).name == series.prefix:  # else it could lead out of the folder
                return series._replace(end=int(series.end))
        return None

    def has(self, store: Path, folder: Path, name: str) -> bool:
        """Return True if a store that writes to this folder under this name continues it."""
        is_named = not name or self.prefix.rpartition("-")[0] == name
        return (self.store, self.folder) == (str(store), str(folder)) and is_named

    def is_left_open(self, store: Path) -> bool:
        """Return True if the last file is open and belongs to this store, by whatever name.

        A store that was moved owns its series; a copy does not, as long as the original exists.
        """
        is_own = self.store == str(store) or not Path(self.store).exists()
        return is_own and self.open_path(segment_of(self.end)).exists()

    def path(self, number: int) -> Path:
        return Path(self.folder) / f"{self.prefix}-{number:05}.warc.gz"

    def open_path(self, number: int) -> Path:
        """Return the path of a file while it is written."""
        return self.path(number).with_name(f"{self.path(number).name}{OPEN}")

    def existing(self, number: int) -> Path | None:
        """Return the path of a file, complete or not, if it is in the folder."""
        both = self.open_path(number), self.path(number)
        return next((path for path in both if path.exists()), None)


class WarcFiles:
    """Series that is open for writing. The caller holds the lock of its store."""

    def __init__(
        self,
        series: WarcSeries,
        codec: Codec,
        about: Callable[[], Mapping[str, str]],
        full_bytes: int,
        earlier: Path | None = None,
    ) -> None:
        """Open the series, and cut off the bytes behind its end. `codec` unpacks records.

        `about` returns the facts of the crawl, for the first record of each file. A file of
        `full_bytes` gets no more records. `earlier` is the file with the captures of an earlier
        archive.
        """
        self._first, self._codec, self._about = series, codec, about
        self._full_bytes = full_bytes
        self._folder = Path(series.folder)
        with disk_errors(self._folder):
            make_folder(self._folder)
        for file in self._folder.glob(f"{series.prefix}-*"):
            refuse_links(file)
        cut_off(series)
        self._earlier = None if earlier is None else EarlierArchive(earlier)
        self._captures = open_captures(self._folder / f"{series.prefix}-bodies.db")
        with index_errors(self._folder):
            self._captures.begin(series.end, FIRST)  # also there, nothing is behind the end
            self._captures.commit()
        self.was_shortened = False
        self._complete_before(segment_of(series.end))
        self.series = self._next = series._replace(end=self._continued())
        """The series up to the last confirmed record."""
        self._unwritten = list[bytes]()
        self._unwritten_bytes = 0
        self._writer = self._writer_at(self.series.end)

    @property
    def saved(self) -> tuple[int, int]:
        """Number of the bodies that this run did not write again, and their bytes."""
        bodies = self.series.bodies - self._first.bodies
        return bodies, self.series.saved_bytes - self._first.saved_bytes

    def append(self, answers: Iterable[KeptAnswer]) -> dict[str, object]:
        """Write responses behind the last confirmed record. Return the series with its new end."""
        self._next, begin = self.series, self.series.end
        self._complete_before(segment_of(begin))
        self._writer = self._writer_at(begin)
        with index_errors(self._folder):
            self._captures.begin(begin, place_at(segment_of(begin), 0))
            for answer in answers:
                self._append(answer)
            self._write()
            with disk_errors(self._folder):
                last = segment_of(self._next.end)
                for number in range(segment_of(begin), last + 1):
                    with suppress(FileNotFoundError):  # nothing was written yet
                        sync(self._first.open_path(number))
                if offset_of(begin) == 0 or segment_of(begin) != last:
                    sync(self._folder)
            self._captures.commit()
        return self._next._asdict()

    def confirm(self) -> None:
        """Confirm the records that were appended last.

        Files are completed later, as this must not fail: the store has committed the batch.
        """
        self.series = self._next

    def close(self, *, completes: bool = True) -> None:
        """Complete the last file, unless it has records that the store may not know."""
        end = self.series.end
        number = segment_of(end)
        try:
            path, later = self._first.existing(number), self._first.existing(number + 1)
            length = 0 if path is None else path.stat().st_size
            if completes and later is None and length == offset_of(end):
                with index_errors(self._folder):  # without the lines of a batch that failed
                    self._captures.begin(end, FIRST)
                    self._captures.commit()
                self._complete_before(number + 1)
        finally:
            self._captures.close()
            if self._earlier is not None:
                self._earlier.close()

    def _append(self, kept_answer: KeptAnswer) -> None:
        if header_of(kept_answer.record).kind == RecordKind.RENDERED:
            answer = read_packed(kept_answer.record, self._codec)
            self._writer.add_rendered(capture_of(answer)._replace(at=kept_answer.at))
            return
        if self._writer.offset >= self._full_bytes:
            self._write()
            end = place_at(segment_of(self._next.end) + 1, 0)
            self._next = self._next._replace(end=end)
            self._writer = self._writer_at(end)
        if self._writer.offset == 0:
            self._writer.begin(kept_answer.at, self._about())
        if kept_answer.payload is not None:
            self._append_file(kept_answer, kept_answer.payload)
            return
        answer = read_packed(kept_answer.record, self._codec)
        capture = _capture(kept_answer, answer)
        if capture.is_confirmed:
            digest = self._captures.last_digest(key_of(capture.url)) or ""
        else:
            digest = payload_digest(capture.body)
        original = None if digest in _WITHOUT_BODY else self._original(capture, digest)
        self._list(self._writer.add(capture, digest, original))

    def _append_file(self, kept_answer: KeptAnswer, payload: IO[bytes]) -> None:
        """Append a response whose body is in a file, which is never in memory as a whole."""
        header, digest = header_of(kept_answer.record), sha1(usedforsecurity=False)

        def body() -> Iterator[bytes]:
            payload.seek(0)
            return islice(unpacked(header, payload, self._codec, coded=True), 1, None)

        length = 0
        for piece in body():
            digest.update(piece)
            length += len(piece)
        payload.seek(0)
        answer = read_head(kept_answer.record + payload.read(MOST_OF_A_HEAD), self._codec)
        capture = _capture(kept_answer, answer)._replace(length=length)
        named = shown_digest(digest.digest())
        original = self._original(capture, named)
        self._list(self._writer.add(capture, named, original, body))

    def _original(self, capture: Capture, digest: str) -> Original | None:
        """Return the response that has this body, here or in an earlier archive."""
        if (here := self._captures.original(digest)) is not None:
            return Original(here[0], moment(here[1]))
        if self._earlier is None:
            return None
        return self._earlier.original(capture.url, digest, capture.at)

    def _list(self, line: CdxLine) -> None:
        """Add the response that was written last to the indexes of bodies and of the file."""
        number, capture = segment_of(self._next.end), line.capture
        # A confirmation refers to the last page, not to a failure or redirect after that.
        is_page = capture.is_confirmed or (capture.status // 100 == _SUCCESS and capture.has_page)
        key = key_of(capture.url) if is_page else _NO_KEY
        url = None if line.is_revisit else capture.url
        if line.is_revisit and not capture.is_confirmed:
            length = len(capture.body) if capture.length is None else capture.length
            bodies, saved_bytes = self._next.bodies + 1, self._next.saved_bytes + length
            self._next = self._next._replace(bodies=bodies, saved_bytes=saved_bytes)
        place = place_at(number, line.offset)
        name = self._first.path(number).name
        shown = cdxj_line(line, name) if capture.has_page else ""  # as in `warc.cdxj`
        self._captures.add(place, key, line.digest, capture.at, url, shown)

    def _continued(self) -> int:
        """Return the place to continue at: in the open file, if its length is that in the store.

        An open file whose index is lost gets no more records: its CDXJ would lack the older ones.
        """
        end = self._first.end
        number = segment_of(end)
        path, first = self._first.existing(number), place_at(number, 0)
        self.was_shortened = path is not None and path.stat().st_size != offset_of(end)
        is_open = path == self._first.open_path(number) and not self.was_shortened
        if offset_of(end) == 0 or (is_open and self._captures.has_lines(first, end)):
            return end
        return place_at(number + 1, 0)

    def _complete_before(self, number: int) -> None:
        """Complete the open files before the one with this number, the first one first.

        So a kill leaves no open file behind a complete one, where the next start would not look.
        """
        first = number
        while self._first.open_path(first - 1).exists():
            first -= 1
        for each in range(first, number):
            self._complete(each)

    def _complete(self, number: int) -> None:
        begin, end = place_at(number, 0), place_at(number + 1, 0)
        with disk_errors(self._folder):
            if self._captures.has_lines(begin, end):
                index = self._folder / f"{self._first.prefix}-{number:05}.cdxj"
                draft = index.with_name(f"{index.name}.draft")
                with draft.open("w", encoding="utf-8") as file:
                    file.writelines(f"{line}\n" for line in self._captures.lines(begin, end))
                put_in_place(draft, index)  # a complete file must not lack its index
            self._first.open_path(number).rename(self._first.path(number))
            sync(self._folder)

    def _writer_at(self, place: int) -> WarcWriter:
        self._unwritten.clear()
        self._unwritten_bytes = 0
        name, offset = self._first.path(segment_of(place)).name, offset_of(place)
        return WarcWriter(self._take, name, offset=offset, level=QUICK)

    def _take(self, content: bytes) -> None:
        """Take the next bytes of the writer of records, and write them when they are many."""
        self._unwritten.append(content)
        self._unwritten_bytes += len(content)
        if self._unwritten_bytes >= _WRITTEN_AT_ONCE:
            self._write()

    def _write(self) -> None:
        if content := b"".join(self._unwritten):
            end = self._next.end
            write_at(self._first.open_path(segment_of(end)), offset_of(end), content)
            self._next = self._next._replace(end=end + len(content))
            self._unwritten.clear()
            self._unwritten_bytes = 0


def _capture(kept_answer: KeptAnswer, answer: Answer) -> Capture:
    importance, hops = kept_answer.importance, kept_answer.hops
    return capture_of(answer)._replace(at=kept_answer.at, importance=importance, hops=hops)


def cut_off(series: WarcSeries) -> None:
    number, keep = segment_of(series.end), offset_of(series.end)
    with disk_errors(Path(series.folder)):
        path = series.existing(number)
        if path is not None and path.stat().st_size > keep:
            os.truncate(path, keep) if keep else path.unlink()
        while (path := series.existing(number := number + 1)) is not None:
            path.unlink()
