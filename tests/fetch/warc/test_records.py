"""WARC records: intact ones are read, whatever is wrong around them, and losses are reported."""

import gzip
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from minicrawl.fetch.warc import records
from minicrawl.fetch.warc.files import warc_files
from minicrawl.fetch.warc.members import ALWAYS_READ, ALWAYS_UNPACKED, LEAST_PACKED, MOST_SWELLING
from minicrawl.fetch.warc.records import WarcRecord, WarcRecords
from tests.fetch.warc.files import PACKED, body, http, pages, record, response, url
from tests.memory import limited_growth

LIMIT = 100_000


def read_file(folder: Path, content: bytes) -> tuple[list[WarcRecord], list[str]]:
    path = folder / "a.warc"
    path.write_bytes(content)
    return read_path(path)


def read_path(path: Path) -> tuple[list[WarcRecord], list[str]]:
    notes: list[str] = []
    (file,) = warc_files(path)
    return list(WarcRecords(file, LIMIT, notes.append)), notes


def urls(records: Sequence[WarcRecord]) -> list[str]:
    return [one.url for one in records]


def all_urls(count: int) -> list[str]:
    return [url(number) for number in range(count)]


@pytest.mark.parametrize("how", PACKED)
def test_all_records_are_read_in_their_order(tmp_path: Path, how: str) -> None:
    records, notes = read_file(tmp_path, PACKED[how](pages(30)))
    assert (urls(records), notes) == (all_urls(30), [])
    assert [one.block for one in records] == [http(body(number)) for number in range(30)]


def test_a_zstd_file_may_begin_with_its_dictionary(tmp_path: Path) -> None:
    trained = zstandard.train_dictionary(2000, [page[k:] for page in pages(60) for k in range(9)])
    content = zstandard.compress(trained.as_bytes())
    head = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
    packer = zstandard.ZstdCompressor(dict_data=trained)
    records, _ = read_file(tmp_path, head + b"".join(map(packer.compress, pages(30))))
    assert urls(records) == all_urls(30)


def test_brackets_folds_and_bare_line_ends_are_read_and_urls_keep_their_bytes(
    tmp_path: Path,
) -> None:
    odd = record("response", http(b"x"), WARC_Target_URI=f"<{url(1)}>", X="a\r\n b")
    bare = record("response", b"y", warc_target_uri=url(2)).replace(b"\r\n", b"\n")
    utf_8 = record("response", http(b"x"), WARC_Target_URI="http://a.example/ü")
    latin = record("response", http(b"x"), WARC_Target_URI="http://a.example/ü?ä=1")
    records, notes = read_file(tmp_path, odd + bare + utf_8 + latin.decode().encode("latin-1"))
    assert urls(records) == [url(1), url(2), "http://a.example/ü", "http://a.example/%FC?%E4=1"]
    assert notes == []
    assert records[0].fields["x"] == "a b"


LIES = {"too long": 5000, "a little too long": 1070, "too short": 300, "none": "", "words": "ten"}


@pytest.mark.parametrize("how", PACKED)
@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_length_loses_no_record_and_is_reported(tmp_path: Path, how: str, lie: str) -> None:
    records = pages(9)
    fields = {"WARC_Target_URI": url(4)}
    block = http(body(4) + b" more" * 100)
    records[4] = record("response", block, length=LIES[lie], **fields)  # type: ignore[arg-type]
    read, notes = read_file(tmp_path, PACKED[how](records))
    assert urls(read) == all_urls(9)
    assert read[4].block == block
    (note,) = notes
    assert f"the response of {url(4)}" in note


@pytest.mark.parametrize("how", PACKED)
def test_files_in_which_every_length_is_wrong_are_read_whole(tmp_path: Path, how: str) -> None:
    count = 2 * records.MOST_WRONG
    lies = [
        record("response", http(body(n)), length=10**12, WARC_Target_URI=url(n))
        for n in range(count)
    ]
    read, notes = read_file(tmp_path, PACKED[how](lies))
    assert (urls(read), len(notes)) == (all_urls(count), count)
    assert [one.block for one in read] == [http(body(n)) for n in range(count)]


@pytest.mark.parametrize("how", ["plain", "gzip by record"])
def test_only_the_start_of_a_huge_record_is_held(tmp_path: Path, how: str) -> None:
    large = 10 * 1024**3 if how == "plain" else ALWAYS_UNPACKED // 2
    path = tmp_path / "a.warc"
    head = record("response", b"", length=large, WARC_Target_URI=url(1))[:-4]
    first, _, last = pages(3)
    if how == "plain":
        with path.open("wb") as file:
            file.write(first + head + http(b"large"))
            file.seek(len(first) + len(head) + large)  # a hole, which takes no disk space
            file.write(b"\r\n\r\n" + last)
    else:
        packer = gzip.compress
        path.write_bytes(
            packer(first) + packer(head + bytes(large) + b"\r\n\r\n", 1) + packer(last)
        )
    with limited_growth(20 << 20):
        read, notes = read_path(path)
    assert urls(read) == all_urls(3)
    assert (read[1].is_cut, len(read[1].block)) == (True, LIMIT)
    (note,) = notes
    assert f"{url(1)} has {large:,} bytes" in note


@given(at=st.floats(0, 1), bit=st.integers(0, 7), how=st.sampled_from(["gzip", "zstd"]))
@settings(deadline=None)
def test_a_damaged_byte_loses_only_its_own_record(
    at: float, bit: int, how: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    packer = (
        gzip.compress if how == "gzip" else zstandard.ZstdCompressor(write_checksum=True).compress
    )
    members = [packer(page) for page in pages(12)]
    content = bytearray(b"".join(members))
    place = int(at * (len(content) - 1))
    content[place] ^= 1 << bit
    hit = next(n for n in range(12) if place < sum(map(len, members[: n + 1])))
    read, notes = read_file(tmp_path_factory.mktemp("warc"), bytes(content))
    assert [one for one in urls(read) if one != url(hit)] == [url(n) for n in range(12) if n != hit]
    whole = dict(zip(all_urls(12), pages(12), strict=True))
    assert notes or all(one.block in whole[one.url] for one in read)


@pytest.mark.parametrize("how", PACKED)
def test_one_note_says_which_record_of_a_truncated_file_is_lost(tmp_path: Path, how: str) -> None:
    content = PACKED[how](pages(10))
    read, notes = read_file(tmp_path, content[:-40])
    assert urls(read)[:9] == all_urls(9)
    (note,) = notes
    assert url(9) in note or how == "zstd by record"
    assert "ends within" in note or "wrong length" in note


def test_bytes_that_are_no_record_are_skipped(tmp_path: Path) -> None:
    one, two = pages(2)
    read, notes = read_file(tmp_path, b"junk\r\n" + one + b"more junk\r\n" + two)
    assert urls(read) == all_urls(2)
    assert len(notes) == 2


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 5000, b"<html>", b"\x1f\x8b\x08" * 2000, b"WARC/"]
)
def test_a_file_that_is_no_warc_has_no_records(tmp_path: Path, content: bytes) -> None:
    read, notes = read_file(tmp_path, content)
    assert read == []
    assert len(notes) == bool(content)


def test_a_record_inside_a_record_is_a_part_of_it(tmp_path: Path) -> None:
    inner = response(url(7), b"inner")
    read, notes = read_file(tmp_path, response(url(0), inner) + response(url(1), b"x"))
    assert (urls(read), notes) == ([url(0), url(1)], [])
    assert read[0].block == http(inner)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("filler", [b"\r\n", b"\0", response(url(1), body(1))])
def test_bombs_are_cut_and_the_other_members_are_read(
    tmp_path: Path, pack: Callable[[bytes], bytes], filler: bytes
) -> None:
    """All members share one allowance, so many bombs are no worse than one."""
    first, *rest = pages(4)
    bomb = pack(first + filler * (ALWAYS_UNPACKED * 9 // 8 // len(filler)))
    read, notes = read_file(tmp_path, b"".join(bomb + pack(page) for page in rest))
    assert [one for one in urls(read) if one not in (url(0), url(1))] == [url(2), url(3)]
    limits = (f"more than {MOST_SWELLING} times its size", f"less than {LEAST_PACKED} bytes each")
    assert len([note for note in notes if any(limit in note for limit in limits)]) == 3


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize(
    "tiny",
    [
        b"WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
        b"WARC/1.0\r\nWARC-Type: response\r\n\r\n",
        b"WARC/1.0\r\nContent-Length: 9\r\n\r\n",
        b"WARC/1.0\r\n\r\nnothing\r\n\r\n",
    ],
)
def test_the_size_of_a_file_limits_the_number_of_tiny_records(
    tmp_path: Path, pack: Callable[[bytes], bytes], tiny: bytes
) -> None:
    """10,000 compressed records take some hundred bytes, and more would take minutes to import."""
    content = pack(tiny * 2 * ALWAYS_READ) + pack(pages(1)[0])
    read, notes = read_file(tmp_path, content)
    assert len(read) <= ALWAYS_READ + len(content) // LEAST_PACKED + 1
    assert read[-1].url == url(0)
    assert len(notes) <= records.MOST_NOTES + 1


def test_bytes_that_are_read_again_after_a_wrong_length_count_once(tmp_path: Path) -> None:
    noise = record("x", random.Random(1).randbytes(400_000))
    lie = record("x", b"x", length=10**6)
    tiny = b"WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
    content = gzip.compress(noise + lie * 19 + tiny * 2 * ALWAYS_READ)
    read, _ = read_file(tmp_path, content)
    assert len(read) <= ALWAYS_READ + len(content) // LEAST_PACKED + 1


def test_files_in_a_wacz_file_share_one_allowance_of_records(tmp_path: Path) -> None:
    path = tmp_path / "a.wacz"
    tiny = gzip.compress(b"WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n" * ALWAYS_READ)
    with ZipFile(path, "w") as archive:
        for number in range(3):
            archive.writestr(f"archive/{number}.warc.gz", tiny)
    read = sum(len(list(WarcRecords(file, LIMIT, lambda _line: None))) for file in warc_files(path))
    assert read <= ALWAYS_READ + path.stat().st_size // LEAST_PACKED + 3


def test_a_long_url_is_shortened_in_notes(tmp_path: Path) -> None:
    _, notes = read_file(
        tmp_path, record("response", b"x", length=99, WARC_Target_URI=url(0) + "x" * 60_000)
    )
    assert notes
    assert max(map(len, notes)) < 3000


def test_an_uncompressed_file_has_no_limit_of_bytes(tmp_path: Path) -> None:
    read, _ = read_file(tmp_path, pages(1)[0] + b"\r\n" * (ALWAYS_UNPACKED >> 1) + pages(1)[0])
    assert len(read) == 2
