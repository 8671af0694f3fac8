"""Where real link graphs are; they are not the project's to hand on, so they may be absent."""

from collections.abc import Mapping
from pathlib import Path

VARIABLE = "MINICRAWL_GRAPHS"
BESIDE_THE_PROJECT = Path(__file__).parents[2] / "shared" / "graphs"


class AbsentGraph(Exception):
    """No such graph here; the message says where it was looked for and what to set."""


def find_graph(name: str, environment: Mapping[str, str]) -> Path:
    """The graph file called `name`, where MINICRAWL_GRAPHS points or else beside the project."""
    folder = Path(environment.get(VARIABLE) or BESIDE_THE_PROJECT)
    if not (folder / name).is_file():
        raise AbsentGraph(f"no {name} in {folder}; set {VARIABLE} to a folder of real graphs")
    return folder / name
