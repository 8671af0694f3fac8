"""Archives for tests."""

from collections.abc import Iterable
from pathlib import Path

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import PLAIN, Codec, RecordKind, pack, spare_dictionary
from minicrawl.archive.segments import FIRST
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.errors import Damaged
from minicrawl.model import KeptAnswer, Response

NOON = 1_700_000_000.0
HEADERS = {"content-type": "text/html; charset=utf-8", "server": "tests"}


def answered(body: bytes, status: int = 200) -> Response:
    return Response(status=status, headers=HEADERS, body=body)


def kept(
    url: str, body: bytes, at: float = NOON, *, folder: Path | None = None, number: int = 0
) -> KeptAnswer:
    """As a worker packs it."""

    def dictionary(wanted: int) -> bytes:
        assert folder is not None
        return spare_dictionary(folder, wanted)

    record = pack(RecordKind.PAGE, url, answered(body), Codec(dictionary), number=number)
    return KeptAnswer(record, at)


def failed(url: str, body: bytes, at: float = NOON, status: int = 404) -> KeptAnswer:
    """What came in place of a page."""
    record = pack(RecordKind.FAILURE, url, answered(body, status), PLAIN, number=0)
    return KeptAnswer(record, at)


def url(number: int) -> str:
    return f"http://a.example/{number}"


def body(number: int) -> bytes:
    """A page of its own, a little like the others."""
    words = " ".join(f"word{number * k % 97}" for k in range(60))
    return f"<html><title>Page {number}</title><p>{words}<p>number {number}</html>".encode()


def filled(folder: Path, numbers: Iterable[int]) -> int:
    """An archive of these pages, and its end."""
    writer = ArchiveWriter(folder, FIRST)
    end = writer.append(kept(url(number), body(number), NOON + number) for number in numbers)
    writer.confirm()
    writer.close()
    return end


def bodies(reader: ArchiveReader) -> dict[str, list[bytes]]:
    """All that can be read, by URL."""
    found: dict[str, list[bytes]] = {}
    for row in reader.index.rows(reader.end):
        if row.kind != RecordKind.DICTIONARY:
            answer = reader.answer(row.place)
            found.setdefault(answer.url, []).append(answer.body)
    return found


def no_dictionary(number: int) -> bytes:
    raise Damaged(f"dictionary {number} is gone")
