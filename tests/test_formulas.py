"""docs/formulas.md names existing places, and each module whose purpose is a formula."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from minicrawl import __version__

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("|") and "`" in line]
PLACES = sorted({place for row in ROWS for place in re.findall(r"`([\w.]+)`", row)})

# Readers look for the formulas of these modules here, and find helpers from there.
MATHEMATICS = (
    "opic.importance.estimate",
    "opic.importance.cash_flow",
    "opic.windows.interpolation",
    "ranks.centrality",
    "ranks.scores",
    "ranks.hits",
    "ranks.pagerank",
    "ranks.seeds.cores",
    "graph.distances",
    "search.ranking",
)


@pytest.mark.parametrize("place", PLACES)
def test_a_place_exists(place: str) -> None:
    module, _, name = place.rpartition(".")
    assert hasattr(import_module(f"minicrawl.{module}"), name)


def test_each_module_of_formulas_is_named_and_every_row_has_a_place() -> None:
    assert set(MATHEMATICS) <= {place.rpartition(".")[0] for place in PLACES}
    tables = TEXT.partition("## Cash")[2]
    rows = [line for line in tables.splitlines() if line.startswith("| ") and "---" not in line]
    headings = [row for row in rows if row == "| what | formula | source | place |"]
    assert len(rows) - len(headings) == len(ROWS)


def test_the_citation_has_the_current_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
