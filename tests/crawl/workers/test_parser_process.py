"""A real child process that parses, and its end of the channel in a thread."""

import asyncio
import os
import socket
import time
from io import BytesIO
from threading import Thread

import pytest

from minicrawl.crawl.workers import parser as parser_process
from minicrawl.crawl.workers import supervisor
from minicrawl.crawl.workers.messages import receive_message, send_message
from minicrawl.crawl.workers.parser import ParserLost, ParserProcess
from minicrawl.crawl.workers.parser_child import ParserCommand, serve
from tests.crawl.children import children, has_child, nothing_left_behind
from tests.crawl.coroutines import in_loop

NOTHING = BytesIO()
LONGEST_S = 30.0


def _die(_: bytes) -> None:
    os._exit(1)


def _pid(_: bytes) -> int:
    return os.getpid()


def _sleep(_: bytes) -> None:
    time.sleep(60)


@in_loop
async def test_a_process_that_dies_is_replaced_for_the_next_task() -> None:
    other = ParserProcess(LONGEST_S)
    try:
        with pytest.raises(ParserLost, match="the parser process ended"):
            await other.run(_die, NOTHING, "a.example")
        first, second = await asyncio.gather(
            other.run(len, BytesIO(b"abc"), "a.example"),
            other.run(len, BytesIO(b"x" * 1_000_000), "b.example"),
        )
        assert (first.value, second.value) == (3, 1_000_000)
    finally:
        await other.close()
    await other.close()


@in_loop
async def test_a_task_that_is_cancelled_leaves_no_process_behind() -> None:
    other = ParserProcess(LONGEST_S)
    running = asyncio.create_task(other.run(_sleep, NOTHING, "a.example"))
    while not has_child(other):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not has_child(other)


@in_loop
async def test_a_process_is_replaced_after_most_tasks() -> None:
    other = ParserProcess(LONGEST_S, most_tasks=2)
    pids = [(await other.run(_pid, NOTHING, "a.example")).value for _ in range(5)]
    assert [pids.index(pid) for pid in pids] == [0, 0, 2, 2, 4]
    await other.close()


def test_the_child_replies_until_its_channel_is_closed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        serving = Thread(target=serve, args=(theirs,))
        serving.start()
        with ours:
            for number, pieces in enumerate(([], [b"abc", b"d"])):
                for piece in pieces:
                    send_message(ours, (0, ParserCommand.BODY, piece))
                send_message(ours, (number, ParserCommand.PARSE, len))
                replied, (result, cost_s), cpu_s = receive_message(ours)
                assert (replied, result) == (number, sum(map(len, pieces)))
                assert cpu_s >= cost_s
            ours.sendall(b"half a mess")
        serving.join()


@pytest.mark.parametrize(
    ("module", "name", "broken"),
    [
        pytest.param(supervisor, "OWN_PYTHON", ("/nowhere/python",), id="it cannot start"),
        pytest.param(parser_process, "_CODE", "raise SystemExit(1)", id="it ends at once"),
    ],
)
def test_a_child_that_cannot_work_fails_its_task_alone(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, broken: object
) -> None:
    async def work() -> None:
        other = ParserProcess(LONGEST_S)
        with monkeypatch.context() as patch:
            patch.setattr(module, name, broken)
            with pytest.raises(ParserLost, match="the parser process ended"):
                await other.run(len, BytesIO(bytes(30_000_000)), "a.example")
        assert (await other.run(len, BytesIO(b"abc"), "a.example")).value == 3
        await other.close()

    with nothing_left_behind():
        asyncio.run(work())


def test_a_task_that_took_too_long_leaves_no_process_and_no_socket() -> None:
    async def work() -> None:
        other = ParserProcess(max_s=0.5)
        with pytest.raises(ParserLost, match=r"not parsed within 0\.5 s") as caught:
            await other.run(_sleep, NOTHING, "a.example")
        assert caught.value.cost_s >= 0.5
        assert children() == []

    with nothing_left_behind():
        asyncio.run(work())
