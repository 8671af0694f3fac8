"""Windows: how much of its past a page's history remembers, so that ranks follow a changing web.

A window keeps what it needs for each page and turns it into an estimate of importance, up to a
factor that is the same for all pages.

window         what every window keeps to, and its glossary
static         all of the past
interpolation  one number a page, which stands for what flowed in the last T
measured       the last measures themselves: so many of them, or those of the last T
"""

from collections.abc import Callable

from minicrawl.opic.windows.interpolation import Interpolation
from minicrawl.opic.windows.measured import Fixed, ImprovedFixed, Variable
from minicrawl.opic.windows.static import Static
from minicrawl.opic.windows.window import Window

WINDOWS: dict[str, Callable[[float], Window]] = {
    "static": lambda _width: Static(),
    "fixed": Fixed,
    "improved-fixed": ImprovedFixed,
    "variable": Variable,
    "interpolation": Interpolation,
}
"""Each by its width: turns, or for `variable` measures."""
