"""WARC files of a crawl hold what its store has committed."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Event, Settings, Warned
from minicrawl.archive.warc.capture import payload_digest
from minicrawl.config import Storing
from minicrawl.crawl.record.store_with_archive import StoreWithArchive, open_keeping
from minicrawl.errors import NoRoom
from minicrawl.model import KeptAnswer
from minicrawl.report.integrity.audit import audit
from minicrawl.store import tables
from minicrawl.store.disk.files import files_of, move
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter, copy_store
from tests.archive.archives import NOON, body, confirmed, failed, kept, url
from tests.crawl.fakes import Disk
from tests.crawl.settle.test_keeping import (
    Listener,
    archiving,
    committed,
    keep,
    nobody_listens,
    page,
)

archiveiterator = pytest.importorskip("warcio.archiveiterator")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "warcs"


def crawling(
    path: Path, folder: Path, tell: Listener = nobody_listens, *, keep: str = "none"
) -> AbstractContextManager[StoreWithArchive]:
    return archiving(path, tell, keep=keep, warc=folder)


def run(path: Path, folder: Path, *answers: KeptAnswer, tell: Listener = nobody_listens) -> None:
    with crawling(path, folder, tell) as both:
        both.commit(Batch(answers=list(answers)))


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
        keeping.warcs.append(page(number) for number in pending)
        keeping.warcs.close(completes=False)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.warc.gz*"))


def responses(folder: Path) -> Iterator[tuple[Any, str]]:
    """Yield headers and type of all responses in all files, and check their digests."""
    for file in files(folder):
        with file.open("rb") as stream:
            for record in archiveiterator.ArchiveIterator(stream, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type in ("response", "revisit"):
                    yield record.rec_headers, record.rec_type


def answers(folder: Path) -> list[tuple[str, str, str | None]]:
    """Return type, URL and original URL of all responses in all files."""
    names = ("WARC-Target-URI", "WARC-Refers-To-Target-URI")
    return [(kind, *map(head.get_header, names)) for head, kind in responses(folder)]


def pages(folder: Path) -> list[str]:
    return [target for _, target, _ in answers(folder)]


def test_files_in_a_folder_that_only_the_store_names_are_kept(path: Path, folder: Path) -> None:
    with closing(StoreWriter.open(path)) as store:
        keeping = open_keeping(store, Storing(keep="none", warc=folder), nobody_listens)
        assert keeping.warcs is not None
        keeping.warcs.append([page(2)])
        keeping.warcs.close(completes=False)
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


def test_a_file_of_the_wanted_size_is_complete_with_an_index_and_followed_by_another_one(
    path: Path, folder: Path
) -> None:
    with archiving(path, keep="none", warc=f"one:2kB={folder}") as both:
        keep(both, *range(5))
        keep(both, 5)
        *complete, last = files(folder)
        assert complete
        assert [file.suffix for file in complete] == [".gz"] * len(complete)
        assert last.name.endswith(".warc.gz.open")
        assert indexed(folder).keys() == {file.name[:-8] for file in complete}
    assert all(file.suffix == ".gz" for file in files(folder))
    with archiving(path, keep="none", warc=f"one:2kB={folder}") as both:
        keep(both, *range(6, 9))
    listed = [one for urls in indexed(folder).values() for one in urls]
    assert listed == pages(folder) == [url(number) for number in range(9)]
    assert all(2000 <= file.stat().st_size < 4000 for file in files(folder)[:-1])
    for file in files(folder):
        with file.open("rb") as stream:
            first = next(iter(archiveiterator.ArchiveIterator(stream)))
        assert first.rec_headers.get_header("WARC-Filename") == file.name


def test_a_resumed_crawl_cuts_off_uncommitted_records_and_continues_its_open_file_and_index(
    path: Path, folder: Path
) -> None:
    kill(path, folder, committed=[1], pending=[])
    (file,) = files(folder)
    assert file.suffix == ".open"
    committed = file.read_bytes()
    kill(path, folder, committed=[], pending=[2])
    assert file.read_bytes() != committed
    with crawling(path, folder) as both:
        assert file.read_bytes() == committed
        keep(both, 3)
    assert list(indexed(folder).values()) == [pages(folder)] == [[url(1), url(3)]]
    run(path, folder, page(4))
    assert list(indexed(folder).values()) == [[url(1), url(3)], [url(4)]]


def test_an_index_whose_writing_was_interrupted_is_written_anew(path: Path, folder: Path) -> None:
    with closing(StoreWriter.open(path)) as store:
        keeping = open_keeping(store, Storing(keep="none", warc=folder), nobody_listens)
        keep(StoreWithArchive(store, keeping), 1)
        (file,) = files(folder)
        draft = file.with_name(file.name.replace(".warc.gz.open", ".cdxj.draft"))
        draft.symlink_to("/dev/full")
        with pytest.raises(NoRoom):
            keeping.close()
    assert [one.suffix for one in files(folder)] == [".open"]
    assert indexed(folder) == {}
    draft.unlink()
    draft.write_text("half an ind")
    run(path, folder)  # completes the file
    assert list(indexed(folder).values()) == [[url(1)]]
    assert not list(folder.glob("*.draft"))


def test_an_open_file_that_lost_its_index_is_completed_all_the_same(
    path: Path, folder: Path
) -> None:
    kill(path, folder, committed=[1], pending=[])
    for file in folder.glob("*.db*"):
        file.unlink()
    run(path, folder, page(2))
    assert list(indexed(folder).values()) == [[url(2)]]
    assert pages(folder) == [url(1), url(2)]


def rename(path: Path, to: Path) -> None:
    for file in files_of(path):
        file.rename(to.with_name(to.name + file.name.removeprefix(path.name)))


@pytest.mark.parametrize(("moves", "names"), [(move, 1), (rename, 2)])
def test_the_open_file_of_a_moved_store_is_completed(
    path: Path, folder: Path, moves: Callable[[Path, Path], object], names: int
) -> None:
    kill(path, folder, committed=[1], pending=[2])
    (note,) = audit(path).notes
    assert str(files(folder)[0]) in note
    to = path.with_name("moved.db")
    moves(path, to)
    run(to, folder, page(1), page(3))
    assert min(indexed(folder).values())[0] == url(1)
    assert pages(folder) == [url(1), url(1), url(3)]
    assert len({file.name.rpartition("-")[0] for file in files(folder)}) == names
    assert (audit(to).wrong, audit(to).notes) == ([], [])


def test_a_run_with_another_name_for_its_files_completes_the_open_one(
    path: Path, folder: Path
) -> None:
    kill(path, folder, committed=[1], pending=[2])
    run(path, Path(f"other={folder}"), page(3))
    assert sorted(indexed(folder).values()) == [[url(1)], [url(3)]]


def test_a_copy_of_a_store_leaves_the_open_file_of_the_original(path: Path, folder: Path) -> None:
    kill(path, folder, committed=[1], pending=[])
    (open_file,) = files(folder)
    before = open_file.read_bytes()
    copy_store(path, to := path.with_name("copy.db"))
    with reading(path) as connection, closing(StoreWriter.open(to)) as copy:
        copy.commit(Batch(counters=tables.counters(connection)))
    run(to, folder, page(2))
    assert open_file.read_bytes() == before
    run(path, folder, page(3))
    assert sorted(indexed(folder).values()) == [[url(1), url(3)], [url(2)]]


def test_nothing_is_cut_after_a_commit_of_unknown_outcome(path: Path, folder: Path) -> None:
    with crawling(path, folder, keep="pages") as both:
        keep(both, 1)
    with closing(StoreWriter.open(path)) as store:
        keeping = open_keeping(store, Storing(keep="pages", warc=folder), nobody_listens)
        doubtful = Batch(answers=[page(2)])
        # The first half of a commit, whose second half fails.
        StoreWithArchive(store, keeping)._append(doubtful)
        keeping.close()  # the commit has failed, and yet it reached the disk:
        store.commit(doubtful)
    assert committed(path) == {url(1): [body(1)], url(2): [body(2)]}
    run(path, folder, page(3))
    assert pages(folder) == [url(1), url(2), url(3)]
    assert list(indexed(folder).values()) == [[url(1)], [url(2), url(3)]]


def test_a_batch_that_had_no_room_is_written_once(path: Path, folder: Path, disk: Disk) -> None:
    batch = Batch(answers=[page(1)])
    with crawling(path, folder, keep="pages") as both:
        disk.takes_batches = False
        with pytest.raises(NoRoom):
            both.commit(batch)
        disk.takes_batches = True
        both.commit(batch)
    assert pages(folder) == [url(1)]
    assert committed(path) == {url(1): [body(1)]}


def test_whole_files_behind_the_last_commit_are_cut_off(path: Path, folder: Path) -> None:
    run(path, folder, page(1))
    kill(path, folder, committed=[], pending=range(2, 9), size=":2kB=")
    assert len(files(folder)) > 2
    with crawling(path, folder):
        assert pages(folder) == [url(1)]


def test_a_body_written_before_is_a_revisit_even_after_a_resume(path: Path, folder: Path) -> None:
    run(path, folder, page(1), kept(url(2), body(1)))
    run(path, folder, kept(url(3), body(1)), confirmed(url(3), NOON))
    assert answers(folder) == [
        ("response", url(1), None),
        *(("revisit", url(number), url(1)) for number in (2, 3, 3)),
    ]


def test_without_the_index_of_bodies_they_are_written_again(path: Path, folder: Path) -> None:
    run(path, folder, page(1))
    (index,) = folder.glob("*.db")
    index.write_bytes(b"no database" * 100)
    run(path, folder, kept(url(2), body(1)), confirmed(url(1), NOON))
    assert answers(folder) == [
        ("response", url(1), None),
        ("response", url(2), None),
        ("revisit", url(1), None),
    ]


def test_a_confirmation_refers_to_the_page_before_a_failure(path: Path, folder: Path) -> None:
    with crawling(path, folder) as both:
        both.commit(Batch(answers=[page(1), failed(url(1), b"busy", NOON, 503)]))
        both.commit(Batch(answers=[confirmed(url(1), NOON)]))
    digests = [head.get_header("WARC-Payload-Digest") for head, _ in responses(folder)]
    assert digests == [payload_digest(one) for one in (body(1), b"busy", body(1))]


def test_a_confirmation_of_an_empty_page_refers_to_no_other_url(path: Path, folder: Path) -> None:
    run(path, folder, kept(url(1), b""), kept(url(2), b""), confirmed(url(2), NOON))
    assert answers(folder)[-1] == ("revisit", url(2), None)


def test_a_crawl_goes_on_though_its_files_were_moved_away(path: Path, folder: Path) -> None:
    run(path, folder, page(1))
    (first,) = files(folder)
    first.rename(path.with_name("elsewhere.warc.gz"))
    run(path, folder, page(2))
    assert first.name not in [file.name for file in files(folder)]
    assert pages(folder) == [url(2)]


def test_a_truncated_file_is_left_as_it_is_with_a_warning(path: Path, folder: Path) -> None:
    run(path, folder, page(1))
    (first,) = files(folder)
    first.write_bytes(first.read_bytes()[:-7])
    told: list[Event] = []
    run(path, folder, page(2), tell=told.append)
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
    run(path, folder, page(1))
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    before = files(folder)[0].read_bytes()
    run(copy, folder, page(2))
    assert len(files(folder)) == 2
    assert before in [file.read_bytes() for file in files(folder)]
