"""Channels on which nothing arrives, although something was sent.

Law: a batch counts when its receiver has posted it, and not when an engine has taken it. Its sender
has it in its log. So what an engine loses costs time, and no cash.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

_MOST_TIMES = 40
"""Who posts nothing for long is sent the same ever less often: at last after so many times."""


class _Stop(NamedTuple):
    """The last batch that was posted, since when nothing was, and how long that may take."""

    number: int
    since: float
    within_s: float


class UnpostedBatches:
    """What one shard has sent, and its receivers have not posted."""

    def __init__(self, again_s: float) -> None:
        """After so long it is sent again."""
        self._again_s = again_s
        self._stops: dict[int, _Stop] = {}

    def overdue(
        self, sent: Mapping[int, int], posted: Mapping[int, int], now: float
    ) -> Iterator[tuple[int, int]]:
        """The receivers to send to again, with the last number that each has posted. Those that
        tell nothing are not among `posted`: nobody holds these shards now.
        """
        for receiver, number in sent.items():
            if posted.get(receiver, number) >= number:
                self._stops.pop(receiver, None)
                continue
            last = posted[receiver]
            stop = self._stops.get(receiver)
            if stop is None or stop.number != last:
                self._stops[receiver] = _Stop(last, now, self._again_s)
            elif now - stop.since >= stop.within_s:
                longer_s = min(2 * stop.within_s, _MOST_TIMES * self._again_s)
                self._stops[receiver] = _Stop(last, now, longer_s)
                yield receiver, last
