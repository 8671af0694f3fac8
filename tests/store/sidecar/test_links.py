"""Links beside a foreign store cannot make minicrawl read or write files elsewhere."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.archive.segments import FIRST, Segments
from minicrawl.cli import main
from minicrawl.errors import UsageError
from minicrawl.store.reader import archive_folder, reading, search_folder
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import filled

BESIDE = (
    *("-wal", "-shm", "-journal", "-lock", "-pages", "-search", "-cookies", "-cookies.part"),
    *("-ranks", "-ranks-wal", "-ranks-journal", "-control", "-dashboard"),
    *("-pages/segment-000001.pages", "-pages/segment-000002.pages", "-pages/index.db"),
    *("-pages/pruned.draft", "-pages/lock", "-search/notes.db", "-search/index/meta.json"),
)
PRECIOUS = b"export PRECIOUS=1\n" * 200


@pytest.fixture
def store(path: Path) -> Path:
    StoreWriter.open(path).close()
    return path


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    file = tmp_path / "home" / "victim"
    file.write_bytes(PRECIOUS)
    return file


def replaced(store: Path, end: str, link: Callable[[Path], None]) -> Path:
    place = Path(f"{store}{end}")
    place.parent.mkdir(parents=True, exist_ok=True)
    link(place)
    return place


@pytest.mark.parametrize("end", BESIDE)
def test_a_store_with_a_pipe_beside_it_is_refused_without_blocking(store: Path, end: str) -> None:
    place = replaced(store, end, os.mkfifo)
    for attempt in (lambda: StoreWriter.open(store), lambda: reading(store).__enter__()):
        with pytest.raises(UsageError, match=f"{place.name} .*pipe"):
            attempt()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["symbolic", "hard", "to a new file", "to a folder"])
@pytest.mark.parametrize("end", BESIDE)
def test_a_store_with_a_link_beside_it_is_refused(
    store: Path, victim: Path, end: str, kind: str
) -> None:
    links: dict[str, Callable[[Path], None]] = {
        "symbolic": lambda place: place.symlink_to(victim),
        "hard": lambda place: os.link(victim, place),
        "to a new file": lambda place: place.symlink_to(victim.with_name("new")),
        "to a folder": lambda place: place.symlink_to(victim.parent, target_is_directory=True),
    }
    place = replaced(store, end, links[kind])
    with pytest.raises(UsageError, match=str(place)):
        StoreWriter.open(store)
    with pytest.raises(UsageError, match=str(place)):
        reading(store).__enter__()
    if kind == "symbolic":
        for command in (["status"], ["search", "word"], ["index"], ["archive", "--verify"]):
            assert main([*command, "--store", str(store)]) == 2
    assert victim.read_bytes() == PRECIOUS
    assert list(victim.parent.iterdir()) == [victim]


def test_the_store_itself_may_be_a_symbolic_link(store: Path) -> None:
    link = store.with_name("named.db")
    link.symlink_to(store.name)
    StoreWriter.open(link).close()
    with reading(link):
        assert archive_folder(link) == archive_folder(store)
        assert search_folder(link) == search_folder(store)


def test_a_segment_that_becomes_a_link_later_is_not_followed(tmp_path: Path, victim: Path) -> None:
    folder = tmp_path / "pages"
    filled(folder, [1])
    with closing(Segments(folder)) as segments:
        segments.path(1).unlink()
        segments.path(1).symlink_to(victim)
        with pytest.raises(Exception, match=r"segment-000001|symbolic"):
            segments.write(FIRST, b"x")
    assert victim.read_bytes() == PRECIOUS
