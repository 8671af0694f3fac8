"""Where WARC records lie: in a file of their own, or in a WACZ file.

A WACZ file is a ZIP archive with WARC files in `archive/`. They are stored in it as they are, so
they are read where they lie.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from minicrawl.errors import UsageError

_BEGIN = b"PK\x03\x04"
_HEAD, _LENGTHS = 30, struct.Struct("<2H")
"""What comes before a file in a ZIP archive; its last fields are the lengths of two more."""
_FOLDER, _ENDINGS = "archive/", (".warc", ".warc.gz", ".warc.zst")


class WarcFile(NamedTuple):
    """A file with records, or the part of a WACZ file that is one."""

    name: str
    path: Path
    begin: int
    length: int


def warc_files(path: Path) -> list[WarcFile]:
    """What is read of a file that the user named: the file, or those in it if it is WACZ."""
    if not path.is_file():
        raise UsageError(f"{path}: not a regular file: save it to one first")
    with path.open("rb") as file:
        if file.read(len(_BEGIN)) != _BEGIN:
            return [WarcFile(str(path), path, 0, path.stat().st_size)]
        try:
            with ZipFile(file) as archive:
                found = list(_stored(path, file, archive))
        except (BadZipFile, NotImplementedError, ValueError, OSError, struct.error) as error:
            raise UsageError(f"{path}: a damaged ZIP archive ({error})") from error
    if not found:
        raise UsageError(f"{path}: a ZIP archive without WARC files in {_FOLDER}")
    if sum(one.length for one in found) > path.stat().st_size:
        raise UsageError(f"{path}: the files in it overlap")
    return found


def _stored(path: Path, file: BinaryIO, archive: ZipFile) -> Iterator[WarcFile]:
    for one in archive.infolist():
        if not one.filename.startswith(_FOLDER) or not one.filename.endswith(_ENDINGS):
            continue
        if one.compress_type != ZIP_STORED:
            raise UsageError(f"{path}: {one.filename} is compressed in it: unzip it, and name that")
        name = f"{path}: {one.filename}"
        yield WarcFile(name, path, _begin(file, one), one.compress_size)


def _begin(file: BinaryIO, one: ZipInfo) -> int:
    """Where the bytes of a file in a ZIP archive begin."""
    file.seek(one.header_offset)
    head = file.read(_HEAD)
    if not head.startswith(_BEGIN):
        raise BadZipFile(f"{one.filename} is not where it should be")
    name, extra = _LENGTHS.unpack_from(head, _HEAD - _LENGTHS.size)
    begin: int = one.header_offset + _HEAD + name + extra
    return begin
