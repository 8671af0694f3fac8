"""Pruning: what stays is as it was, after a kill at any moment, and readers at work go on."""

import errno
import os
from contextlib import closing, suppress
from pathlib import Path

import pytest

from minicrawl.archive import segments, writer
from minicrawl.archive.index import delete_index
from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.archive.record import digest_of, key_of
from minicrawl.archive.segments import FIRST, Segments, held, held_alone
from minicrawl.archive.writer import ArchiveWriter, PruneRules, Pruning
from minicrawl.errors import UsageError
from tests.archive.archives import NOON, bodies, body, failed, kept, url

ALL = {url(number): [body(number), body(100), body(number + 200)] for number in range(8)}
LAST = {name: found[-1:] for name, found in ALL.items()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(writer, "SEGMENT_BYTES", 2000)
    return tmp_path / "crawl.db-pages"


@pytest.fixture
def end(folder: Path) -> int:
    """Eight pages with three answers each; the second one is the same for all."""
    with closing(ArchiveWriter(folder, FIRST)) as archive:
        for version in range(3):
            found = [kept(name, texts[version], NOON + version) for name, texts in ALL.items()]
            archive.append(found)
            archive.confirm()
        return archive.end


def pruned(archive: ArchiveWriter, **rules: object) -> int:
    found = Pruning(archive.reader, PruneRules(**rules))  # type: ignore[arg-type]
    return archive.prune(found.keeps)


def seen(folder: Path, end: int) -> dict[str, list[bytes]]:
    with closing(ArchiveReader(folder, end)) as reader:
        assert list(verify(reader)) == []
        return bodies(reader)


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ({"versions": 1}, LAST),
        ({"versions": 2}, {name: found[1:] for name, found in ALL.items()}),
        ({"before": NOON + 1}, {name: found[1:] for name, found in ALL.items()}),
        ({"keys": {key_of(url(3))}}, {url(3): ALL[url(3)]}),
        ({"keys": {key_of(url(3))}, "before": NOON + 2}, {url(3): LAST[url(3)]}),
        ({"versions": 9}, ALL),
    ],
)
def test_what_stays_is_as_it_was(
    folder: Path, end: int, rules: dict[str, object], left: dict[str, list[bytes]]
) -> None:
    with closing(ArchiveWriter(folder, end)) as archive:
        after = pruned(archive, **rules)
        archive.confirm()
        assert archive.remove_pruned()
    assert seen(folder, after) == left
    delete_index(folder)
    assert seen(folder, after) == left


def test_failures_are_no_versions_of_a_page(tmp_path: Path) -> None:
    """A site that is down for a night costs no page: as many failures stay as pages."""
    with closing(ArchiveWriter(tmp_path, FIRST)) as archive:
        archive.append([kept(url(1), body(1)), kept(url(1), body(2)), kept(url(2), b"gone")])
        archive.confirm()
        archive.append([*(failed(url(1), b"gone", NOON + day, 503) for day in range(3))])
        archive.confirm()
    with closing(ArchiveWriter(tmp_path, archive.end)) as archive:
        assert [row.kind for row in archive.reader.index.rows(archive.end)][3:] == [5, 5, 5]
        end = pruned(archive, versions=1)
        archive.confirm()
    assert seen(tmp_path, end) == {url(1): [body(2), b"gone"], url(2): [b"gone"]}


def test_the_files_of_what_went_are_gone(folder: Path, end: int) -> None:
    before = sum(path.stat().st_size for path in folder.glob("segment-*"))
    with closing(ArchiveWriter(folder, end)) as archive:
        pruned(archive, versions=1)
        archive.confirm()
        archive.remove_pruned()
    assert sum(path.stat().st_size for path in folder.glob("segment-*")) < before / 2


def test_an_archive_that_was_pruned_goes_on(folder: Path, end: int) -> None:
    with closing(ArchiveWriter(folder, end)) as archive:
        end = pruned(archive, versions=1)
        archive.confirm()
    with closing(ArchiveWriter(folder, end)) as archive:
        end = archive.append([kept(url(1), body(201)), kept(url(50), body(50))])
        archive.confirm()
        assert pruned(archive, keys={key_of(url(1)), key_of(url(50))}) > end
        archive.confirm()
        end = archive.end
    assert seen(folder, end) == {url(1): [body(201)] * 2, url(50): [body(50)]}


# ---------------------------------------------------------------- kills and readers


def test_a_pruning_that_was_not_committed_never_was(folder: Path, end: int) -> None:
    killed = ArchiveWriter(folder, end)
    after = pruned(killed, versions=1)
    assert seen(folder, end) == ALL
    with closing(ArchiveWriter(folder, end)) as archive:
        assert Segments(folder).end == end
        while archive.end <= after:  # as far as the pruned archive would have been
            archive.append([kept(f"http://b.example/{archive.end}", body(archive.end))])
            archive.confirm()
        end = archive.end
    found = seen(folder, end)
    assert {name: texts for name, texts in found.items() if name in ALL} == ALL


@pytest.mark.parametrize("syncs", range(8))
def test_an_earlier_pruning_counts_whenever_a_later_one_is_killed(
    folder: Path, end: int, syncs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a reader of the commit before."""
    for _ in range(2):
        with closing(ArchiveWriter(folder, end)) as archive:
            end = pruned(archive, versions=1)
            archive.confirm()
    begin = Segments(folder).begin(end)
    assert begin > FIRST
    real, left = segments.sync, iter([*[True] * syncs, False])

    def sync(path: Path) -> None:
        if not next(left, True):
            raise KeyboardInterrupt
        real(path)

    killed = ArchiveWriter(folder, end)
    monkeypatch.setattr(segments, "sync", sync)
    with suppress(KeyboardInterrupt):
        pruned(killed, versions=1)
    monkeypatch.undo()
    with closing(ArchiveReader(folder, end)) as reader:
        assert reader.begin == begin
        assert reader.segments.lost(reader.begin, end) == []
        assert bodies(reader) == LAST
    killed.reader.close()
    with closing(ArchiveWriter(folder, end)) as archive:
        assert archive.reader.begin == begin
        assert Segments(folder).end == end
    assert seen(folder, end) == LAST


def test_a_pruning_that_is_given_up_needs_no_room(
    folder: Path, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(ArchiveWriter(folder, end)) as archive:
        end = pruned(archive, versions=2)
        archive.confirm()
        begin = Segments(folder).begin(end)
        pruned(archive, versions=1)

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "full")

        monkeypatch.setattr(Path, "write_text", full)
        archive.reader.segments.cut_off(archive.end)
        assert Segments(folder).begin(end) == begin
        assert Segments(folder).begin(Segments(folder).end + (1 << 50)) == begin
        monkeypatch.undo()


def test_a_kill_before_the_old_files_are_gone_doubles_nothing(folder: Path, end: int) -> None:
    killed = ArchiveWriter(folder, end)
    after = pruned(killed, versions=1)
    assert seen(folder, after) == LAST
    killed.reader.close()
    with closing(ArchiveWriter(folder, after)):
        assert Segments(folder).numbers()[0] > 1
    assert seen(folder, after) == LAST


def test_a_reader_at_work_goes_on_and_the_files_go_later(folder: Path, end: int) -> None:
    with closing(ArchiveReader(folder, end)) as reader, closing(ArchiveWriter(folder, end)) as one:
        after = pruned(one, versions=1)
        one.confirm()
        assert not one.remove_pruned()
        assert bodies(reader) == ALL
        assert seen(folder, after) == LAST
        with pytest.raises(UsageError, match="is being read"):
            pruned(one, versions=1)
    with closing(ArchiveWriter(folder, after)) as archive:
        assert archive.remove_pruned()
    assert seen(folder, after) == LAST


def test_a_damaged_answer_is_left_behind(folder: Path, end: int) -> None:
    path = Segments(folder).path(1)
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with closing(ArchiveWriter(folder, end)) as archive:
        after = pruned(archive, versions=9)
        archive.confirm()
    found = seen(folder, after)
    assert sum(map(len, found.values())) == 23


def test_bodies_that_others_need_are_not_freed(folder: Path, end: int) -> None:
    with closing(ArchiveWriter(folder, end)) as archive:
        archive.append([kept(url(number), body(100), NOON + 3) for number in range(8)])
        archive.confirm()
        archive.reader.go_on_to(before := archive.end)
        found = Pruning(archive.reader, PruneRules(versions=1))
        lengths = {row.place: row.record_bytes for row in archive.reader.index.rows(before)}
        place = archive.reader.place_of_body(digest_of(body(100)))
        assert place is not None
        assert found.freed_bytes() == found.dropped_bytes - lengths[place]


def test_what_nobody_needs_is_freed(folder: Path, end: int) -> None:
    with closing(ArchiveReader(folder, end)) as reader:
        found = Pruning(reader, PruneRules(versions=1))
        assert found.freed_bytes() == found.dropped_bytes > 0


def test_an_attempt_to_hold_the_segments_alone_keeps_the_shared_lock(tmp_path: Path) -> None:
    first, second, third = (held(tmp_path) for _ in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    with held_alone(first) as is_alone:
        assert not is_alone
    os.close(second)
    with held_alone(third) as is_alone:
        assert not is_alone, "the first one has lost its lock"
    os.close(first)
    with held_alone(third) as is_alone:
        assert is_alone
    os.close(third)
