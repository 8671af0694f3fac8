"""Ranks whose values are known beforehand, and a store and a graph file to compare them on."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.graph.csr import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks.commands.named_ranks import BUILT_IN
from minicrawl.ranks.scores import Scores
from tests.stores import C, HandCrawl, filled_store

NEW = "http://new.example/"


def by_number(named: NamedGraph, tell: Progress) -> Scores:
    """The later a node, the better."""
    tell(1.0)
    nodes = named.graph.nodes
    values = np.arange(1, nodes + 1) / (nodes * (nodes + 1) / 2)
    return Scores(values=values, iterations=1, error_bound=0.0, converged=True)


def alike(named: NamedGraph, _tell: Progress) -> Scores:
    """No order at all, and it says that it has not converged."""
    nodes = named.graph.nodes
    return Scores(values=np.full(nodes, 1 / nodes), iterations=1, error_bound=1.0, converged=False)


def store_with_ranks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a store the usual one, with both ranks known by name. Beside it is a graph file, in
    which 3 has all links but one, and that leads to 2.
    """
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MINICRAWL_CONFIG", raising=False)
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    monkeypatch.setitem(BUILT_IN, "by-number", by_number)
    monkeypatch.setitem(BUILT_IN, "alike", alike)
    (folder / "web.txt").write_text("1 2\n1 3\n2 3\n4 3\n")
    return filled_store(folder / "crawl.db")


def go_on(store: Path) -> None:
    with closing(HandCrawl(store)) as crawl:
        crawl.frontier = crawl.loaded()
        crawl.read(C, [NEW])
