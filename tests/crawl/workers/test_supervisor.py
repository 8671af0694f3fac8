"""Supervision of real worker processes that are silent, killed or closed."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from minicrawl import Settings
from minicrawl.crawl.workers.pool import END_S, SILENCE_S, WorkerProcess, WorkerSlot
from minicrawl.crawl.workers.supervisor import ChildLost, kill
from minicrawl.crawl.workers.visitor import WorkerConfig
from minicrawl.crawl.workers.worker import WorkerCommand
from minicrawl.model import Request
from tests.crawl.children import children, nothing_left_behind
from tests.fetch.wire import Answer, Then, answer, wire

CONFIG = WorkerConfig.of(Settings.of(allow_private=True))
SILENCE = Answer((b"HTTP/1.1 200 OK\r\n",), Then.HOLD)
PLACE = "http://127.0.0.1/"


Work = Callable[[WorkerSlot], Awaitable[None]]


def with_slot(work: Work, silence_s: float = SILENCE_S, end_s: float = END_S) -> None:
    """Give the work a slot for workers, and check that it leaves nothing behind."""

    async def done() -> None:
        slot = WorkerSlot(CONFIG, silence_s, end_s)
        try:
            async with asyncio.timeout(60):
                await work(slot)
        finally:
            await slot.close()

    with nothing_left_behind():
        asyncio.run(done())


def manned(work: Work) -> Callable[[], None]:
    """Make a test of work with a slot."""

    def test() -> None:
        with_slot(work)

    return test


async def pid_of(slot: WorkerSlot) -> int:
    await slot.worker().call(WorkerCommand.PING, None)
    (pid,) = children()
    return pid


@manned
async def test_a_worker_starts_when_it_is_wanted_and_stays(slot: WorkerSlot) -> None:
    assert children() == []
    assert not slot.worker().is_ready
    assert await slot.worker().call(WorkerCommand.LOCATE, PLACE) == "127.0.0.1"
    assert slot.worker().is_ready
    pid = await pid_of(slot)
    assert os.getsid(pid) != os.getsid(0)  # Ctrl-C does not reach it
    await asyncio.gather(*(slot.worker().call(WorkerCommand.LOCATE, PLACE) for _ in range(100)))
    assert await pid_of(slot) == pid


@manned
async def test_a_worker_that_is_killed_fails_its_calls_and_is_replaced(slot: WorkerSlot) -> None:
    async with wire(SILENCE) as server:
        pid, worker = await pid_of(slot), slot.worker()
        asking = asyncio.create_task(worker.visit(Request(url=server.url())))
        while not server.asked:
            await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ChildLost):
            await asking
        with pytest.raises(ChildLost):
            await worker.call(WorkerCommand.PING, None)
        assert slot.worker() is not worker
        assert await slot.worker().call(WorkerCommand.LOCATE, PLACE) == "127.0.0.1"


def stopped_at_work(pid: int, worker: WorkerProcess, but_not: int) -> bool:
    """Stop the process. Return whether it was busy with a call other than `but_not`; else go on."""
    os.kill(pid, signal.SIGSTOP)
    while "T (stopped)" not in Path(f"/proc/{pid}/status").read_text():
        pass
    # The mark is the supervisor's alone, and is read while the process stands still.
    assert worker._mark is not None
    if worker._mark.call not in (0, but_not):
        return True
    os.kill(pid, signal.SIGCONT)
    return False


@manned
async def test_only_the_call_that_a_killed_worker_was_busy_with_is_to_blame(
    slot: WorkerSlot,
) -> None:
    """The worker parses a page that takes a while, and waits for a silent host."""
    body = b"<title>A</title>" + b"<a href=/x>" * 20_000

    async with wire(SILENCE) as silent, wire(answer(body)) as server:
        pid, worker = await pid_of(slot), slot.worker()
        innocent = asyncio.create_task(worker.visit(Request(url=silent.url())))
        while not silent.asked:
            await asyncio.sleep(0)
        # The numbers of calls go to no caller.
        (number_of_innocent,) = worker._waiting
        guilty = asyncio.create_task(worker.visit(Request(url=server.url())))
        while not stopped_at_work(pid, worker, but_not=number_of_innocent):
            if guilty.done():
                guilty = asyncio.create_task(worker.visit(Request(url=server.url())))
            await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        lost = await asyncio.gather(innocent, guilty, return_exceptions=True)
    assert all(isinstance(one, ChildLost) for one in lost)
    assert [one.is_to_blame for one in lost if isinstance(one, ChildLost)] == [False, True]


def test_a_worker_that_is_silent_for_too_long_is_killed() -> None:
    async def work(slot: WorkerSlot) -> None:
        os.kill(await pid_of(slot), signal.SIGSTOP)
        with pytest.raises(ChildLost):
            await slot.worker().call(WorkerCommand.LOCATE, PLACE)
        assert await slot.worker().call(WorkerCommand.LOCATE, PLACE) == "127.0.0.1"

    with_slot(work, silence_s=1.0, end_s=0.05)


@pytest.mark.usefixtures("_python_that_cannot_work")
@manned
async def test_a_worker_that_never_started_is_not_replaced(slot: WorkerSlot) -> None:
    worker = slot.worker()
    for _ in range(2):
        with pytest.raises(ChildLost):
            await slot.worker().call(WorkerCommand.LOCATE, PLACE)
    assert slot.worker() is worker


@manned
async def test_a_caller_that_is_cancelled_cancels_its_call(slot: WorkerSlot) -> None:
    async with wire(SILENCE, answer(b"<title>A</title>")) as server:
        asking = asyncio.create_task(slot.worker().visit(Request(url=server.url())))
        while not server.asked:
            await asyncio.sleep(0.001)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await slot.worker().visit(Request(url=server.url()))).parsed is not None


def test_a_slot_may_be_closed_at_any_time() -> None:
    async def never_held(_: WorkerSlot) -> None: ...

    async def just_taken(slot: WorkerSlot) -> None:
        assert not slot.worker().is_ready

    async def about_to_start(slot: WorkerSlot) -> None:
        asking = asyncio.ensure_future(slot.worker().call(WorkerCommand.PING, None))
        while not children():
            await asyncio.sleep(0)
        await slot.close()
        with pytest.raises(ChildLost):
            await asking

    for moment in (never_held, just_taken, about_to_start):
        with_slot(moment)


_KILLED = """
import asyncio, os, signal
from tests.crawl.workers.test_supervisor import CONFIG, WorkerSlot, pid_of

async def work():
    print(await pid_of(WorkerSlot(CONFIG)), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(work())
"""


def test_a_worker_whose_crawl_was_killed_ends_by_itself() -> None:
    crawl = subprocess.run([sys.executable, "-c", _KILLED], stdout=subprocess.PIPE, check=False)
    assert crawl.returncode == -signal.SIGKILL
    with suppress(ProcessLookupError):  # the worker may have ended already
        ended = os.pidfd_open(int(crawl.stdout))
        assert select.select([ended], [], [], 20)[0] == [ended]
        os.close(ended)


def test_a_kill_leaves_the_exit_status_to_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first poll gets the status, and asyncio complains if another caller was first."""

    async def killed() -> int:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "import time; time.sleep(600)"
        )
        with monkeypatch.context() as patch:
            patch.setattr(subprocess.Popen, "poll", lambda _self: pytest.fail("it was polled"))
            kill(process)
        await process.wait()
        kill(process)  # the process is gone already
        return process.returncode or 0

    assert asyncio.run(killed()) == -signal.SIGKILL
