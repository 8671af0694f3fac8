"""WARC files inside WACZ files are read in place."""

import gzip
import os
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest

from minicrawl.errors import UsageError
from minicrawl.fetch.warc.files import is_recorded, warc_files
from minicrawl.fetch.warc.records import WarcRecords
from tests.fetch.warc.files import PACKED, pages, url

LIMIT = 100_000


def urls_and_notes(path: Path) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    found = [
        record.url for file in warc_files(path) for record in WarcRecords(file, LIMIT, notes.append)
    ]
    return found, notes


def wacz(path: Path, files: dict[str, bytes], compression: int = ZIP_STORED) -> Path:
    with ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("how", PACKED)
def test_all_records_of_all_files_are_read_in_their_order(tmp_path: Path, how: str) -> None:
    records = pages(9)
    files = {
        "datapackage.json": b"{}",
        "archive/a.warc": PACKED[how](records[:4]),
        "archive/readme.txt": b"no records",
        "pages/pages.jsonl": b"{}",
        "archive/b.warc.gz": PACKED[how](records[4:]),
        "indexes/index.cdx.gz": b"no records either",
    }
    found = urls_and_notes(wacz(tmp_path / "a.wacz", files))
    assert found == ([url(number) for number in range(9)], [])


@pytest.mark.parametrize("how", ["plain", "gzip by record", "zstd by record"])
def test_damage_in_one_file_costs_no_record_of_the_next(tmp_path: Path, how: str) -> None:
    records = pages(6)
    damaged = PACKED[how](records[:3])[:-200]
    files = {"archive/a.warc.gz": damaged, "archive/b.warc.gz": PACKED[how](records[3:])}
    found, notes = urls_and_notes(wacz(tmp_path / "a.wacz", files))
    assert found[-3:] == [url(number) for number in (3, 4, 5)]
    assert notes[0].startswith(f"{tmp_path}/a.wacz: archive/a.warc.gz: at byte ")


def test_files_that_cannot_be_read_in_place_are_refused(tmp_path: Path) -> None:
    files = {"archive/a.warc": b"".join(pages(3))}
    packed = wacz(tmp_path / "packed.wacz", files, ZIP_DEFLATED)
    with pytest.raises(UsageError, match=r"archive/a.warc is compressed"):
        warc_files(packed)
    with pytest.raises(UsageError, match="without WARC files in archive/"):
        warc_files(wacz(tmp_path / "other.zip", {"a.txt": b"text"}))


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    whole = wacz(tmp_path / "a.wacz", {"archive/a.warc": b"".join(pages(3))}).read_bytes()
    (cut := tmp_path / "cut.wacz").write_bytes(whole[:-100])
    with pytest.raises(UsageError, match="a damaged ZIP archive"):
        warc_files(cut)
    (doubled := tmp_path / "doubled.wacz").write_bytes(_named_twice(whole))
    with pytest.raises(UsageError, match="the files in it overlap"):
        warc_files(doubled)


def _named_twice(whole: bytes) -> bytes:
    """Return a ZIP archive whose directory lists its only entry twice."""
    directory, end = whole.index(b"PK\x01\x02"), whole.rindex(b"PK\x05\x06")
    entry, counts = whole[directory:end], bytearray(whole[end:])
    counts[8:10] = counts[10:12] = (2).to_bytes(2, "little")
    counts[12:16] = (2 * len(entry)).to_bytes(4, "little")
    return whole[:directory] + 2 * entry + bytes(counts)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="save it to one first"):
        warc_files(tmp_path / "pipe")


@pytest.mark.parametrize("name", ["a.arc", "a.arc.gz", "a.warc.gz", "a"])
def test_an_arc_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = b"filedesc://a.arc 0.0.0.0 20080430204825 text/plain 9\n1 0 Name\n\n"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert is_recorded(path)
    with pytest.raises(UsageError, match=f"{name}: an ARC file"):
        warc_files(path)
