"""What a killed crawl has kept: each committed answer once, in the archive and in WARC files.

WARC files only grow, so what was read of them before is compared, and not read again.
"""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, TypeVar

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind, read_head
from minicrawl.archive.segments import offset_of, place_at, segment_of
from minicrawl.archive.warc_series import OPEN, WarcSeries
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder
from tests.crash.web import PICTURES

_OF_NO_TURN = re.compile(f"/robots\\.txt$|{PICTURES}")
"""Answers that are in no row of fetches."""
ANSWERED = ("page", "moved", "unchanged", "failed:not-found")
"""Outcomes whose answers are kept, of those that this web has."""
_BESIDE = ("request", "metadata")
_SHOWN = 3
T = TypeVar("T")


class _Read(NamedTuple):
    length: int
    digest: bytes
    answers: Counter[tuple[str, str]]


class KeptJudge:
    """Compares what is kept with what the store says."""

    def __init__(self) -> None:
        self._read: dict[str, _Read] = {}
        self.pictures: set[str] = set()
        """Those that were in the archive when it was judged last."""

    def judge(self, store: Path) -> Iterator[str]:
        """A line for each thing that is wrong."""
        with snapshot(store) as seen:
            query = f"SELECT page, at FROM fetches WHERE outcome IN {ANSWERED}"
            fetched = [(seen.url(page), at) for page, at in seen.connection.execute(query)]
            if (end := tables.archive_end(seen.connection)) is not None:
                archived = _archived(store, end)
                pictures = [url for url, _ in archived if PICTURES in url]
                self.pictures = set(pictures)
                if len(pictures) > len(self.pictures):
                    yield f"{len(pictures) - len(self.pictures)} pictures are kept twice"
                yield from _compared("the archive", Counter(fetched), _with_turns(archived))
            yield from self._warcs(seen, Counter((url, _moment(at)) for url, at in fetched))

    def ended(self, store: Path) -> Iterator[str]:
        """The same when nothing is under way: files end where the store says.

        Or a new file begins there, which is made with its first record: a run that was killed
        after it had completed its file, and then one that kept nothing.
        """
        yield from self.judge(store)
        with snapshot(store) as seen:
            series = _series(seen)
        assert series is not None
        sizes = [path.stat().st_size for path in _files(series)]
        if series.end not in (place_at(len(sizes), sizes[-1]), place_at(len(sizes) + 1, 0)):
            yield f"WARC files of {sizes} bytes end at {series.end}"

    def _warcs(self, seen: Snapshot, fetched: Counter[tuple[str, str]]) -> Iterator[str]:
        series = _series(seen)
        found: Counter[tuple[str, str]] = Counter()
        last, length = (0, 0) if series is None else (segment_of(series.end), offset_of(series.end))
        for number, path in enumerate(_files(series) if series else (), 1):
            content = path.read_bytes()[: length if number == last else None]
            if number <= last:
                name = path.name.removesuffix(OPEN)
                known = self._read.get(name, _Read(0, sha256().digest(), Counter()))
                if sha256(content[: known.length]).digest() != known.digest:
                    yield f"{name} has changed"
                answers = known.answers + _answers(content[known.length :])
                self._read[name] = _Read(len(content), sha256(content).digest(), answers)
                found += answers
        yield from _compared("WARC files", fetched, found)


def _moment(at: float) -> str:
    """As a WARC file writes it."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def _series(seen: Snapshot) -> WarcSeries | None:
    """None until the first run has begun."""
    return WarcSeries.read(tables.counters(seen.connection).get(tables.WARC))


def _files(series: WarcSeries) -> list[Path]:
    return sorted(Path(series.folder).glob(f"{series.prefix}-*.warc.gz*"))


def _answers(content: bytes) -> Counter[tuple[str, str]]:
    """Whole gzip members with right digests; each answer is followed by what goes with it."""
    found: Counter[tuple[str, str]] = Counter()
    beside: Counter[tuple[str, str]] = Counter()
    for record in ArchiveIterator(BytesIO(content), check_digests="raise"):
        record.content_stream().read()
        head = record.rec_headers
        what = head.get_header("WARC-Target-URI"), head.get_header("WARC-Date")
        if record.rec_type in ("response", "revisit"):
            found[what] += len(_BESIDE)
        elif record.rec_type in _BESIDE:
            beside[what] += 1
    assert found == beside
    return _with_turns(Counter({what: count // len(_BESIDE) for what, count in found.items()}))


def _archived(store: Path, end: int) -> Counter[tuple[str, float]]:
    with closing(ArchiveReader(archive_folder(store), end)) as archive:
        heads = (
            read_head(archive.segments.read(row.place), archive.codec)
            for row in archive.index.rows(end)
            if row.kind != RecordKind.DICTIONARY
        )
        return Counter((answer.url, answer.at) for answer in heads)


def _with_turns(answers: Counter[tuple[str, T]]) -> Counter[tuple[str, T]]:
    found = {what: count for what, count in answers.items() if not _OF_NO_TURN.search(what[0])}
    return Counter(found)


def _compared(
    name: str, fetched: Counter[tuple[str, str]] | Counter[tuple[str, float]], kept: object
) -> Iterator[str]:
    assert isinstance(kept, Counter)
    for problem, rest in (("lacks", fetched - kept), ("has too often", kept - fetched)):
        if rest:
            shown = ", ".join(f"{url} of {at}" for url, at in list(rest)[:_SHOWN])
            yield f"{name} {problem} {rest.total()} answers: {shown}"
