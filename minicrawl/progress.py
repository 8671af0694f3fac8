"""How far long work has come: a function that is called with the share done, between 0 and 1."""

from collections.abc import Callable

Progress = Callable[[float], None]


def unreported(_share: float) -> None:
    """Progress that is not reported."""


def part(progress: Progress, start: float, end: float) -> Progress:
    """The progress of a part of the work, which takes it from the share `start` to `end`."""
    return lambda share: progress(start + share * (end - start))
