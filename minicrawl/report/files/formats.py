"""Formats of exported files, by suffix."""

from pathlib import Path

from minicrawl.errors import UsageError
from minicrawl.report.files.drawings import DRAWINGS
from minicrawl.report.files.rows import ROW_WRITERS, WRITERS

WEB_ARCHIVES = ("warc.gz", "wacz")
"""Formats of pages with their content."""

GRAPH_FOLDER = "graph"
"""Name of the format of a folder `graph/`, or one with the suffix `.graph/`."""

FORMATS = (*ROW_WRITERS, *DRAWINGS, GRAPH_FOLDER, *WEB_ARCHIVES)
"""Built-in formats: rows, drawings of graphs, a folder of a graph, web archives."""


def format_of(path: Path, name: str | None = None) -> str:
    """Return the format of this name, or that of the file's suffix."""
    ending = path.suffix.removeprefix(".").lower() or path.name
    in_full = "".join(path.suffixes[-2:]).removeprefix(".").lower()
    suffix = name or (in_full if in_full in WEB_ARCHIVES or in_full in WRITERS else ending)
    if suffix not in FORMATS and suffix not in WRITERS:
        known = ", ".join(f".{known}" for known in dict.fromkeys((*FORMATS, *WRITERS)))
        raise UsageError(f"{path}: unknown format; use one of {known}, or --format")
    return suffix
