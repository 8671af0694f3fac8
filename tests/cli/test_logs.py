"""Log lines of events, as text and as JSON, and the files that they go to."""

import json
import os
import shutil
import subprocess
from contextlib import suppress
from errno import ENOSPC
from io import FileIO
from pathlib import Path, PosixPath
from typing import Any

import pytest

from minicrawl import Asked, Delayed, Ended, Event, Noted, Reason, Settled, Warned
from minicrawl.cli.crawl.logs import (
    FORMS,
    MOST_WAITING,
    Log,
    LogFiles,
    as_json,
    as_text,
    log_file,
    progress_line,
)
from minicrawl.errors import MinicrawlError
from minicrawl.model import CrawlerId
from minicrawl.states import State
from tests.cli.test_crawl_display import PROGRESS

URL = "https://a.example/"
FULL = Path("/dev/full")
WORKER = CrawlerId(2, 4711)
SETTLED = Settled(
    url=URL, state=State.NOT_FOUND, detail="gone", elapsed_s=0.25, crawler=WORKER, status=404
)
OWN_PID = os.getpid()
NEWS: list[tuple[Event, str, dict[str, object]]] = [
    (
        SETTLED,
        f"not-found      0.250 s  worker 2     {URL}  gone",
        {"event": "settled", "url": URL, "state": "not-found", "seconds": 0.25, "detail": "gone"}
        | {"level": "warning", "status": 404, "crawler": "worker 2", "pid": 4711},
    ),
    (
        Settled(url=URL, state=State.TRAP, detail="a trap"),
        f"trap           0.000 s  -            {URL}  a trap",
        {"event": "settled", "url": URL, "state": "trap", "seconds": 0.0, "detail": "a trap"}
        | {"level": "info", "status": None},
    ),
    (
        Delayed(url=URL, detail="failed:reset"),
        f"delayed                 coordinator  {URL}  failed:reset",
        {"event": "delayed", "url": URL, "detail": "failed:reset"}
        | {"level": "warning", "crawler": "coordinator", "pid": OWN_PID},
    ),
    (
        Noted(text="so it is"),
        "note                    so it is",
        {"level": "info", "event": "noted", "text": "so it is"},
    ),
    (
        Warned(text="no room"),
        "warning                 no room",
        {"level": "warning", "event": "warned", "text": "no room"},
    ),
    (
        Ended(reason=Reason.STOPPED),
        "ended                   stopped",
        {"level": "info", "event": "ended", "reason": "stopped"},
    ),
]


@pytest.mark.parametrize(("event", "text", "document"), NEWS)
def test_a_line_has_time_event_duration_crawler_and_url(
    event: Event, text: str, document: dict[str, object]
) -> None:
    assert as_text(event, 0.5) == f"1970-01-01T00:00:00Z  {text}"
    line = as_json(event, 1.23456)
    assert line is not None
    assert json.loads(line) == {"at": 1.235} | document


@pytest.mark.parametrize("form", FORMS)
def test_every_writer_gets_every_line_but_the_start_of_a_request(form: str) -> None:
    one, two = list[str](), list[str]()
    log = Log(form, one.append, two.append, now=lambda: 60.0)
    log.hear(Asked(url=URL, cash=1.0))
    log.hear(SETTLED)
    assert one == two == [FORMS[form](SETTLED, 60.0)]


class TestFilesOfProcesses:
    def test_each_process_has_a_file_and_the_coordinator_the_rest(self, tmp_path: Path) -> None:
        files = LogFiles(tmp_path / "crawl-{crawler}.log")
        log = Log("text", files=files, now=lambda: 60.0)
        for event in (SETTLED, Delayed(url=URL, detail="reset"), Noted(text="so it is")):
            log.hear(event)
        files.close()
        assert (tmp_path / "crawl-worker-2.log").read_text() == f"{as_text(SETTLED, 60.0)}\n"
        own = (tmp_path / "crawl-coordinator.log").read_text().splitlines()
        assert [line.split()[1] for line in own] == ["delayed", "note"]

    def test_with_many_workers_few_files_are_open_and_no_line_is_lost(self, tmp_path: Path) -> None:
        descriptors = Path("/proc/self/fd")
        before = len(list(descriptors.iterdir()))
        files = LogFiles(tmp_path / "{crawler}")
        for number in [*range(1, 101), *range(1, 101)]:
            files.write(f"by {number}", CrawlerId(number))
            assert len(list(descriptors.iterdir())) < before + 40
        files.close()
        for number in range(1, 101):
            assert (tmp_path / f"worker-{number}").read_text() == 2 * f"by {number}\n"


class FullDisk(PosixPath):
    """Path on a disk that accepts three bytes, and has room again after two errors."""

    def open(self, *_: object, **__: object) -> FileIO:  # type: ignore[override]
        return FileOnFullDisk(self, "ab")


class FileOnFullDisk(FileIO):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.room = [3, None, None]

    def write(self, line: Any) -> int:
        if not self.room:
            return super().write(line)
        if (taken := self.room.pop(0)) is None:
            raise OSError(ENOSPC, "No space left on device")
        return super().write(line[:taken])


class TestFile:
    def test_lines_are_appended_and_flushed_at_once(self, tmp_path: Path) -> None:
        file = tmp_path / "crawl.log"
        file.write_text("earlier\n", encoding="utf-8")
        with log_file(file) as write:
            write("é")
            assert file.read_text(encoding="utf-8") == "earlier\né\n"

    def test_lines_wait_for_room_on_a_full_disk(self, tmp_path: Path) -> None:
        file = FullDisk(tmp_path / "crawl.log")
        with log_file(file) as write:
            write("first")
            assert file.stat().st_size == len("fir")
            write("second")
            assert file.stat().st_size == len("fir")
            write("third")
        assert Path(file).read_bytes() == b"first\nsecond\nthird\n"

    @pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this system")
    def test_lines_without_room_at_the_end_raise_an_error(self) -> None:
        with (
            pytest.raises(MinicrawlError, match="/dev/full: No space left"),
            log_file(FULL) as write,
        ):
            write("one")

    @pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this system")
    def test_the_number_of_waiting_bytes_is_limited(self) -> None:
        with suppress(MinicrawlError), log_file(FULL) as write:
            write("x" * (MOST_WAITING - 1))
            with pytest.raises(MinicrawlError, match="No space left"):
                write("y")

    def test_rotation_keeps_the_wanted_number_of_files_in_order(self, tmp_path: Path) -> None:
        file, full = tmp_path / "crawl.log", "x" * 10_000_000
        with log_file(file, keep=2) as write:
            for line in ("1", full, f"2{full}", f"3{full}", "4", full):
                write(line)
        assert file.read_bytes() == b""
        assert (tmp_path / "crawl.log.1").read_text() == f"4\n{full}\n"
        assert (tmp_path / "crawl.log.2").read_text() == f"3{full}\n"
        assert len(list(tmp_path.iterdir())) == 3

    @pytest.mark.parametrize("is_created", [True, False])
    def test_a_file_that_another_program_renames_is_followed_by_a_new_one(
        self, tmp_path: Path, *, is_created: bool
    ) -> None:
        file = tmp_path / "crawl.log"
        with log_file(file) as write:
            write("one")
            file.rename(tmp_path / "crawl.log.1")
            if is_created:
                file.touch()
            write("two")
        assert (tmp_path / "crawl.log.1").read_bytes() == b"one\n"
        assert file.read_bytes() == b"two\n"

    def test_lines_go_to_the_renamed_file_while_no_new_one_can_be_opened(
        self, tmp_path: Path
    ) -> None:
        file = tmp_path / "crawl.log"
        with log_file(file) as write:
            file.rename(tmp_path / "crawl.log.1")
            file.mkdir()
            write("one")
            file.rmdir()
            write("two")
        assert (tmp_path / "crawl.log.1").read_bytes() == b"one\n"
        assert file.read_bytes() == b"two\n"

    @pytest.mark.skipif(shutil.which("logrotate") is None, reason="no logrotate")
    def test_logrotate_needs_no_signal_and_no_copy(self, tmp_path: Path) -> None:
        file, rules = tmp_path / "crawl.log", tmp_path / "rules"
        rules.write_text(f"{file} {{\n rotate 2\n create\n}}\n", encoding="utf-8")
        rules.chmod(0o600)
        command = ["logrotate", "--force", "--state", f"{tmp_path}/state", f"{rules}"]
        with log_file(file) as write:
            for line in ("one", "two"):
                write(line)
                subprocess.run(command, check=True)
            write("three")
        kept = [tmp_path / f"crawl.log{ending}" for ending in (".2", ".1", "")]
        assert [one.read_bytes() for one in kept] == [b"one\n", b"two\n", b"three\n"]


def test_progress_is_logged_as_text_or_json() -> None:
    text = progress_line("text", PROGRESS, "9 of 10 pages", 60.0)
    assert text == f"1970-01-01T00:01:00Z  {'progress':<24}9 of 10 pages"
    line = json.loads(progress_line("json", PROGRESS, "", 60.0))
    assert (line["event"], line["at"], line["known"]) == ("progress", 60.0, PROGRESS.known)
