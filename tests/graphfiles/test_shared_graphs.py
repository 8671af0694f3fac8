"""Real graphs have their known numbers of nodes and links."""

from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np

from minicrawl.graphfiles import read
from tests.graph.graphs import links_of


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
