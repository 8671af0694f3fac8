"""How far an experiment has come: a function that is told a share between 0 and 1."""

from collections.abc import Callable

Progress = Callable[[float], None]


def part(progress: Progress, start: float, end: float) -> Progress:
    """The progress of a part that takes the whole from `start` to `end`."""
    return lambda share: progress(start + share * (end - start))
