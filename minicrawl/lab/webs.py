"""The graph that an experiment runs on: synthetic, or read from a file."""

import gzip
import zlib
from enum import StrEnum
from pathlib import Path

import numpy as np

from minicrawl.errors import GraphFileError
from minicrawl.graph import edgelist, synthetic
from minicrawl.graph.csr import Csr
from minicrawl.graph.synthetic import Web


class Model(StrEnum):
    """Synthetic webs."""

    POWER_LAW = "power-law"
    POISSON = "poisson"
    COPYING = "copying"


def synthetic_web(model: Model, nodes: int, seed: int) -> Web:
    """A web of this model; the same seed gives the same web."""
    rng = np.random.default_rng(seed)
    match model:
        case Model.POWER_LAW:
            return without_hosts(synthetic.power_law(nodes, rng))
        case Model.POISSON:
            return without_hosts(synthetic.poisson(nodes, rng))
        case Model.COPYING:
            return synthetic.copying_web(nodes, rng)


def web_from_file(path: Path) -> Web:
    """The web in an edge list, plain or .gz."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as lines:
            return without_hosts(edgelist.parse(lines, str(path)).graph)
    except (OSError, EOFError, zlib.error) as error:
        raise GraphFileError(f"cannot read graph file {path}: {error}") from error


def without_hosts(graph: Csr) -> Web:
    """Where nothing is known about hosts, each page is a host of its own."""
    return Web(graph=graph, host=np.arange(graph.nodes, dtype=np.int32))
