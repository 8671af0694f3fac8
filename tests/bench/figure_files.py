"""Figures as PNG and SVG, with their numbers as CSV.

Law: a figure is written atomically, so that an incomplete one never replaces a good one.
"""

import csv
import os
from collections.abc import Sequence
from io import TextIOWrapper
from math import isnan
from pathlib import Path
from typing import BinaryIO

from minicrawl.errors import UsageError
from minicrawl.own_files import replacing
from minicrawl.report.files.figures import Figure, draw, pyplot


def write(out: Path, *panels: Figure) -> tuple[Path, ...]:
    """Write a figure into a folder: its numbers, and the picture as PNG and SVG.

    Several panels stand side by side, with the name of the first, and share their axes.
    """
    paths = tuple(out / f"{panels[0].name}.{suffix}" for suffix in ("csv", "png", "svg"))
    with replacing(paths[0]) as file:
        _write_csv(file, panels)
    plot = pyplot()
    canvas, places = plot.subplots(
        ncols=len(panels),
        figsize=(8 if len(panels) == 1 else 6.5 * len(panels), 5.5),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for figure, axes in zip(panels, places[0], strict=True):
        draw(plot, axes, figure)
    # Without a date and with a fixed salt of IDs, the same numbers give the same file.
    with plot.rc_context({"svg.hashsalt": panels[0].name}):
        for path, metadata in zip(paths[1:], ({}, {"Date": None}), strict=True):
            with replacing(path) as file:
                canvas.savefig(file, format=path.suffix[1:], dpi=120, metadata=metadata)
    plot.close(canvas)
    return paths


def prepare(out: Path) -> None:
    """Create the folder for figures.

    Raise UsageError without matplotlib or write permission, before anything is computed.
    """
    pyplot()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out} for the figures: {error}") from error
    if not os.access(out, os.W_OK):
        raise UsageError(f"cannot write figures into {out}: permission denied")


def _write_csv(file: BinaryIO, panels: Sequence[Figure]) -> None:
    text = TextIOWrapper(file, encoding="utf-8", newline="")
    rows = csv.writer(text, lineterminator="\n")
    has_errors = any(line.error for figure in panels for line in figure.lines)
    are_several = len(panels) > 1
    rows.writerow(
        ["panel"] * are_several
        + ["line", panels[0].x_label, panels[0].y_label]
        + ["standard error"] * has_errors
    )
    for figure in panels:
        for line in figure.lines:
            names = [figure.title] * are_several + [line.label]
            columns = (line.x, line.y, *([line.error] if line.error else []))
            points = (row for row in zip(*columns, strict=True) if not isnan(row[0]))
            rows.writerows((*names, *row) for row in points)
    text.detach()
