"""The pace of the whole crawl: so many requests and bytes a second, and only at some hours.

Laws: requests of all kinds count, side requests too. Between the starts of two requests lies the
time that the rate gives each; after an answer lies the time that its bytes take at the rate, so the
average holds, and what is under way is not slowed. A pause is not made up for later. Outside the
hours of the local day no request begins. Another pace, which the user may set while the crawl runs,
holds from then on: the next request waits for the time that the new rate gives. Nothing of this is
stored: a run that is resumed has the pace from its first request on.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from minicrawl.config import Politeness
from minicrawl.config.values.pace import hours_of, rates_of
from minicrawl.model import FetchResult, Response
from minicrawl.ports import Clock

LOOK_AGAIN_S = 60.0
"""The local time may jump; while the crawl waits for its hours it looks this often."""
_DAY_MIN, _HOUR_MIN, _MIN_S = 24 * 60, 60, 60


class CrawlPace:
    """When the next request of the crawl may begin."""

    def __init__(self, politeness: Politeness, clock: Clock) -> None:
        self._clock = clock
        self._rates = rates_of(politeness.max_rate)
        self._hours = hours_of(politeness.hours)
        self._free_at = 0.0
        self._replaced = asyncio.Event()

    @classmethod
    def of(cls, politeness: Politeness, clock: Clock) -> CrawlPace | None:
        """None if the settings limit nothing."""
        is_limited = politeness.max_rate is not None or politeness.hours is not None
        return cls(politeness, clock) if is_limited else None

    def wait_s(self, now: float) -> float:
        """How long no request begins; 0 if one may."""
        return max(self._free_at - now, min(self.closed_s(), LOOK_AGAIN_S), 0.0)

    def closed_s(self) -> float:
        """How long until its hours begin; 0 within them."""
        if self._hours is None:
            return 0.0
        local = time.localtime(self._clock.today())
        return closed_s(self._hours, local.tm_hour, local.tm_min, local.tm_sec)

    @property
    def opens(self) -> str:
        """When its hours begin, for people."""
        begin, _ = self._hours or (0, 0)
        return f"{begin // _HOUR_MIN}:{begin % _HOUR_MIN:02}"

    def begin(self, now: float) -> None:
        """A request begins."""
        if self._rates.requests:
            self._free_at = max(self._free_at, now) + 1 / self._rates.requests

    def receive(self, fetched: FetchResult, now: float) -> None:
        """An answer has come."""
        if self._rates.bytes and isinstance(fetched, Response):
            self._free_at = max(self._free_at, now) + fetched.wire_bytes / self._rates.bytes

    async def wait(self) -> None:
        """Until a request may begin, or another pace holds."""
        while not self._replaced.is_set() and (wait_s := self.wait_s(self._clock.now())) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._replaced.wait()

    def follow(self, former: CrawlPace | None, now: float) -> None:
        """It holds from now on in place of the former one."""
        if self._rates.requests:
            self._free_at = now + 1 / self._rates.requests
        if former is not None:
            former.end()

    def end(self) -> None:
        """Another pace holds, or none: who waits for this one looks again."""
        self._replaced.set()


def closed_s(hours: tuple[int, int], hour: int, minute: int, second: int) -> float:
    """How long until these hours begin, in minutes of the day; they may lie over midnight."""
    begin, end = hours
    at = hour * _HOUR_MIN + minute
    if (at - begin) % _DAY_MIN < (end - begin) % _DAY_MIN:
        return 0.0
    return float((begin - at) % _DAY_MIN * _MIN_S - second)
