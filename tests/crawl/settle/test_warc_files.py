"""WARC files of a crawl end at its last commit, and files of others are not touched."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from minicrawl.archive import warc_series as warc_files
from minicrawl.archive.record import PLAIN, RecordKind, pack, pack_redirect
from minicrawl.archive.warc import payload_digest
from minicrawl.config import Settings, Storing
from minicrawl.crawl.events import Event, Listener, Warned, nobody_listens
from minicrawl.crawl.settle.keeping import StoreWithArchive, open_keeping
from minicrawl.errors import NoRoom, UsageError
from minicrawl.model import FailureKind, KeptAnswer, Moved
from minicrawl.store import tables
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import NOON, answered, body, confirmed, failed, kept, url
from tests.crawl.fakes import Disk
from tests.crawl.settle.keeping import archiving, keep

archiveiterator = pytest.importorskip("warcio.archiveiterator")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "warcs"


def crawling(
    path: Path, folder: Path, tell: Listener = nobody_listens, *, keep: str = "none"
) -> AbstractContextManager[StoreWithArchive]:
    return archiving(path, tell, keep=keep, warc=folder)


def kill(
    path: Path, folder: Path, *, committed: Sequence[int], pending: Sequence[int], size: str = ""
) -> None:
    """Leave the files of a crawl that is killed after it wrote these pages."""
    with closing(StoreWriter.open(path)) as store:
        storing = Storing(keep="none", warc=f"{size}{folder}")
        keeping = open_keeping(store, storing, nobody_listens)
        assert keeping.warcs is not None
        if committed:
            keep(StoreWithArchive(store, keeping), *committed)
        keeping.warcs.append(kept(url(number), body(number)) for number in pending)
        keeping.warcs.close(cuts_off=False)


def files(folder: Path) -> list[Path]:
    """Return all WARC files, complete or open."""
    return sorted(folder.glob("*.warc.gz*"))


def answers(folder: Path) -> list[tuple[str, str, str | None]]:
    """Return type, URL and original URL of all responses in all files, and check their digests."""
    found: list[tuple[str, str, str | None]] = []
    for file in files(folder):
        with file.open("rb") as stream:
            for record in archiveiterator.ArchiveIterator(stream, check_digests="raise"):
                record.content_stream().read()
                head = record.rec_headers
                if record.rec_type in ("response", "revisit"):
                    refers = head.get_header("WARC-Refers-To-Target-URI")
                    found.append((record.rec_type, head.get_header("WARC-Target-URI"), refers))
    return found


def pages(folder: Path) -> list[str]:
    return [target for _, target, _ in answers(folder)]


def test_uncommitted_records_are_cut_off_at_the_next_start(path: Path, folder: Path) -> None:
    kill(path, folder, committed=[1], pending=[])
    (file,) = files(folder)
    committed = file.read_bytes()
    kill(path, folder, committed=[], pending=[2])
    assert file.read_bytes() != committed
    with crawling(path, folder) as both:
        assert file.read_bytes() == committed
        keep(both, 3)
    assert pages(folder) == [url(1), url(3)]


def test_files_in_a_folder_that_only_the_store_names_are_kept(path: Path, folder: Path) -> None:
    with closing(StoreWriter.open(path)) as store:
        keeping = open_keeping(store, Storing(keep="none", warc=folder), nobody_listens)
        assert keeping.warcs is not None
        keeping.warcs.append([kept(url(2), body(2))])
        keeping.warcs.close(cuts_off=False)
    (file,) = files(folder)
    before = file.read_bytes()
    with closing(StoreWriter.open(path)) as store:
        assert not open_keeping(store, Storing(keep="none"), nobody_listens)
        other = Storing(keep="none", warc=folder.with_name("other"))
        open_keeping(store, other, nobody_listens).close()
        assert file.read_bytes() == before
        series = keeping.warcs.series._asdict()
        store.commit(Batch(counters={tables.WARC: series}))
        named = Storing(keep="none", warc=folder)
        with closing(open_keeping(store, named, nobody_listens)):
            assert files(folder) == []


@pytest.mark.parametrize("prefix", ["../precious", "/tmp/precious"])
def test_a_store_names_no_files_outside_the_folder(path: Path, folder: Path, prefix: str) -> None:
    precious = folder.with_name("precious-00001.warc.gz")
    precious.write_bytes(b"precious")
    with closing(StoreWriter.open(path)) as store:
        series = {"folder": str(folder), "prefix": prefix, "store": str(path), "end": 1 << 40}
        store.commit(Batch(counters={tables.WARC: series}))
        open_keeping(store, Storing(keep="none", warc=folder), nobody_listens).close()
    assert precious.read_bytes() == b"precious"


def indexed(folder: Path) -> dict[str, list[str]]:
    """Return the URLs of each index, and check that its lines lead to the responses."""
    found = {}
    for index in sorted(folder.glob("*.cdxj")):
        lines = index.read_text().splitlines()
        assert lines == sorted(lines)
        urls = []
        for line in lines:
            told = json.loads(line.split(" ", 2)[2])
            with (folder / told["filename"]).open("rb") as stream:
                stream.seek(int(told["offset"]))
                head = next(iter(archiveiterator.ArchiveIterator(stream))).rec_headers
            assert head.get_header("WARC-Target-URI") == told["url"]
            assert head.get_header("WARC-Payload-Digest") == told["digest"]
            urls.append(told["url"])
        found[index.stem] = urls
    return found


def test_a_file_is_open_until_it_is_complete_and_has_an_index(path: Path, folder: Path) -> None:
    with archiving(path, keep="none", warc=f"one:2kB={folder}") as both:
        keep(both, *range(5))
        keep(both, 5)
        *complete, last = files(folder)
        assert complete
        assert [file.suffix for file in complete] == [".gz"] * len(complete)
        assert last.name.endswith(".warc.gz.open")
        assert indexed(folder).keys() == {file.name[:-8] for file in complete}
    assert all(file.suffix == ".gz" for file in files(folder))
    listed = [one for urls in indexed(folder).values() for one in urls]
    assert listed == pages(folder) == [url(number) for number in range(6)]


def test_a_resumed_crawl_continues_its_open_file_and_index(path: Path, folder: Path) -> None:
    kill(path, folder, committed=[1], pending=[2])
    (file,) = files(folder)
    assert file.suffix == ".open"
    with crawling(path, folder) as both:
        keep(both, 3)
    assert list(indexed(folder).values()) == [[url(1), url(3)]]
    with crawling(path, folder) as both:
        keep(both, 4)
    assert list(indexed(folder).values()) == [[url(1), url(3)], [url(4)]]


def test_an_index_whose_writing_was_interrupted_is_written_anew(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync(_: Path) -> None:
        raise MemoryError  # as if the process were killed before the index is on disk

    with closing(StoreWriter.open(path)) as store:
        keeping = open_keeping(store, Storing(keep="none", warc=folder), nobody_listens)
        keep(StoreWithArchive(store, keeping), 1)
        monkeypatch.setattr(warc_files, "sync", sync)
        with pytest.raises(MemoryError):
            keeping.close()
    monkeypatch.undo()
    assert [file.suffix for file in files(folder)] == [".open"]
    assert indexed(folder) == {}
    with crawling(path, folder):
        pass  # completes the file
    assert list(indexed(folder).values()) == [[url(1)]]
    assert not list(folder.glob("*.draft"))


def test_an_open_file_that_lost_its_index_is_completed_all_the_same(
    path: Path, folder: Path
) -> None:
    kill(path, folder, committed=[1], pending=[])
    for file in folder.glob("*.db*"):
        file.unlink()
    with crawling(path, folder) as both:
        keep(both, 2)
    assert list(indexed(folder).values()) == [[url(2)]]
    assert pages(folder) == [url(1), url(2)]


def test_a_batch_that_had_no_room_is_written_once(path: Path, folder: Path, disk: Disk) -> None:
    batch = Batch(answers=[kept(url(1), body(1))])
    with crawling(path, folder, keep="pages") as both:
        disk.takes_batches = False
        with pytest.raises(NoRoom):
            both.commit(batch)
        disk.takes_batches = True
        both.commit(batch)
    assert pages(folder) == [url(1)]


def test_a_file_of_the_wanted_size_is_followed_by_another_one(path: Path, folder: Path) -> None:
    with archiving(path, keep="none", warc=f"one:2kB={folder}") as both:
        keep(both, *range(6))
    with archiving(path, keep="none", warc=f"one:2kB={folder}") as both:
        keep(both, *range(6, 9))
    sizes = [file.stat().st_size for file in files(folder)]
    assert all(2000 <= size < 4000 for size in sizes[:-1])
    assert len(files(folder)) > 2
    assert pages(folder) == [url(number) for number in range(9)]
    for file in files(folder):
        with file.open("rb") as stream:
            first = next(iter(archiveiterator.ArchiveIterator(stream)))
        assert first.rec_headers.get_header("WARC-Filename") == file.name


def test_whole_files_behind_the_last_commit_are_cut_off(path: Path, folder: Path) -> None:
    with crawling(path, folder) as both:
        keep(both, 1)
    kill(path, folder, committed=[], pending=range(2, 9), size=":2kB=")
    assert len(files(folder)) > 2
    with crawling(path, folder):
        assert pages(folder) == [url(1)]


def test_a_body_written_before_is_a_revisit_even_after_a_resume(path: Path, folder: Path) -> None:
    with crawling(path, folder) as both:
        both.commit(Batch(answers=[kept(url(1), body(1)), kept(url(2), body(1))]))
    with crawling(path, folder) as both:
        both.commit(Batch(answers=[kept(url(3), body(1)), confirmed(url(3), NOON)]))
    assert answers(folder) == [
        ("response", url(1), None),
        *(("revisit", url(number), url(1)) for number in (2, 3, 3)),
    ]


def test_without_the_index_of_bodies_they_are_written_again(path: Path, folder: Path) -> None:
    with crawling(path, folder) as both:
        keep(both, 1)
    (index,) = folder.glob("*.db")
    index.write_bytes(b"no database" * 100)
    with crawling(path, folder) as both:
        both.commit(Batch(answers=[kept(url(2), body(1)), confirmed(url(1), NOON)]))
    assert answers(folder) == [
        ("response", url(1), None),
        ("response", url(2), None),
        ("revisit", url(1), None),
    ]


def test_a_confirmation_refers_to_the_page_before_a_failure(path: Path, folder: Path) -> None:
    with crawling(path, folder) as both:
        both.commit(Batch(answers=[kept(url(1), body(1)), failed(url(1), b"busy", NOON, 503)]))
        both.commit(Batch(answers=[confirmed(url(1), NOON)]))
    digests = list[str]()
    with files(folder)[0].open("rb") as stream:
        for record in archiveiterator.ArchiveIterator(stream):
            if record.rec_type in ("response", "revisit"):
                digests.append(record.rec_headers.get_header("WARC-Payload-Digest"))
    assert digests == [payload_digest(one) for one in (body(1), b"busy", body(1))]


def test_a_confirmation_of_an_empty_page_refers_to_no_other_url(path: Path, folder: Path) -> None:
    with crawling(path, folder) as both:
        both.commit(Batch(answers=[kept(url(1), b""), kept(url(2), b""), confirmed(url(2), NOON)]))
    assert answers(folder)[-1] == ("revisit", url(2), None)


def test_a_crawl_goes_on_though_its_files_were_moved_away(path: Path, folder: Path) -> None:
    with crawling(path, folder) as both:
        keep(both, 1)
    (first,) = files(folder)
    first.rename(path.with_name("elsewhere.warc.gz"))
    with crawling(path, folder) as both:
        keep(both, 2)
    assert first.name not in [file.name for file in files(folder)]
    assert pages(folder) == [url(2)]


def test_a_truncated_file_is_left_as_it_is_with_a_warning(path: Path, folder: Path) -> None:
    with crawling(path, folder) as both:
        keep(both, 1)
    (first,) = files(folder)
    first.write_bytes(first.read_bytes()[:-7])
    told: list[Event] = []
    with crawling(path, folder, told.append) as both:
        keep(both, 2)
    assert len(files(folder)) == 2
    assert [type(event) for event in told] == [Warned]


def test_file_names_begin_with_the_store_or_with_a_given_name(path: Path, folder: Path) -> None:
    given: tuple[Path | str, ...] = (
        folder,
        f"museum={folder}",
        f"museum={folder}",
        f"a-b={folder}",
    )
    for number, warc in enumerate(given):
        storing = Settings.of(keep="none", warc=warc).storing
        with archiving(path, keep=storing.keep, warc=storing.warc) as both:
            keep(both, number)
    names = [file.name.rpartition("-")[0].rpartition("-")[0] for file in files(folder)]
    assert names == ["a-b", path.stem, "museum", "museum"]
    assert len({file.name.rpartition("-")[0] for file in files(folder)}) == 3


def test_a_copy_of_a_store_writes_to_files_of_its_own(path: Path, folder: Path) -> None:
    with crawling(path, folder) as both:
        keep(both, 1)
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    before = files(folder)[0].read_bytes()
    with crawling(copy, folder) as both:
        keep(both, 2)
    assert len(files(folder)) == 2
    assert before in [file.read_bytes() for file in files(folder)]


def test_redirects_importance_and_cut_bodies_are_recorded(path: Path, folder: Path) -> None:
    moved = KeptAnswer(pack_redirect(url(1), Moved(301, url(2))), NOON, url(1), 0.25, 3)
    cut = answered(body(2))._replace(cut=FailureKind.TOO_LARGE, cut_detail="over 10 bytes")
    short = KeptAnswer(pack(RecordKind.PAGE, url(2), cut, PLAIN, number=0), NOON)
    with crawling(path, folder) as both:
        both.commit(Batch(answers=[moved, short]))
    found = {}
    with files(folder)[0].open("rb") as stream:
        for record in archiveiterator.ArchiveIterator(stream):
            found[record.rec_type, record.rec_headers.get_header("WARC-Target-URI")] = (
                record.content_stream().read(),
                record.http_headers and record.http_headers.get_header("location"),
                record.rec_headers.get_header("WARC-Truncated"),
            )
    assert found["response", url(1)] == (b"", url(2), None)
    assert found["metadata", url(1)][0] == b"importance: 0.25\r\nhops: 3\r\n"
    assert found["response", url(2)] == (body(2), None, "length")


def test_warc_files_need_whole_pages(path: Path, folder: Path) -> None:
    with closing(StoreWriter.open(path)) as store, pytest.raises(UsageError, match="--keep text"):
        open_keeping(store, Storing(keep="text", warc=folder), nobody_listens)
