"""The web that an experiment runs on: synthetic, or read from a graph file.

Law: every page is on one host and every host on one site, or nothing is known of hosts. Then all
pages count as pages of one host.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError
from minicrawl.graph import synthetic
from minicrawl.graph.csr import Csr
from minicrawl.graph.named import NamedGraph
from minicrawl.graphfiles.reading import read
from minicrawl.web import sites
from minicrawl.wording import counted

Numbers = NDArray[np.int32]
_FEWEST_PAGES = 2


class Model(StrEnum):
    """Synthetic webs."""

    POWER_LAW = "power-law"
    POISSON = "poisson"
    COPYING = "copying"


@dataclass(frozen=True, slots=True, eq=False)
class Web:
    """A graph whose page i is on host `host[i]` of site `site[i]`, both numbered from 0."""

    graph: Csr
    host: Numbers
    site: Numbers

    @property
    def has_hosts(self) -> bool:
        """Whether it is known which pages share a host."""
        return bool(self.host.any())


def synthetic_web(model: Model, nodes: int, seed: int) -> Web:
    """A web of this model; the same seed gives the same web."""
    rng = np.random.default_rng(seed)
    match model:
        case Model.POWER_LAW:
            return without_hosts(synthetic.power_law(nodes, rng))
        case Model.POISSON:
            return without_hosts(synthetic.poisson(nodes, rng))
        case Model.COPYING:
            grown = synthetic.copying_web(nodes, rng)
            return Web(grown.graph, grown.host, grown.host)


def web_from_file(path: Path) -> Web:
    """The web in a graph file. Hosts are known where pages are called by their URLs."""
    return web_of(read(path), path)


def web_of(found: NamedGraph, path: Path) -> Web:
    """The web of a graph that was read from this file."""
    if found.graph.nodes < _FEWEST_PAGES:
        pages = counted(found.graph.nodes, "page")
        raise GraphFileError(f"{path}: only {pages} in it; expected links between at least two")
    hosts = found.names.hosts()
    here, host = np.unique(hosts.of_node, return_inverse=True)
    if len(here) == found.graph.nodes:
        return without_hosts(found.graph)
    site_of_host = _numbered([sites.site(hosts.names[number]) for number in here.tolist()])
    return Web(found.graph, host.astype(np.int32), site_of_host[host])


def without_hosts(graph: Csr) -> Web:
    """A web of which no hosts are known."""
    one = np.zeros(graph.nodes, dtype=np.int32)
    return Web(graph, one, one)


def _numbered(names: list[str]) -> Numbers:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int32)
