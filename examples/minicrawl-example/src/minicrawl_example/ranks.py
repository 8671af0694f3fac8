"""A rank: a function of a graph that returns a score for each node."""

import numpy as np

from minicrawl.ext import NamedGraph, Progress, Scores


def reciprocal(named: NamedGraph, tell: Progress) -> Scores:
    """Score each page by its share of all links that are returned."""
    graph = named.graph
    there = graph.sources().astype(np.int64) * graph.nodes + graph.targets
    back = graph.targets.astype(np.int64) * graph.nodes + graph.sources()
    returned = graph.targets[np.isin(there, back)]
    counts = np.bincount(returned, minlength=graph.nodes).astype(np.float64)
    tell(1.0)
    values = counts / max(counts.sum(), 1.0)
    return Scores(values=values, iterations=0, error_bound=0.0, converged=True)
