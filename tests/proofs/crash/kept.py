"""Check that a killed crawl kept each committed response once, in the archive and in WARC files.

WARC files have a revisit in place of each page that an earlier archive has. The crawl log of a
finished crawl has each fetch once.

WARC files only grow, so the judge compares the part that it has read before by its digest and
parses only the rest.
"""

import re
from collections import Counter
from collections.abc import Iterator, Set
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, TypeVar

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind
from minicrawl.archive.segments import offset_of, place_at, segment_of
from minicrawl.archive.unpacking import read_head
from minicrawl.archive.warc.series import OPEN, WarcSeries
from minicrawl.report.crawl_log import LOG
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder
from tests.proofs.crash.web import EARLIER, PICTURES

NOT_IN_FETCHES = re.compile(f"/robots\\.txt$|{PICTURES}")
"""Matches URLs whose responses have no row in the table `fetches`."""
ANSWERED = ("page", "moved", "unchanged", "failed:not-found")
"""Outcomes on this web whose responses are kept."""
_COMPANIONS = ("request", "metadata")
_SHOWN = 3
T = TypeVar("T")


class _Read(NamedTuple):
    length: int
    digest: bytes
    answers: Counter[tuple[str, str]]
    referring: Counter[tuple[str, str]]


class KeptJudge:
    """Compares the archive and the WARC files with the fetches in the store."""

    def __init__(self, in_earlier: Set[str]) -> None:
        """`in_earlier` has the URLs of the pages that the earlier archive has."""
        self._in_earlier = in_earlier
        self._read: dict[str, _Read] = {}
        self.pictures: set[str] = set()
        """URLs of the pictures that were in the archive at the last judgement."""

    def judge(self, store: Path) -> Iterator[str]:
        """Yield a line for each fault."""
        with snapshot(store) as seen:
            query = f"SELECT page, at FROM fetches WHERE outcome IN {ANSWERED}"
            fetched = [(seen.url(page), at) for page, at in seen.connection.execute(query)]
            if (end := tables.archive_end(seen.connection)) is not None:
                archived = _archived(store, end)
                pictures = [url for url, _ in archived if PICTURES in url]
                self.pictures = set(pictures)
                if len(pictures) > len(self.pictures):
                    yield f"{len(pictures) - len(self.pictures)} pictures are kept twice"
                yield from _compared("the archive", Counter(fetched), _in_fetches(archived))
            yield from self._warcs(seen, Counter((url, _warc_date(at)) for url, at in fetched))

    def ended(self, store: Path) -> Iterator[str]:
        """Judge a finished crawl: its log, and WARC files that end exactly where the store says.

        The store may also say that the next file begins, which does not exist before its first
        record: a run was killed after it had completed a file, and the next one wrote nothing.
        """
        yield from self.judge(store)
        with snapshot(store) as seen:
            series = _series(seen)
            rows = seen.connection.execute("SELECT page, at FROM fetches")
            fetched = Counter((seen.url(page), f"{_warc_date(at)[:-4]}Z") for page, at in rows)
            warnings: list[str] = []
            lines = (line.decode().split() for line in LOG.lines(seen, warnings.append))
            logged = Counter((columns[3], columns[0]) for columns in lines)
        yield from warnings
        yield from _compared("the crawl log", fetched, _in_fetches(logged))
        assert series is not None
        sizes = [path.stat().st_size for path in _files(series)]
        if series.end not in (place_at(len(sizes), sizes[-1]), place_at(len(sizes) + 1, 0)):
            yield f"WARC files of {sizes} bytes end at {series.end}"

    def _warcs(self, seen: Snapshot, fetched: Counter[tuple[str, str]]) -> Iterator[str]:
        series = _series(seen)
        found: Counter[tuple[str, str]] = Counter()
        referring: Counter[tuple[str, str]] = Counter()
        last, length = (0, 0) if series is None else (segment_of(series.end), offset_of(series.end))
        for number, path in enumerate(_files(series) if series else (), 1):
            content = path.read_bytes()[: length if number == last else None]
            if number <= last:
                name = path.name.removesuffix(OPEN)
                known = self._read.get(name, _Read(0, sha256().digest(), Counter(), Counter()))
                if sha256(content[: known.length]).digest() != known.digest:
                    yield f"{name} has changed"
                answers, revisits = _answers(content[known.length :])
                answers, revisits = known.answers + answers, known.referring + revisits
                self._read[name] = _Read(len(content), sha256(content).digest(), answers, revisits)
                found += answers
                referring += revisits
        yield from _compared("WARC files", fetched, found)
        of_earlier = Counter({what: n for what, n in found.items() if what[0] in self._in_earlier})
        yield from _compared("revisits of the earlier archive", of_earlier, referring)


def _warc_date(at: float) -> str:
    """Format a time as WARC files do."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def _series(seen: Snapshot) -> WarcSeries | None:
    """Return the series of WARC files, or None before the first run began."""
    return WarcSeries.read(tables.counters(seen.connection).get(tables.WARC))


def _files(series: WarcSeries) -> list[Path]:
    return sorted(Path(series.folder).glob(f"{series.prefix}-*.warc.gz*"))


def _answers(content: bytes) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """Count responses, and those that refer to the earlier archive.

    Assert that each has a request and metadata, and that digests match.
    """
    found: Counter[tuple[str, str]] = Counter()
    referring: Counter[tuple[str, str]] = Counter()
    companions: Counter[tuple[str, str]] = Counter()
    for record in ArchiveIterator(BytesIO(content), check_digests="raise"):
        record.content_stream().read()
        head = record.rec_headers
        what = head.get_header("WARC-Target-URI"), head.get_header("WARC-Date")
        if record.rec_type in ("response", "revisit"):
            found[what] += len(_COMPANIONS)
            referring[what] += head.get_header("WARC-Refers-To-Date") == EARLIER
        elif record.rec_type in _COMPANIONS:
            companions[what] += 1
    assert found == companions
    once = Counter({what: count // len(_COMPANIONS) for what, count in found.items()})
    return _in_fetches(once), +referring


def _archived(store: Path, end: int) -> Counter[tuple[str, float]]:
    with closing(ArchiveReader(archive_folder(store), end)) as archive:
        heads = (
            read_head(archive.segments.read(row.place), archive.codec)
            for row in archive.index.rows(end)
            if row.kind != RecordKind.DICTIONARY
        )
        return Counter((answer.url, answer.at) for answer in heads)


def _in_fetches(answers: Counter[tuple[str, T]]) -> Counter[tuple[str, T]]:
    found = {what: count for what, count in answers.items() if not NOT_IN_FETCHES.search(what[0])}
    return Counter(found)


def _compared(
    name: str, fetched: Counter[tuple[str, str]] | Counter[tuple[str, float]], kept: object
) -> Iterator[str]:
    assert isinstance(kept, Counter)
    for problem, rest in (("lacks", fetched - kept), ("has too often", kept - fetched)):
        if rest:
            shown = ", ".join(f"{url} of {at}" for url, at in list(rest)[:_SHOWN])
            yield f"{name} {problem} {rest.total()} answers: {shown}"
