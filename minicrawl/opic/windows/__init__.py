"""Windows: how much of its past a page's history remembers, so that ranks follow a changing web.

A window keeps what it needs for each page and turns it into an estimate of importance, up to a
factor that is the same for all pages.

interpolation  one number a page, which stands for what flowed in the last T; what every window
               keeps to, and its glossary; static: all of the past
measured       the last measures themselves: so many of them, or those of the last T; the same,
               wide where a page is steady and narrow where it changes
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
"""Each by its width, in readings for `variable` and in circulations for the others, and by the most
measures of a page."""

WITHOUT_WIDTH = frozenset({"static"})
WITHOUT_MEASURES = frozenset({"static", "interpolation", "adaptive"})
"""Those that have no use for a width, or for a number of measures."""
