"""Verifies WARC and WACZ files of any program, and CDXJ files against them.

A line for each problem names file, place and URL:

    records    lengths, members that cannot be decompressed, bytes that belong to no record
    digests    of blocks and payloads; a payload may have had its chunks when it was hashed, or not
    revisits   their original, if it is in one of the files, has the payload that they name
    packages   length and SHA-256 of each file in a WACZ file, and the digest of its manifest
    indexes    lines are in order, and each leads to a record of its URL and payload

Laws: one record is held at a time, and a few numbers for each. What cannot be verified is no
problem, and is counted: digests of other algorithms, blocks beyond `MOST_BYTES`, revisits whose
original is in another file, lines about other files.
"""

import gzip
import json
import zlib
from base64 import b32encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import new as hasher
from pathlib import Path
from typing import IO, cast
from zipfile import BadZipFile, ZipFile

from minicrawl.fetch.http.framing import ByChunks
from minicrawl.fetch.http.http1 import BLANK_LINE
from minicrawl.fetch.warc.files import is_recorded, warc_files
from minicrawl.fetch.warc.members import GZIP
from minicrawl.fetch.warc.records import MOST_HEAD_BYTES, WarcRecord, WarcRecords

MOST_BYTES = 1 << 28
_INDEXES = (".cdxj", ".cdx", ".cdxj.gz", ".cdx.gz")
_ALGORITHMS = ("md5", "sha1", "sha256", "sha512")
_PIECE_BYTES = 1 << 20
_LONGEST_LINE = 1 << 20
_HEADER_LINES = ("!", "@")
_NO_REVISIT_OF = "server-not-modified"


def verifiable(place: Path) -> list[Path]:
    """Return a file, or the files of a folder that can be verified; none of an archive's own."""
    if not place.is_dir():
        return [place]
    if any(place.glob("segment-*.pages")):
        return []
    return sorted(file for file in place.iterdir() if _is_index(file) or is_recorded(file))


def _is_index(file: Path) -> bool:
    return file.is_file() and file.name.endswith(_INDEXES)


class Verification:
    """Verification of files that belong together."""

    def __init__(self) -> None:
        self.records = 0
        self.unverified = Counter[str]()
        """Number of things that could not be verified, by what they are."""
        self._captures = defaultdict[str, dict[int, tuple[int, int]]](dict)
        """Hashes of URL and digest of each record, by file name and place."""
        self._payloads = dict[int, int]()
        """Hash of the payload digest of each response, by hashes of its ID, and of URL and date."""
        self._revisits = list[tuple[str, tuple[int, ...], int]]()

    def problems(self, files: Iterable[Path]) -> Iterator[str]:
        indexes = list[Path]()
        for file in files:
            if _is_index(file):
                indexes.append(file)
                continue
            for part in warc_files(file):
                name = part.name.rpartition("/")[2]
                lines = list[str]()
                for record in WarcRecords(part, MOST_BYTES + MOST_HEAD_BYTES, lines.append):
                    yield from lines
                    lines.clear()
                    self.records += 1
                    where = f"{part.name}: at byte {record.place:,}: the {record.kind}"
                    yield from self._wrong(where, name, record)
                yield from lines
            with file.open("rb") as raw:
                is_package = raw.read(2) == b"PK"
            if is_package:
                yield from self._package(file)
        for where, originals, digest in self._revisits:
            known = [self._payloads[key] for key in originals if key in self._payloads]
            if not known:
                self.unverified["revisit of responses in other files"] += 1
            elif digest not in known:
                yield f"{where} refers to a response with another payload"
        for file in indexes:
            with file.open("rb") as index:
                yield from self._index(str(file), index)

    def _wrong(self, where: str, name: str, record: WarcRecord) -> Iterator[str]:
        fields, block = record.fields, record.block
        where = f"{where} of {record.url}" if record.url else where
        payload = fields.get("warc-payload-digest", "")
        if record.is_cut:
            self.unverified["longer record"] += 1
        else:
            stated = fields.get("warc-block-digest", "")
            if stated and not self._agrees(stated, [block]):
                yield f"{where} has a block with another digest"
            if payload and record.kind != "revisit" and not self._agrees(payload, _forms(record)):
                yield f"{where} has a payload with another digest"
        date, known = fields.get("warc-date", ""), hash(payload.lower())
        if record.kind in ("response", "resource", "revisit") and record.url:
            self._captures[name][record.place] = hash(record.url), known
        if record.kind in ("response", "resource"):
            self._payloads[hash(fields.get("warc-record-id", ""))] = known
            self._payloads[hash((record.url, date[:19]))] = known
        elif record.kind == "revisit" and _NO_REVISIT_OF not in fields.get("warc-profile", ""):
            url = fields.get("warc-refers-to-target-uri", "").strip("<> ")
            by_date = hash((url, fields.get("warc-refers-to-date", "")[:19]))
            originals = hash(fields.get("warc-refers-to", "-")), by_date
            self._revisits.append((where, originals, known))

    def _agrees(self, stated: str, forms: Sequence[bytes]) -> bool:
        """Return True if a digest is that of one of these forms, or cannot be verified."""
        algorithm, _, value = stated.partition(":")
        name = algorithm.lower().replace("-", "")
        if name not in _ALGORITHMS:
            self.unverified["digest of another algorithm"] += 1
            return True
        stated = value.lower().rstrip("=")
        digests = (hasher(name, form, usedforsecurity=False).digest() for form in forms)
        return any(
            stated in (digest.hex(), b32encode(digest).decode().rstrip("=").lower())
            for digest in digests
        )

    def _package(self, file: Path) -> Iterator[str]:
        """Compare the files in a WACZ file with its manifest, and its indexes with the records."""
        try:
            with ZipFile(file) as package:
                manifest = package.read("datapackage.json")
                digest = json.loads(package.read("datapackage-digest.json"))
                if digest["hash"] != f"sha256:{hasher('sha256', manifest).hexdigest()}":
                    yield f"{file}: datapackage.json has another digest"
                for resource in json.loads(manifest)["resources"]:
                    name, (algorithm, _, value) = resource["path"], resource["hash"].partition(":")
                    code, length = hasher(algorithm), 0
                    with package.open(name) as content:
                        while piece := content.read(_PIECE_BYTES):
                            code.update(piece)
                            length += len(piece)
                    if (length, code.hexdigest()) != (resource["bytes"], value):
                        yield f"{file}: {name} is not the file that datapackage.json describes"
                for name in package.namelist():
                    if name.endswith(_INDEXES):
                        with package.open(name) as index:
                            yield from self._index(f"{file}: {name}", index)
        except (BadZipFile, KeyError, ValueError, TypeError, OSError, zlib.error) as error:
            yield f"{file}: its manifest or a file in it cannot be read ({error})"

    def _index(self, name: str, raw: IO[bytes]) -> Iterator[str]:
        before = ""
        try:
            for number, line in enumerate(_lines(raw), 1):
                if not line.strip() or line.startswith(_HEADER_LINES):
                    continue
                if line < before:
                    yield f"{name}: line {number:,} is not in order"
                before = line
                try:
                    fields = json.loads(line.split(" ", 2)[2])
                    captures = self._captures.get(Path(fields["filename"]).name)
                    place, url = int(fields["offset"]), str(fields["url"])
                    digest = str(fields.get("digest", "")).lower()
                except (ValueError, LookupError, TypeError, AttributeError):
                    yield f"{name}: line {number:,} cannot be read"
                    continue
                if captures is None:
                    self.unverified["line about other files"] += 1
                elif (capture := captures.get(place)) is None:
                    yield f"{name}: line {number:,}: no record of {url} begins at byte {place:,}"
                elif capture[0] != hash(url):
                    yield f"{name}: line {number:,}: the record is not of {url}"
                elif digest and capture[1] not in map(hash, (digest, f"sha1:{digest}", "")):
                    yield f"{name}: line {number:,}: the record of {url} has another digest"
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            yield f"{name}: it cannot be decompressed ({error})"


def _lines(raw: IO[bytes]) -> Iterator[str]:
    is_packed = raw.read(len(GZIP)) == GZIP
    raw.seek(0)
    unpacked = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if is_packed else raw
    while line := unpacked.readline(_LONGEST_LINE):
        yield line.decode("utf-8", "replace")


def _forms(record: WarcRecord) -> list[bytes]:
    """Return the payload of a record, and that without its chunks."""
    is_http = record.fields.get("content-type", "").startswith("application/http")
    end = BLANK_LINE.search(record.block) if is_http else None
    payload = record.block[end.end() :] if end else record.block
    chunks = ByChunks()
    pieces = [chunks.feed(payload)]
    while chunks.has_more:
        pieces.append(chunks.feed(b""))
    return [payload, b"".join(pieces)] if chunks.ended else [payload]
