"""Real graphs have their known numbers of nodes and links, and their known best nodes."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import networkx
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read
from tests.graph.graphs import links_of


class Known(NamedTuple):
    """Published numbers of a graph; `silent` nodes are in no link, so not in the file."""

    nodes: int
    edges: int
    best: dict[str, float]
    silent: int = 0


GRAPHS = {
    "hollins.dat.gz": Known(6012, 23_875, {"http://www.hollins.edu/": 0.0198788}),
    "california.txt.gz": Known(9664, 16_150, {"http://www.ucdavis.edu/": 0.00623135}),
    "wikispeedia-links.tsv.gz": Known(4592, 119_882, {"United_States": 0.00956108}, silent=12),
    "cnr-2000.edges.txt.gz": Known(
        325_557, 3_216_152, {"60595": 0.0177719, "60597": 0.0177719, "285152": 0.00750487}
    ),
}


def pagerank(graph: Csr, silent: int) -> NDArray[np.float64]:
    """PageRank with damping 0.85 and dangling nodes spread evenly, to 1e-12."""
    nodes, out = graph.nodes, np.maximum(graph.out_degrees(), 1)
    ones = np.ones(graph.edges)
    inward = csr_array((ones, graph.targets, graph.starts), shape=(nodes, nodes)).T.tocsr()
    dangling = graph.out_degrees() == 0
    everybody, change = nodes + silent, 1.0
    x, quiet = np.full(nodes, 1 / everybody), 1 / everybody
    while change > 1e-12:
        base = (0.85 * (x[dangling].sum() + silent * quiet) + 0.15) / everybody
        y = 0.85 * (inward @ (x / out)) + base
        change, x, quiet = np.abs(y - x).sum(), y, base
    return x


@pytest.mark.proof
@pytest.mark.parametrize("name", GRAPHS)
def test_a_real_graph_has_its_known_numbers(name: str, shared_graph: Callable[[str], Path]) -> None:
    known, named = GRAPHS[name], read(shared_graph(name))
    assert (named.graph.nodes, named.graph.edges) == (known.nodes, known.edges)
    assert named.weights is None
    scores = pagerank(named.graph, known.silent)
    nodes = [node for node in named.names.find(list(known.best)) if node is not None]
    assert sorted(np.argsort(-scores)[: len(known.best)].tolist()) == sorted(nodes)
    assert scores[nodes] == pytest.approx(list(known.best.values()), rel=1e-5)


def test_the_links_of_hosts_have_weights(shared_graph: Callable[[str], Path]) -> None:
    named = read(shared_graph("ukwa-1996-hosts.tsv.gz"))
    assert (named.graph.nodes, named.graph.edges) == (58_842, 184_433)
    assert named.weights is not None
    assert named.weights.sum(dtype=np.float64) == 4_772_674
    assert named.names.hosts().of_node.tolist() == list(range(58_842))


def test_a_real_graph_is_read_as_networkx_reads_it(shared_graph: Callable[[str], Path]) -> None:
    path = shared_graph("wiki-Vote.txt.gz")
    oracle = networkx.read_edgelist(path, create_using=networkx.DiGraph)
    named = read(path)
    assert (named.graph.nodes, named.graph.edges) == (7115, 103_689)
    names = named.names.of(range(named.graph.nodes))
    links = {(names[source], names[target]) for source, target in links_of(named.graph)}
    assert links == set(oracle.edges)
