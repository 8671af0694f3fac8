"""A window: it decides how much of a page's past its importance is computed from."""

from minicrawl.ext import Interpolation, Window


def half_life(width: float, _measures: int | None) -> Window:
    """One that remembers twice as long as the usual one."""
    return Interpolation(2 * width)
