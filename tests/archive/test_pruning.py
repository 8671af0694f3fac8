"""Pruning keeps the other records intact, survives kills, and lets readers finish."""

import gzip
import os
from contextlib import closing, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit

import pytest

from minicrawl.archive.packing import pack_any
from minicrawl.archive.pruning import PruneRules, Pruning
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import AskedBy, RecordKind, digest_of, key_of
from minicrawl.archive.segments import FIRST, Segments, held, held_alone
from minicrawl.archive.warc.capture import capture_of
from minicrawl.archive.warc.cdxj import cdxj
from minicrawl.archive.warc.writer import WarcWriter
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.errors import UsageError
from minicrawl.model import KeptAnswer, SentBody, Wire
from tests.archive.archives import (
    NOON,
    answered,
    bodies,
    body,
    confirmed,
    damage,
    delete_index,
    failed,
    kept,
    kinds,
    read,
    url,
    written,
)

ALL = {url(number): [body(number), body(100), body(number + 200)] for number in range(8)}
LAST = {name: found[-1:] for name, found in ALL.items()}
BUT_FIRST = {name: found[1:] for name, found in ALL.items()}
SMALL = 2000
"""Size of segments, in bytes, of which the archive needs several."""

opened = partial(ArchiveWriter, segment_bytes=SMALL)


@pytest.fixture
def end(folder: Path) -> int:
    """Create an archive of eight pages with three versions; the second is the same for all."""
    return written(
        folder,
        *([kept(name, texts[n], NOON + n) for name, texts in ALL.items()] for n in range(3)),
        segment_bytes=SMALL,
    )


def prune(archive: ArchiveWriter, rules: PruneRules) -> int:
    return archive.prune(Pruning(archive.reader, rules).keeps)


ONE_VERSION = PruneRules(versions=1)


def pruned(folder: Path, end: int, rules: PruneRules = ONE_VERSION) -> int:
    """Prune an archive, and return its new end."""
    with closing(opened(folder, end)) as archive:
        prune(archive, rules)
        archive.confirm()
        assert archive.remove_pruned()
        return archive.end


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        (PruneRules(versions=1), LAST),
        (PruneRules(versions=2), BUT_FIRST),
        (PruneRules(before=NOON + 1), BUT_FIRST),
        (PruneRules(keys={key_of(url(3))}), {url(3): ALL[url(3)]}),
        (PruneRules(keys={key_of(url(3))}, before=NOON + 2), {url(3): LAST[url(3)]}),
        (PruneRules(versions=9), ALL),
    ],
)
def test_records_that_are_not_pruned_are_unchanged(
    folder: Path, end: int, rules: PruneRules, left: dict[str, list[bytes]]
) -> None:
    before = sum(path.stat().st_size for path in folder.glob("segment-*"))
    after = pruned(folder, end, rules)
    assert read(folder, after) == left
    delete_index(folder)
    assert read(folder, after) == left
    if left == LAST:
        assert sum(path.stat().st_size for path in folder.glob("segment-*")) < before / 2


def test_failures_do_not_count_as_versions_of_a_page(folder: Path) -> None:
    """A site that is down for a night loses no page: failures are limited separately."""
    pages = [kept(url(1), body(1)), kept(url(1), body(2)), kept(url(2), b"gone")]
    end = written(folder, pages, [failed(url(1), b"gone", NOON + n, 503) for n in range(3)])
    assert kinds(folder)[3:] == [RecordKind.FAILURE] * 3
    left = {url(1): [body(2), b"gone"], url(2): [b"gone"]}
    assert read(folder, pruned(folder, end)) == left


def test_a_pruned_archive_can_grow_and_be_pruned_again(folder: Path, end: int) -> None:
    end = pruned(folder, end)
    more = [kept(url(1), body(201)), kept(url(50), body(50))]
    end = written(folder, more, begin=end, segment_bytes=SMALL)
    end = pruned(folder, end, PruneRules(keys={key_of(url(1)), key_of(url(50))}))
    assert read(folder, end) == {url(1): [body(201)] * 2, url(50): [body(50)]}


def test_an_uncommitted_pruning_has_no_effect(folder: Path, end: int) -> None:
    killed = opened(folder, end)
    after = prune(killed, ONE_VERSION)
    assert read(folder, end) == ALL
    with closing(opened(folder, end)) as archive:
        assert Segments(folder).end == end
        while archive.end <= after:  # beyond the end of the pruned archive
            archive.append([kept(f"http://b.example/{archive.end}", body(archive.end))])
            archive.confirm()
    found = read(folder, archive.end)
    assert {name: texts for name, texts in found.items() if name in ALL} == ALL
    killed.reader.close()


@pytest.mark.parametrize("syncs", range(8))
def test_a_kill_during_a_second_pruning_keeps_the_first(
    folder: Path, end: int, syncs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = pruned(folder, pruned(folder, end))
    begin = Segments(folder).begin(end)
    assert begin > FIRST
    real, left = os.fsync, iter([*[True] * syncs, False])

    def sync(handle: int) -> None:
        if not next(left, True):
            raise KeyboardInterrupt
        real(handle)

    killed = opened(folder, end)
    with suppress(KeyboardInterrupt), monkeypatch.context() as patched:
        patched.setattr(os, "fsync", sync)
        prune(killed, ONE_VERSION)
    with closing(ArchiveReader(folder, end)) as reader:
        assert reader.begin == begin
        assert reader.segments.lost(reader.begin, end) == []
        assert bodies(reader) == LAST
    killed.reader.close()
    with closing(opened(folder, end)) as archive:
        assert archive.reader.begin == begin
        assert Segments(folder).end == end
    assert read(folder, end) == LAST


def test_a_pruning_can_be_abandoned_on_a_full_disk(folder: Path, end: int) -> None:
    end = pruned(folder, end, PruneRules(versions=2))
    begin = Segments(folder).begin(end)
    killed = opened(folder, end)
    prune(killed, ONE_VERSION)
    limits = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (0, limits[1]))  # no byte can be written to a file
    try:
        Segments(folder).cut_off(end)
    finally:
        setrlimit(RLIMIT_FSIZE, limits)
    assert Segments(folder).begin(end) == begin
    assert Segments(folder).begin(Segments(folder).end + (1 << 50)) == begin
    killed.reader.close()


def test_a_kill_before_old_files_are_removed_duplicates_nothing(folder: Path, end: int) -> None:
    killed = opened(folder, end)
    after = prune(killed, ONE_VERSION)
    assert read(folder, after) == LAST
    killed.reader.close()
    with closing(opened(folder, after)):
        assert Segments(folder).numbers()[0] > 1
    assert read(folder, after) == LAST


def test_a_reader_delays_the_removal_of_files(folder: Path, end: int) -> None:
    with closing(ArchiveReader(folder, end)) as reader, closing(opened(folder, end)) as one:
        after = prune(one, ONE_VERSION)
        one.confirm()
        assert not one.remove_pruned()
        assert bodies(reader) == ALL
        assert read(folder, after) == LAST
        with pytest.raises(UsageError, match=str(folder)):
            prune(one, ONE_VERSION)
    with closing(opened(folder, after)) as archive:
        assert archive.remove_pruned()
    assert read(folder, after) == LAST


def test_a_damaged_record_is_dropped(folder: Path, end: int) -> None:
    damage(folder, FIRST + 100)
    found = read(folder, pruned(folder, end, PruneRules(versions=9)))
    assert sum(map(len, found.values())) == 23


def test_bodies_that_remaining_records_need_are_not_freed(folder: Path, end: int) -> None:
    end = written(folder, [kept(url(n), body(100), NOON + 3) for n in range(8)], begin=end)
    with closing(ArchiveReader(folder, end)) as reader:
        found = Pruning(reader, ONE_VERSION)
        lengths = {row.place: row.record_bytes for row in reader.index.rows(end)}
        place = reader.place_of_body(digest_of(body(100)))
        assert place is not None
        assert found.freed_bytes() == found.dropped_bytes - lengths[place]


def test_a_revisit_that_receives_the_body_keeps_its_own_heads(folder: Path) -> None:
    by, coded = AskedBy("fetch", url(0)), b"as sent"

    def answer(number: int) -> KeptAnswer:
        heads = f"GET /{number}".encode(), f"HTTP/1.1 200 No. {number}".encode()
        wire = Wire(*heads, "192.0.2.1", ("http/1.1",), "cipher", SentBody(coded))
        record = pack_any(url(number), answered(body(1))._replace(wire=wire), by)
        assert record is not None
        return KeptAnswer(record, NOON + number, url(number))

    end = written(folder, [answer(1), answer(2)])
    with closing(ArchiveReader(folder, end)) as reader:
        _, before = [reader.answer(row.place) for row in reader.index.rows(end)]
    end = pruned(folder, end, PruneRules(gone={key_of(url(1))}))
    with closing(ArchiveReader(folder, end)) as reader:
        (after,) = [reader.answer(row.place) for row in reader.index.rows(end)]
    assert after == before
    assert (after.by, after.coded) == (by, coded)
    assert after.wire is not None
    assert after.wire.request == b"GET /2"


def test_a_page_of_which_pruning_left_a_confirmation_is_in_exports(folder: Path) -> None:
    heads = Wire(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\n\r\n")
    end = written(folder, [kept(url(1), body(1))], [confirmed(url(1), NOON + 60, heads)])
    end = pruned(folder, end)
    with closing(ArchiveReader(folder, end)) as reader:
        captures = [capture_of(reader.answer(row.place)) for row in reader.index.rows(end)]
    file = BytesIO()
    (line,) = cdxj(WarcWriter(file.write, "one.warc.gz").write(captures, NOON), "one.warc.gz")
    assert '"status": "200"' in line
    content = gzip.decompress(file.getvalue())
    assert b"HTTP/1.1 200 OK\r\ncontent-type: text/html" in content
    assert body(1) in content


def test_a_failed_exclusive_lock_keeps_the_shared_lock(tmp_path: Path) -> None:
    handles = [held(tmp_path) for _ in range(3)]
    first, second, third = [handle for handle in handles if handle is not None]
    with held_alone(first) as is_alone:
        assert not is_alone
    os.close(second)
    with held_alone(third) as is_alone:
        assert not is_alone, "the first handle has lost its lock"
    os.close(first)
    with held_alone(third) as is_alone:
        assert is_alone
    os.close(third)
