"""Windows: how much of its past a page's history remembers, so that ranks follow a changing web.

A window keeps a few numbers for each page and turns them into an estimate of importance, up to a
factor that is the same for all pages.

interpolation  the protocol of all windows and its glossary; static: the whole past; interpolation:
               one number a page, the flow of the last T
measured       windows that store single measures: the last k, or those of the last T; adaptive:
               wide where a page is steady, narrow where it changes
"""

from collections.abc import Callable

from minicrawl.opic.windows.interpolation import Interpolation, Static, Window
from minicrawl.opic.windows.measured import Adaptive, Fixed, ImprovedFixed, Variable

WINDOWS: dict[str, Callable[[float, int | None], Window]] = {
    "static": lambda _width, _most: Static(),
    "fixed": Fixed,
    "improved-fixed": ImprovedFixed,
    "variable": Variable,
    "interpolation": lambda width, _most: Interpolation(width),
    "adaptive": lambda width, _most: Adaptive(width),
}
"""Constructors by name. They take the width (in readings for `variable`, in circulations for the
others) and the largest number of measures a page may keep."""

WITHOUT_WIDTH = frozenset({"static"})
WITHOUT_MEASURES = frozenset({"static", "interpolation", "adaptive"})
"""Windows that take no width, and windows that take no number of measures."""
