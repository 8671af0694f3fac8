"""Joined archives have every record in order, despite damage and kills."""

from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.archive.joining import JoinedArchive
from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.archive.record import RecordKind
from minicrawl.archive.segments import FIRST, SEGMENT_BYTES, Segments, segment_of
from tests.archive.archives import (
    NOON,
    TRAINING,
    bodies,
    body,
    damage,
    filled,
    kept,
    kinds,
    read,
    trained,
    url,
    written,
)


def joined(folder: Path, *sources: Path, segment_bytes: int = SEGMENT_BYTES) -> int:
    """Add all records of the sources, and return the end."""
    with closing(JoinedArchive(folder, segment_bytes)) as archive:
        for source in sources:
            segments = Segments(source)
            archive.add(source.name, segments, segments.end)
        return archive.end


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return tmp_path / "one"


@pytest.fixture
def two(tmp_path: Path) -> Path:
    return tmp_path / "two"


def test_archives_with_different_dictionaries_of_equal_numbers_are_joined(
    folder: Path, one: Path, two: Path
) -> None:
    for source, begin in ((one, 0), (two, 1000)):
        trained(source, range(begin, begin + TRAINING + 50), 130_000)
    assert segment_of(joined(folder, one, two, segment_bytes=260_000)) > 2
    assert read(folder) == {**read(one), **read(two)}


def test_only_new_records_of_a_grown_archive_are_copied(folder: Path, one: Path) -> None:
    first = filled(one, range(3))
    assert joined(folder, one) == joined(folder, one)
    written(one, [kept(url(7), body(7)), kept(url(1), body(8), NOON + 9)], begin=first)
    joined(folder, one)
    assert read(folder) == read(one)
    assert read(folder)[url(1)] == [body(1), body(8)]


def test_a_body_in_two_archives_is_kept_once(folder: Path, one: Path, two: Path) -> None:
    filled(one, range(3))
    written(two, [kept("http://b.example/", body(1))])
    joined(folder, one, two)
    assert kinds(folder).count(RecordKind.REVISIT) == 1
    assert read(folder)["http://b.example/"] == [body(1)]


def test_records_of_a_killed_join_are_cut_off(folder: Path, one: Path, two: Path) -> None:
    filled(one, range(3))
    before, state = joined(folder, one), (folder / "joined.json").read_bytes()
    filled(two, range(5, 9))
    whole = joined(folder, two)
    wanted = read(folder)
    (folder / "joined.json").write_bytes(state)  # as if killed before writing the new state
    assert joined(folder) == before
    assert joined(folder, two) == whole
    assert read(folder) == wanted


def test_damage_loses_one_record_and_is_reported(folder: Path, one: Path) -> None:
    filled(one, range(4))
    damage(one, FIRST + 100)
    with closing(ArchiveReader(folder, joined(folder, one))) as reader:
        (wrong,) = verify(reader)
        assert "damaged" in wrong
        assert set(bodies(reader)) == {url(1), url(2), url(3)}
