"""A window: decides how much of a page's past counts for its importance."""

from minicrawl.ext import Interpolation, Window


def half_life(width: float, _measures: int | None) -> Window:
    """Return a window twice as wide as `--window interpolation`."""
    return Interpolation(2 * width)
