"""Requests to the servers while the connection is lost, and what they refuse."""

import asyncio
import json
import time
from types import SimpleNamespace
from typing import cast

import pytest
from nats.aio.client import Client

from minicrawl.cluster.access import ClusterAccess, cancelled
from minicrawl.cluster.engine import EngineUnavailable, KeyTaken
from minicrawl.cluster.nats.jetstream import JetStreamClient
from minicrawl.cluster.nats.keys import NatsKeys
from minicrawl.cluster.nats.streams import Streams


class SilentClient:
    is_connected, is_closed, servers = True, False, ()

    async def request(self, *_: object, **__: object) -> object:
        return await asyncio.Event().wait()


@pytest.mark.slow
def test_a_request_that_has_just_run_out_of_time_breaks_no_reconnection() -> None:
    async def work() -> list[BaseException]:
        settings = ClusterAccess(url="nats://nowhere", patience_s=0.1)
        jetstream, failed = (
            JetStreamClient(cast(Client, SilentClient()), settings),
            list[BaseException](),
        )

        def disconnect() -> None:
            try:
                jetstream.disconnected()
            except RuntimeError as error:
                failed.append(error)

        request = asyncio.create_task(jetstream.api("INFO"))
        await asyncio.sleep(0)
        # The time limit is seen here only: to wait for it takes as long.
        (wait,) = jetstream._waits
        due = wait.when()
        assert due is not None
        loop = asyncio.get_running_loop()
        loop.call_at(due + 0.01, disconnect)
        time.sleep(due - loop.time() + 0.05)  # blocks the loop, so that both are due at once
        try:
            await request
        except EngineUnavailable:
            return failed
        raise AssertionError("nobody has answered")

    assert asyncio.run(asyncio.wait_for(work(), 60)) == []


def test_a_task_that_swallows_a_cancellation_is_ended_all_the_same() -> None:
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                break
        await asyncio.sleep(60)

    async def work() -> bool:
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        async with asyncio.timeout(30):
            await cancelled([task])
        return task.done()

    assert asyncio.run(work())


class RefusingClient(SilentClient):
    """Client of a server that has no message, and refuses each new one for this reason."""

    def __init__(self, error_code: int) -> None:
        self._refusal = {"code": 400, "err_code": error_code, "description": "wrong last sequence"}

    async def request(self, *asked: object, **_: object) -> object:
        error = {"code": 404} if ".MSG.GET." in str(asked[0]) else self._refusal
        return SimpleNamespace(data=json.dumps({"error": error}))


@pytest.mark.parametrize("error_code", [10071, 10164])
def test_a_change_after_one_that_its_sender_did_not_know_is_refused(error_code: int) -> None:
    settings = ClusterAccess(url="nats://nowhere")
    jetstream = JetStreamClient(cast(Client, RefusingClient(error_code)), settings)
    with pytest.raises(KeyTaken, match="lease"):
        asyncio.run(NatsKeys(jetstream, Streams(jetstream, settings)).update("lease", b"", 3))
