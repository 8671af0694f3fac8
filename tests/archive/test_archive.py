"""Archives: what is confirmed stays, what is not is cut off, and damage costs one record."""

import resource
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from minicrawl.archive import record, segments, writer
from minicrawl.archive.index import NAME, delete_index
from minicrawl.archive.reader import ArchiveReader, last_page, verify
from minicrawl.archive.record import (
    HASH_BYTES,
    PLAIN,
    DigestKind,
    Header,
    RecordKind,
    key_of,
    pack,
    seal,
    spare_path,
)
from minicrawl.archive.segments import FIRST, Segments, offset_of, place_at
from minicrawl.archive.writer import ArchiveWriter, PruneRules, Pruning
from minicrawl.errors import Damaged
from minicrawl.model import KeptAnswer
from tests.archive.archives import NOON, answered, bodies, body, filled, kept, url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db-pages"


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "SEGMENT_BYTES", 2000)


@pytest.fixture
def early_dictionaries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "TRAINED_AT", 50)


def whole(folder: Path, numbers: range) -> bool:
    with closing(ArchiveReader(folder)) as reader:
        assert list(verify(reader)) == []
        return bodies(reader) == {url(number): [body(number)] for number in numbers}


def damage(folder: Path, place: int, count: int = 1) -> None:
    path = Segments(folder).path(segments.segment_of(place))
    content = bytearray(path.read_bytes())
    for at in range(offset_of(place), offset_of(place) + count):
        content[at] ^= 0xFF
    path.write_bytes(content)


# ---------------------------------------------------------------- what is written


def test_what_was_confirmed_is_read_as_it_was_answered(folder: Path) -> None:
    filled(folder, range(20))
    with closing(ArchiveReader(folder)) as reader:
        (row,) = reader.versions(url(7))
        found = reader.answer(row.place)
    assert (found.url, found.status, found.body, found.at) == (url(7), 200, body(7), NOON + 7)
    assert found.headers["server"] == "tests"
    assert whole(folder, range(20))


def test_what_was_not_confirmed_is_written_over_by_the_next_append(folder: Path) -> None:
    with closing(ArchiveWriter(folder, FIRST)) as archive:
        archive.append([kept(url(number), body(number)) for number in range(5)])
        end = archive.append([kept(url(number), body(number)) for number in range(3)])
        archive.confirm()
        assert archive.end == end
    assert whole(folder, range(3))


@pytest.mark.usefixtures("small_segments")
def test_what_lies_behind_the_last_commit_is_cut_off_at_the_next_start(folder: Path) -> None:
    end = filled(folder, range(10))
    killed = ArchiveWriter(folder, end)
    killed.append([kept(url(number), body(number)) for number in range(10, 40)])
    with closing(ArchiveWriter(folder, end)):
        assert Segments(folder).end == end
    assert whole(folder, range(10))


@pytest.mark.usefixtures("small_segments")
def test_records_go_on_in_the_next_segment(folder: Path) -> None:
    filled(folder, range(60))
    assert len(Segments(folder).numbers()) > 3
    assert whole(folder, range(60))


def test_a_body_is_kept_once_whoever_answers_with_it(folder: Path) -> None:
    with closing(ArchiveWriter(folder, FIRST)) as archive:
        archive.append([kept(url(1), body(1)), kept(url(2), body(1)), kept(url(1), body(1), NOON)])
        archive.confirm()
        archive.append([kept(url(3), body(1))])
        archive.confirm()
    with closing(ArchiveReader(folder)) as reader:
        kinds = [row.kind for row in reader.index.rows(reader.end)]
        assert kinds == [RecordKind.PAGE, *[RecordKind.REVISIT] * 3]
        assert bodies(reader) == {url(1): [body(1)] * 2, url(2): [body(1)], url(3): [body(1)]}


def test_a_record_that_cannot_be_unpacked_is_kept_as_it_is_and_stops_nothing(folder: Path) -> None:
    """A worker packed it with a dictionary that is gone, say; the archive has that body already."""
    packed = kept(url(2), body(1)).record
    broken = packed[:-20] + bytes(20)
    with closing(ArchiveWriter(folder, FIRST)) as archive:
        archive.append([kept(url(1), body(1)), KeptAnswer(broken, NOON), kept(url(3), body(3))])
        archive.confirm()
    with closing(ArchiveReader(folder)) as reader:
        kinds = [row.kind for row in reader.index.rows(reader.end)]
        assert kinds == [RecordKind.PAGE] * 3
        assert [reader.answer(reader.versions(url(n))[0].place).body for n in (1, 3)] == [
            body(1),
            body(3),
        ]


@pytest.mark.parametrize(("only_changes", "versions"), [(False, 4), (True, 2)])
def test_unchanged_pages_are_revisits_or_leave_no_record(
    folder: Path, only_changes: bool, versions: int
) -> None:
    with closing(ArchiveWriter(folder, FIRST, only_changes=only_changes)) as archive:
        answers = [kept(url(1), body(1)), kept(url(1), body(1)), kept(url(1), body(2))]
        archive.append([*answers, KeptAnswer(b"", NOON + 3, url(1))])
        archive.confirm()
    with closing(ArchiveReader(folder)) as reader:
        found = [reader.answer(row.place) for row in reader.versions(url(1))]
    assert len(found) == versions
    assert found[-1].body == body(2)
    assert found[-1].status == (200 if only_changes else 304)


def test_the_last_version_of_an_unchanged_page_is_the_dom_that_was_rendered(folder: Path) -> None:
    page, dom = answered(body(1)), answered(body(2))
    packed = pack(RecordKind.RENDERED, url(1), dom, PLAIN, number=0)
    read = pack(RecordKind.PAGE, url(1), page, PLAIN, number=0)
    writer = ArchiveWriter(folder, FIRST)
    batches = [[KeptAnswer(read, NOON), KeptAnswer(packed, NOON)], [KeptAnswer(b"", NOON, url(1))]]
    for batch in [*batches, [kept(url(1), body(3))]]:
        writer.append(batch)
        writer.confirm()
    with closing(writer):
        writer.reader.go_on_to(writer.end)
        rows = writer.reader.versions(url(1))
        kinds = [RecordKind(row.kind).name for row in rows]
        assert kinds == ["PAGE", "RENDERED", "REVISIT", "PAGE"]
        assert [last_page(rows[:count]) for count in (1, 2, 3, 4)] == [1, 2, 2, 4]
        assert writer.reader.answer(rows[2].place).body == body(1)
        assert writer.reader.shown(rows[2].place).body == body(2)
        left = Pruning(writer.reader, PruneRules(versions=1))
        assert [left.keeps(row) for row in rows] == [False, True, False, True]


def test_a_page_that_is_not_in_the_archive_cannot_be_unchanged(folder: Path) -> None:
    with closing(ArchiveWriter(folder, FIRST)) as archive:
        assert archive.append([KeptAnswer(b"", NOON, url(1))]) == FIRST


# ---------------------------------------------------------------- dictionaries


@pytest.mark.usefixtures("early_dictionaries")
def test_records_are_smaller_once_there_is_a_dictionary(folder: Path) -> None:
    with closing(ArchiveWriter(folder, FIRST)) as archive:
        first = archive.append([kept(url(number), body(number)) for number in range(100)])
        archive.confirm()
        assert archive.dictionary == 1
        more = [kept(url(n), body(n), folder=folder, number=1) for n in range(100, 150)]
        second = archive.append(more)
        archive.confirm()
    assert (second - first) / 50 < 0.7 * len(kept(url(1), body(1)).record)
    assert whole(folder, range(150))


@pytest.mark.usefixtures("early_dictionaries", "small_segments")
def test_a_dictionary_is_in_each_segment_and_a_lost_copy_costs_nothing(folder: Path) -> None:
    end = filled(folder, range(100))
    with closing(ArchiveWriter(folder, end)) as archive:
        archive.append([kept(url(n), body(n), folder=folder, number=1) for n in range(100, 200)])
        archive.confirm()
    with closing(ArchiveReader(folder)) as reader:
        copies = [place for _, place in reader.index.dictionaries(1)]
    assert len(copies) > 2
    damage(folder, copies[0] + 1000)
    spare_path(folder, 1).unlink()
    with closing(ArchiveReader(folder)) as reader:
        assert len(list(verify(reader))) == 1
        assert len(bodies(reader)) == 200


@pytest.mark.usefixtures("early_dictionaries")
def test_the_spare_dictionary_is_made_again(folder: Path) -> None:
    end = filled(folder, range(100))
    spare_path(folder, 1).unlink()
    with closing(ArchiveWriter(folder, end)) as archive:
        assert archive.dictionary == 1
    assert spare_path(folder, 1).exists()


# ---------------------------------------------------------------- damage


@given(at=st.floats(0, 1), count=st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_damage_costs_the_records_that_it_hits(
    at: float, count: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("archive")
    end = filled(folder, range(12))
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


def test_a_revisit_whose_body_is_lost_says_so(folder: Path) -> None:
    with closing(ArchiveWriter(folder, FIRST)) as archive:
        archive.append([kept(url(1), body(1)), kept(url(2), body(1))])
        archive.confirm()
    damage(folder, FIRST + 100)
    with closing(ArchiveReader(folder)) as reader:
        (row,) = reader.versions(url(2))
        with pytest.raises(Damaged):
            reader.answer(row.place)
        assert len(list(verify(reader))) == 2


def test_an_archive_that_ends_too_early_says_so(folder: Path) -> None:
    end = filled(folder, range(5))
    segment = Segments(folder).path(1)
    segment.write_bytes(segment.read_bytes()[:-10])
    with closing(ArchiveReader(folder, end)) as reader:
        lines = list(verify(reader))
    assert "damaged" in lines[0]
    assert "ends at" in lines[1]
    with closing(ArchiveWriter(folder, end)) as archive:
        assert archive.was_shortened


LARGE = 100 << 20


def grown_by(done: int) -> int:
    """KiB since then."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - done


def test_a_record_that_says_it_is_very_long_costs_itself_and_no_memory(folder: Path) -> None:
    end = filled(folder, range(2))
    segment = Segments(folder).path(1)
    lie = Header(RecordKind.PAGE, DigestKind.CONTENT, 0, LARGE, 10, 1, NOON, bytes(16))
    whole_one = segment.read_bytes()
    with segment.open("r+b") as file:
        file.seek(offset_of(end))
        file.write(seal(record._with_header(lie, b""), NOON))
        file.seek(2 * LARGE)  # a hole: nothing of it is on the disk
        file.write(whole_one)
    delete_index(folder)
    before = grown_by(0)
    with closing(ArchiveReader(folder)) as reader:
        assert [len(found) for found in bodies(reader).values()] == [2, 2]
        (line,) = verify(reader)
    assert f"{2 * LARGE - offset_of(end):,} bytes are damaged" in line
    assert grown_by(before) < 20_000


def test_a_record_that_swells_is_verified_piece_by_piece(folder: Path) -> None:
    end = filled(folder, range(2))
    head = b'{"url":"http://a.example/9","status":200,"headers":{}}'
    packer, zeros = zstandard.ZstdCompressor(1).compressobj(), bytes(1 << 20)
    code = blake2b(digest_size=HASH_BYTES)
    packed = [packer.compress(head)]
    for _ in range(LARGE // len(zeros)):
        packed.append(packer.compress(zeros))
        code.update(zeros)
    payload = b"".join([*packed, packer.flush()])
    kinds, digest = (
        (RecordKind.PAGE, DigestKind.CONTENT),
        code.digest() + LARGE.to_bytes(8, "little"),
    )
    header = Header(*kinds, 0, len(payload), len(head), key_of(url(9)), NOON, digest)
    Segments(folder).write(end, seal(record._with_header(header, payload), NOON))
    before = grown_by(0)
    with closing(ArchiveReader(folder)) as reader:
        assert list(verify(reader)) == []
    assert grown_by(before) < 20_000
    Segments(folder).write(
        end, seal(record._with_header(header._replace(digest=b"x" * 16), payload), NOON)
    )
    with closing(ArchiveReader(folder)) as reader:
        (line,) = verify(reader)
    assert line.endswith(f"its body has another digest: {url(9)}")


# ---------------------------------------------------------------- the index


@pytest.fixture(params=["deleted", "no database", "behind", "a folder"])
def spoilt(folder: Path, request: pytest.FixtureRequest) -> Path:
    """An archive of ten pages whose index is of no use."""
    end = filled(folder, range(5))
    index = (folder / NAME).read_bytes()
    with closing(ArchiveWriter(folder, end)) as archive:
        archive.append([kept(url(number), body(number), NOON + number) for number in range(5, 10)])
        archive.confirm()
    delete_index(folder)
    match request.param:
        case "no database":
            (folder / NAME).write_bytes(b"x" * 5000)
        case "behind":
            (folder / NAME).write_bytes(index)
        case "a folder":
            (folder / NAME).mkdir()
    return folder


def test_the_index_is_made_again_from_the_segments(spoilt: Path) -> None:
    assert whole(spoilt, range(10))


def test_places_are_ordered_as_they_were_written() -> None:
    assert FIRST < place_at(1, 1) < place_at(2, 0) < place_at(2, 1 << 39)
