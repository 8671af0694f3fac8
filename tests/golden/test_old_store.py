"""A store of an old commit (README.md says which) opens, can be asked, and goes on."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.inert.walk import Effect, run
from tests.crash.memory import folder_in_memory
from tests.golden.logs import FOLDER, Log, rows_of

READ, THEN = 30, 60
STORE = ("--store", "old.db")
HOME = "http://wiki.kitchen-garden.example/"
READ_PAGE, UNREAD_PAGE = "Kitchen Garden", "http://radio.crackle-fm.example/"
REPORTS = {
    ("check",): "ok: ",
    ("status",): f"fetched              {READ}\n",
    ("top",): READ_PAGE,
    ("export", "pages.csv", "-n", "0"): "",
    ("frontier",): UNREAD_PAGE,
    ("explain", HOME): READ_PAGE,
    ("page", HOME): READ_PAGE,
    ("archive", "verify"): "ok: ",
}
"""What each of them says, among other things."""


@contextmanager
def unpacked() -> Iterator[Path]:
    """The folder with the store as it was."""
    with folder_in_memory() as folder:
        with tarfile.open(FOLDER / "store.tar.xz") as packed:
            packed.extractall(folder, filter="data")
        yield folder


def crawl_on(folder: Path, pages: int) -> Effect:
    """Resume it, until so many pages are read in all."""
    demo = ("--demo", "--demo-pages", "100", "--keep", "pages")
    return run(["crawl", *demo, "--pages", str(pages), "-q", *STORE], folder)


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
        asked = run(["top", *STORE], folder)
    assert asked.code == 2
    assert "`minicrawl crawl` upgrades it" in asked.err


@pytest.mark.parametrize("report", REPORTS, ids=" ".join)
def test_an_old_store_can_be_asked(old: Path, report: tuple[str, ...]) -> None:
    asked = run([*report, *STORE], old)
    assert asked.code == 0, asked
    assert REPORTS[report] in asked.out
    assert ("pages.csv" in asked.files) == ("export" in report)


def test_an_old_store_goes_on_and_its_money_is_exact() -> None:
    with unpacked() as folder:
        before = rows_of(folder / "old.db")
        assert crawl_on(folder, THEN).code == 0
        after = rows_of(folder / "old.db")
        assert _begins_as(after, before)
        for check in (["check"], ["archive", "verify"]):
            checked = run([*check, *STORE], folder)
            assert (checked.code, checked.out[:4]) == (0, "ok: "), checked
        status = run(["status", *STORE], folder)
        assert f"fetched              {THEN}\n" in status.out


def _begins_as(after: Log, before: Log) -> bool:
    """Whether what was known is as it was."""
    tables = ("steps", "urls")
    return all(after[name][: len(before[name])] == before[name] for name in tables)
