"""The store of an old commit (see README.md) is upgraded, can be read, and its crawl resumes."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.golden.logs import FOLDER, rows_of
from tests.golden.running import Ran, run
from tests.proofs.crash.memory import folder_in_memory

READ, RESUMED = 30, 60
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
"""Reports, and a part of their output."""


@contextmanager
def unpacked() -> Iterator[Path]:
    """Unpack the old store into a folder."""
    with folder_in_memory() as folder:
        with tarfile.open(FOLDER / "store.tar.xz") as packed:
            packed.extractall(folder, filter="data")
        yield folder


def resume(folder: Path, pages: int) -> Ran:
    """Resume the crawl until it has read `pages` pages in all."""
    demo = "--demo --demo-pages 100 --keep pages"
    return run(f"crawl {demo} --pages {pages} -q --store old.db", folder)


@pytest.fixture(scope="module")
def old() -> Iterator[Path]:
    """Unpack the old store, and upgrade it by a crawl without work, which keeps all rows."""
    with unpacked() as folder:
        before = rows_of(folder / "old.db")
        assert resume(folder, READ).code == 0
        assert rows_of(folder / "old.db") == before
        yield folder


def test_a_report_on_an_old_store_names_the_command_that_upgrades_it() -> None:
    with unpacked() as folder:
        ran = run("top --store old.db", folder)
    assert ran.code == 2
    assert "`minicrawl crawl` upgrades it" in ran.err


@pytest.mark.parametrize("report", REPORTS)
def test_reports_read_an_upgraded_old_store(old: Path, report: str) -> None:
    ran = run(f"{report} --store old.db", old)
    assert ran.code == 0, ran.err
    assert REPORTS[report] in ran.out


def test_the_crawl_of_an_old_store_resumes_without_faults() -> None:
    with unpacked() as folder:
        before = rows_of(folder / "old.db")
        assert resume(folder, RESUMED).code == 0
        after = rows_of(folder / "old.db")
        for table in ("steps", "urls"):
            assert after[table][: len(before[table])] == before[table]
        for check in ("check", "archive --verify"):
            checked = run(f"{check} --store old.db", folder)
            assert (checked.code, checked.out[:4]) == (0, "ok: "), checked
        assert f"fetched              {RESUMED}\n" in run("status --store old.db", folder).out
