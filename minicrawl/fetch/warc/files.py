"""Files of WARC records: a file of their own, or a WACZ file.

A WACZ file is a ZIP archive with WARC files in `archive/`. They are stored uncompressed, so they
can be read in place.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from minicrawl.errors import UsageError
from minicrawl.fetch.warc import members

_BEGIN = b"PK\x03\x04"
_HEAD, _LENGTHS = 30, struct.Struct("<2H")
"""Size of a ZIP local file header; its last two fields are the lengths of name and extra field."""
_FOLDER, _ENDINGS = "archive/", (".warc", ".warc.gz", ".warc.zst")
_ARC = b"filedesc://"


def is_recorded(path: Path) -> bool:
    """Return True if this is a WARC, WACZ or ARC file, by its name or its first bytes."""
    if path.name.endswith((*_ENDINGS, ".wacz")):
        return True
    known = (members.BEGIN, _BEGIN, members.ZSTD, members.ZSTD_DICTIONARY, _ARC)
    return path.is_file() and _first_bytes(path).startswith(known)


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        begin = file.read(members.TRIED_BYTES)
    if begin.startswith(members.GZIP):
        with suppress(zlib.error):
            return members.inflating()(begin)[0]
    return begin


def warc_files(path: Path) -> list[members.WarcFile]:
    if not path.is_file():
        raise UsageError(f"{path}: not a regular file: save it to one first")
    if _first_bytes(path).startswith(_ARC):
        raise UsageError(
            f"{path}: an ARC file, the format before WARC: convert it with "
            "`warcio recompress` and import the WARC file"
        )
    with path.open("rb") as file:
        if file.read(len(_BEGIN)) != _BEGIN:
            return [members.WarcFile(str(path), path, 0, path.stat().st_size)]
        try:
            with ZipFile(file) as archive:
                files = list(_stored(path, file, archive))
        except (BadZipFile, NotImplementedError, ValueError, OSError, struct.error) as error:
            raise UsageError(f"{path}: a damaged ZIP archive ({error})") from error
    if not files:
        raise UsageError(f"{path}: a ZIP archive without WARC files in {_FOLDER}")
    if sum(file.length for file in files) > path.stat().st_size:
        raise UsageError(f"{path}: the files in it overlap")
    return files


def _stored(path: Path, file: BinaryIO, archive: ZipFile) -> Iterator[members.WarcFile]:
    for entry in archive.infolist():
        if not entry.filename.startswith(_FOLDER) or not entry.filename.endswith(_ENDINGS):
            continue
        if entry.compress_type != ZIP_STORED:
            raise UsageError(
                f"{path}: {entry.filename} is compressed: unzip it and import that file"
            )
        file.seek(entry.header_offset)
        head = file.read(_HEAD)
        if not head.startswith(_BEGIN):
            raise BadZipFile(f"{entry.filename} is not where it should be")
        begin = entry.header_offset + _HEAD + sum(_LENGTHS.unpack_from(head, _HEAD - _LENGTHS.size))
        yield members.WarcFile(f"{path}: {entry.filename}", path, begin, entry.compress_size)
