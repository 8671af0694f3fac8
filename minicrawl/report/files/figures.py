"""Figures: curves of numbers, drawn into axes of matplotlib. Unknown values are not drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from minicrawl.errors import needs

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


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[PlotLine]
    log_x: bool = False
    log_y: bool = False
    points: bool = False
    """Draw points only, without lines."""


def pyplot() -> ModuleType:
    """Return pyplot, or raise UsageError. Call it first: a missing package then costs no time."""
    with needs("lab", "a figure"):
        import matplotlib as mpl
    mpl.use("agg")
    from matplotlib import pyplot as plots

    return plots


def draw(plot: ModuleType, axes: Any, figure: Figure) -> None:
    for number, line in enumerate(figure.lines):
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
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()


def _style(figure: Figure, number: int) -> dict[str, Any]:
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
