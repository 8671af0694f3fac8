"""Archives with known content, for tests."""

from collections.abc import Iterable
from contextlib import closing
from functools import partial
from pathlib import Path

from minicrawl.archive.codec import PLAIN, Codec
from minicrawl.archive.index import INDEX_FILE
from minicrawl.archive.packing import spare_dictionary, spare_path
from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.archive.record import RecordKind, pack, pack_unchanged
from minicrawl.archive.segments import FIRST, SEGMENT_BYTES, Segments, offset_of, segment_of
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.model import KeptAnswer, Response, Wire

NOON = 1_700_000_000.0
HEADERS = {"content-type": "text/html; charset=utf-8", "server": "tests"}


def delete_index(folder: Path) -> None:
    for file in folder.glob(f"{INDEX_FILE}*"):
        file.unlink()


def answered(body: bytes, status: int = 200) -> Response:
    type_of_pdf = {"content-type": "application/pdf"} if body.startswith(b"%PDF") else {}
    return Response(status=status, headers=HEADERS | type_of_pdf, body=body)


def kept(
    url: str, body: bytes, at: float = NOON, *, folder: Path | None = None, number: int = 0
) -> KeptAnswer:
    """Return a page as a worker packs it for the archive."""
    codec = Codec(partial(spare_dictionary, folder or Path()))
    return KeptAnswer(pack(RecordKind.PAGE, url, answered(body), codec, number=number), at)


def confirmed(url: str, at: float, wire: Wire | None = None) -> KeptAnswer:
    """Return the response of a server that confirms that a page has not changed."""
    return KeptAnswer(pack_unchanged(url, wire), at, url)


def failed(url: str, body: bytes, at: float = NOON, status: int = 404) -> KeptAnswer:
    record = pack(RecordKind.FAILURE, url, answered(body, status), PLAIN, number=0)
    return KeptAnswer(record, at)


def url(number: int) -> str:
    return f"http://a.example/{number}"


def body(number: int) -> bytes:
    """Return a page that resembles those of other numbers, so that a dictionary helps."""
    words = " ".join(f"word{number * k % 97}" for k in range(60))
    return f"<html><title>Page {number}</title><p>{words}<p>number {number}</html>".encode()


def written(
    folder: Path,
    *batches: Iterable[KeptAnswer],
    begin: int = FIRST,
    segment_bytes: int = SEGMENT_BYTES,
) -> int:
    """Append each batch to an archive in a commit of its own, and return the archive's end."""
    with closing(ArchiveWriter(folder, begin, segment_bytes=segment_bytes)) as archive:
        for batch in batches:
            archive.append(batch)
            archive.confirm()
        return archive.end


def filled(folder: Path, numbers: Iterable[int], segment_bytes: int = SEGMENT_BYTES) -> int:
    """Create an archive of numbered pages in one commit, and return its end."""
    pages = (kept(url(n), body(n), NOON + n) for n in numbers)
    return written(folder, pages, segment_bytes=segment_bytes)


TRAINING = 400
"""Number of pages after which a dictionary is trained."""


def trained(folder: Path, numbers: range, segment_bytes: int = SEGMENT_BYTES) -> int:
    """Create an archive of which only the first pages are packed without a dictionary."""
    begin = FIRST
    for some in (numbers[:TRAINING], numbers[TRAINING:]):
        number = int(begin > FIRST)
        pages = (kept(url(one), body(one), folder=folder, number=number) for one in some)
        begin = written(folder, pages, begin=begin, segment_bytes=segment_bytes)
        assert spare_path(folder, 1).exists()
    return begin


def damage(folder: Path, place: int, count: int = 1) -> None:
    """Change bytes of an archive."""
    path, begin = Segments(folder).path(segment_of(place)), offset_of(place)
    content = bytearray(path.read_bytes())
    for at in range(begin, begin + count):
        content[at] ^= 0xFF
    path.write_bytes(content)


def kinds(folder: Path, end: int | None = None) -> list[RecordKind]:
    """Return the kinds of all records, oldest first."""
    with closing(ArchiveReader(folder, end)) as reader:
        return [RecordKind(row.kind) for row in reader.index.rows(reader.end)]


def read(folder: Path, end: int | None = None) -> dict[str, list[bytes]]:
    """Return all bodies of an undamaged archive, oldest first, by URL."""
    with closing(ArchiveReader(folder, end)) as reader:
        assert list(verify(reader)) == []
        return bodies(reader)


def bodies(reader: ArchiveReader) -> dict[str, list[bytes]]:
    """Return all bodies that can be read, oldest first, by URL."""
    found: dict[str, list[bytes]] = {}
    for row in reader.index.rows(reader.end):
        if row.kind != RecordKind.DICTIONARY:
            answer = reader.answer(row.place)
            found.setdefault(answer.url, []).append(answer.body)
    return found
