"""Rate limit by client: so many requests a second, and a burst of them at once."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_CLIENTS = 10_000
"""Clients whose requests are counted; the client with the oldest request is forgotten first."""


class RateLimit:
    """Requests that each client has left; a client that was charged for more owes some."""

    def __init__(
        self, rate_s: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate_s, self._burst, self._clock = rate_s, float(burst), clock
        self._clients = OrderedDict[str, tuple[float, float]]()  # requests left, as of when

    def wait_s(self, client: str) -> float:
        """Count a request, and return how long the client should wait; 0 if it may ask now."""
        left = self._left(client)
        if left < 1:
            return (1 - left) / self._rate_s
        self.charge(client, 1)
        return 0.0

    def charge(self, client: str, requests: float) -> None:
        """Count requests, or parts of them, that were allowed."""
        self._clients[client] = self._left(client) - requests, self._clock()
        self._clients.move_to_end(client)
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)

    def used(self, client: str) -> float:
        """Return how many requests of its burst a client lacks."""
        return self._burst - self._left(client)

    def _left(self, client: str) -> float:
        now = self._clock()
        left, at = self._clients.get(client, (self._burst, now))
        return min(self._burst, left + (now - at) * self._rate_s)
