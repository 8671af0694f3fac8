"""Archives keep confirmed records, cut off others, and lose single records to damage."""

from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from shutil import copytree

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from minicrawl.archive import record
from minicrawl.archive.codec import PLAIN
from minicrawl.archive.index import INDEX_FILE
from minicrawl.archive.packing import spare_path
from minicrawl.archive.pruning import PruneRules, Pruning
from minicrawl.archive.reader import ArchiveReader, last_page, verify
from minicrawl.archive.record import HASH_BYTES, DigestKind, Header, RecordKind, key_of, pack, seal
from minicrawl.archive.segments import FIRST, Segments, offset_of
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.errors import Damaged
from minicrawl.model import KeptAnswer
from tests.archive.archives import (
    NOON,
    TRAINING,
    answered,
    bodies,
    body,
    confirmed,
    damage,
    delete_index,
    filled,
    kept,
    kinds,
    read,
    trained,
    url,
    written,
)
from tests.memory import limited_growth

SMALL = 2000
"""Size of small segments, in bytes."""


def numbered(*numbers: int) -> list[KeptAnswer]:
    return [kept(url(number), body(number), NOON + number) for number in numbers]


def pages(*numbers: int) -> dict[str, list[bytes]]:
    return {url(number): [body(number)] for number in numbers}


def test_a_confirmed_response_is_read_back(folder: Path) -> None:
    filled(folder, range(20))
    with closing(ArchiveReader(folder)) as reader:
        (row,) = reader.versions(url(7))
        found = reader.answer(row.place)
    assert (found.url, found.status, found.body, found.at) == (url(7), 200, body(7), NOON + 7)
    assert found.headers["server"] == "tests"
    assert read(folder) == pages(*range(20))


def test_an_unconfirmed_batch_is_overwritten_by_the_next(folder: Path) -> None:
    with closing(ArchiveWriter(folder, FIRST)) as archive:
        archive.append(numbered(0, 1, 2, 3, 4))
        end = archive.append(numbered(0, 1, 2))
        archive.confirm()
        assert archive.end == end
    ArchiveWriter(folder, end).close()  # the next start
    assert read(folder) == pages(0, 1, 2)


def test_records_after_the_last_commit_are_cut_off_at_the_next_start(folder: Path) -> None:
    end = filled(folder, range(10), SMALL)
    killed = ArchiveWriter(folder, end, segment_bytes=SMALL)
    killed.append(numbered(*range(10, 40)))
    with closing(ArchiveWriter(folder, end)):
        assert Segments(folder).end == end
    assert read(folder) == pages(*range(10))
    killed.reader.close()


def test_equal_bodies_of_any_urls_are_kept_once(folder: Path) -> None:
    first = [kept(url(1), body(1)), kept(url(2), body(1)), kept(url(1), body(1), NOON)]
    written(folder, first, [kept(url(3), body(1))])
    assert kinds(folder) == [RecordKind.PAGE, *[RecordKind.REVISIT] * 3]
    assert read(folder) == {url(1): [body(1)] * 2, url(2): [body(1)], url(3): [body(1)]}


def test_a_record_that_cannot_be_unpacked_is_kept_and_harms_no_other(folder: Path) -> None:
    """For example, a worker packed the record with a dictionary that is gone."""
    packed = kept(url(2), body(1)).record  # the archive already has this body
    broken = packed[:-20] + bytes(20)
    written(folder, [*numbered(1), KeptAnswer(broken, NOON), *numbered(3)])
    assert kinds(folder) == [RecordKind.PAGE] * 3
    with closing(ArchiveReader(folder)) as reader:
        found = [reader.answer(reader.versions(url(n))[0].place).body for n in (1, 3)]
    assert found == [body(1), body(3)]


@pytest.mark.parametrize(
    ("only_changes", "statuses"), [(False, [200] * 3 + [304]), (True, [200] * 2)]
)
def test_unchanged_pages_are_revisits_or_leave_no_record(
    folder: Path, only_changes: bool, statuses: list[int]
) -> None:
    with closing(ArchiveWriter(folder, FIRST, only_changes=only_changes)) as archive:
        answers = [kept(url(1), body(1)), kept(url(1), body(1)), kept(url(1), body(2))]
        archive.append([*answers, confirmed(url(1), NOON + 3)])
        archive.confirm()
    with closing(ArchiveReader(folder)) as reader:
        found = [reader.answer(row.place) for row in reader.versions(url(1))]
    assert [answer.status for answer in found] == statuses
    assert found[-1].body == body(2)


def test_the_last_version_of_an_unchanged_page_is_its_rendered_dom(folder: Path) -> None:
    page, dom = (
        KeptAnswer(pack(kind, url(1), answered(body(n)), PLAIN, number=0), NOON)
        for n, kind in enumerate((RecordKind.PAGE, RecordKind.RENDERED), 1)
    )
    end = written(folder, [page, dom], [confirmed(url(1), NOON)], [kept(url(1), body(3))])
    with closing(ArchiveReader(folder, end)) as reader:
        rows = reader.versions(url(1))
        assert [RecordKind(row.kind).name for row in rows] == [
            "PAGE",
            "RENDERED",
            "REVISIT",
            "PAGE",
        ]
        assert [last_page(rows[:count]) for count in (1, 2, 3, 4)] == [1, 2, 2, 4]
        assert reader.answer(rows[2].place).body == body(1)
        assert reader.shown(rows[2].place).body == body(2)
        left = Pruning(reader, PruneRules(versions=1))
        assert [left.keeps(row) for row in rows] == [False, True, False, True]


def test_a_304_for_a_page_that_is_not_in_the_archive_leaves_no_record(folder: Path) -> None:
    assert written(folder, [confirmed(url(1), NOON)]) == FIRST


def test_a_dictionary_makes_records_smaller(folder: Path) -> None:
    trained(folder, range(TRAINING + 50))
    with closing(ArchiveReader(folder)) as reader:
        sizes = [reader.versions(url(TRAINING + n))[0].record_bytes for n in range(50)]
    assert sum(sizes) / 50 < 0.7 * len(kept(url(1), body(1)).record)
    assert read(folder) == pages(*range(TRAINING + 50))


def test_each_segment_has_a_copy_of_the_dictionary_and_one_is_enough(folder: Path) -> None:
    trained(folder, range(TRAINING + 100), SMALL)
    with closing(ArchiveReader(folder)) as reader:
        copies = [place for _, place in reader.index.dictionaries(1)]
    assert len(copies) > 2
    damage(folder, copies[0] + 1000)
    spare_path(folder, 1).unlink()
    with closing(ArchiveReader(folder)) as reader:
        assert len(list(verify(reader))) == 1
        assert len(bodies(reader)) == TRAINING + 100


def test_a_missing_spare_dictionary_is_recreated(folder: Path) -> None:
    end = trained(folder, range(TRAINING))
    spare_path(folder, 1).unlink()
    with closing(ArchiveWriter(folder, end)) as archive:
        assert archive.dictionary == 1
    assert spare_path(folder, 1).exists()


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive of twelve pages, to be copied."""
    folder = tmp_path_factory.mktemp("twelve") / "pages"
    filled(folder, range(12))
    return folder


@given(at=st.floats(0, 1), count=st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_damage_loses_only_the_records_that_it_hits(
    at: float, count: int, twelve: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = copytree(twelve, tmp_path_factory.mktemp("archive") / "pages")
    end = Segments(folder).end
    place = FIRST + int(at * (end - FIRST - count))
    with closing(ArchiveReader(folder)) as reader:
        rows = list(reader.index.rows(end))
    hit = [r for r in rows if r.place < place + count and place < r.place + r.record_bytes]
    damage(folder, place, count)
    delete_index(folder)
    with closing(ArchiveReader(folder)) as reader:
        assert len(bodies(reader)) == len(rows) - len(hit)
        (line,) = verify(reader)
    assert "damaged" in line


def test_a_revisit_of_a_damaged_record_is_damaged(folder: Path) -> None:
    written(folder, [kept(url(1), body(1)), kept(url(2), body(1))])
    damage(folder, FIRST + 100)
    with closing(ArchiveReader(folder)) as reader:
        (row,) = reader.versions(url(2))
        with pytest.raises(Damaged):
            reader.answer(row.place)
        assert len(list(verify(reader))) == 2


def test_a_truncated_archive_is_reported(folder: Path) -> None:
    end = filled(folder, range(5))
    segment = Segments(folder).path(1)
    segment.write_bytes(segment.read_bytes()[:-10])
    with closing(ArchiveReader(folder, end)) as reader:
        lines = list(verify(reader))
    assert "damaged" in lines[0]
    assert "ends at" in lines[1]
    with closing(ArchiveWriter(folder, end)) as archive:
        assert archive.was_shortened


LARGE, LITTLE = 50 << 20, 20 << 20


def test_a_record_with_a_wrong_length_is_skipped_without_memory_for_it(folder: Path) -> None:
    end = filled(folder, range(2))
    segment = Segments(folder).path(1)
    header = Header(RecordKind.PAGE, DigestKind.CONTENT, 0, LARGE, 10, 1, NOON, bytes(16))
    good = segment.read_bytes()
    with segment.open("r+b") as file:
        file.seek(offset_of(end))
        file.write(seal(record.with_header(header, b""), NOON))
        file.seek(2 * LARGE)  # a hole, which takes no room on the disk
        file.write(good)
    delete_index(folder)
    with limited_growth(LITTLE), closing(ArchiveReader(folder)) as reader:
        assert [len(found) for found in bodies(reader).values()] == [2, 2]
        (line,) = verify(reader)
    assert f"{2 * LARGE - offset_of(end):,} bytes are damaged" in line


def test_a_record_with_a_very_large_body_is_verified_in_pieces(folder: Path) -> None:
    end = filled(folder, range(2))
    head = b'{"url":"http://a.example/9","status":200,"headers":{}}'
    packer, zeros = zstandard.ZstdCompressor(1).compressobj(), bytes(1 << 20)
    code = blake2b(digest_size=HASH_BYTES)
    packed = [packer.compress(head)]
    for _ in range(LARGE // len(zeros)):
        packed.append(packer.compress(zeros))
        code.update(zeros)
    payload = b"".join([*packed, packer.flush()])
    kinds = RecordKind.PAGE, DigestKind.CONTENT
    digest = code.digest() + LARGE.to_bytes(8, "little")
    header = Header(*kinds, 0, len(payload), len(head), key_of(url(9)), NOON, digest)
    Segments(folder).write(end, seal(record.with_header(header, payload), NOON))
    with limited_growth(LITTLE), closing(ArchiveReader(folder)) as reader:
        assert list(verify(reader)) == []
    wrong = header._replace(digest=b"x" * 16)
    Segments(folder).write(end, seal(record.with_header(wrong, payload), NOON))
    with closing(ArchiveReader(folder)) as reader:
        (line,) = verify(reader)
    assert line.endswith(f"its body has another digest: {url(9)}")


@pytest.mark.parametrize("fault", ["deleted", "no database", "behind", "a folder"])
def test_the_index_is_rebuilt_from_the_segments(folder: Path, fault: str) -> None:
    end, file = filled(folder, range(5)), folder / INDEX_FILE
    before = file.read_bytes()
    written(folder, numbered(*range(5, 10)), begin=end)
    delete_index(folder)
    match fault:
        case "no database":
            file.write_bytes(b"x" * 5000)
        case "behind":
            file.write_bytes(before)
        case "a folder":
            file.mkdir()
    assert read(folder) == pages(*range(10))
