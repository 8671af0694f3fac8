"""Values that the user gives to the pages of a web.

The file has a line for each page that is worth something: its name, or its name, a tab and a number
from 0 to 1. The others are worth 0. The order by values is the crawl's (`opic.queues.by_value`).
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.frontier.url_table import traits_of
from minicrawl.graph.named_graph import Names


class PageValues(NamedTuple):
    """Value of each page of a web, and the traits of its name."""

    value: NDArray[np.float64]
    traits: array[int]


def read_values(path: Path, names: Names) -> PageValues:
    """Read the values of named pages. Names missing from the web are ignored, unless all are."""
    given: dict[str, float] = {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        name, tab, text = line.partition("\t")
        try:
            value = float(text) if tab else 1.0
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise UsageError(f"--value {path}:{number}: {text!r} must be a number from 0 to 1")
        if name:
            given[name] = value
    pages, values = names.find(list(given)), np.zeros(len(names))
    for page, value in zip(pages, given.values(), strict=True):
        if page is not None:
            values[page] = value
    if not any(page is not None for page in pages):
        raise UsageError(f"--value {path}: names no page of the graph")
    return PageValues(values, array("I", map(traits_of, names.of(range(len(names))))))
