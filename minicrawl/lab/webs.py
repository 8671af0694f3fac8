"""The graph that an experiment runs on: synthetic, or read from a file."""

from enum import StrEnum
from pathlib import Path

import numpy as np

from minicrawl.errors import GraphFileError
from minicrawl.graph import synthetic
from minicrawl.graph.csr import Csr
from minicrawl.graph.synthetic import SyntheticWeb
from minicrawl.graphfiles.reading import read


class Model(StrEnum):
    """Synthetic webs."""

    POWER_LAW = "power-law"
    POISSON = "poisson"
    COPYING = "copying"


def synthetic_web(model: Model, nodes: int, seed: int) -> SyntheticWeb:
    """A web of this model; the same seed gives the same web."""
    rng = np.random.default_rng(seed)
    match model:
        case Model.POWER_LAW:
            return without_hosts(synthetic.power_law(nodes, rng))
        case Model.POISSON:
            return without_hosts(synthetic.poisson(nodes, rng))
        case Model.COPYING:
            return synthetic.copying_web(nodes, rng)


def web_from_file(path: Path) -> SyntheticWeb:
    """The web in a graph file."""
    found = read(path)
    if found.graph.nodes == 1:
        raise GraphFileError(f"{path}: only one page in it; expected links between at least two")
    return SyntheticWeb(graph=found.graph, host=found.names.hosts().of_node)


def without_hosts(graph: Csr) -> SyntheticWeb:
    """Where nothing is known about hosts, each page is a host of its own."""
    return SyntheticWeb(graph=graph, host=np.arange(graph.nodes, dtype=np.int32))
