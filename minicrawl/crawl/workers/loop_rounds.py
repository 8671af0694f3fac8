"""Limits the pages that continue in one round of the event loop, so that pages that arrive at once
do not block it.

A round is one iteration of the event loop. With pages that take 1.5 ms each and rounds of 4 ms,
five pages that arrive at once continue as follows:

    round 1   a, b, c pass, and take 4.5 ms; d and e come too late and wait
    between   the loop looks at its sockets, and runs other tasks
    round 2   as many pages as passed in round 1 are released: d, e; after a round with time to
              spare, twice as many

Each round releases the pages of the next one. Refused: each waiting page looks at the time in
each iteration. With 80 pages under way, that would resume 80 tasks per iteration.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter

ROUND_S = 0.004
"""Length of a round. Workers get new pages between rounds: with 0.02 s they were idle at times."""


class LoopRounds:
    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._is_running = False
        self._began, self._passed = 0.0, 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def turn(self) -> None:
        """Wait for a round that has time left."""
        if not self._is_running:
            self._is_running = True
            asyncio.get_running_loop().call_soon(self._end)
        elif self._waiting or self._is_late():
            enqueue, is_late = self._waiting.append, True
            while is_late:
                called = asyncio.get_running_loop().create_future()
                enqueue(called)
                await called
                # Pages released earlier may have taken longer than usual: this one stays first.
                enqueue, is_late = self._waiting.appendleft, self._is_late()
        if not self._passed:
            self._began = self._clock()
        self._passed += 1

    def _is_late(self) -> bool:
        return self._passed > 0 and self._clock() - self._began > ROUND_S

    def _end(self) -> None:
        most = max(self._passed if self._is_late() else 2 * self._passed, 1)
        self._passed = 0
        released = 0
        while self._waiting and released < most:
            called = self._waiting.popleft()
            if not called.done():  # the future of a cancelled turn is done
                called.set_result(None)
                released += 1
        self._is_running = released > 0
        if released:
            asyncio.get_running_loop().call_soon(self._end)  # behind the released pages
