"""Nodes as processes, which tests can kill, pause and cut off."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from minicrawl import Loaded
from minicrawl.cluster.engine import ClusterEngine, EngineUnavailable
from minicrawl.cluster.overview import ClusterStatus, overview
from minicrawl.config.writing import as_toml

PATIENCE_S = 180.0
LOOKS_EVERY_S = 0.3


class NodeProcess:
    """`minicrawl node` in a process of its own."""

    def __init__(
        self,
        url: str,
        name: str,
        folder: Path,
        more: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.folder = name, folder / name
        self._environ = {**os.environ, **(environ or {})}
        self._said = folder / f"{name}.txt"
        self._command = ["node", "--cluster", url, "--name", name, "--folder", str(self.folder)]
        self._command += more
        self.start()

    def start(self) -> None:
        """Start the process, also again after a kill."""
        with self._said.open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "minicrawl", *self._command],
                stderr=said,
                stdin=subprocess.DEVNULL,
                env=self._environ,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def said(self) -> str:
        return self._said.read_text()


@asynccontextmanager
async def nodes(
    urls: Mapping[str, str],
    folder: Path,
    loaded: Loaded,
    more: Mapping[str, Sequence[str]] | None = None,
    environs: Mapping[str, Mapping[str, str]] | None = None,
) -> AsyncIterator[dict[str, NodeProcess]]:
    """Run nodes with these names, each with the URL of its servers; give them by name.

    Each node has the settings in a file of its own: a node obeys harmful settings, such as a short
    delay, only if it has them as well.
    """
    own, file = more or {}, folder / "nodes.toml"
    around = environs or {}
    file.write_text(as_toml(loaded), encoding="utf-8")
    started = {
        name: NodeProcess(
            url, name, folder, ("--config", str(file), *own.get(name, ())), around.get(name)
        )
        for name, url in urls.items()
    }
    try:
        yield started
    finally:
        for node in started.values():
            node.kill()


async def until(
    engine: ClusterEngine, holds: Callable[[ClusterStatus], bool], what: str
) -> ClusterStatus:
    """Return the status of the cluster as soon as it satisfies `holds`; else fail with `what`."""
    ends_at, found = time.monotonic() + PATIENCE_S, None
    while time.monotonic() < ends_at:
        try:
            found = await overview(engine)
        except EngineUnavailable:  # the engine's own server may be killed or cut off
            continue
        if holds(found):
            return found
        await asyncio.sleep(LOOKS_EVERY_S)
    raise AssertionError(f"{what}: {found}")


async def until_taken_over(engine: ClusterEngine, name: str) -> None:
    """Wait until other nodes hold all shards that this node held."""
    await until(
        engine,
        lambda now: not now.unheld and not shards_of(now, name),
        f"nobody takes over the shards of {name}",
    )


async def until_ended(engine: ClusterEngine) -> ClusterStatus:
    return await until(engine, lambda now: now.doing == "ended", "the crawl goes on")


def shards_of(found: ClusterStatus, name: str) -> tuple[int, ...]:
    return next((row.shards for row in found.nodes if row.name == name), ())
