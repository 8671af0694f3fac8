"""Messages between the two ends of a channel, however their bytes are split."""

import asyncio
import pickle
import socket
from collections.abc import Generator
from threading import Thread

import pytest
from hypothesis import given, strategies as st

from minicrawl.crawl.workers.blame_mark import BlameMark, marked
from minicrawl.crawl.workers.channel import AT_ONCE, PickleChannel
from minicrawl.crawl.workers.messages import receive_message
from tests.crawl.coroutines import in_loop
from tests.loops import hear

VALUES = st.none() | st.integers() | st.binary()
MESSAGES = st.lists(VALUES | st.tuples(VALUES, VALUES), max_size=8)


def as_bytes(message: object) -> bytes:
    packed = pickle.dumps(message)
    return len(packed).to_bytes(4, "big") + packed


@given(messages=MESSAGES, cuts=st.lists(st.integers(0, 200)))
def test_messages_arrive_in_order_however_they_are_split(
    messages: list[object], cuts: list[int]
) -> None:
    travelling = b"".join(map(as_bytes, messages))
    heard: list[object] = []

    async def listen() -> None:
        channel = PickleChannel(heard.append)
        for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), None], strict=True):
            hear(channel, travelling[begin:end])

    asyncio.run(listen())
    assert heard == messages


@in_loop
async def test_messages_arrive_even_if_sent_before_the_ends_are_connected() -> None:
    heard: asyncio.Queue[object] = asyncio.Queue()
    one, other = PickleChannel(lambda _: None), PickleChannel(heard.put_nowait)
    one.send("early")
    one.send("as well")
    await asyncio.sleep(0)
    ours, its = socket.socketpair()
    await one.connect(ours)
    await other.connect(its)
    one.send(large := bytes(3_000_000))
    assert [await heard.get() for _ in range(3)] == ["early", "as well", large]
    one.close()
    await other.ended.wait()
    await one.ended.wait()
    one.send("late")
    await asyncio.sleep(0)
    assert heard.empty()


@in_loop
async def test_many_messages_sent_in_one_round_of_the_loop_leave_before_it_ends() -> None:
    ours, its = socket.socketpair()
    with its:
        its.settimeout(30)
        one = PickleChannel(lambda _: None)
        await one.connect(ours)
        for number in range(AT_ONCE + 1):
            one.send(number)
        assert [receive_message(its) for _ in range(AT_ONCE)] == [*range(AT_ONCE)]
        await asyncio.sleep(0)
        assert receive_message(its) == AT_ONCE
        one.close()


@in_loop
async def test_a_channel_that_was_never_connected_may_be_closed() -> None:
    channel = PickleChannel(lambda _: None)
    channel.close()
    assert not channel.ended.is_set()


def test_receive_message_reads_one_message_and_leaves_the_next() -> None:
    ours, its = socket.socketpair()
    with ours, its:
        first = {"large": bytes(3_000_000)}
        speaking = Thread(target=ours.sendall, args=(as_bytes(first) + as_bytes("next"),))
        speaking.start()
        assert receive_message(its) == first
        assert receive_message(its) == "next"
        speaking.join()


def test_receive_message_returns_none_when_the_other_end_closes_even_within_a_message() -> None:
    for part in (b"", b"\0\0", as_bytes("whole")[:-1]):
        ours, its = socket.socketpair()
        with its:
            with ours:
                ours.sendall(part)
            assert receive_message(its) is None


@in_loop
async def test_a_sender_can_wait_until_its_messages_have_been_taken() -> None:
    received: asyncio.Queue[object] = asyncio.Queue()
    one, other = PickleChannel(lambda _: None), PickleChannel(received.put_nowait)
    ours, theirs = socket.socketpair()
    one.send(bytes(3_000_000))
    sending = asyncio.create_task(one.drain())
    await asyncio.sleep(0)
    assert not sending.done()
    await one.connect(ours)
    await asyncio.sleep(0)
    assert not sending.done()
    await other.connect(theirs)
    await sending
    assert await received.get() == bytes(3_000_000)
    other.close()
    await one.ended.wait()
    await one.drain()


@in_loop
async def test_closing_a_channel_wakes_senders_that_wait() -> None:
    channel = PickleChannel(lambda _: None)
    sending = asyncio.create_task(channel.drain())
    await asyncio.sleep(0)
    channel.close()
    await sending


class Pause:
    """An awaitable that waits once."""

    def __await__(self) -> Generator[None, str, str]:
        return (yield)


def test_the_mark_is_set_while_a_call_works_and_not_while_it_waits() -> None:
    mark, seen = BlameMark(), list[int]()

    async def work() -> str:
        seen.append(mark.call)
        said = await Pause()
        seen.append(mark.call)
        return said

    steps = marked(mark, 7, work)
    steps.send(None)
    assert (seen, mark.call) == ([7], 0)
    with pytest.raises(StopIteration) as end:
        steps.send("more")
    assert end.value.value == "more"
    assert (seen, mark.call) == ([7, 7], 0)


def test_exceptions_thrown_into_a_call_come_out_and_clear_the_mark() -> None:
    async def work() -> None:
        await Pause()

    mark = BlameMark()
    for thrown in (ZeroDivisionError, asyncio.CancelledError):
        steps = marked(mark, 7, work)
        steps.send(None)
        with pytest.raises(thrown):
            steps.throw(thrown())
        assert mark.call == 0
