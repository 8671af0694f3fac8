"""Requests while the connection is lost, or their server cut off, and what servers refuse."""

import asyncio
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from nats.aio.client import Client

from minicrawl.cluster.access import ClusterAccess, cancelled
from minicrawl.cluster.engine import EngineUnavailable, KeyTaken
from minicrawl.cluster.nats.connecting import NatsEngine, connect
from minicrawl.cluster.nats.jetstream import JetStreamClient
from minicrawl.cluster.nats.keys import NatsKeys
from minicrawl.cluster.nats.streams import Streams
from tests.cluster.engines import needs_server
from tests.cluster.proof.servers import relayed_servers


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
        asyncio.run(NatsKeys(Streams(jetstream, settings)).update("lease", b"", 3))


SHARD = 3
LONG_S = 90


def server_of(engine: NatsEngine) -> str:
    # Crawls need not know the server that they reach.
    found = engine._jetstream.client.connected_url
    assert found is not None
    return found.geturl()


async def appended(engine: NatsEngine, after: int, content: bytes) -> int:
    """Append an entry as a shard does: again, until a leader that knows the log confirms it."""
    async with asyncio.timeout(LONG_S):
        while True:
            try:
                return await engine.append(SHARD, after, content)
            except EngineUnavailable:
                await asyncio.sleep(0.1)


@needs_server
@pytest.mark.proof
@pytest.mark.anyio
async def test_a_client_leaves_a_server_that_is_cut_off_from_the_others(tmp_path: Path) -> None:
    async with relayed_servers(tmp_path / "servers", 3, ()) as servers:
        engine = await connect(ClusterAccess(url=servers.url, patience_s=LONG_S))
        try:
            assert await appended(engine, 0, b"before") == 1
            at = server_of(engine)
            (number,) = (n for n, one in enumerate(servers.servers) if one.url == at)
            with servers.server_cut(number):
                assert await appended(engine, 1, b"meanwhile") == 2
                assert server_of(engine) != at
            assert await appended(engine, 2, b"after") == 3
            assert [one.content async for one in engine.entries(SHARD)] == [
                *(b"before", b"meanwhile", b"after")
            ]
        finally:
            await engine.close()
