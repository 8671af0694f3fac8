"""Batches that a sender publishes again, at growing intervals: its receiver has not posted them."""

from collections.abc import Iterator, Mapping

_MOST_INTERVALS = 40
"""Limit of the resend interval, in multiples of the first one. It doubles while nothing is posted.
"""


class UnpostedBatches:
    """Resend timers for batches that one shard has sent and their receivers have not posted.

    A batch counts as delivered when its receiver has posted it, not when the engine has accepted
    it: the sender can make it again from its log. So losses of the engine cost time, never cash.
    """

    def __init__(self, again_s: float) -> None:
        """`again_s` is the first resend interval."""
        self._again_s = again_s
        # By receiver: last posted number, time of its change or of the last resend, interval.
        self._stalls: dict[int, tuple[int, float, float]] = {}

    def overdue(
        self, sent: Mapping[int, int], posted: Mapping[int, int], now: float
    ) -> Iterator[tuple[int, int]]:
        """Yield the receivers to send to again, each with the last number that it has posted.

        A receiver absent from `posted` is skipped: no node holds it, so nothing can post.
        """
        for receiver, number in sent.items():
            if posted.get(receiver, number) >= number:
                self._stalls.pop(receiver, None)
                continue
            last = posted[receiver]
            stalled_at, since, within_s = self._stalls.get(receiver, (None, now, 0.0))
            # A receiver that has posted anything since is slow, not deaf: its timer restarts.
            if stalled_at != last:
                self._stalls[receiver] = last, now, self._again_s
            elif now - since >= within_s:
                longer_s = min(2 * within_s, _MOST_INTERVALS * self._again_s)
                self._stalls[receiver] = last, now, longer_s
                yield receiver, last
