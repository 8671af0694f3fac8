"""Sites: the graph of registrable domains, and the scores of their pages.

Two sites are linked if a page of one links to a page of the other; links inside a site are ignored.
The weight of a link between sites is the sum of its page links, or the number of linking pages:
then a page with several links to the other site counts once. The pages of a site share its score
equally, so their scores sum to that of the site.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from minicrawl.graph.csr import Csr
from minicrawl.graph.named_graph import NamedGraph, Names, NodeHosts
from minicrawl.ranks.scores import Scores
from minicrawl.web.sites import site


def sites_of(names: Names) -> NodeHosts:
    """Return the site of each node, in the form of `Names.hosts`. Each site has a node."""
    hosts, numbers = names.hosts(), dict[str, int]()
    nodes = np.bincount(hosts.of_node, minlength=len(hosts.names)).tolist()
    of_host = [
        numbers.setdefault(site(host), len(numbers)) if count else -1
        for host, count in zip(hosts.names, nodes, strict=True)
    ]
    return NodeHosts(np.array(of_host, dtype=np.int32)[hosts.of_node], list(numbers))


class SiteNames:
    """Names of the nodes of a site graph. Each node is its own host."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._numbers = {name: number for number, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self._names)

    def of(self, nodes: Sequence[int]) -> list[str]:
        return [self._names[node] for node in nodes]

    def find(self, names: Sequence[str]) -> list[int | None]:
        return [self._numbers.get(name) for name in names]

    def hosts(self) -> NodeHosts:
        return NodeHosts(np.arange(len(self), dtype=np.int32), self._names)


def site_graph(named: NamedGraph, *, by_page: bool = False) -> NamedGraph:
    """Return the links between sites; `by_page` counts linking pages instead of links."""
    of_node, names = sites_of(named.names)
    graph, weights = named.graph, named.weights
    givers, takers = graph.sources(), of_node[graph.targets]
    is_between = of_node[givers] != takers
    keys = givers[is_between].astype(np.int64) * len(names) + takers[is_between]
    amounts = None if weights is None else weights[is_between].astype(np.float64)
    if by_page:
        keys, amounts = np.unique(keys), None
    pages, linked = np.divmod(keys, max(len(names), 1))
    links, link = np.unique(
        of_node[pages].astype(np.int64) * len(names) + linked, return_inverse=True
    )
    sums = np.bincount(link, amounts, minlength=len(links)).astype(np.float32)
    between = Csr.from_edges(len(names), *np.divmod(links, max(len(names), 1)))
    return NamedGraph(between, SiteNames(names), sums)


def of_pages(scores: Scores, sites: NodeHosts) -> Scores:
    """Return scores of pages from scores of their sites, with the same error bound."""
    pages = np.bincount(sites.of_node, minlength=len(sites.names))
    return replace(scores, values=(scores.values / pages)[sites.of_node])
