"""Pruning keeps the other records intact, survives kills, and lets readers finish."""

import errno
import gzip
import os
from contextlib import closing, suppress
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest

from minicrawl.archive import segments
from minicrawl.archive.reader import ArchiveReader, delete_index, verify
from minicrawl.archive.record import AskedBy, digest_of, key_of, pack_any
from minicrawl.archive.segments import FIRST, Segments, held, held_alone
from minicrawl.archive.warc import WarcWriter, capture_of, cdxj
from minicrawl.archive.writer import ArchiveWriter, PruneRules, Pruning
from minicrawl.errors import UsageError
from minicrawl.model import KeptAnswer, SentBody, Wire
from tests.archive.archives import (
    NOON,
    answered,
    bodies,
    body,
    confirmed,
    failed,
    kept,
    url,
    written,
)

ALL = {url(number): [body(number), body(100), body(number + 200)] for number in range(8)}
LAST = {name: found[-1:] for name, found in ALL.items()}
SMALL = 2000
"""Size of segments, in bytes, of which the archive needs several."""

opened = partial(ArchiveWriter, segment_bytes=SMALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db-pages"


@pytest.fixture
def end(folder: Path) -> int:
    """Create an archive of eight pages with three versions; the second is the same for all."""
    return written(
        folder,
        *([kept(name, texts[n], NOON + n) for name, texts in ALL.items()] for n in range(3)),
        segment_bytes=SMALL,
    )


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
def test_records_that_are_not_pruned_are_unchanged(
    folder: Path, end: int, rules: dict[str, object], left: dict[str, list[bytes]]
) -> None:
    with closing(opened(folder, end)) as archive:
        after = pruned(archive, **rules)
        archive.confirm()
        assert archive.remove_pruned()
    assert seen(folder, after) == left
    delete_index(folder)
    assert seen(folder, after) == left


def test_failures_do_not_count_as_versions_of_a_page(tmp_path: Path) -> None:
    """A site that is down for a night loses no page: failures are limited separately."""
    pages = [kept(url(1), body(1)), kept(url(1), body(2)), kept(url(2), b"gone")]
    end = written(tmp_path, pages, [failed(url(1), b"gone", NOON + n, 503) for n in range(3)])
    with closing(opened(tmp_path, end)) as archive:
        assert [row.kind for row in archive.reader.index.rows(archive.end)][3:] == [5, 5, 5]
        end = pruned(archive, versions=1)
        archive.confirm()
    assert seen(tmp_path, end) == {url(1): [body(2), b"gone"], url(2): [b"gone"]}


def test_pruning_frees_disk_space(folder: Path, end: int) -> None:
    before = sum(path.stat().st_size for path in folder.glob("segment-*"))
    with closing(opened(folder, end)) as archive:
        pruned(archive, versions=1)
        archive.confirm()
        archive.remove_pruned()
    assert sum(path.stat().st_size for path in folder.glob("segment-*")) < before / 2


def test_a_pruned_archive_can_grow_and_be_pruned_again(folder: Path, end: int) -> None:
    with closing(opened(folder, end)) as archive:
        end = pruned(archive, versions=1)
        archive.confirm()
    with closing(opened(folder, end)) as archive:
        end = archive.append([kept(url(1), body(201)), kept(url(50), body(50))])
        archive.confirm()
        assert pruned(archive, keys={key_of(url(1)), key_of(url(50))}) > end
        archive.confirm()
        end = archive.end
    assert seen(folder, end) == {url(1): [body(201)] * 2, url(50): [body(50)]}


def test_an_uncommitted_pruning_has_no_effect(folder: Path, end: int) -> None:
    killed = opened(folder, end)
    after = pruned(killed, versions=1)
    assert seen(folder, end) == ALL
    with closing(opened(folder, end)) as archive:
        assert Segments(folder).end == end
        while archive.end <= after:  # beyond the end of the pruned archive
            archive.append([kept(f"http://b.example/{archive.end}", body(archive.end))])
            archive.confirm()
        end = archive.end
    found = seen(folder, end)
    assert {name: texts for name, texts in found.items() if name in ALL} == ALL
    killed.reader.close()


@pytest.mark.parametrize("syncs", range(8))
def test_a_kill_during_a_second_pruning_keeps_the_first(
    folder: Path, end: int, syncs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        with closing(opened(folder, end)) as archive:
            end = pruned(archive, versions=1)
            archive.confirm()
    begin = Segments(folder).begin(end)
    assert begin > FIRST
    real, left = segments.sync, iter([*[True] * syncs, False])

    def sync(path: Path) -> None:
        if not next(left, True):
            raise KeyboardInterrupt
        real(path)

    killed = opened(folder, end)
    monkeypatch.setattr(segments, "sync", sync)
    with suppress(KeyboardInterrupt):
        pruned(killed, versions=1)
    monkeypatch.undo()
    with closing(ArchiveReader(folder, end)) as reader:
        assert reader.begin == begin
        assert reader.segments.lost(reader.begin, end) == []
        assert bodies(reader) == LAST
    killed.reader.close()
    with closing(opened(folder, end)) as archive:
        assert archive.reader.begin == begin
        assert Segments(folder).end == end
    assert seen(folder, end) == LAST


def test_a_pruning_can_be_abandoned_on_a_full_disk(
    folder: Path, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(opened(folder, end)) as archive:
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


def test_a_kill_before_old_files_are_removed_duplicates_nothing(folder: Path, end: int) -> None:
    killed = opened(folder, end)
    after = pruned(killed, versions=1)
    assert seen(folder, after) == LAST
    killed.reader.close()
    with closing(opened(folder, after)):
        assert Segments(folder).numbers()[0] > 1
    assert seen(folder, after) == LAST


def test_a_reader_delays_the_removal_of_files(folder: Path, end: int) -> None:
    with closing(ArchiveReader(folder, end)) as reader, closing(opened(folder, end)) as one:
        after = pruned(one, versions=1)
        one.confirm()
        assert not one.remove_pruned()
        assert bodies(reader) == ALL
        assert seen(folder, after) == LAST
        with pytest.raises(UsageError, match="is being read"):
            pruned(one, versions=1)
    with closing(opened(folder, after)) as archive:
        assert archive.remove_pruned()
    assert seen(folder, after) == LAST


def test_a_damaged_record_is_dropped(folder: Path, end: int) -> None:
    path = Segments(folder).path(1)
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with closing(opened(folder, end)) as archive:
        after = pruned(archive, versions=9)
        archive.confirm()
    found = seen(folder, after)
    assert sum(map(len, found.values())) == 23


def test_bodies_that_remaining_records_need_are_not_freed(folder: Path, end: int) -> None:
    with closing(opened(folder, end)) as archive:
        archive.append([kept(url(number), body(100), NOON + 3) for number in range(8)])
        archive.confirm()
        archive.reader.go_on_to(before := archive.end)
        found = Pruning(archive.reader, PruneRules(versions=1))
        lengths = {row.place: row.record_bytes for row in archive.reader.index.rows(before)}
        place = archive.reader.place_of_body(digest_of(body(100)))
        assert place is not None
        assert found.freed_bytes() == found.dropped_bytes - lengths[place]


def test_a_revisit_that_receives_the_body_keeps_its_own_heads(tmp_path: Path) -> None:
    by, coded = AskedBy("fetch", url(0)), b"as sent"

    def answer(number: int) -> KeptAnswer:
        heads = f"GET /{number}".encode(), f"HTTP/1.1 200 No. {number}".encode()
        wire = Wire(*heads, "192.0.2.1", ("http/1.1",), "cipher", SentBody(coded))
        record = pack_any(url(number), answered(body(1))._replace(wire=wire), by)
        assert record is not None
        return KeptAnswer(record, NOON + number, url(number))

    end = written(tmp_path, [answer(1), answer(2)])
    with closing(ArchiveReader(tmp_path, end)) as reader:
        _, before = [reader.answer(row.place) for row in reader.index.rows(end)]
    with closing(opened(tmp_path, end)) as archive:
        end = pruned(archive, gone={key_of(url(1))})
        archive.confirm()
    with closing(ArchiveReader(tmp_path, end)) as reader:
        (after,) = [reader.answer(row.place) for row in reader.index.rows(end)]
    assert after == before
    assert after.by == by
    assert after.coded == coded
    assert after.wire is not None
    assert after.wire.request == b"GET /2"


def test_a_page_of_which_pruning_left_a_confirmation_is_in_exports(tmp_path: Path) -> None:
    heads = Wire(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\n\r\n")
    end = written(tmp_path, [kept(url(1), body(1))], [confirmed(url(1), NOON + 60, heads)])
    with closing(opened(tmp_path, end)) as archive:
        end = pruned(archive, versions=1)
        archive.confirm()
    with closing(ArchiveReader(tmp_path, end)) as reader:
        captures = [capture_of(reader.answer(row.place)) for row in reader.index.rows(end)]
    file = BytesIO()
    (line,) = cdxj(WarcWriter(file, "one.warc.gz").write(captures, NOON), "one.warc.gz")
    assert '"status": "200"' in line
    assert b"HTTP/1.1 200 OK\r\ncontent-type: text/html" in gzip.decompress(file.getvalue())
    assert body(1) in gzip.decompress(file.getvalue())


def test_a_failed_exclusive_lock_keeps_the_shared_lock(tmp_path: Path) -> None:
    first, second, third = (held(tmp_path) for _ in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    with held_alone(first) as is_alone:
        assert not is_alone
    os.close(second)
    with held_alone(third) as is_alone:
        assert not is_alone, "the first handle has lost its lock"
    os.close(first)
    with held_alone(third) as is_alone:
        assert is_alone
    os.close(third)
