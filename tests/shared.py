"""Real graphs, conformance vectors, known pages; not the project's to hand on: may be absent."""

from collections.abc import Mapping
from pathlib import Path

BESIDE_THE_PROJECT = Path(__file__).parents[2] / "shared"
VARIABLES = {
    "graphs": "MINICRAWL_GRAPHS",
    "vectors": "MINICRAWL_VECTORS",
    "extraction": "MINICRAWL_EXTRACTION",
}


class Absent(Exception):
    """No such file here; the message says where it was looked for and what to set."""


def find(kind: str, name: str, environment: Mapping[str, str]) -> Path:
    """The file called `name`, where the kind's variable points or else beside the project."""
    variable = VARIABLES[kind]
    folder = Path(environment.get(variable) or BESIDE_THE_PROJECT / kind)
    if not (folder / name).exists():
        # One reason for all files where there is no folder.
        absent = f"{name} in {folder}" if folder.is_dir() else str(folder)
        raise Absent(f"no {absent}; set {variable} to a folder of {kind}")
    return folder / name
