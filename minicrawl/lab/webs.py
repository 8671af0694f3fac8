"""Webs to run an experiment on: synthetic, or read from a graph file.

Law: every page is on one host and every host on one site. If hosts are unknown, all pages count as
pages of one host.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError
from minicrawl.graph.csr import Csr
from minicrawl.graph.named_graph import NamedGraph, Names
from minicrawl.lab.synthetic_webs import copying_web, poisson, power_law
from minicrawl.web import sites
from minicrawl.wording import counted

Numbers = NDArray[np.int32]
Floats = NDArray[np.float64]
Links = list[Sequence[int]]
"""Links of each page."""
_FEWEST_PAGES = 2


class Model(StrEnum):
    """Kind of a synthetic web."""

    POWER_LAW = "power-law"
    POISSON = "poisson"
    COPYING = "copying"


@dataclass(frozen=True, slots=True, eq=False)
class Web:
    """A graph whose page i is on host `host[i]` of site `site[i]`, both numbered from 0."""

    graph: Csr
    host: Numbers
    site: Numbers
    names: Names | None = None

    def url_of(self, page: int) -> str:
        """Return the name of a page, or a URL made up for a page without a name."""
        if self.names is None or page >= self.graph.nodes:
            return f"http://{self.host[page]}.example/{page}"
        return self.names.of([page])[0]

    @property
    def has_hosts(self) -> bool:
        """True if the web has several hosts; False if it has one, or hosts are unknown."""
        return bool(self.host.any())


def synthetic_web(model: Model, nodes: int, seed: int) -> Web:
    """Return a web of this model; the same seed gives the same web."""
    rng = np.random.default_rng(seed)
    match model:
        case Model.POWER_LAW:
            return without_hosts(power_law(nodes, rng))
        case Model.POISSON:
            return without_hosts(poisson(nodes, rng))
        case Model.COPYING:
            grown = copying_web(nodes, rng)
            return Web(grown.graph, grown.host, grown.host)


def web_of(named: NamedGraph, path: Path) -> Web:
    """Return the web of a graph read from this file; hosts are known if names are URLs."""
    if named.graph.nodes < _FEWEST_PAGES:
        pages = counted(named.graph.nodes, "page")
        raise GraphFileError(f"{path}: only {pages} in it; expected links between at least two")
    hosts = named.names.hosts()
    here, host = np.unique(hosts.of_node, return_inverse=True)
    if len(here) == named.graph.nodes:
        return without_hosts(named.graph, named.names)
    site_of_host = _numbered([sites.site(hosts.names[number]) for number in here.tolist()])
    return Web(named.graph, host.astype(np.int32), site_of_host[host], named.names)


def without_hosts(graph: Csr, names: Names | None = None) -> Web:
    """Return a web with unknown hosts."""
    same_host = np.zeros(graph.nodes, dtype=np.int32)
    return Web(graph, same_host, same_host, names)


def _numbered(names: list[str]) -> Numbers:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int32)
