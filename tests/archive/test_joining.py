"""Joined archives have every record in order, despite damage and kills."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.archive import record
from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.archive.record import PLAIN, RecordKind, pack
from minicrawl.archive.segments import FIRST, SEGMENT_BYTES, Segments, segment_of
from minicrawl.archive.writer import ArchiveWriter, JoinedArchive
from minicrawl.model import KeptAnswer
from tests.archive.archives import NOON, answered, bodies, body, filled, kept, url, written

MANY = 450
"""Number of pages that suffices for training a dictionary."""


def trained(folder: Path, numbers: Iterable[int], segment_bytes: int = SEGMENT_BYTES) -> int:
    """Create an archive in two commits, of which the second uses a dictionary."""
    both = list(numbers)
    archive = ArchiveWriter(folder, FIRST, segment_bytes=segment_bytes)
    for some in (both[:MANY], both[MANY:]):
        number = archive.dictionary
        archive.append(kept(url(one), body(one), folder=folder, number=number) for one in some)
        archive.confirm()
    assert archive.dictionary
    archive.close()
    return archive.end


def read(folder: Path, end: int) -> dict[str, list[bytes]]:
    with closing(ArchiveReader(folder, end)) as reader:
        assert list(verify(reader)) == []
        return bodies(reader)


def joined(
    folder: Path, sources: dict[str, tuple[Path, int]], segment_bytes: int = SEGMENT_BYTES
) -> int:
    with closing(JoinedArchive(folder, segment_bytes)) as archive:
        for name, (source, end) in sources.items():
            archive.add(name, Segments(source), end)
        return archive.end


def kinds(folder: Path, end: int) -> list[RecordKind]:
    with closing(ArchiveReader(folder, end)) as reader:
        return [RecordKind(row.kind) for row in reader.index.rows(end)]


def test_archives_with_different_dictionaries_of_equal_numbers_are_joined(
    tmp_path: Path,
) -> None:
    ends = {
        name: (tmp_path / name, trained(tmp_path / name, range(begin, begin + MANY + 50), 130_000))
        for name, begin in (("a", 0), ("b", 1000))
    }
    end = joined(tmp_path / "all", ends, 260_000)
    assert segment_of(end) > 2
    wanted = {**read(*ends["a"]), **read(*ends["b"])}
    assert read(tmp_path / "all", end) == wanted


def test_only_new_records_of_a_grown_archive_are_copied(tmp_path: Path) -> None:
    one, all_ = tmp_path / "one", tmp_path / "all"
    first = filled(one, range(3))
    assert joined(all_, {"one": (one, first)}) == joined(all_, {"one": (one, first)})
    later = written(one, [kept(url(7), body(7)), kept(url(1), body(8), NOON + 9)], begin=first)
    end = joined(all_, {"one": (one, later)})
    assert read(all_, end) == read(one, later)
    assert read(all_, end)[url(1)] == [body(1), body(8)]


def test_a_body_in_two_archives_is_kept_once(tmp_path: Path) -> None:
    filled(tmp_path / "a", range(3))
    written(tmp_path / "b", [kept("http://b.example/", body(1))])
    ends = {name: (tmp_path / name, Segments(tmp_path / name).end) for name in "ab"}
    end = joined(tmp_path / "all", ends)
    assert kinds(tmp_path / "all", end).count(RecordKind.REVISIT) == 1
    assert read(tmp_path / "all", end)["http://b.example/"] == [body(1)]


def collided(folder: Path, name: str, text: bytes) -> int:
    """Create an archive of two visits to a page, with a content hash that other bodies share."""
    packed = pack(RecordKind.PAGE, name, answered(text), PLAIN, number=0, content=7)
    return written(folder, [KeptAnswer(packed, NOON)], [KeptAnswer(packed, NOON + 1)])


def test_bodies_with_equal_digests_keep_their_own_revisits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_check_digest", lambda _header, _hasher: None)
    texts = {"a": b"one", "b": b"two", "c": b"six"}
    ends = {
        name: (tmp_path / name, collided(tmp_path / name, f"http://{name}/", text))
        for name, text in texts.items()
    }
    all_ = tmp_path / "all"
    end = joined(all_, ends)
    assert kinds(all_, end).count(RecordKind.REVISIT) == 3
    assert read(all_, end) == {f"http://{name}/": [text] * 2 for name, text in texts.items()}


def test_records_of_a_killed_join_are_cut_off(tmp_path: Path) -> None:
    one, two, all_ = tmp_path / "one", tmp_path / "two", tmp_path / "all"
    before = joined(all_, {"one": (one, filled(one, range(3)))})
    state = (all_ / "joined.json").read_bytes()
    end = filled(two, range(5, 9))
    whole = joined(all_, {"two": (two, end)})
    wanted = read(all_, whole)
    (all_ / "joined.json").write_bytes(state)  # as if killed before writing the new state
    assert joined(all_, {}) == before
    assert joined(all_, {"two": (two, end)}) == whole
    assert read(all_, whole) == wanted


def test_damage_loses_one_record_and_is_reported(tmp_path: Path) -> None:
    one, all_ = tmp_path / "one", tmp_path / "all"
    end = filled(one, range(4))
    file = Segments(one).path(1)
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(content)
    with closing(ArchiveReader(all_, joined(all_, {"one": (one, end)}))) as reader:
        (wrong,) = verify(reader)
        assert "damaged" in wrong
        assert set(bodies(reader)) == {url(1), url(2), url(3)}
