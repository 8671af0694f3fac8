"""What a disk may hold after a power failure, from a record of all changes to a folder.

A write reaches the disk when its file is synced; a name, when its folder is synced. Until then,
each sector of a file may be in any of the states that it went through, its length, too, and of the
changes to the names of a folder any may be missing:

    write "A" at 0        write "B" at 0        sync                  disk
    -                     -                     -                     nothing
    done                  -                     -                     nothing or A
    done                  done                  -                     nothing, A or B
    done                  done                  done                  B, if the name was synced, too

That is more than most file systems lose. Removed and renamed files keep their content. SQLite's
shared memory (`-shm`) is not on the disk.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from random import Random
from typing import NamedTuple

_HEAD = struct.Struct("=6Q")
_SECTORS = (512, 4096)


class Kind(IntEnum):
    """Kind of a change, as the library numbers them."""

    WRITE = 0
    SYNC = 1
    RENAME = 2
    TRUNCATE = 3
    CREATE = 4
    REMOVE = 5
    MKDIR = 6


class Change(NamedTuple):
    """Change of a file or a folder. `target` is the new name of a renamed one."""

    kind: Kind
    inode: int
    offset: int
    path: Path
    target: Path
    data: bytes


def changes(log: bytes) -> Iterator[Change]:
    """Yield the recorded changes, in order."""
    at = 0
    while at < len(log):
        kind, inode, offset, *lengths = _HEAD.unpack_from(log, at)
        at += _HEAD.size
        parts = []
        for length in (*lengths[1:], lengths[0]):
            parts.append(log[at : at + length])
            at += length
        path, target, data = parts
        yield Change(Kind(kind), inode, offset, Path(path.decode()), Path(target.decode()), data)


class _File:
    """File with its synced content, and what was written since."""

    def __init__(self) -> None:
        self.synced = bytearray()
        self._writes: list[tuple[int, bytes | None]] = []

    def write(self, offset: int, data: bytes | None) -> None:
        """Write data; None makes `offset` the length of the file."""
        self._writes.append((offset, data))

    def sync(self) -> None:
        for write in self._writes:
            _apply(self.synced, *write)
        self._writes.clear()

    def latest(self) -> bytes:
        content = bytearray(self.synced)
        for write in self._writes:
            _apply(content, *write)
        return bytes(content)

    def torn(self, rng: Random) -> bytes:
        """Return a content that the disk may hold."""
        last = len(self._writes)
        first = rng.choice((0, last, rng.randint(0, last)))
        if rng.random() < 0.5:  # the writes arrived in order
            return self._after([first] * (1 + last), 1 << 62, rng)
        return self._after([rng.randint(0, last) for _ in range(64)], rng.choice(_SECTORS), rng)

    def _after(self, versions: list[int], sector: int, rng: Random) -> bytes:
        """Return each sector, and the length, after a random one of these numbers of writes."""
        content, version_of = bytearray(self.synced), dict[int, int]()
        chosen = dict[int, bytes]()
        length_at = rng.choice(versions)
        length = len(content)
        for offset, data in self._writes:
            for number in range(offset // sector, (offset + len(data or b"")) // sector + 1):
                version_of.setdefault(number, rng.choice(versions))
        for number in range(len(self._writes) + 1):
            if number:
                _apply(content, *self._writes[number - 1])
            if number == length_at:
                length = len(content)
            for at, version in version_of.items():
                if version == number:
                    chosen[at] = bytes(content[at * sector : (at + 1) * sector])
        for at, data in chosen.items():
            _apply(content, at * sector, data.ljust(min(sector, len(content) - at * sector), b"\0"))
        return bytes(content[:length]).ljust(length, b"\0")


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    end = offset if data is None else offset + len(data)
    if data is None:
        del content[end:]
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    if data:
        content[offset:end] = data


class _Naming(NamedTuple):
    """Change of a folder: a name leads to a file from now on, or to nothing; `old` is removed."""

    name: str
    file: "_File | _Folder | None"
    old: str | None = None


class _Folder:
    """Folder with its present and its synced names."""

    def __init__(self) -> None:
        self.names: dict[str, _File | _Folder] = {}
        self._synced: dict[str, _File | _Folder] = {}
        self._changes: list[_Naming] = []

    def change(self, naming: _Naming) -> None:
        _name(self.names, naming)
        self._changes.append(naming)

    def sync(self) -> None:
        self._synced = dict(self.names)
        self._changes.clear()

    def torn(self, rng: Random) -> dict[str, "_File | _Folder"]:
        """Return the names that the disk may hold."""
        names, count = dict(self._synced), rng.randint(0, len(self._changes))
        some = self._changes[:count]  # a journal keeps their order
        if rng.random() < 0.3:
            some = [one for one in self._changes if rng.random() < 0.5]
        for naming in some:
            _name(names, naming)
        return names


def _name(names: dict[str, _File | _Folder], naming: _Naming) -> None:
    if naming.old is not None:
        names.pop(naming.old, None)
    if naming.file is None:
        names.pop(naming.name, None)
    else:
        names[naming.name] = naming.file


class RecordedDisk:
    """The folder `root` while its recorded changes are replayed."""

    def __init__(self, root: Path) -> None:
        self._root_path, self._root = root, _Folder()
        self._of_inode: dict[int, _File | _Folder] = {}

    def apply(self, change: Change) -> None:
        """Replay a change."""
        at = self._of_inode.get(change.inode)
        match change.kind:
            case Kind.CREATE | Kind.MKDIR:
                at = _File() if change.kind is Kind.CREATE else _Folder()
                self._of_inode[change.inode] = at
                self._folder(change.path).change(_Naming(change.path.name, at))
            case Kind.REMOVE:
                self._folder(change.path).change(_Naming(change.path.name, None))
            case Kind.RENAME:
                self._rename(change)
            case Kind.SYNC:
                synced = self._root if change.path == self._root_path else at
                assert synced is not None, change.path
                synced.sync()
            case Kind.WRITE | Kind.TRUNCATE:
                assert isinstance(at, _File), change.path
                at.write(change.offset, change.data if change.kind is Kind.WRITE else None)

    def _rename(self, change: Change) -> None:
        old, new = self._folder(change.path), self._folder(change.target)
        file = old.names[change.path.name]
        new.change(_Naming(change.target.name, file, change.path.name if old is new else None))
        if old is not new:
            old.change(_Naming(change.path.name, None))

    def _folder(self, path: Path) -> _Folder:
        folder = self._root
        for name in path.parent.relative_to(self._root_path).parts:
            inner = folder.names[name]
            assert isinstance(inner, _Folder), path
            folder = inner
        return folder

    def latest(self, name: str) -> bytes:
        """Return the content of a file in the root, whether it was synced or not."""
        file = self._root.names.get(name)
        return file.latest() if isinstance(file, _File) else b""

    def write_torn(self, rng: Random, folder: Path) -> None:
        """Write what the disk may hold into an empty folder."""
        _write_torn(rng, self._root, folder)


def _write_torn(rng: Random, folder: _Folder, path: Path) -> None:
    for name, file in folder.torn(rng).items():
        if isinstance(file, _Folder):
            (path / name).mkdir()
            _write_torn(rng, file, path / name)
        else:
            (path / name).write_bytes(file.torn(rng))
