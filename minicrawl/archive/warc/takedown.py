"""Removes the records of URLs from WARC files, which may be of any program.

Laws: a file is replaced by a rewritten copy only after the copy was read and has exactly the
records that stay, byte for byte, and after that was logged. So each file is complete at any time,
before or after. A file in which a byte belongs to no record is refused, as a URL could be there.

A record is removed if it is about such a URL, or if it belongs to a removed record: a request or
metadata of that time, or a revisit whose body is there. For example, with /a taken down:

    response  /a   <1>                      removed
    request   /a   concurrent to <1>        removed
    revisit   /b   refers to /a             removed: the text of /a is its body
    request   /b   concurrent to the revisit    removed
    response  /c                            stays, in a new place; its line in the CDXJ follows
"""

import gzip
import json
import re
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from hashlib import file_digest, sha256
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from minicrawl.archive.objects.moved_file import STUB, delete_object, opened
from minicrawl.archive.segments import disk_errors
from minicrawl.archive.warc.bodies import open_captures
from minicrawl.errors import Damaged, MinicrawlError
from minicrawl.own_files import put_in_place, refuse_links, sync
from minicrawl.web.urls import canonical, pictured

_ENDINGS = (".warc", ".warc.gz")
_OTHERS = (".wacz", ".warc.zst", ".arc", ".arc.gz", ".warc.gz.open")
"""Endings of archives that are not rewritten."""
_MOST_HEAD_BYTES = 1 << 20
_PIECE_BYTES = 1 << 20
_URL = re.compile(r"https?://\S+")
_FIELDS = "application/warc-fields"
_RELATED = ("warc-concurrent-to", "warc-refers-to")
_ANSWERS = ("response", "revisit", "resource")

_Key = tuple[str, str, bool]
"""Target and time of a response, and whether it is a revisit."""
Fits = Callable[[str], object]
"""Function that tells whether a canonical URL was taken down."""


class _Record(NamedTuple):
    head: bytes
    fields: Mapping[str, str]
    length: int
    """Length of the block, which follows in the file."""

    @property
    def target(self) -> str:
        return self.fields.get("warc-target-uri", "").strip("<> ")

    @property
    def url(self) -> str:
        """URL in the target, which some programs name like `urn:text:http://a.example/`."""
        match = _URL.search(self.target)
        return match[0] if match else ""


LOG = "takedowns.jsonl"
"""File with a line for each file that was rewritten, in its folder."""


def take_down(
    places: Iterable[Path], fits: Fits, reason: Mapping[str, str]
) -> tuple[list[str], int, list[str]]:
    """Remove the records of URLs from WARC files, and from those in folders.

    Each file that is replaced is logged before, with the `reason`, the digests of the old and the
    new file and the IDs of the removed records. No URL is in the log.

    Return the files that were rewritten, the number of removed records, and the archives that may
    still have some, each with the reason.
    """
    files, unreached = dict[Path, None](), list[str]()
    for place in places:
        for file in sorted(place.iterdir()) if place.is_dir() else [place]:
            moved = file.with_name(file.name.removesuffix(STUB))
            if moved.name.endswith(_ENDINGS):
                files[refuse_links(moved)] = None
                if moved.exists():  # a kill may have left its objects; the next run moves it again
                    stem = moved.name.removesuffix(".gz").removesuffix(".warc")
                    delete_object(moved)
                    delete_object(moved.with_name(f"{stem}.cdxj"))
            elif file.name.endswith(_OTHERS) or not place.is_dir():
                unreached.append(f"{file}: only .warc and .warc.gz files are rewritten")
    removal, rewritten = _Removal(fits, reason), list[str]()
    readable = list[Path]()
    for file in files:
        try:
            removal.learn(file)
            readable.append(file)
        except (ValueError, EOFError, zlib.error, gzip.BadGzipFile, Damaged) as error:
            unreached.append(f"{file}: damaged ({error})")
    for file in readable:
        with disk_errors(file):
            if removal.rewrite(file):
                rewritten.append(str(file))
    for folder in sorted({file.parent for file in readable}):
        for database in sorted(folder.glob("*-bodies.db")):
            with closing(open_captures(refuse_links(database))) as captures:
                captures.take_down(removal.is_gone)
    return rewritten, removal.records, unreached


class _Removal:
    """Records to remove, which may be related to others in other files."""

    def __init__(self, fits: Fits, reason: Mapping[str, str]) -> None:
        self._fits, self._reason = fits, reason
        self._ids = set[str]()
        self.records = 0

    def is_gone(self, url: str) -> bool:
        return bool(url) and bool(self._fits(canonical(pictured(url)) or url))

    def learn(self, file: Path) -> None:
        """Note the IDs of the answers that will be removed. Raise ValueError for a damaged file."""
        with _opened(file) as raw:
            for record in _records(raw):
                if self._is_removed(record) and record.fields.get("warc-type") in _ANSWERS:
                    self._ids.add(record.fields.get("warc-record-id", ""))
                for _ in _block(raw, record):
                    pass

    def _is_removed(self, record: _Record) -> bool:
        fields = record.fields
        return (
            self.is_gone(record.url)
            or self.is_gone(fields.get("warc-refers-to-target-uri", "").strip("<> "))
            or any(fields.get(name) in self._ids for name in _RELATED)
        )

    def rewrite(self, file: Path) -> bool:
        """Replace a file by one without the records. Return False if it has none of them."""
        draft = refuse_links(file.with_name(f"{file.name}.draft"))
        digest, removed, is_changed = sha256(), list[str](), False
        places = defaultdict[_Key, list[tuple[int, int]]](list)
        with _opened(file) as raw, draft.open("wb") as out:
            packs = isinstance(raw, gzip.GzipFile)
            for record in _records(raw):
                if self._is_removed(record):
                    removed.append(record.fields.get("warc-record-id", ""))
                    for _ in _block(raw, record):
                        pass
                    continue
                head, pieces = record.head, _block(raw, record)
                if record.fields.get("content-type") == _FIELDS:
                    head, *pieces_left = self._without_lines(head, b"".join(pieces))
                    pieces, is_changed = iter(pieces_left), is_changed or head != record.head
                begin = out.tell()
                packer = zlib.compressobj(wbits=31) if packs else None
                for piece in chain((head,), pieces, (b"\r\n\r\n",)):
                    digest.update(piece)
                    out.write(packer.compress(piece) if packer else piece)
                out.write(packer.flush() if packer else b"")
                if record.fields.get("warc-type") in _ANSWERS:
                    stamp = re.sub(r"\D", "", record.fields.get("warc-date", ""))[:14]
                    is_revisit = record.fields.get("warc-type") == "revisit"
                    places[record.target, stamp, is_revisit].append((begin, out.tell() - begin))
        if removed or is_changed:
            sync(draft)
            self._verify(draft, digest.digest())
            self._log(file, draft, removed)
            draft.rename(file)
            self.records += len(removed)
            delete_object(file)
        else:
            draft.unlink()
        for index in sorted(file.parent.glob("*.cdxj")) if file.exists() else ():
            _rewrite_index(refuse_links(index), file.name, places)
        sync(file.parent)
        return bool(removed or is_changed)

    def _log(self, file: Path, draft: Path, removed: list[str]) -> None:
        """Append a line to the log of the folder; it is on the disk before the file is replaced."""
        line = dict(self._reason) | {"file": file.name, "records": removed}
        for name, path in (("sha256_before", file), ("sha256_after", draft)):
            with opened(path) as raw:
                line[name] = file_digest(raw, "sha256").hexdigest()
        log = refuse_links(file.with_name(LOG))
        with log.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
        sync(log)

    def _without_lines(self, head: bytes, block: bytes) -> tuple[bytes, bytes]:
        """Return head and block of fields, such as seeds, without lines that name a URL."""
        lines = block.splitlines(keepends=True)
        texts = (line.decode("utf-8", "replace") for line in lines)
        named = [any(map(self.is_gone, _URL.findall(text))) for text in texts]
        if not any(named):
            return head, block
        block = b"".join(line for line, is_named in zip(lines, named, strict=True) if not is_named)
        head = re.sub(rb"(?mi)^warc-(?:block|payload)-digest:.*\n", b"", head)
        return re.sub(rb"(?mi)^(content-length:[ \t]*)\d+", rb"\g<1>%d" % len(block), head), block

    def _verify(self, draft: Path, digest: bytes) -> None:
        """Check that a rewritten file has exactly the records that stay."""
        again = sha256()
        with _opened(draft) as raw:
            for record in _records(raw):
                if self._is_removed(record):
                    raise MinicrawlError(f"{draft} still has a record of {record.url}")
                for piece in chain((record.head,), _block(raw, record), (b"\r\n\r\n",)):
                    again.update(piece)
        if again.digest() != digest:
            raise MinicrawlError(f"{draft} differs from what was written: the disk may be damaged")


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    with opened(file) as raw:
        is_packed = raw.peek(2)[:2] == b"\x1f\x8b"
        yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if is_packed else raw


def _records(raw: BinaryIO) -> Iterator[_Record]:
    """Yield the records; the caller reads the block of each. Raise ValueError for other bytes."""
    while line := raw.readline(_MOST_HEAD_BYTES):
        if not line.strip(b"\r\n"):
            continue
        if not line.startswith(b"WARC/"):
            raise ValueError("bytes that belong to no record")
        head, fields, name = bytearray(line), dict[str, str](), ""
        while (line := raw.readline(_MOST_HEAD_BYTES)).strip(b"\r\n"):
            head += line
            if len(head) > _MOST_HEAD_BYTES:
                raise ValueError(f"the head of a record has more than {_MOST_HEAD_BYTES:,} bytes")
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text[:1] in " \t":
                fields[name] = f"{fields.get(name, '')} {text.strip()}"
            else:
                name, _, value = text.partition(":")
                name = name.strip().lower()
                fields[name] = value.strip()
        head += line
        if not (length := fields.get("content-length", "")).isdecimal():
            raise ValueError("a record without a length")
        yield _Record(bytes(head), fields, int(length))


def _block(raw: BinaryIO, record: _Record) -> Iterator[bytes]:
    left = record.length
    while left:
        piece = raw.read(min(left, _PIECE_BYTES))
        if not piece:
            raise EOFError("the last record is incomplete")
        left -= len(piece)
        yield piece


def _rewrite_index(
    index: Path, name: str, places: Mapping[_Key, Sequence[tuple[int, int]]]
) -> None:
    """Give the lines of a CDXJ file about a WARC file the new places; drop those without one."""
    lines = index.read_text(encoding="utf-8").splitlines()
    captures = list[tuple[int, int, dict[str, str], _Key]]()
    for number, line in enumerate(lines):
        _, stamp, document = (*line.split(" ", 2), "", "")[:3]
        fields = json.loads(document) if document.startswith("{") else {}
        if Path(str(fields.get("filename", ""))).name == name:
            key = (fields.get("url", ""), stamp[:14], fields.get("mime") == "warc/revisit")
            captures.append((int(fields.get("offset", 0)), number, fields, key))
    if not captures:
        return
    left = {key: deque(waiting_places) for key, waiting_places in places.items()}
    for _, number, fields, key in sorted(captures, key=lambda row: row[0]):
        if waiting := left.get(key):
            offset, length = waiting.popleft()
            moved = fields | {"offset": str(offset), "length": str(length)}
            lines[number] = f"{lines[number].partition(' {')[0]} {json.dumps(moved)}"
        else:
            lines[number] = ""
    draft = refuse_links(index.with_name(f"{index.name}.draft"))
    draft.write_text("".join(f"{line}\n" for line in lines if line), encoding="utf-8")
    put_in_place(draft, index)
    delete_object(index)
