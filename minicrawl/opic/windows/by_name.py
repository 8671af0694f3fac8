"""The windows by the names that `--window` takes."""

from collections.abc import Callable

from minicrawl.opic.windows.adaptive import Adaptive
from minicrawl.opic.windows.interpolation import Interpolation
from minicrawl.opic.windows.measured import Fixed, ImprovedFixed, Variable
from minicrawl.opic.windows.window import Static, Window

OF_TIME: dict[str, type[Fixed]] = {"fixed": Fixed, "improved-fixed": ImprovedFixed}
"""Windows that also take a span of time, in place of the width."""
MEASURED = frozenset((*OF_TIME, "variable"))
"""Windows that take a number of measures."""

WINDOWS: dict[str, Callable[[float, int | None], Window]] = {
    "static": lambda _width, _most: Static(),
    **OF_TIME,
    "variable": Variable,
    "interpolation": lambda width, _most: Interpolation(width),
    "adaptive": lambda width, _most: Adaptive(width),
}
"""Constructors by name. They take the width (in readings for `variable`, in circulations for the
others) and the largest number of measures a page may keep."""
