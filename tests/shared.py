"""Finder of real graphs, conformance vectors and real pages, which the project cannot include."""

from collections.abc import Mapping
from pathlib import Path

BESIDE_THE_PROJECT = Path(__file__).parents[2] / "shared"
VARIABLES = {
    "graphs": "SHARED_GRAPHS",
    "vectors": "SHARED_VECTORS",
    "extraction": "SHARED_EXTRACTION",
    "wcxb": "SHARED_WCXB",
}


class Absent(Exception):
    """A shared file is missing; the message names the folder and the variable to set."""


def find(kind: str, name: str, environment: Mapping[str, str]) -> Path:
    """Return the path of `name` in the folder of the kind's variable, or beside the project."""
    variable = VARIABLES[kind]
    folder = Path(environment.get(variable) or BESIDE_THE_PROJECT / kind)
    if not (folder / name).exists():
        # Without the folder all files have the same reason, so pytest reports one line.
        absent = f"{name} in {folder}" if folder.is_dir() else str(folder)
        raise Absent(f"no {absent}; set {variable} to a folder of {kind}")
    return folder / name
