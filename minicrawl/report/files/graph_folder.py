"""Graph as a folder of numbered vertices and edges, for the tools of public web graphs.

vertices.txt.gz   number and name, as in Common Crawl: hosts are reversed (org.example)
edges.txt.gz      two numbers, in order: Common Crawl's edges, and WebGraph's ArcListASCIIGraph
graph.graph-txt   number of nodes, then a line of successors for each: WebGraph's ASCIIGraph

Vertices are numbered from 0: hosts by their reversed names, pages by their ids. Links have no
weights here. The links are in memory, 12 bytes each, since all three forms need them in order.
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.own_files import replacing
from minicrawl.report.selected_graph import Drawing
from minicrawl.web.sites import is_address
from minicrawl.wording import visible

VERTICES, EDGES, ADJACENCY = "vertices.txt.gz", "edges.txt.gz", "graph.graph-txt"
_EDGES_AT_ONCE = 100_000


def refuse_folder(folder: Path, *, force: bool) -> None:
    """Raise UsageError if the folder is a file, or has a graph that must not be replaced."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder for the graph")
    if any((folder / name).exists() for name in (VERTICES, EDGES, ADJACENCY)) and not force:
        raise UsageError(f"{folder} has a graph: --force replaces it")


def write_graph_folder(drawing: Drawing, folder: Path, *, of_hosts: bool) -> int:
    """Write the three files, and return the number of edges."""
    ids, names = _nodes(drawing, of_hosts=of_hosts)
    number_of = np.full(int(ids.max(initial=-1)) + 1, -1, dtype=np.int32)
    number_of[ids] = np.arange(len(ids))
    blocks = ((block["source"], block["target"]) for block in drawing.links)
    numbered = [number_of[np.array(block, dtype=np.int64)] for block in blocks]
    none = np.zeros((2, 0), dtype=np.int32)
    graph = Csr.from_edges(len(ids), *np.concatenate([none, *numbered], axis=1))
    folder.mkdir(parents=True, exist_ok=True)
    with _compressed(folder / VERTICES) as file:
        file.writelines(f"{node}\t{name}\n".encode() for node, name in enumerate(names))
    with _compressed(folder / EDGES) as file:
        sources = graph.sources()
        for first in range(0, graph.edges, _EDGES_AT_ONCE):
            ends = (
                sources[first : first + _EDGES_AT_ONCE],
                graph.targets[first : first + _EDGES_AT_ONCE],
            )
            pairs = zip(*(end.tolist() for end in ends), strict=True)
            file.write("".join(f"{source}\t{target}\n" for source, target in pairs).encode())
    with replacing(folder / ADJACENCY) as file:
        file.write(f"{graph.nodes}\n".encode())
        for first, end in pairwise(graph.starts.tolist()):
            row = graph.targets[first:end].tolist()
            file.write(f"{' '.join(map(str, row))}\n".encode())
    return graph.edges


def _nodes(drawing: Drawing, *, of_hosts: bool) -> tuple[NDArray[np.int64], list[str]]:
    def reversed_name(host: str) -> str:
        return host if is_address(host) else ".".join(reversed(host.split(".")))

    node_names = [
        (reversed_name(name) if of_hosts else "", node, name)
        for block in drawing.nodes
        for node, name in zip(block["id"], block["label"], strict=True)
    ]
    node_names.sort()
    names = (host if of_hosts else url for host, _, url in node_names)
    return np.array([node for _, node, _ in node_names], dtype=np.int64), list(map(visible, names))


@contextmanager
def _compressed(path: Path) -> Iterator[gzip.GzipFile]:
    """Yield a file without a time in its head, so that equal graphs make equal files."""
    with (
        replacing(path) as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed,
    ):
        yield compressed
