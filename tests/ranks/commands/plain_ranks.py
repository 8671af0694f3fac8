"""Ranks with known values, a store and a graph file to compare them on, and commands of `lab`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minicrawl.cli import main
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks.commands.named_ranks import BUILT_IN
from minicrawl.ranks.scores import Scores
from tests.stores import filled_store

Captured = pytest.CaptureFixture[str]


def as_json(capsys: Captured, *arguments: str, said: str = "") -> Any:
    assert main(["lab", *arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == said
    return json.loads(out)


def printed(capsys: Captured, *arguments: str) -> str:
    assert main(["lab", *arguments]) == 0
    return capsys.readouterr().out


def refusal(capsys: Captured, *arguments: str) -> str:
    assert main(["lab", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


def by_number(named: NamedGraph, tell: Progress) -> Scores:
    """Rank nodes by their number, the last one best."""
    tell(1.0)
    nodes = named.graph.nodes
    values = np.arange(1, nodes + 1) / (nodes * (nodes + 1) / 2)
    return Scores(values=values, iterations=1, error_bound=0.0, converged=True)


def alike(named: NamedGraph, _tell: Progress) -> Scores:
    """Give all nodes the same score, without convergence."""
    nodes = named.graph.nodes
    return Scores(values=np.full(nodes, 1 / nodes), iterations=1, error_bound=1.0, converged=False)


def store_with_ranks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a new store the default, and name both ranks. Beside it lies a graph file, web.txt.

    Three of the file's links lead to node 3, the fourth leads to node 2.
    """
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MINICRAWL_CONFIG", raising=False)
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    monkeypatch.setitem(BUILT_IN, "by-number", by_number)
    monkeypatch.setitem(BUILT_IN, "alike", alike)
    (folder / "web.txt").write_text("1 2\n1 3\n2 3\n4 3\n")
    return filled_store(folder / "crawl.db")
