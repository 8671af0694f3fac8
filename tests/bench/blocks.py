"""PageRank of a graph that is several times larger than the memory limit.

`python -m tests.bench.blocks --into docs/speed.md` writes a synthetic graph to a file, ranks it in
a process with a memory limit, and again in memory. It prints time and peak memory of both
processes, and the sum of the differences between their scores.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from tests.bench.notes import circumstances, head, into_document, row, tell

_PORTION = 500_000
_ERROR = 1e-8

_CHILD = f"""
import json, sys, time
from pathlib import Path
import numpy as np
{{imports}}

path, memory, scores = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
{{ranking}}
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
print(json.dumps(dict(cpu_s=time.process_time(), peak=peak, **found)))
with open(scores, "wb") as file:
    for first in range(0, len(values), {_PORTION}):
        values[first : first + {_PORTION}].tofile(file)
"""

_IN_BLOCKS = _CHILD.format(
    imports="from minicrawl.ranks.commands import pagerank_command as blocks",
    ranking=f"""
opened, limits = blocks.file_in_blocks(path), blocks.MemoryLimits(memory=memory)
with blocks.pagerank_in_blocks(opened, limits, tolerance={_ERROR}) as ranked:
    pass
found = dict(blocks=ranked.blocks, edges=ranked.edges, iterations=ranked.scores.iterations)
values = ranked.scores.values
""",
)

_IN_MEMORY = _CHILD.format(
    imports="from minicrawl.graphfiles import read\nfrom scipy.sparse import csr_array",
    ranking=f"""
graph = read(path).graph
nodes, out = graph.nodes, graph.out_degrees()
ones = np.ones(graph.edges, dtype=np.float32)
links = csr_array((ones, graph.targets, graph.starts), shape=(nodes, nodes)).T
values, change, rounds = np.full(nodes, 1 / nodes), 1.0, 0
while change * 0.85 / 0.15 > {_ERROR}:
    base = (0.85 * values[out == 0].sum() + 0.15) / nodes
    new = 0.85 * (links @ (values / np.maximum(out, 1))) + base
    change, values, rounds = np.abs(new - values).sum(), new, rounds + 1
found = dict(blocks=1, edges=graph.edges, iterations=rounds)
""",
)


def write_graph(path: Path, nodes: int, links: int) -> None:
    """Write random links, most of which lead to low nodes."""
    rng = np.random.default_rng(1)
    with path.open("wb") as file:
        for first in range(0, links, _PORTION):
            count = min(_PORTION, links - first)
            targets = (nodes * rng.random(count) ** 3).astype(np.int64)
            pairs = zip(rng.integers(0, nodes, count).tolist(), targets.tolist(), strict=True)
            file.write(b"".join(b"%d\t%d\n" % pair for pair in pairs))


def ranked(code: str, graph: Path, memory: int, folder: Path) -> tuple[dict[str, Any], Path]:
    """Run a ranking process; return its figures and the path of its scores."""
    scores = folder / f"scores-{len(list(folder.iterdir()))}"
    command = [sys.executable, "-c", code, str(graph), str(memory), str(scores)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout), scores


def distance(one: Path, other: Path) -> float:
    columns: list[NDArray[np.float64]] = [np.fromfile(path) for path in (one, other)]
    return float(np.abs(columns[0] - columns[1]).sum())


@click.command()
@click.option("--nodes", default=4_000_000, show_default=True)
@click.option("--links", default=40_000_000, show_default=True)
@click.option("--memory", default=64, show_default=True, help="Limit of the whole process, in MB.")
@into_document
def main(nodes: int, links: int, memory: int, into: Path | None) -> None:
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name)
        graph = folder / "graph.txt"
        write_graph(graph, nodes, links)
        runs = {
            f"in blocks, at most {memory} MB": ranked(_IN_BLOCKS, graph, memory * 10**6, folder),
            "in memory, scipy": ranked(_IN_MEMORY, graph, 0, folder),
        }
        apart = distance(*(scores for _, scores in runs.values()))
    lines = [f"{circumstances()} {nodes:,} nodes, {links:,} lines, error {_ERROR:g}.", ""]
    lines += head("", "blocks", "links", "iterations", "CPU s", "peak MB")
    for title, (figures, _) in runs.items():
        counts = (f"{figures[name]:,}" for name in ("blocks", "edges", "iterations"))
        lines.append(row(title, *counts, f"{figures['cpu_s']:.0f}", f"{figures['peak'] / 1e6:.1f}"))
    lines += ["", f"The scores are {apart:.1e} apart, summed over all nodes."]
    tell(lines, "blocks", into)


if __name__ == "__main__":
    main()
