"""Nodes that are processes of their own, each in a control group, and what they do.

Law: no process is left when the nodes are not needed any more.
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
_LOOKS_EVERY_S = 0.2
_QUIET_CORES = 0.1
"""Of a node that waits."""
_ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'


class BenchNode(NamedTuple):
    """A node."""

    name: str
    group: ControlGroup
    process: "subprocess.Popen[bytes]"


@asynccontextmanager
async def nodes(url: str, folder: Path, count: int) -> AsyncIterator[Sequence[BenchNode]]:
    """So many; they hold their shards a little later."""
    with ExitStack() as stack:
        started = [_started(stack, url, folder, f"node-{number}") for number in range(1, count + 1)]
        yield started


def _started(stack: ExitStack, url: str, folder: Path, name: str) -> BenchNode:
    group = stack.enter_context(control_group(name))
    said = stack.enter_context((folder / f"{name}.txt").open("wb"))
    command = ("node", "--cluster", url, "--name", name, "--folder", str(folder / name))
    process = subprocess.Popen(
        ["sh", "-c", _ENTER, str(group.folder), sys.executable, "-m", "minicrawl", *command],
        stderr=said,
        stdin=subprocess.DEVNULL,
    )
    stack.callback(_end, process)
    return BenchNode(name, group, process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()  # its children end with it
    process.wait()


def crawl_settings(address: str, delay_s: float) -> Loaded:
    """Hosts that all are at this address, and are as polite to it as to many."""
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


# ---------------------------------------------------------------- waiting for them


async def until(
    engine: ClusterEngine, holds: Callable[[ClusterStatus], bool], what: str
) -> ClusterStatus:
    """The cluster when this holds of it."""
    ends_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends_at:
        found = await overview(engine)
        if holds(found):
            return found
        await asyncio.sleep(_LOOKS_EVERY_S)
    raise click.ClickException(f"{what}: {found}")


def shards_of(found: ClusterStatus, name: str) -> tuple[int, ...]:
    """Those that a node holds."""
    return next((row.shards for row in found.nodes if row.name == name), ())


async def settled(engine: ClusterEngine, started: Sequence[BenchNode]) -> None:
    """Wait until the shards are shared out evenly, and all processes that nodes start are there."""

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
        if all(b - a < 2 * _QUIET_CORES for a, b in zip(before, now, strict=True)):
            return
        before = now
