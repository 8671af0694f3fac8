"""WACZ 1.1.1: a ZIP of a WARC, its index and its pages, for replay in a browser.

Laws: the pages are listed with their ranks, most important first. The manifest has the SHA-256 of
each file in the ZIP, and a digest of its own.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from minicrawl import __version__
from minicrawl.archive.warc.capture import Capture
from minicrawl.archive.warc.cdxj import CdxLine, cdxj
from minicrawl.archive.warc.wacz_key import WaczKey
from minicrawl.archive.warc.writer import NOTHING_KNOWN, WarcWriter
from minicrawl.own_files import scratch
from minicrawl.wording import iso

_WARC = "data.warc.gz"
_INDEX = "indexes/index.cdx"
"""Path of the CDXJ index. Some programs find it under no other name."""
_VERSION = "1.1.1"
_FIRST_FAILURE = 400
"""First status of responses that are failures."""
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # earliest time of a file in a ZIP
_PIECE_BYTES = 1 << 20


def write_wacz(
    captures: Iterable[Capture],
    file: BinaryIO,
    made_at: float,
    about: Mapping[str, str] = NOTHING_KNOWN,
    key: WaczKey | None = None,
) -> None:
    """Write the captures as a WACZ file, signed if there is a key."""
    with scratch("wacz") as folder, ZipFile(file, "w") as package:
        warc = folder / _WARC
        with warc.open("wb") as out:
            written = WarcWriter(out, _WARC).write(captures, made_at, about)
            lines = [
                line._replace(capture=line.capture._replace(body=line.capture.body[:1]))
                for line in written
            ]
        resources = [
            _add(package, f"archive/{_WARC}", warc, ZIP_STORED),
            _add(package, _INDEX, _text(folder, cdxj(lines, _WARC))),
            _add(package, "pages/pages.jsonl", _text(folder, _pages(lines))),
        ]
        manifest = _text(folder, [_manifest(resources, iso(made_at))])
        listed = _add(package, "datapackage.json", manifest)
        digest = {"path": "datapackage.json", "hash": listed["hash"]}
        if key is not None:
            digest["signedData"] = key.signed(str(listed["hash"]), iso(made_at))
        _add(package, "datapackage-digest.json", _text(folder, [json.dumps(digest)]))


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
    """Yield a line for each page's last capture with a page; failures are omitted."""
    yield json.dumps({"format": "json-pages-1.0", "id": "pages", "title": "All pages"})
    captures = (line.capture for line in lines)
    ranked = (capture for capture in captures if capture.rank and capture.has_page)
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
    # With the size known, zipfile writes ZIP64 fields for large files only: wabac.js would take the
    # fields of a small file for its content.
    info.file_size = content.stat().st_size
    with content.open("rb") as source, package.open(info, "w") as target:
        shutil.copyfileobj(source, target, _PIECE_BYTES)
    with content.open("rb") as source:
        digest = sha256()
        while piece := source.read(_PIECE_BYTES):
            digest.update(piece)
    short, checksum = name.rpartition("/")[2], f"sha256:{digest.hexdigest()}"
    return {"name": short, "path": name, "hash": checksum, "bytes": info.file_size}
