"""PageRank and HITS compared with scipy, networkit, igraph and rustworkx, with the same error.

`python -m tests.bench.ranks --peers PYTHON` runs each library in processes of its own, in turn and
round after round, on a real graph (cnr-2000, if available) and on a synthetic one whose in-degrees
follow a power law. Libraries that PYTHON does not have are left out, and so are those that take
links as Python objects if there are more than 10,000,000 links.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
import numpy as np

from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.bench.rank_peers import COMMON, OURS, OURS_FROM_FILE, RANKS, WANT_OBJECTS
from tests.shared import Absent, find

REAL = "cnr-2000.edges.txt.gz"
ERROR = 1e-8
_STEEPNESS = 3.0
_AT_ONCE = 1 << 22
_PAGES_AT_ONCE = 1 << 16
_MOST_OBJECTS = 10_000_000


class Lap(NamedTuple):
    """Figures of one program."""

    wall_s: float
    cpu_s: float
    bytes: float
    best: float
    score: float


def real() -> Csr | None:
    try:
        return read(find("graphs", REAL, os.environ)).graph
    except Absent as absence:
        click.echo(str(absence), err=True)
        return None


def synthetic(nodes: int, links: int) -> Csr:
    """Return a graph whose in-degrees follow a power law, with uniform sources."""
    dice = np.random.default_rng(1)
    names = dice.permutation(nodes)
    keys = np.empty(links, dtype=np.int64)
    for first in range(0, links, _AT_ONCE):
        some = keys[first : first + _AT_ONCE]
        some[:] = dice.integers(0, nodes, len(some)) << 32
        some |= names[(nodes * dice.random(len(some)) ** _STEEPNESS).astype(np.int64)]
    keys.sort()
    keys = keys[np.append(True, keys[1:] != keys[:-1])]
    starts = np.searchsorted(keys, np.arange(nodes + 1) << 32)
    return Csr(starts=starts, targets=(keys & 0xFFFFFFFF).astype(np.int32))


def lap(python: Path, code: str, folder: Path) -> Lap | None:
    """Run a program; return None if its library is missing, or it fails."""
    command: list[str | Path] = [python, "-c", COMMON + code, folder, str(ERROR)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        click.echo(done.stderr[-200:], err=True)
        return None
    return Lap(**json.loads(done.stdout))


def laps(
    contenders: dict[str, str], peers: Path, folder: Path, rounds: int
) -> dict[str, list[Lap]]:
    """Run rounds of all programs, without those that fail once."""
    found: dict[str, list[Lap]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name in list(found):
            python = Path(sys.executable) if name in (OURS, OURS_FROM_FILE) else peers
            one = lap(python, contenders[name], folder)
            click.echo(f"round {number + 1}  {name:<22} {one}", err=True)
            if one is None:
                del found[name]
            else:
                found[name].append(one)
    return found


def write(graph: Csr, folder: Path) -> None:
    """Write the graph as arrays and as a text."""
    for part in ("starts", "targets"):
        np.save(folder / part, getattr(graph, part))
    with (folder / "links.txt").open("w") as text:
        for first in range(0, graph.nodes, _PAGES_AT_ONCE):
            starts = graph.starts[first : first + _PAGES_AT_ONCE + 1]
            sources = np.repeat(np.arange(first, first + len(starts) - 1), np.diff(starts))
            targets = graph.targets[starts[0] : starts[-1]]
            links = zip(sources.tolist(), targets.tolist(), strict=True)
            text.writelines(map("%d\t%d\n".__mod__, links))


def table(rank: str, graph: Csr, found: dict[str, list[Lap]]) -> Iterator[str]:
    yield ""
    title = f"{rank} of {graph.nodes:,} nodes, {graph.edges:,} links"
    figures = ("seconds", f"of {OURS}'s", "bytes a link")
    yield from head(title, *figures)
    ours = statistics.median(one.wall_s for one in found[OURS])
    for name, theirs in found.items():
        wall, _, size, *_ = map(statistics.median, zip(*theirs, strict=True))
        yield row(
            name,
            f"{wall:.2f}",
            f"{wall / ours:.2f} ×",
            f"{size / graph.edges:.1f}",
        )


@click.command()
@click.option("--peers", type=click.Path(exists=True, path_type=Path), help="A Python with them.")
@click.option("--nodes", type=float, default=5e6, show_default=True, help="Synthetic nodes.")
@click.option("--links", type=float, default=5e7, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@into_document
def main(peers: Path | None, nodes: float, links: float, rounds: int, into: Path | None) -> None:
    lines = [f"{circumstances()} Error {ERROR:g}, median of {rounds}."]
    for graph in (real(), synthetic(int(nodes), int(links))):
        if graph is None:
            continue
        with TemporaryDirectory(prefix="minicrawl-bench-") as name:
            write(graph, Path(name))
            for rank, contenders in RANKS.items():
                able = {
                    who: code
                    for who, code in contenders.items()
                    if graph.edges <= _MOST_OBJECTS or who not in WANT_OBJECTS
                }
                found = laps(able, peers or Path(sys.executable), Path(name), rounds)
                lines += table(rank, graph, found)
    tell(lines, "ranks", into)


if __name__ == "__main__":
    main()
