"""Pages as one file that a browser replays: WACZ 1.1.1, a zip of a WARC, its index and its pages.

Laws: the pages are listed with their ranks, the most important first. Each file in the zip has its
SHA-256 in the manifest, and the manifest has one of its own.
"""

import json
import shutil
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from minicrawl.export.drafts import scratch
from minicrawl.export.warc import Capture, CdxLine, WarcWriter, cdxj
from minicrawl.version import __version__
from minicrawl.wording import iso

_WARC = "data.warc.gz"
_INDEX = "indexes/index.cdx"
"""Programs know the index of CDXJ lines by this name, and some by no other."""
_VERSION = "1.1.1"
_FIRST_FAILURE = 400
"""The first status of answers that are no pages."""
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # of a file in a zip
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
    """Without the body."""
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
    """A line for each page, as it was last; what came in place of a page is none."""
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
