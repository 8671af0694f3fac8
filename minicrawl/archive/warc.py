"""Pages as web archives in WARC 1.1, which all replay software reads.

Laws: each record is a gzip member, so that a reader can start anywhere. A body that is in the file
already becomes a revisit. Bodies are written decoded; headers that describe the original encoding
keep their values under other names. Request records are reconstructed: only their URL is known.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha1, sha256
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from minicrawl.archive.index import index_errors, open_captures
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
from minicrawl.model import KeptAnswer
from minicrawl.own_files import refuse_links, scratch
from minicrawl.version import __version__
from minicrawl.wording import iso

_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_UNCHANGED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_HTTP = "application/http;msgtype="
_FIELDS = "application/warc-fields"
_OF_THE_WAY = frozenset(("content-encoding", "transfer-encoding", "content-length"))
SMALL, QUICK = 6, 3
"""Levels of gzip: they compress manuals to 18 % and 21 %, and QUICK takes half of the time."""
_WWW = re.compile(r"^www\d*\.")


class Capture(NamedTuple):
    """One response, with facts about its page."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    at: float
    is_confirmed: bool  # the server confirmed that the page has not changed
    cut: str
    title: str
    rank: int  # 0 while it is unknown, and for resources that are not pages
    importance: float
    hops: int


def capture_of(
    answer: Answer,
    *,
    at: float | None = None,
    title: str = "",
    rank: int = 0,
    importance: float = 0.0,
    hops: int = 0,
) -> Capture:
    """Return the capture of an archived answer. `at` is its time, if it has another one."""
    return Capture(
        url=answer.spelled or answer.url,
        status=answer.status,
        headers=answer.headers,
        body=answer.body,
        at=answer.at if at is None else at,
        is_confirmed=answer.status == HTTPStatus.NOT_MODIFIED,
        cut=answer.cut,
        title=title,
        rank=rank,
        importance=importance,
        hops=hops,
    )


class CdxLine(NamedTuple):
    """Position of a response or revisit in the file."""

    capture: Capture
    digest: str
    offset: int
    length: int
    is_revisit: bool


class Original(NamedTuple):
    """Response whose record has the body."""

    url: str
    at: float


class WarcWriter:
    """Writer of captures to a file called `name`."""

    def __init__(self, file: BinaryIO, name: str, *, offset: int = 0, level: int = SMALL) -> None:
        """`offset` is the number of bytes that the file has already."""
        self._file, self._name, self._level = file, name, level
        self.offset = offset
        """Offset of the next record."""

    def write(self, captures: Iterable[Capture], made_at: float) -> Iterator[CdxLine]:
        """Write a complete file, and yield the index line of each capture."""
        self.begin(made_at)
        originals: dict[str, Original] = {}
        for capture in captures:
            digest = payload_digest(capture.body)
            yield self.add(capture, digest, originals.get(digest) if capture.body else None)
            originals.setdefault(digest, Original(capture.url, capture.at))

    def begin(self, made_at: float) -> None:
        """Write the warcinfo record."""
        fields = {"software": f"minicrawl/{__version__}", "format": "WARC File Format 1.1"}
        named = {"WARC-Filename": self._name, "Content-Type": _FIELDS}
        self._record("warcinfo", iso(made_at), named, _fields(fields))

    def add(self, capture: Capture, digest: str, original: Original | None) -> CdxLine:
        """Write one capture. `original` is the earlier one with the same body, if any."""
        begin = self.offset
        answer = self._answer(capture, digest, original)
        line = CdxLine(capture, digest, begin, self.offset - begin, original is not None)
        self._beside(capture, answer)
        return line

    def add_text(self, url: str, date: str, text: str) -> None:
        """Write the text of a page as a record of its own, as files of texts (WET) have it."""
        named = {"WARC-Target-URI": url, "Content-Type": "text/plain; charset=utf-8"}
        self._record("conversion", date, named, text.encode("utf-8", "replace"))

    def _answer(self, capture: Capture, digest: str, original: Original | None) -> str:
        """Write the response, or a revisit of `original`. Return the record's id."""
        named = {
            "WARC-Target-URI": capture.url,
            "WARC-Payload-Digest": digest,
            "Content-Type": f"{_HTTP}response",
        }
        if capture.cut:
            named["WARC-Truncated"] = _truncated(capture.cut)
        if original is None:
            block = http_head(capture) + capture.body
            return self._record("response", iso(capture.at), named, block)
        named["WARC-Profile"] = _UNCHANGED if capture.is_confirmed else _PROFILE
        named["WARC-Refers-To-Target-URI"] = original.url
        named["WARC-Refers-To-Date"] = iso(original.at)
        return self._record("revisit", iso(capture.at), named, http_head(capture))

    def _beside(self, capture: Capture, answer: str) -> None:
        """Write the request, and the crawl's metadata of the page."""
        date = iso(capture.at)
        named = {"WARC-Target-URI": capture.url, "WARC-Concurrent-To": answer}
        parts = urlsplit(capture.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        request = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
        self._record("request", date, named | {"Content-Type": f"{_HTTP}request"}, request)
        known = {"importance": f"{capture.importance:.12g}"}
        if capture.rank:
            known["rank"] = str(capture.rank)
        known["hops"] = str(capture.hops)
        self._record("metadata", date, named | {"Content-Type": _FIELDS}, _fields(known))

    def _record(self, kind: str, date: str, named: Mapping[str, str], block: bytes) -> str:
        identity = f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{self._name} {self.offset}')}>"
        head = {"WARC-Type": kind, "WARC-Record-ID": identity, "WARC-Date": date, **named}
        head["WARC-Block-Digest"] = payload_digest(block)
        head["Content-Length"] = str(len(block))
        content = b"WARC/1.1\r\n" + _fields(head) + b"\r\n" + block + b"\r\n\r\n"
        packed = gzip.compress(content, self._level, mtime=0)
        self._file.write(packed)
        self.offset += len(packed)
        return identity


def write_warc(captures: Iterable[Capture], file: BinaryIO, name: str, made_at: float) -> None:
    """Write the captures to a file called `name`."""
    for _ in WarcWriter(file, name).write(captures, made_at):
        pass


def payload_digest(content: bytes) -> str:
    """Return a digest in the notation of web archives."""
    return f"sha1:{b32encode(sha1(content, usedforsecurity=False).digest()).decode()}"


def http_head(capture: Capture) -> bytes:
    """Return the head of the response, adapted to the decoded body."""
    try:
        phrase = HTTPStatus(capture.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {capture.status} {phrase}".rstrip()]
    for name, value in capture.headers.items():
        shown = f"x-archive-orig-{name}" if name in _OF_THE_WAY else name
        lines.append(f"{shown}: {value}")
    lines.append(f"content-length: {len(capture.body)}")
    harmless = (" ".join(line.split()) for line in lines)
    return "\r\n".join(harmless).encode("latin-1", "replace") + b"\r\n\r\n"


def _fields(named: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in named.items()).encode()


def _truncated(cut: str) -> str:
    """Return why a body is incomplete, as a WARC-Truncated value."""
    if "bytes" in cut or "large" in cut:
        return "length"
    return "time" if "timeout" in cut else "disconnect"


# ---------------------------------------------------------------- index


def cdxj(lines: Iterable[CdxLine], filename: str) -> Iterator[str]:
    """Yield the lines of a file's index, sorted as readers require."""
    yield from sorted(_cdxj(line, filename) for line in lines)


def _cdxj(line: CdxLine, filename: str) -> str:
    capture = line.capture
    kind = capture.headers.get("content-type", "").partition(";")[0].strip()
    fields = {
        "url": capture.url,
        "mime": "warc/revisit" if line.is_revisit else kind or "unk",
        "status": str(capture.status),
        "digest": line.digest,
        "length": str(line.length),
        "offset": str(line.offset),
        "filename": filename,
    }
    stamp = datetime.fromtimestamp(int(capture.at), UTC).strftime("%Y%m%d%H%M%S")
    return f"{surt(capture.url)} {stamp} {json.dumps(fields)}"


def surt(url: str) -> str:
    """Return the sort-friendly form of a URL.

    For `https://www.example.org/a/?y=1&x=2` that is `org,example)/a?x=2&y=1`.
    """
    parts = urlsplit(url.lower())
    name, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    name = _WWW.sub("", name)
    host = name if ":" in name else ",".join(reversed(name.split(".")))
    arguments = sorted(part.split("=", 1) for part in parts.query.split("&"))
    query = "?" + "&".join(map("=".join, arguments)) if parts.query else ""
    return f"{host}{port}){parts.path.removesuffix('/') or '/'}{query}".replace(" ", "%20")


# ================================================================ wacz
#
# WACZ 1.1.1: a ZIP of a WARC, its index and its pages, for replay in a browser.
#
# Laws: the pages are listed with their ranks, most important first. The manifest has the SHA-256 of
# each file in the ZIP, and a digest of its own.

_WARC = "data.warc.gz"
_INDEX = "indexes/index.cdx"
"""Path of the CDXJ index. Some programs find it under no other name."""
_VERSION = "1.1.1"
_FIRST_FAILURE = 400
"""First status of responses that are failures."""
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # earliest time of a file in a ZIP
_PIECE_BYTES = 1 << 20


def write_wacz(captures: Iterable[Capture], file: BinaryIO, made_at: float) -> None:
    """Write the captures as a WACZ file."""
    with scratch("wacz") as folder, ZipFile(file, "w") as package:
        warc = folder / _WARC
        with warc.open("wb") as out:
            lines = [_light(line) for line in WarcWriter(out, _WARC).write(captures, made_at)]
        resources = [
            _add(package, f"archive/{_WARC}", warc, ZIP_STORED),
            _add(package, _INDEX, _text(folder, cdxj(lines, _WARC))),
            _add(package, "pages/pages.jsonl", _text(folder, _pages(lines))),
        ]
        manifest = _text(folder, [_manifest(resources, iso(made_at))])
        told = _add(package, "datapackage.json", manifest)
        digest = {"path": "datapackage.json", "hash": told["hash"]}
        _add(package, "datapackage-digest.json", _text(folder, [json.dumps(digest)]))


def _light(line: CdxLine) -> CdxLine:
    """Return the line without the body."""
    return line._replace(capture=line.capture._replace(body=b""))


def _manifest(resources: list[dict[str, object]], created: str) -> str:
    document = {
        "profile": "data-package",
        "wacz_version": _VERSION,
        "software": f"minicrawl/{__version__}",
        "created": created,
        "resources": resources,
    }
    return json.dumps(document, indent=2)


def _pages(lines: Iterable[CdxLine]) -> Iterator[str]:
    """Yield a line for each page's last capture; failures are omitted."""
    yield json.dumps({"format": "json-pages-1.0", "id": "pages", "title": "All pages"})
    ranked = (line.capture for line in lines if line.capture.rank)
    last = {capture.url: capture for capture in ranked if capture.status < _FIRST_FAILURE}
    for capture in sorted(last.values(), key=lambda one: one.rank):
        fields: dict[str, object] = {"id": str(capture.rank), "url": capture.url}
        fields |= {"ts": iso(capture.at), "title": capture.title}
        yield json.dumps(fields | {"rank": capture.rank, "importance": capture.importance})


def _text(folder: Path, lines: Iterable[str]) -> Path:
    path = folder / "next"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def _add(
    package: ZipFile, name: str, content: Path, method: int = ZIP_DEFLATED
) -> dict[str, object]:
    info = ZipInfo(name, _EARLIEST)
    info.compress_type = method
    with content.open("rb") as source, package.open(info, "w", force_zip64=True) as target:
        shutil.copyfileobj(source, target, _PIECE_BYTES)
    with content.open("rb") as source:
        digest = sha256()
        while piece := source.read(_PIECE_BYTES):
            digest.update(piece)
    size = content.stat().st_size
    short = name.rpartition("/")[2]
    return {"name": short, "path": name, "hash": f"sha256:{digest.hexdigest()}", "bytes": size}


# ================================================================ warc files
#
# WARC files of a crawl: a new one every 1 GB or so, exact as of the last commit.
#
# Laws: appended records count from `confirm` on, which is called when the store has committed the
# steps of these responses; until then the next append overwrites them. The next start cuts off
# records that the store does not know: each record is a gzip member of its own, so what remains is
# a valid file. Files of other stores are never touched: each store uses its own file names.
#
# place   number of a file and offset of a record in it, as in segments
# series  the files of one store in one folder

FILE_BYTES = 1 << 30
"""Size at which a file gets no more records."""
_WRITTEN_AT_ONCE = 1 << 22


class WarcSeries(NamedTuple):
    """The WARC files of a store in a folder, and the end of the last one."""

    folder: str
    prefix: str
    store: str
    end: int = FIRST

    @classmethod
    def of(cls, folder: Path, store: Path, now: float) -> Self:
        """Return a new series with a unique name."""
        moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M%S%f")[:-3]
        return cls(str(folder), f"{store.stem}-{moment}", str(store))

    @classmethod
    def read(cls, value: object) -> Self | None:
        """Return the series that a counter of the store describes; None if it describes none."""
        if not isinstance(value, dict):
            return None
        with suppress(TypeError, ValueError):
            found = cls(**value)
            if Path(found.prefix).name == found.prefix:  # else it could lead out of the folder
                return found._replace(end=int(found.end))
        return None


class WarcFiles:
    """Series that is open for writing. The caller holds the lock of its store."""

    def __init__(self, series: WarcSeries, codec: Codec) -> None:
        """Open the series and cut off what is behind its end. The `codec` unpacks records."""
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
        """The series up to the last confirmed record."""
        return self._series._replace(end=self._mark)

    def append(self, answers: Iterable[KeptAnswer]) -> dict[str, object]:
        """Write responses behind the last confirmed record. Return the series with its new end."""
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
        """Confirm the records that were appended last."""
        self._mark = self._ahead

    def close(self, *, cuts_off: bool = True) -> None:
        """Cut off unconfirmed records; without `cuts_off`, change nothing."""
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
        answer = read_packed(kept.record, self._codec) if kept.record else _unchanged(kept.url)
        capture = capture_of(answer, at=kept.at, importance=kept.importance, hops=kept.hops)
        key = key_of(capture.url)
        digest, original = self._body_of(capture, key)
        place = place_at(segment_of(self._ahead), self._writer.offset)
        self._writer.add(capture, digest, original)
        self._captures.add(place, key, digest, capture.at, None if original else capture.url)
        if self._unwritten.tell() >= _WRITTEN_AT_ONCE:
            self._write()

    def _body_of(self, capture: Capture, key: int) -> tuple[str, Original | None]:
        """Return the digest of the body, and the earlier response that has the same body."""
        last = self._captures.last_digest(key) if capture.is_confirmed else None
        digest = last or payload_digest(capture.body)
        found = self._captures.original(digest) if last or capture.body else None
        return digest, None if found is None else Original(*found)

    # ------------------------------------------------------------ files

    def _continued(self) -> int:
        """Return the place to continue at: a new file if the last one has changed."""
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
    """Remove everything behind the end of a series."""
    number, keep = segment_of(series.end), offset_of(series.end)
    with disk_errors(Path(series.folder)):
        if (path := _path(series, number)).exists() and path.stat().st_size > keep:
            os.truncate(path, keep) if keep else path.unlink()
        while (path := _path(series, number := number + 1)).exists():
            path.unlink()


def _path(series: WarcSeries, number: int) -> Path:
    return Path(series.folder) / f"{series.prefix}-{number:05}.warc.gz"


def _unchanged(url: str) -> Answer:
    """Return the response of a server that reported the page as unchanged."""
    return Answer(url, HTTPStatus.NOT_MODIFIED, {}, b"", 0.0, RecordKind.REVISIT)
