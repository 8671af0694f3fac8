"""Figures as PNG and SVG, with their numbers as CSV.

Laws: a figure is written atomically, so that an incomplete one never replaces a good one. Unknown
values are not drawn.
"""

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from math import isnan
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from minicrawl.errors import UsageError, needs
from minicrawl.own_files import replacing

_FEW_DECADES = (2, 0.5)
"""Maximum decades of an axis for some labels between the powers of ten, and for all of them."""


_MARKED = 10
"""Number of markers on a line."""


_MARKERS = "ox+s^vD*<>PX"
_DASHES = ("-", "--", "-.", ":", (0, (8, 2, 1, 2, 1, 2)))
"""Lines differ by marker and dash, so that they can be told apart without colours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotLine:
    """One curve. `error` has the standard errors of y, if there are several draws."""

    label: str
    x: Sequence[float]
    """NaN interrupts the line, in y as well."""
    y: Sequence[float]
    error: Sequence[float] | None = None
    names: Sequence[str] = ()
    """Names of the points, drawn into circles instead of the line."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Content of a figure."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[PlotLine]
    log_x: bool = False
    log_y: bool = False
    points: bool = False
    """Draw points only, without lines."""
    is_map: bool = False
    """Both axes have one scale, and the first lines are the palest."""


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


def pyplot() -> ModuleType:
    """Return matplotlib's pyplot. Raises UsageError if it is not installed.

    Call this before computing anything, so that a missing package costs no time.
    """
    with needs("lab", "a figure"):
        import matplotlib as mpl
    mpl.use("agg")
    from matplotlib import pyplot as found

    return found


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


def draw(plot: ModuleType, axes: Any, figure: Figure) -> None:
    """Draw the figure into these axes."""
    for number, line in enumerate(figure.lines):
        if line.names:
            frame = {"boxstyle": "circle", "facecolor": "white", "edgecolor": "black"}
            centre = {"ha": "center", "va": "center", "fontsize": 8, "zorder": 3, "bbox": frame}
            for x, y, name in zip(line.x, line.y, line.names, strict=True):
                axes.text(x, y, name, **centre)
            axes.update_datalim(list(zip(line.x, line.y, strict=True)))
            continue
        (drawn,) = axes.plot(line.x, line.y, label=line.label, **_style(figure, number))
        if line.error and len(line.x) <= _MARKED:
            colour = drawn.get_color()
            axes.errorbar(line.x, line.y, line.error, fmt="none", ecolor=colour, capsize=3)
        elif line.error:
            ends = [(y - error, y + error) for y, error in zip(line.y, line.error, strict=True)]
            band = {"color": drawn.get_color(), "alpha": 0.2, "linewidth": 0}
            axes.fill_between(line.x, *zip(*ends, strict=True), **band)
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
    # A logarithmic axis needs a value above 0: a crawl of one page has no links.
    log_x = figure.log_x and any(x > 0 for line in figure.lines for x in line.x)
    log_y = figure.log_y and any(y > 0 for line in figure.lines for y in line.y)
    axes.set_xscale("log" if log_x else "linear")
    axes.set_yscale("log" if log_y else "linear")
    for axis, is_log in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        if is_log:
            axis.set_major_formatter(plot.FuncFormatter(lambda value, _place: f"{value:g}"))
            axis.set_minor_formatter(plot.LogFormatter(minor_thresholds=_FEW_DECADES))
    if not figure.log_x and all(isinstance(x, int) for line in figure.lines for x in line.x):
        axes.xaxis.set_major_locator(plot.MaxNLocator(integer=True))
    if figure.is_map:
        axes.set_aspect("equal")
        axes.margins(0.1)
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()


def _style(figure: Figure, number: int) -> dict[str, Any]:
    if figure.is_map:
        place = (number + 1) / len(figure.lines)
        return {"color": str(0.95 - 0.7 * place), "linewidth": 0.5 + place, "zorder": 1 + place}
    if figure.points:
        return {"marker": _MARKERS[number % len(_MARKERS)], "fillstyle": "none", "linestyle": ""}
    points = len(figure.lines[number].x)
    is_alone = len(figure.lines) == 1
    return {
        "marker": _MARKERS[number % len(_MARKERS)] if points <= _MARKED or not is_alone else None,
        "markevery": -(-points // _MARKED) or None,
        "fillstyle": "none",
        "linestyle": _DASHES[number % len(_DASHES)],
    }
