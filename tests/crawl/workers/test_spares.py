"""Children that are forked ahead do what fresh interpreters do, and end as they end.

The tests run in processes of their own, as that of pytest has threads.
"""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Event, Thread

import pytest

from minicrawl import Settings
from minicrawl.cli import main
from minicrawl.crawl.workers.parser import to_disk
from minicrawl.crawl.workers.parser_process import CODE, ParserLost, ParserProcess
from minicrawl.crawl.workers.pool import WorkerSlot, forked_workers
from minicrawl.crawl.workers.spares import spares, taken_spare
from minicrawl.crawl.workers.supervisor import ChildLost
from minicrawl.crawl.workers.worker import WorkerCommand
from minicrawl.memory import child_interpreter
from minicrawl.memory.measures import descendants
from tests.crawl.children import children, open_files
from tests.crawl.workers.test_supervisor import CONFIG, PLACE
from tests.processes import PATIENCE_S

PROGRAMS: dict[str, Callable[[], None]] = {}


def alone(program: Callable[[], None]) -> Callable[[], None]:
    """Make a test that runs in a process with one thread, and leaves nothing behind."""
    PROGRAMS[program.__name__] = program
    code = f"""
from tests.crawl.children import nothing_left_behind
from {__name__} import PROGRAMS
with nothing_left_behind():
    PROGRAMS[{program.__name__!r}]()
"""

    def test() -> None:
        subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S)

    return test


def with_slot(work: Callable[[WorkerSlot], Awaitable[None]]) -> None:
    async def done() -> None:
        slot = WorkerSlot(CONFIG)
        try:
            await work(slot)
        finally:
            await slot.close()

    asyncio.run(done())


def no_fresh_interpreters() -> None:
    child_interpreter.OWN_PYTHON = ("/bin/false", "")


async def locate(slot: WorkerSlot) -> None:
    assert await slot.worker().call(WorkerCommand.LOCATE, PLACE) == "127.0.0.1"


@alone
def test_a_spare_becomes_a_worker_with_no_file_and_no_terminal_of_its_parent() -> None:
    async def work(slot: WorkerSlot) -> None:
        await locate(slot)
        pid = slot.worker().pid
        assert pid in spare
        assert os.getsid(pid) != os.getsid(0)
        links = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
        assert not links & own

    no_fresh_interpreters()
    with TemporaryFile():
        own = {*open_files()} - {os.devnull, str(Path("/proc/self/fd/2").readlink())}
        with forked_workers(Settings.of(workers=3)):
            spare = children()
            assert len(spare) == 3
            with_slot(work)
            assert len(children()) == 2
        assert children() == []


@alone
def test_a_killed_worker_takes_its_parser_along_and_a_fresh_one_follows() -> None:
    async def work(slot: WorkerSlot) -> None:
        await locate(slot)
        worker = slot.worker()
        assert worker.pid is not None
        (parser,) = descendants(worker.pid)
        ended = os.pidfd_open(parser)
        os.kill(parser, signal.SIGSTOP)  # it reads no pipe, as one that parses for long
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(ChildLost):
            await worker.call(WorkerCommand.PING, None)
        assert select.select([ended], [], [], PATIENCE_S)[0]
        os.close(ended)
        await locate(slot)
        assert slot.worker() is not worker
        assert worker.returncode == -signal.SIGKILL

    with forked_workers(Settings.of(workers=1)):
        with_slot(work)


def killed_by(_body: bytes) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@alone
def test_a_killed_parser_fails_its_body_and_a_fresh_one_follows() -> None:
    async def work() -> None:
        parser = ParserProcess(PATIENCE_S)
        with to_disk(b"abc") as body:
            assert (await parser.run(len, body, "a.example")).value == 3
            assert children() == [spare]
            with pytest.raises(ParserLost):
                await parser.run(killed_by, body, "a.example")
            assert children() == []
            body.seek(0)
            assert (await parser.run(len, body, "a.example")).value == 3
        await parser.close()

    with spares(CODE, 1):
        (spare,) = children()
        asyncio.run(work())


@alone
def test_a_spare_that_is_closed_at_once_is_ended() -> None:
    with forked_workers(Settings.of(workers=2)):

        async def work(slot: WorkerSlot) -> None:
            slot.worker()

        with_slot(work)
    assert children() == []


@alone
def test_where_a_thread_runs_or_no_fork_is_possible_there_are_no_spares() -> None:
    over = Event()
    thread = Thread(target=over.wait, daemon=True)
    thread.start()
    with spares(CODE, 1):
        assert children() == []
    over.set()
    thread.join()

    def failed() -> int:
        raise BlockingIOError

    os.fork = failed
    with spares(CODE, 1):
        assert children() == []


@alone
def test_a_crawl_that_cannot_need_workers_forks_none() -> None:
    for settings in (Settings.of(pages=20, workers=2), Settings.of(workers=0)):
        with forked_workers(settings):
            assert children() == []


@alone
def test_the_end_of_a_spare_is_that_of_its_code_or_of_a_signal() -> None:
    async def end(code: str, number: int | None = None) -> int:
        spare = taken_spare(code)
        assert spare is not None
        with spare.connection:
            if number is not None:
                assert spare.connection.recv(1)
                os.kill(spare.process.pid, number)
            exit_code = await spare.process.wait()
        spare.mark.close()
        return exit_code

    waits = "import os; os.write(0, b'.'); input()"
    with TemporaryFile() as errors:
        former = os.dup(2)
        os.dup2(errors.fileno(), 2)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command line does
        with spares("1 / 0", 1), spares("pass", 1), spares(waits, 1):
            assert asyncio.run(end(waits, signal.SIGTERM)) == -signal.SIGTERM
            assert asyncio.run(end("1 / 0")) == 1
            assert asyncio.run(end("pass")) == 0
        os.dup2(former, 2)
        os.close(former)
        errors.seek(0)
        assert b"ZeroDivisionError" in errors.read()


@pytest.mark.slow
@alone
def test_the_crawl_command_forks_its_workers() -> None:
    no_fresh_interpreters()
    with TemporaryDirectory() as folder:
        options = f"--demo --pages 300 --workers 1 --delay 0 --quiet --store {folder}/crawl.db"
        crawl = ["crawl", *options.split(), "--log-file", f"{folder}/{{crawler}}.log"]
        assert main(crawl) == 0
        logs = [path.read_text("utf-8") for path in Path(folder).glob("*.log")]
        assert len(logs) == 2
        assert all(logs)
