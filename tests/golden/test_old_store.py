"""A store of an old commit (README.md says which) opens, can be asked, and goes on."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crash.memory import folder_in_memory
from tests.golden.logs import FOLDER, rows_of
from tests.golden.running import Ran, run

READ, THEN = 30, 60
HOME = "http://wiki.kitchen-garden.example/"
READ_PAGE, UNREAD_PAGE = "Kitchen Garden", "http://radio.crackle-fm.example/"
REPORTS = {
    "check": "ok: ",
    "status": f"fetched              {READ}\n",
    "top": READ_PAGE,
    "export - -n 0": READ_PAGE,
    "frontier": UNREAD_PAGE,
    f"explain {HOME}": READ_PAGE,
    f"page {HOME}": READ_PAGE,
    "archive --verify": "ok: ",
}
"""What each of them says, among other things."""


@contextmanager
def unpacked() -> Iterator[Path]:
    """The folder with the store as it was."""
    with folder_in_memory() as folder:
        with tarfile.open(FOLDER / "store.tar.xz") as packed:
            packed.extractall(folder, filter="data")
        yield folder


def crawl_on(folder: Path, pages: int) -> Ran:
    """Resume it, until so many pages are read in all."""
    demo = "--demo --demo-pages 100 --keep pages"
    return run(f"crawl {demo} --pages {pages} -q --store old.db", folder)


@pytest.fixture(scope="module")
def old() -> Iterator[Path]:
    """The store, as a run leaves it that has nothing to do."""
    with unpacked() as folder:
        before = rows_of(folder / "old.db")
        assert crawl_on(folder, READ).code == 0
        assert rows_of(folder / "old.db") == before
        yield folder


def test_an_old_store_asks_for_a_crawl_that_upgrades_it() -> None:
    with unpacked() as folder:
        asked = run("top --store old.db", folder)
    assert asked.code == 2
    assert "`minicrawl crawl` upgrades it" in asked.err


@pytest.mark.parametrize("report", REPORTS)
def test_an_old_store_can_be_asked(old: Path, report: str) -> None:
    asked = run(f"{report} --store old.db", old)
    assert asked.code == 0, asked.err
    assert REPORTS[report] in asked.out


def test_an_old_store_goes_on_and_its_money_is_exact() -> None:
    with unpacked() as folder:
        before = rows_of(folder / "old.db")
        assert crawl_on(folder, THEN).code == 0
        after = rows_of(folder / "old.db")
        for table in ("steps", "urls"):
            assert after[table][: len(before[table])] == before[table]
        for check in ("check", "archive --verify"):
            checked = run(f"{check} --store old.db", folder)
            assert (checked.code, checked.out[:4]) == (0, "ok: "), checked
        assert f"fetched              {THEN}\n" in run("status --store old.db", folder).out
