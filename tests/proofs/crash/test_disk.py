"""Full, read-only and damaged disks, and a second crawl: an error of one line, nothing lost."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import product
from pathlib import Path

import pytest

from minicrawl import State
from minicrawl.cli import main
from minicrawl.report.integrity.audit import audit
from minicrawl.report.snapshot import snapshot
from minicrawl.store.reader import reading, search_folder
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.proofs import IS_LONG
from tests.proofs.crash.child import Plan, amounts, start_alone
from tests.proofs.crash.killing import IN_FLIGHT, PATIENCE_S, Crawls, logged_commits
from tests.proofs.crash.web import Server, serving
from tests.search.stored.stores import PAGES, SEA, read_into

pytestmark = pytest.mark.proof

SIZE_BYTES = 12 << 20
ROOM_BYTES = 500_000
POLL_S = 0.01
PAGE_BYTES = 4096
COMMANDS = ("crawl", "status", "top", "check", "frontier", "export")

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory without settings."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small disk in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not _mount("-t", "tmpfs", "-o", f"size={SIZE_BYTES}", "tmpfs", str(folder)):
        pytest.skip("this user may not mount a disk")
    yield folder
    subprocess.run(("umount", "--lazy", str(folder)), check=True)


def _mount(*arguments: str) -> bool:
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    return subprocess.run(("mount", *arguments), capture_output=True, check=False).returncode == 0


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


class FullDisk:
    """A crawl of a small web onto a nearly full disk."""

    def __init__(self, disk: Path, server: Server, folder: Path) -> None:
        self.crawls = Crawls(server, folder, seed=0)
        self.crawls.store = disk / "crawl.db"
        self.server, self.ballast = server, disk / "ballast"
        self.ballast.write_bytes(bytes(SIZE_BYTES - ROOM_BYTES))

    def plan(self) -> Plan:
        """Plan a crawl that keeps pages, so that it needs more space than there is."""
        plan = self.crawls.plan()
        return plan._replace(arguments=(*plan.arguments, "--keep", "pages"))

    @contextmanager
    def waiting(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the crawl, and continue as soon as it has printed a line."""
        with start_alone(self.plan()) as child:
            try:
                while not self.lines():
                    with suppress(subprocess.TimeoutExpired):
                        raise AssertionError(f"the crawl ended: {child.wait(POLL_S)}")
                yield child
            finally:
                child.kill()

    def lines(self) -> list[str]:
        stderr = self.plan().stderr
        return stderr.read_text("utf-8").splitlines() if stderr.exists() else []

    def finish(self) -> None:
        """Resume the crawl and check that it finishes without a message."""
        assert start_alone(self.plan()).wait(PATIENCE_S) == 0
        assert self.lines() == []
        assert self.states() == self.server.town.states

    def states(self) -> dict[str, State]:
        with snapshot(self.crawls.store) as seen:
            return {seen.url(page): State(int(state)) for page, state in enumerate(seen.states)}


@pytest.fixture
def full(disk: Path, server: Server, tmp_path: Path) -> FullDisk:
    folder = tmp_path / "crawls"
    folder.mkdir()
    return FullDisk(disk, server, folder)


def test_a_crawl_on_a_full_disk_waits_and_continues_when_space_is_free(full: FullDisk) -> None:
    with full.waiting() as child:
        asked = len(full.server.asked)
        assert full.states() != full.server.town.states
        assert len(full.server.asked) <= asked + IN_FLIGHT
        full.ballast.unlink()
        assert child.wait(PATIENCE_S) == 0, full.lines()
    store = full.crawls.store
    first, second = full.lines()
    assert first.startswith(str(store))  # or a file or folder beside it, such as crawl.db-wal
    assert "Ctrl-C" in first
    assert "space" in second
    assert full.states() == full.server.town.states
    assert audit(store).wrong == []


def test_a_crawl_stopped_on_a_full_disk_exits_1_and_keeps_all_commits(
    full: FullDisk,
) -> None:
    with full.waiting() as child:
        child.send_signal(signal.SIGINT)
        assert child.wait(PATIENCE_S) == 1
    store = full.crawls.store
    (line,) = full.lines()[1:]
    assert line.startswith(f"minicrawl: {store}")
    assert audit(store).wrong == []
    with reading(store) as connection:
        assert amounts(connection) in logged_commits(full.crawls.commits)
    full.ballast.unlink()
    full.finish()


def test_the_write_ahead_log_stays_smaller_than_the_free_space(disk: Path) -> None:
    with closing(StoreWriter.open(disk / "crawl.db")) as store:
        used = sum(file.stat().st_size for file in disk.iterdir())
        (disk / "ballast").write_bytes(bytes(SIZE_BYTES - ROOM_BYTES - used))
        for turn in range(200):
            store.commit(Batch(counters={"turns": turn}))
            log_bytes = (disk / "crawl.db-wal").stat().st_size
            assert log_bytes < ROOM_BYTES


def test_a_store_on_a_read_only_disk_can_be_read_and_searched_but_not_changed(
    disk: Path, capsys: Captured
) -> None:
    store = disk / "crawl.db"
    read_into(store, PAGES)
    assert main(["index", "--store", str(store)]) == 0
    (search_folder(store) / "lock").unlink()
    before = store.read_bytes()
    assert _mount("-o", "remount,ro", str(disk))
    for command in COMMANDS[1:-1]:
        assert main([command, "--store", str(store)]) == 0
    capsys.readouterr()
    assert main(["search", "fish", "--store", str(store)]) == 0
    out, err = capsys.readouterr()
    assert (SEA in out, err) == (True, "")
    for command, named in (
        ("crawl", f"{store} "),
        ("index", f"{search_folder(store)}"),
        ("refine", f"{store}-ranks "),
    ):
        assert main([command, "--store", str(store)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert named in line
    assert store.read_bytes() == before


def test_a_second_crawl_is_refused_in_one_line_and_changes_nothing(
    filled: Path, capsys: Captured
) -> None:
    before = filled.read_bytes()
    for arguments in (["https://example.org/"], ["https://example.org/", "--fresh"], []):
        with closing(StoreWriter.open(filled)):
            assert main(["crawl", "--store", str(filled), *arguments]) == 1
        out, err = capsys.readouterr()
        assert (out, err.count("\n"), str(filled) in err) == ("", 1, True)
    assert filled.read_bytes() == before


def test_a_damaged_page_of_a_store_does_no_harm_or_fails_with_one_line(
    server: Server, tmp_path: Path, capsys: Captured
) -> None:
    folder, store = tmp_path / "whole", tmp_path / "damaged.db"
    folder.mkdir()
    crawls = Crawls(server, folder, seed=0, pages=200)
    assert start_alone(crawls.plan()).wait(PATIENCE_S) == 0
    body = crawls.store.read_bytes()
    pages = [body[start : start + PAGE_BYTES] for start in range(0, len(body), PAGE_BYTES)]
    crawls.store, refused = store, Counter[str]()
    arguments = {
        "crawl": (*crawls.plan().arguments, "--keep", "none"),
        "export": ("-", "--store", str(store)),
    }
    # A command for each page in turn, or all of them; and all for the first page, without which no
    # file is a store.
    rest = list(product(range(len(pages)), COMMANDS))[:: 1 if IS_LONG else len(COMMANDS) + 1]
    damaged = [*product((0,), COMMANDS), *rest]
    for number, (page, command) in enumerate(damaged):
        damages = (bytes(PAGE_BYTES), b"\xee" * PAGE_BYTES, pages[number % len(pages)])
        # Each command meets each damage.
        damage = damages[(number + number // len(COMMANDS)) % len(damages)]
        found = b"".join([*pages[:page], damage, *pages[page + 1 :]])
        for left in tmp_path.glob(f"{store.name}*"):
            left.unlink()
        store.write_bytes(found)
        code = main([command, *arguments.get(command, ("--store", str(store)))])
        out, err = capsys.readouterr()
        lines = (out if command == "check" and code == 1 else err).splitlines()
        assert code == 0 or lines, (command, page)
        assert code == 0 or command == "check" or len(lines) == 1, err
        if command != "crawl":
            assert store.read_bytes() == found
        refused[command] += code != 0
    assert min(refused[command] for command in COMMANDS) > 0
