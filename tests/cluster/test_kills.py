"""Confirmed commits survive real kills of the writer and of the only server at any moment."""

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.replica.restoring import restore
from minicrawl.cluster.servers import local_servers
from tests.cluster.documents import SHARD, document, documents
from tests.cluster.engines import connected, needs_server

pytestmark = [needs_server, pytest.mark.anyio]

KILLS = 4


@contextmanager
def writer(url: str, path: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.cluster.replicated_writer", url, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def last_said(process: "subprocess.Popen[str]", number: int) -> int:
    """Kill the writer after it has printed this number; return the last number that it printed."""
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= number:
            break
    process.kill()
    rest = process.stdout.read().splitlines()
    return int(rest[-1]) if rest else number


async def restored(url: str, path: Path) -> int:
    """Restore the store, check that each document is unchanged, and return their number."""
    async with connected(ClusterAccess(url=url)) as engine:
        await restore(engine, SHARD, path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = documents(connection)
    expected = [document(number).documents[0] for number in range(1, len(found) + 1)]
    assert found == [(row.page, row.title) for row in expected]
    return len(found)


@pytest.mark.slow
async def test_every_confirmed_commit_is_restored_after_any_kill(tmp_path: Path) -> None:
    chance, counted = random.Random(1), 0
    async with local_servers(tmp_path / "servers", 1) as servers:
        for kill in range(KILLS):
            path = tmp_path / str(kill) / "crawl.db"
            with writer(servers.url, path) as process:
                until = counted + chance.randrange(1, 40)
                counted = await asyncio.to_thread(last_said, process, until)
            if chance.random() < 0.5:
                await servers.servers[0].end(signal.SIGKILL)
                await servers.servers[0].start()
            found = await restored(servers.url, tmp_path / f"{kill}-restored" / "crawl.db")
            assert counted <= found <= counted + 1
            counted = found
