"""Nodes in processes of their own, each in a control group.

Law: all processes end with the block that started them.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import click

from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.overview import ClusterStatus, overview
from minicrawl.config import Loaded, Settings
from tests.bench.cluster.groups import ControlGroup, control_group

PATIENCE_S = 180.0
_POLL_S = 0.2
_IDLE_CORES = 0.1
"""Most cores that an idle node uses."""
_ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'


class BenchNode(NamedTuple):
    """Running node."""

    name: str
    group: ControlGroup
    process: subprocess.Popen[bytes]


@asynccontextmanager
async def nodes(url: str, folder: Path, count: int) -> AsyncIterator[Sequence[BenchNode]]:
    """Start `count` nodes, without waiting for their shards."""
    with ExitStack() as stack:
        started = [_started(stack, url, folder, f"node-{number}") for number in range(1, count + 1)]
        yield started


def _started(stack: ExitStack, url: str, folder: Path, name: str) -> BenchNode:
    group = stack.enter_context(control_group(name))
    log = stack.enter_context((folder / f"{name}.txt").open("wb"))
    command = ("node", "--cluster", url, "--name", name, "--folder", str(folder / name))
    process = subprocess.Popen(
        ["sh", "-c", _ENTER, str(group.folder), sys.executable, "-m", "minicrawl", *command],
        stderr=log,
        stdin=subprocess.DEVNULL,
    )
    stack.callback(_end, process)
    return BenchNode(name, group, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()  # its children end with it
    process.wait()


def crawl_settings(address: str, delay_s: float) -> Loaded:
    """Return settings of a crawl whose hosts share one address, without limits for the address."""
    return Loaded.of(
        Settings.of(
            delay=delay_s,
            resolve=[f"*={address}"],
            allow_private=True,
            per_address=1024,
            address_delay=0,
            barren_pages=1_000_000,
        )
    )


# ---------------------------------------------------------------- waiting for nodes


async def until(
    engine: ClusterEngine, holds: Callable[[ClusterStatus], bool], what: str
) -> ClusterStatus:
    """Wait until a condition holds and return the status of the cluster."""
    ends_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends_at:
        found = await overview(engine)
        if holds(found):
            return found
        await asyncio.sleep(_POLL_S)
    raise click.ClickException(f"{what}: {found}")


def shards_of(found: ClusterStatus, name: str) -> tuple[int, ...]:
    """Return the shards of a node."""
    return next((row.shards for row in found.nodes if row.name == name), ())


async def settled(engine: ClusterEngine, started: Sequence[BenchNode]) -> None:
    """Wait until the shards are evenly distributed, and the nodes have become idle."""

    def is_even(found: ClusterStatus) -> bool:
        least = found.shards // len(started)
        return not found.unheld and all(
            len(shards_of(found, node.name)) >= least for node in started
        )

    await until(engine, is_even, "the shards are not shared out")
    before = [node.group.cpu_s() for node in started]
    while True:
        await asyncio.sleep(1)
        now = [node.group.cpu_s() for node in started]
        if all(b - a < 2 * _IDLE_CORES for a, b in zip(before, now, strict=True)):
            return
        before = now
