"""Which pages of a worker are done in the crawl's own process.

A worker that is busy sheds load: the crawl's own process does some of its pages, a few at once, so
that neither of them waits for the other. It does none while it has no time to spare itself, unless
the worker has even less.

Law: a worker that has time to spare sheds nothing; waiting for the web is not work.
"""

from collections.abc import Callable
from time import process_time

LOOK_EVERY_S = 0.1
BUSY = 0.5
"""Of the time on a processor. A worker that mostly waits for the web uses less."""
SPARE = 0.9
"""A process that is on a processor for less of the time has time to spare."""
OWN_AT_ONCE = 2
"""Shed pages under way in the crawl's process: it also has to settle what the workers bring."""
FEWEST_LEFT = 4
"""A worker keeps so many requests, so that it has always something to do."""


class LoadShedder:
    """Decides which pages of one worker are done in the crawl's process."""

    def __init__(self, own_cpu_s: Callable[[], float] = process_time) -> None:
        self._own_cpu_s = own_cpu_s
        self._is_busy = False
        self._looked = (0.0, 0.0, 0.0)

    def sheds(self, now: float, worker_cpu_s: float, *, left: int, own: int) -> bool:
        """Whether the crawl's process does the next page, while the worker has `left` requests
        and the process `own` ones.
        """
        if now - self._looked[0] >= LOOK_EVERY_S:
            self._look(now, self._own_cpu_s(), worker_cpu_s)
        return self._is_busy and own < OWN_AT_ONCE and left >= FEWEST_LEFT

    def _look(self, now: float, own_cpu_s: float, worker_cpu_s: float) -> None:
        then, own_before_s, worker_before_s = self._looked
        self._looked = now, own_cpu_s, worker_cpu_s
        own_s, worker_s = own_cpu_s - own_before_s, worker_cpu_s - worker_before_s
        has_time = own_s < SPARE * (now - then)
        self._is_busy = worker_s >= BUSY * (now - then) and (has_time or worker_s > own_s)
