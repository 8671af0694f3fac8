import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.errors import StoreError, UsageError
from minicrawl.store import questions, tables
from minicrawl.store.reader import reading
from minicrawl.store.records import HostRow
from tests.stores import DEEP, A, B, HandCrawl, filled_store


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    path = filled_store(tmp_path / "shelf" / "crawl.db")
    path.parent.chmod(0o555)
    if os.access(path.parent, os.W_OK):
        path.parent.chmod(0o755)
        pytest.skip("nothing is read-only to this user")
    yield path
    path.parent.chmod(0o755)


def test_an_absent_store_is_one_line_that_says_what_makes_one(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match=r"no store at .*make one with `minicrawl crawl`"),
        reading(tmp_path / "x"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_a_folder_that_cannot_be_written_is_read(read_only: Path) -> None:
    with reading(read_only) as connection:
        assert tables.url_of(connection, 0) == A
    assert [file.name for file in read_only.parent.iterdir()] == ["crawl.db", "crawl.db-lock"]


def test_a_name_with_signs_of_a_url_is_a_name(tmp_path: Path) -> None:
    path = filled_store(tmp_path / "what?mode=rwc&a=%20#.db")
    with reading(path) as connection:
        assert tables.url_of(connection, 0) == A


def test_a_reader_sees_one_moment_while_a_crawl_goes_on(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.commit()
        with reading(crawl.path) as connection:
            assert questions.steps_known(connection) == (1, 1)
            crawl.read(A, ["http://b.example/"])
            crawl.commit()
            assert questions.steps_known(connection) == (1, 1)
        with reading(crawl.path) as connection:
            assert questions.steps_known(connection) == (2, 2)


def test_a_reader_changes_nothing(tmp_path: Path) -> None:
    path = filled_store(tmp_path / "crawl.db")
    with (
        pytest.raises(StoreError, match="attempt to write a readonly database"),
        reading(path) as connection,
    ):
        connection.execute("DELETE FROM urls")


def test_a_host_is_found_by_its_id(tmp_path: Path) -> None:
    with reading(filled_store(tmp_path / "crawl.db")) as connection:
        found = tables.host(connection, 1)
        assert found is not None
        assert found.origin == "http://b.example"
        assert tables.host(connection, 99) is None


def test_an_empty_file_is_a_store_that_was_never_begun(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    path.touch()
    with pytest.raises(UsageError, match="old schema version 0"), reading(path):
        pass


def test_the_last_fetches_of_a_page_come_newest_first(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        for _ in range(3):
            crawl.read(A)
        crawl.commit()
        found = tables.last_fetches(crawl.store.connection, 0, 2)
        assert [row.at - crawl.now for row in found] == [0, -1]


def test_documents_are_found_by_page_as_far_as_there_are_any(tmp_path: Path) -> None:
    with reading(filled_store(tmp_path / "crawl.db")) as connection:
        one, other = (tables.document(connection, page) for page in (0, 5))
        some = list(questions.documents(connection, [5, 1, 0, 2]))
        every = list(tables.all_documents(connection))
    assert one is not None
    assert one.title == "The first"
    assert other is None
    assert some == every
    assert [row.title for row in every] == ["The first", "The second"]


def test_a_new_store_has_nothing_saved(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        saved = tables.saved(crawl.store.connection)
        assert saved.watermark == 0
        assert saved.totals == crawl.frontier.ledger.totals


class TestQuestions:
    def test_ids_are_dense_so_that_the_last_one_says_how_many_there_are(
        self, tmp_path: Path
    ) -> None:
        with reading(filled_store(tmp_path / "crawl.db")) as connection:
            assert questions.pages_known(connection) == 6
            assert questions.hosts_known(connection) == 3

    def test_pages_that_were_read_are_counted_by_their_host(self, tmp_path: Path) -> None:
        with reading(filled_store(tmp_path / "crawl.db")) as connection:
            assert questions.pages_read_by_host(connection) == {0: 1, 1: 1}

    def test_places_come_in_the_order_in_which_they_are_asked_for(self, tmp_path: Path) -> None:
        with reading(filled_store(tmp_path / "crawl.db")) as connection:
            urls, origins, depths = questions.locations(connection, [3, 0, 1])
        assert urls == [DEEP, A, B]
        assert origins == ["http://a.example", "http://a.example", "http://b.example"]
        assert depths == [1, 0, 0]

    def test_any_number_of_places_may_be_asked_for(self, tmp_path: Path) -> None:
        urls = [f"http://a.example/{number}" for number in range(34_567)]
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds(urls)
            crawl.commit()
            connection = crawl.store.connection
            assert questions.locations(connection, range(34_566, -1, -1)).urls == urls[::-1]
            assert questions.locations(connection, []) == ([], [], [])

    @pytest.mark.parametrize("ids", [[0, 99], [0, 5]])
    def test_a_page_that_has_no_place_or_two_is_refused(
        self, tmp_path: Path, ids: list[int]
    ) -> None:
        with closing(HandCrawl(filled_store(tmp_path / "crawl.db"))) as crawl:
            connection = crawl.store.connection
            connection.execute("UPDATE urls SET path = '/two' || char(10) || '/lines' WHERE id = 5")
            with pytest.raises(ValueError, match="2 pages have"):
                questions.locations(connection, ids)

    def test_the_last_status_of_a_page_is_that_of_its_last_answer(self, tmp_path: Path) -> None:
        with reading(filled_store(tmp_path / "crawl.db")) as connection:
            assert questions.last_statuses(connection, [5, 2, 0, 3]) == [None, 301, 200, None]

    def test_a_page_is_found_by_its_url(self, tmp_path: Path) -> None:
        with reading(filled_store(tmp_path / "crawl.db")) as connection:
            assert questions.find(connection, "http://b.example", "/gone") == 5
            assert questions.find(connection, "http://b.example", "/other") is None
            assert questions.find(connection, "https://b.example", "/gone") is None

    def test_a_host_of_which_nothing_was_asked_has_no_rules(self, tmp_path: Path) -> None:
        with reading(filled_store(tmp_path / "crawl.db")) as connection:
            assert tables.host(connection, 0) == HostRow(0, "http://a.example")
            assert tables.host(connection, 99) is None
            assert questions.hosts_known(connection) == 3


def left_by_a_killed_writer(path: Path) -> Path:
    """A store whose last commit is in the write-ahead log alone."""
    crawl = HandCrawl(path)
    crawl.seeds([A])
    crawl.commit()
    copy = path.with_name("copy")
    for suffix in ("", "-wal", "-lock"):
        shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    crawl.close()
    return copy


def without_room(path: Path) -> dict[str, bytes]:
    """The index of its log can be made nowhere; what there is beside that."""
    index = path.with_name(f"{path.name}-shm")
    index.symlink_to(index.name)
    return contents(path)


def contents(path: Path) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes()
        for file in path.parent.glob(f"{path.name}*")
        if file.is_file() and file.stat().st_size
    }


def test_a_store_is_read_where_there_is_no_room_for_the_index_of_its_log(tmp_path: Path) -> None:
    path = filled_store(tmp_path / "crawl.db")
    before = without_room(path)
    with reading(path) as connection:
        assert tables.url_of(connection, 0) == A
    assert contents(path) == before


def test_so_are_the_commits_that_a_killed_crawl_left_in_its_log(tmp_path: Path) -> None:
    path = left_by_a_killed_writer(tmp_path / "crawl.db")
    before = without_room(path)
    assert before.keys() == {"copy", "copy-wal"}
    for _ in range(2):
        with reading(path) as connection:
            assert questions.steps_known(connection) == (1, 1)
    assert contents(path) == before


def test_a_store_without_a_lock_beside_it_is_nobodys(tmp_path: Path) -> None:
    path = left_by_a_killed_writer(tmp_path / "crawl.db")
    path.with_name("copy-lock").unlink()
    without_room(path)
    with reading(path) as connection:
        assert questions.steps_known(connection) == (1, 1)


def test_a_log_that_somebody_writes_is_not_read_without_its_index(tmp_path: Path) -> None:
    path = left_by_a_killed_writer(tmp_path / "crawl.db")
    without_room(path)
    with path.with_name("copy-lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="copy cannot be read: "), reading(path):
            pass


def test_a_log_that_is_a_folder_is_one_line(tmp_path: Path) -> None:
    path = filled_store(tmp_path / "crawl.db")
    Path(f"{path}-wal").mkdir()
    Path(f"{path}-wal", "full").touch()
    with pytest.raises(UsageError, match=r"crawl\.db cannot be read: "), reading(path):
        pass
