"""A lock that hosts share fairly, where one of them at a time may use the processor for long.

Example: a and b have cost 3 s and 1 s so far, new.example nothing. While a holds the lock, b and
new.example wait. new.example is next if all hosts that were never charged have cost less than 1 s
together, otherwise b.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

_MOST_CHARGED = 1000


class FairLock:
    """Lock for one holder at a time: of the waiting hosts, the one that has cost least is next.

    Hosts that were never charged share one account, so that endless new hosts cannot keep out known
    ones.
    """

    def __init__(self) -> None:
        self._strangers_s = 0.0
        self.is_taken = False
        """True while the lock is held."""
        self._waiting: dict[asyncio.Future[None], tuple[str, int]] = {}
        self._numbers = count()
        self._costs_s: OrderedDict[str, float] = OrderedDict()

    @asynccontextmanager
    async def held_for(self, host: str) -> AsyncIterator[None]:
        """Wait for the lock, and hold it."""
        if self.is_taken:
            called = asyncio.get_running_loop().create_future()
            self._waiting[called] = host, next(self._numbers)
            try:
                await called
            except asyncio.CancelledError:
                self._waiting.pop(called, None)
                # Handed to us already: hand the lock on.
                if called.done() and not called.cancelled():
                    self._call_next()
                raise
        self.is_taken = True
        try:
            yield
        finally:
            self._call_next()

    def charge(self, host: str, cost_s: float) -> None:
        """Charge the host for its time with the lock."""
        before_s = self._costs_s.pop(host, None)
        self._strangers_s += cost_s if before_s is None else 0.0
        self._costs_s[host] = (before_s or 0.0) + cost_s
        # The host charged longest ago counts as never charged from now on.
        if len(self._costs_s) > _MOST_CHARGED:
            self._costs_s.popitem(last=False)

    def _call_next(self) -> None:
        """Hand the lock to the next waiting host, which holds it from this moment on."""
        waiting = [called for called in self._waiting if not called.cancelled()]
        self.is_taken = bool(waiting)
        if waiting:
            called = min(waiting, key=self._rank)
            del self._waiting[called]
            called.set_result(None)

    def _rank(self, called: asyncio.Future[None]) -> tuple[float, int]:
        host, number = self._waiting[called]
        return self._costs_s.get(host, self._strangers_s), number
