"""A view that several browsers share, made once for all of them."""

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from minicrawl.dashboard.views import MOMENT_S, SHARE
from minicrawl.errors import MinicrawlError


class SharedView:
    """View as JSON, computed again on request when it is old enough."""

    def __init__(
        self,
        make: Callable[[], object],
        every_s: float,
        thread: ThreadPoolExecutor,
        moment: Callable[[], float | None] = time.time,
    ) -> None:
        self._make, self._every_s, self._thread, self._moment = make, every_s, thread, moment
        self._making: asyncio.Task[None] | None = None
        self._text, self._due = "", 0.0
        self.at: float | None = None
        """Moment of the numbers, in seconds since 1970."""

    async def text(self) -> str:
        """Return the view, fresh or a moment old; empty until it is first computed.

        A slow view blocks no request: the next call returns its result.
        """
        if self._making is None and asyncio.get_running_loop().time() >= self._due:
            self._making = asyncio.create_task(self._make_anew())
        if self._making is not None:
            await asyncio.wait((self._making,), timeout=MOMENT_S)
        return self._text

    async def _make_anew(self) -> None:
        loop = asyncio.get_running_loop()
        began, at = loop.time(), self._moment()
        try:
            self._text = await loop.run_in_executor(self._thread, made, self._make)
            self.at = at
        finally:
            # A view that took long is computed less often, so that the dashboard takes at most a
            # tenth of one processor for it, however large the store is. After an unexpected error,
            # which asyncio logs, it is computed again as well.
            now = loop.time()
            self._due = now + max(self._every_s, (now - began) / SHARE)
            self._making = None


def made(make: Callable[[], object]) -> str:
    """Return a view as JSON, or the error that prevents it."""
    try:
        value = make()
    except (MinicrawlError, OSError) as error:
        value = {"error": str(error)}
    return json.dumps(value, default=str)
