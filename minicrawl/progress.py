"""Progress of long tasks: a function that is called with the share done, between 0 and 1."""

from collections.abc import Callable

Progress = Callable[[float], None]
"""Function that is called with the share done, between 0 and 1."""


def unreported(_share: float) -> None:
    """Discard progress."""


def part(progress: Progress, start: float, end: float) -> Progress:
    """Return the progress function of a subtask that covers the shares `start` to `end`."""
    return lambda share: progress(start + share * (end - start))
