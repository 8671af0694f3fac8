"""File in an object store, by the stub that it left in its folder.

stub    `NAME.object` beside where the file was: URL of the object store, SHA-256, length

The key of the object is `SHA-256/NAME`, so the stub of a stranger can name no other file. The stub
is written before the object, and the file is deleted after that object was read back:

    file    stub    object        when
    here    -       -             it was finished
    here    here    - or a part   killed while it was put: the next run puts it again
    here    here    here          killed before the file was deleted: it is read back again
    -       here    here          it is moved: ranges of the object are read
    here    here    other bytes   it was rewritten by a take-down: the old object is deleted first

Laws: a kill at any moment leaves a file here, there or in both places. What a stub names can be
deleted: so no object is forgotten, even one that a kill left behind. A file that is here counts.

A stub may be a stranger's, in a store that somebody sent, and an object store is asked with the
credentials of whoever reads. So it is asked only if the user has named it: by --objects, on this
machine and for this folder, which a mark in the user's home says, or in the environment now.
"""

import json
import os
import re
from contextlib import suppress
from hashlib import file_digest, sha256
from io import BufferedReader, RawIOBase
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from minicrawl.archive.objects.bucket import Bucket, bucket_at
from minicrawl.archive.record import pieces
from minicrawl.config.values.kinds import InvalidValue, object_store_url
from minicrawl.errors import Damaged, Unnamed, Unreachable
from minicrawl.own_files import put_in_place, refuse_links, sync

STUB = ".object"
_BLOCK_BYTES, _MOST_BLOCKS, _MOST_AHEAD = 1 << 18, 64, 32
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAMED = set[Path]()
"""Marks of the object stores that the user has named in this run."""


class Stub(NamedTuple):
    name: str
    url: str
    sha256: str
    length: int
    folder: Path

    @property
    def key(self) -> str:
        """Key of the object below the URL."""
        return f"{self.sha256}/{self.name}"

    @property
    def bucket(self) -> Bucket:
        """The object store; raises `Unnamed` if the user has not named it."""
        mark = mark_of(self.folder, self.url)
        in_environment = os.environ.get("MINICRAWL_OBJECTS", "").strip().rstrip("/")
        if mark in _NAMED or self.url == in_environment or os.access(mark, os.F_OK):
            return bucket_at(self.url)
        raise Unnamed(
            f"{self.folder / self.name} is in {self.url}, which you have not named for this folder "
            f"on this machine: if you trust that place, set MINICRAWL_OBJECTS={self.url}"
        )

    def is_whole(self) -> bool:
        """Read the object back, and return True if it is what was moved."""
        return self.bucket.has(self.key, self.sha256, self.length)


def name_store(folder: Path, url: str) -> None:
    """Let stubs in a folder name an object store from now on. Raise `OSError`."""
    mark = mark_of(folder, url)
    _NAMED.add(mark)
    if not mark.exists():
        mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark.write_text(f"{folder.resolve()}\n{url}\n", "utf-8", "surrogateescape")


def mark_of(folder: Path, url: str) -> Path:
    """Return the path of the mark that the user has named an object store for a folder."""
    home = Path("/", os.environ.get("HOME", ""), ".local", "state")
    state = Path(home, os.environ.get("XDG_STATE_HOME", ""), "minicrawl", "object-stores")
    pair = os.fsencode(folder.resolve()), url.encode()
    return state / sha256(b"\n".join(pair)).hexdigest()


def stub_path(file: Path) -> Path:
    return file.with_name(f"{file.name}{STUB}")


def stub_of(file: Path) -> Stub | None:
    """Return the stub of a file; None if it has none. Raise `Damaged`."""
    try:
        content = json.loads(refuse_links(stub_path(file)).read_bytes())
        url = object_store_url(content["url"])
        digest, length = str(content["sha256"]), int(content["length"])
        if _DIGEST.fullmatch(digest):
            return Stub(file.name, url, digest, length, file.parent)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, InvalidValue):
        pass
    raise Damaged(f"{stub_path(file)} is damaged")


def move(file: Path, url: str, *, stays: bool = False) -> None:
    """Move a finished file to the object store, or copy it if it `stays`. Raise `Unreachable`."""
    put_whole(write_stub(file, url), file)
    if not stays:
        file.unlink(missing_ok=True)
        sync(file.parent)


def write_stub(file: Path, url: str) -> Stub:
    """Write the stub of a file that is to be moved. An object of other bytes is deleted first."""
    with file.open("rb") as content:
        digest, length = file_digest(content, "sha256").hexdigest(), content.tell()
    stub, earlier = Stub(file.name, url, digest, length, file.parent), None
    _NAMED.add(mark_of(file.parent, url))
    with suppress(Damaged):
        earlier = stub_of(file)
    if earlier is not None and earlier != stub:
        earlier.bucket.delete(earlier.key)
    path = stub_path(file)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"url": url, "sha256": digest, "length": length}), "ascii")
    put_in_place(draft, path)
    return stub


def put_whole(stub: Stub, file: Path) -> None:
    """Put a file, unless its object is there, and read it back. Raise `Unreachable`."""
    if not stub.is_whole():
        stub.bucket.put(stub.key, file)
        if not stub.is_whole():
            raise Unreachable(f"{stub.url}/{stub.key} is not what was put there")


def delete_object(file: Path) -> None:
    """Delete what the object store has of a file. Raise `Unreachable`; repeat it then."""
    if (stub := stub_of(file)) is not None:
        stub.bucket.delete(stub.key)
        stub_path(file).unlink()


def remove(file: Path) -> None:
    """Delete a file, here and in the object store. Raise `Unreachable`; repeat it then."""
    file.unlink(missing_ok=True)
    delete_object(file)


def recall(file: Path, length: int) -> None:
    """Bring the first bytes of a moved file back, and delete its object."""
    bring_back(file, length)
    delete_object(file)


def bring_back(file: Path, length: int) -> None:
    """Write the first bytes of a moved file in its place."""
    draft = file.with_name(f"{file.name}.draft")
    with opened(file) as moved, draft.open("wb") as out:
        out.writelines(pieces(moved, length))
    put_in_place(draft, file)


def opened(file: Path) -> BufferedReader:
    """Open a file, here or in the object store, to be read from its beginning to its end."""
    try:
        return file.open("rb")
    except FileNotFoundError:
        return BufferedReader(MovedFile(file))


class MovedFile(RawIOBase):
    """Bytes of a file in an object store, read in blocks; the last ones are in memory.

    Who reads on where the last block ended gets ever longer ranges, so that a scan takes few
    requests, and one record takes a small one.
    """

    def __init__(self, file: Path) -> None:
        stub = stub_of(file)
        if stub is None:
            raise Damaged(f"{file.name} cannot be read: it does not exist")
        self._stub, self._at = stub, 0
        self._blocks = dict[int, bytes]()
        self._next, self._ahead, self._lock = -1, 1, Lock()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        content = self.read_at(self._at, len(buffer))
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)

    def read_at(self, begin: int, count: int) -> bytes:
        """Return the bytes from `begin`, fewer at the end of the file."""
        count = min(count, self._stub.length - begin)
        if count <= 0:
            return b""
        first, last = begin // _BLOCK_BYTES, (begin + count - 1) // _BLOCK_BYTES
        with self._lock:
            content = b"".join(map(self._block, range(first, last + 1)))
        return content[begin - first * _BLOCK_BYTES :][:count]

    def _block(self, number: int) -> bytes:
        if number in self._blocks:
            return self._blocks[number]
        self._ahead = min(2 * self._ahead, _MOST_AHEAD) if number == self._next else 1
        begin = number * _BLOCK_BYTES
        count = min(self._ahead * _BLOCK_BYTES, self._stub.length - begin)
        content = self._stub.bucket.read(self._stub.key, begin, count)
        self._next = number + self._ahead
        for at in range(0, count, _BLOCK_BYTES):
            self._blocks[number + at // _BLOCK_BYTES] = content[at : at + _BLOCK_BYTES]
        while len(self._blocks) > _MOST_BLOCKS:
            del self._blocks[next(iter(self._blocks))]
        return self._blocks[number]
