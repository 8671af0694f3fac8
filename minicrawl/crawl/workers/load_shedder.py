"""Relief: of a worker that is busier than the crawl's own process, that one does some pages.

Law: nobody is relieved who has time to spare: a worker that waits for the web does all of its work.

share   the part of a worker's pages that are done here
"""

from collections.abc import Callable
from time import process_time

LOOK_EVERY_S = 0.1
BUSY = 0.5
"""Of the time on a processor: so much has nobody who waits for the web."""
_STEP, _MOST = 0.05, 0.5


class LoadShedder:
    """Of one worker."""

    def __init__(self, here_s: Callable[[], float] = process_time) -> None:
        self._here_s = here_s
        self._share = self._owed = 0.0
        self._looked = (0.0, 0.0, 0.0)

    def is_due(self, now: float, there_s: float) -> bool:
        """Whether the next page is done here.

        Told are the time that passes, and what the worker has had of a processor.
        """
        if now - self._looked[0] >= LOOK_EVERY_S:
            self._look(now, self._here_s(), there_s)
        self._owed += self._share
        if self._owed < 1:
            return False
        self._owed -= 1
        return True

    def _look(self, now: float, here_s: float, there_s: float) -> None:
        then, here_then, there_then = self._looked
        self._looked = now, here_s, there_s
        busy_here, busy_there = here_s - here_then, there_s - there_then
        if busy_there < BUSY * (now - then):
            self._share = 0.0
        elif busy_there > busy_here:
            self._share = min(self._share + _STEP, _MOST)
        else:
            self._share = max(self._share - _STEP, 0.0)
