"""A graph from a file: an edge list, plain or .gz."""

import gzip
import zlib
from pathlib import Path

from minicrawl.errors import GraphFileError
from minicrawl.graph import edgelist
from minicrawl.graph.ids import Ids
from minicrawl.graph.named import NamedGraph


def read(path: Path) -> NamedGraph:
    """The graph in the file, with what its nodes are called there."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as lines:
            found = edgelist.parse(lines, str(path))
    except (OSError, EOFError, zlib.error) as error:
        raise GraphFileError(f"cannot read graph file {path}: {error}") from error
    return NamedGraph(graph=found.graph, names=Ids(found.ids))
