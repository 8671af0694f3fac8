"""Pace of the whole crawl: requests and bytes per second, and hours of the day.

Laws: requests of all kinds count, side requests too. The time that the request rate allows lies
between the starts of two requests; the time that the bytes of a response take at the byte rate
follows it, so the average holds, and transfers under way are not slowed. Idle time is not made up
for later. No request begins outside the hours of the local day. The user may change the pace
while the crawl runs: the next request waits for the time that the new rate allows. Nothing of
this is stored: a resumed run has the pace from its first request on. Of several crawls with one
pace, each has a share of the rates, and sends no request before the others have agreed to it.
"""

import asyncio
import time
from dataclasses import replace
from math import inf

from minicrawl.config import Politeness
from minicrawl.config.host_settings import rules_for
from minicrawl.config.values.pace import hours_of, rates_of
from minicrawl.crawl.hosts.addresses import AddressShares
from minicrawl.model import FetchResult, Refused, Response
from minicrawl.ports import Clock

LOOK_AGAIN_S = 60.0
"""Time between looks at the local time, which may jump, while the crawl waits for its hours."""
LACK_S = 1.0
"""Time between looks at our share of the pace, while other crawls have all of it."""
CRAWL = "crawl"
"""Name under which several crawls share one pace, as they share an address."""
_DAY_MIN, _HOUR_MIN, _MIN_S = 24 * 60, 60, 60


class StepClock:
    """Clock of a deterministic crawl: it advances only while the crawl waits to send a request.

    It is never ahead of a real clock that started with it, so a delay that is over by this clock is
    over for the host, too. It does not show how long a request takes.
    """

    today = staticmethod(time.time)
    watch = staticmethod(time.monotonic)
    """Clock that measures the run."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        """Return the time that the crawl has waited, in seconds."""
        return self._now

    def pass_to(self, moment: float) -> None:
        """Note that the crawl has waited until this moment."""
        self._now = max(self._now, moment)


class CrawlPace:
    """Decides when the next request of the crawl may begin."""

    def __init__(self, politeness: Politeness, clock: Clock) -> None:
        """Take the whole rates, until `take_share` changes that."""
        self._clock = clock
        self._rates = rates_of(politeness.max_rate)
        self._hours = hours_of(politeness.hours)
        self._share = 1.0
        self._free_at = 0.0
        self._replaced = asyncio.Event()
        self.used_at = -inf
        """Start of the last request."""
        self.shares: AddressShares | None = None

    @classmethod
    def of(cls, politeness: Politeness, clock: Clock) -> "CrawlPace | None":
        """Return the pace that the settings ask for, or None."""
        is_limited = politeness.max_rate is not None or politeness.hours is not None
        return cls(politeness, clock) if is_limited else None

    @classmethod
    def of_host(cls, politeness: Politeness, host: str, clock: Clock) -> "CrawlPace | None":
        """Return the pace that the settings of a host ask for, or None."""
        rules = rules_for(politeness.host_settings, host)
        rate, hours = rules.get("max-rate"), rules.get("hours")
        if rate is None and hours is None:  # as of nearly every host: the rest takes a while
            return None
        own = replace(politeness, max_rate=rate and rate.read(), hours=hours and hours.read())
        return cls.of(own, clock)

    @property
    def has_rates(self) -> bool:
        """True if requests or bytes per second are limited."""
        return bool(self._rates.requests or self._rates.bytes)

    def take_share(self, share: float, now: float) -> None:
        """Use this share of the rates. After a share of 0, the first wait begins now."""
        former, self._share = self._share, share
        if not (self._rates.requests and share):
            return
        pause_s = 1 / (self._rates.requests * share)
        if former:
            self._free_at += pause_s - 1 / (self._rates.requests * former)
        else:
            self._free_at = max(self._free_at, now + pause_s)

    def wait_s(self, now: float) -> float:
        """Return the time until a request may begin, or 0."""
        if not self._share and self.shares is not None:
            self.shares.want(CRAWL)
            return LACK_S
        return max(self._free_at - now, min(self.closed_s(), LOOK_AGAIN_S), 0.0)

    def closed_s(self) -> float:
        """Return the time until the next hours begin, or 0 within them."""
        if self._hours is None:
            return 0.0
        local = time.localtime(self._clock.today())
        return closed_s(self._hours, local.tm_hour, local.tm_min, local.tm_sec)

    @property
    def opens(self) -> str:
        """Start of the hours as text, such as 9:00."""
        begin, _ = self._hours or (0, 0)
        return f"{begin // _HOUR_MIN}:{begin % _HOUR_MIN:02}"

    def begin(self, now: float) -> None:
        """Note the start of a request."""
        self.used_at = now
        if self._rates.requests and self._share:
            pause_s = 1 / (self._rates.requests * self._share)
            self._free_at = max(self._free_at, now) + pause_s

    def receive(self, fetched: FetchResult, now: float) -> None:
        if self._rates.bytes and self._share and isinstance(fetched, Response | Refused):
            pause_s = fetched.wire_bytes / (self._rates.bytes * self._share)
            self._free_at = max(self._free_at, now) + pause_s

    async def wait(self) -> None:
        """Wait until a request may begin, or another pace applies."""
        while not self._replaced.is_set() and (wait_s := self.wait_s(now := self._clock.now())) > 0:
            try:
                async with asyncio.timeout(wait_s):
                    await self._replaced.wait()
            except TimeoutError:
                if isinstance(self._clock, StepClock):  # it stands still, as a turn is under way
                    self._clock.pass_to(now + wait_s)

    def follow(self, former: "CrawlPace | None", now: float) -> None:
        """Take the place of the former pace from now on, with its share of the rates."""
        if former is not None:
            self._share, self.shares = former._share, former.shares
            former.end()
        if self._rates.requests and self._share:
            self._free_at = now + 1 / (self._rates.requests * self._share)

    def end(self) -> None:
        """Wake the waiting requests, as this pace no longer applies."""
        self._replaced.set()


def closed_s(hours: tuple[int, int], hour: int, minute: int, second: int) -> float:
    """Return the seconds until the hours begin, 0 within them; `hours` are minutes of the day."""
    begin, end = hours
    at = hour * _HOUR_MIN + minute
    if (at - begin) % _DAY_MIN < (end - begin) % _DAY_MIN:
        return 0.0
    return float((begin - at) % _DAY_MIN * _MIN_S - second)
