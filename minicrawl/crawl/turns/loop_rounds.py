"""Pages that come at once do not hold up the loop: in each round of it some of them go on."""

import asyncio
from time import perf_counter

ROUND_S = 0.004
"""Pages that a round has come to later than this go on in the next one. Between rounds the workers
are given new pages: with .02 s they had nothing to do for a while.
"""


class LoopRounds:
    """The rounds of the loop, as far as pages go on in them."""

    def __init__(self) -> None:
        self._began: float | None = None

    async def turn(self) -> None:
        """Wait for a round that has time left."""
        while self._began is not None and perf_counter() - self._began > ROUND_S:
            await asyncio.sleep(0)
        if self._began is None:
            self._began = perf_counter()
            asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        """Called first in the next round."""
        self._began = None
