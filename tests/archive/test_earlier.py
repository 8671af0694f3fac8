"""Captures of an earlier archive are found by URL and digest in any usual CDXJ index."""

import gzip
import json
from base64 import b32decode
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.archive.warc.capture import Original, payload_digest
from minicrawl.archive.warc.earlier import EarlierArchive, read_earlier
from minicrawl.errors import StoreError, UsageError
from tests.archive.archives import NOON, body, url

EARLY, LATE = "20200101000000", "20210203040506"
EARLY_DATE, LATE_DATE = "2020-01-01T00:00:00Z", "2021-02-03T04:05:06Z"


def line(number: int, content: bytes | None = None, stamp: str = EARLY, **fields: object) -> str:
    digest = payload_digest(body(number) if content is None else content)
    known = {"url": url(number), "digest": digest, "mime": "text/html"} | fields
    return f"example,a)/{number} {stamp} {json.dumps(known)}\n"


@pytest.fixture
def cdxj(tmp_path: Path) -> Path:
    return tmp_path / "earlier.cdxj"


def read(cdxj: Path) -> list[str]:
    warnings: list[str] = []
    read_earlier(cdxj, cdxj.with_name("crawl.db-earlier"), warnings.append)
    return warnings


def found(cdxj: Path, number: int, content: bytes | None = None, at: float = NOON) -> object:
    read(cdxj)
    file = cdxj.with_name("crawl.db-earlier")
    digest = payload_digest(body(number) if content is None else content)
    with closing(EarlierArchive(file)) as earlier:
        return earlier.original(url(number), digest, at)


def test_an_original_has_the_same_body_at_whatever_url(cdxj: Path) -> None:
    cdxj.write_text(line(1) + line(2) + line(4, body(1), LATE))
    assert found(cdxj, 1) == Original(url(1), EARLY_DATE)
    assert found(cdxj, 1, body(2)) == Original(url(2), EARLY_DATE)
    assert found(cdxj, 3, body(1)) == Original(url(1), EARLY_DATE)
    assert found(cdxj, 4, body(1)) == Original(url(4), LATE_DATE)
    assert found(cdxj, 3) is None


def test_the_original_is_the_latest_one_before_the_capture(cdxj: Path) -> None:
    cdxj.write_text(line(1, stamp=LATE) + line(1) + line(1, stamp="20250101000000"))
    assert found(cdxj, 1) == Original(url(1), LATE_DATE)
    assert found(cdxj, 1, at=1_577_836_801) == Original(url(1), EARLY_DATE)
    assert found(cdxj, 1, at=1_577_836_800.5) is None


@pytest.mark.parametrize("form", ["{0}", "sha1:{0}", "SHA1:{0}", "sha1:{1}", "{1}", "sha-1:{1}"])
def test_any_usual_notation_of_digests_is_read(cdxj: Path, form: str) -> None:
    short = payload_digest(body(1)).removeprefix("sha1:")
    cdxj.write_text(line(1, digest=form.format(short, b32decode(short).hex())))
    assert found(cdxj, 1) == Original(url(1), EARLY_DATE)


def test_a_revisit_counts_as_the_first_response_with_its_body(cdxj: Path) -> None:
    cdxj.write_text(
        line(1, stamp=LATE, mime="warc/revisit")
        + line(2, body(1), LATE)
        + line(3, body(1))
        + line(4, stamp=LATE, mime="warc/revisit")
    )
    assert found(cdxj, 1) == Original(url(3), EARLY_DATE)
    assert found(cdxj, 2, body(1)) == Original(url(2), LATE_DATE)
    assert found(cdxj, 4) is None


def test_urls_are_compared_in_canonical_form_and_returned_as_written(cdxj: Path) -> None:
    cdxj.write_text(line(1, url="HTTP://A.example:80/1#top"))
    assert found(cdxj, 1) == Original("HTTP://A.example:80/1#top", EARLY_DATE)


def test_compressed_indexes_of_several_members_are_read(cdxj: Path) -> None:
    cdxj.write_bytes(b"".join(gzip.compress(line(number).encode()) for number in (2, 1)))
    assert found(cdxj, 1) == Original(url(1), EARLY_DATE)
    assert found(cdxj, 2) == Original(url(2), EARLY_DATE)


def test_the_indexes_of_a_folder_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "2025").mkdir()
    (tmp_path / "2025/a.cdxj").write_text(line(1))
    (tmp_path / "b.cdxj.gz").write_bytes(gzip.compress(line(2).encode()))
    (tmp_path / "c.warc.gz").write_text("no index")
    file, told = tmp_path / "crawl.db-earlier", list[str]()
    read_earlier(tmp_path, file, told.append)
    read_earlier(tmp_path, file, told.append)  # the same files are not read again
    assert told == [f"{tmp_path}: 2 earlier captures"]
    (tmp_path / "d.cdxj").write_text(line(3))
    read_earlier(tmp_path, file, told.append)
    with closing(EarlierArchive(file)) as earlier:
        for number in (1, 2, 3):
            digest = payload_digest(body(number))
            assert earlier.original("http://b.example/", digest, NOON) == Original(
                url(number), EARLY_DATE
            )


BAD = (
    "example,a)/1",
    f"example,a)/1 {EARLY} [1]",
    f"example,a)/1 {EARLY} 1",
    f"example,a)/1 {EARLY} " + "[" * 100_000,
    f"example,a)/1 {EARLY} " + '{"url": "' + "a" * 200_000,
    f'example,a)/1 {EARLY} {{"url": 1, "digest": "sha1:1"}}',
    "example,a)/1 20201399999999 {}",
    "example,a)/1 2020 {}",
    line(1, url="http://a.example/1\r\nWARC-Type: metadata"),
    line(1, digest=["sha1"]),
    line(1, url="http://a.example/\ud800"),
    "\x00\x01",
)


def test_bad_lines_are_counted_in_one_warning(cdxj: Path) -> None:
    others = [line(1, digest="sha256:00"), line(1, url="urn:text:1"), line(1, method="POST")]
    lines = ["!meta 0 {}", *BAD, "", line(2), *others, "\udcff"]
    text = "\n".join(one.rstrip("\n") for one in lines)
    cdxj.write_bytes(text.encode("utf-8", "surrogateescape"))
    (warnings,) = read(cdxj)
    assert "\n" not in warnings
    assert [int(word) for word in warnings.split() if word.isdigit()] == [
        1,
        len(BAD) + 1,
        len(others),
    ]
    assert found(cdxj, 2) == Original(url(2), EARLY_DATE)
    assert found(cdxj, 1) is None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"PK\x03\x04 and more", id="a WACZ file"),
        pytest.param(gzip.compress(b"WARC/1.1\r\n" * 9), id="a WARC file"),
        pytest.param(gzip.compress(line(1).encode())[:-9], id="cut off"),
    ],
)
def test_a_file_of_another_type_is_refused_without_leftovers(cdxj: Path, content: bytes) -> None:
    cdxj.write_bytes(content)
    with pytest.raises(UsageError, match=cdxj.name):
        read(cdxj)
    assert list(cdxj.parent.iterdir()) == [cdxj]


def test_a_path_that_is_no_file_is_refused(cdxj: Path) -> None:
    for path in (cdxj, Path("/dev/null")):
        with pytest.raises(UsageError, match=path.name):
            read_earlier(path, cdxj.with_name("crawl.db-earlier"), print)


def test_an_index_is_read_once_until_it_changes(cdxj: Path) -> None:
    cdxj.write_text(line(1))
    assert read(cdxj)
    assert not read(cdxj)
    cdxj.write_text(line(2) + line(3))
    assert read(cdxj)
    assert found(cdxj, 1) is None
    assert found(cdxj, 3)


def test_leftovers_of_a_kill_and_damaged_files_are_replaced(cdxj: Path) -> None:
    file = cdxj.with_name("crawl.db-earlier")
    file.with_name(f"{file.name}.draft").write_bytes(b"a part")
    cdxj.write_text(line(1))
    assert found(cdxj, 1)
    assert sorted(cdxj.parent.iterdir()) == [file, cdxj]
    file.write_bytes(b"no database" * 100)
    with pytest.raises(StoreError, match=file.name):
        EarlierArchive(file)
    assert read(cdxj)
    assert found(cdxj, 1)
