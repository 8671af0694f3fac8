"""Request slots: decide which hosts may hold the requests under way.

A slow request keeps others from its slot, and nobody knows before the response which requests are
slow. So a host has the room that its pages have earned, and hosts share the room of whoever led to
them: a page that links to thousands of new names gets no more slots for that.

Laws: silent and doubtful hosts hold at most their share of all slots. The last free slots are for
families that have less than an equal part of them, and of these slots, the last ones are for hosts
that a page has come from. When all slots are taken, too many of them by slow requests, the oldest
slow one is ended: its page is requested again, as one of a silent host. Pages that wait to be
parsed hold no slots; while very many do, strangers wait as well, but not hosts whose pages are
known.

Example: 64 slots, so 4 are reserved at each of two levels. A seed leads to 2,000 names that answer
robots.txt at once, and then no page ever ends; 40 other seeds are read once a second.

    41 families share the slots, so an equal part is one slot. The 2,000 names are one family
    its first 56 pages begin: 8 slots are free, and strangers of a family with more than its part
    may take none of them
    a page of another seed finds 8 free slots. If the seed were new, it would find 4
    after 2 s, 56 requests are slow. They keep their slots until somebody finds none

A host has *credit*: pages that have come from it, less dead ones and requests for pages under way.
One below 0 is *doubtful*, as another request to it is a guess. While better requests are under way,
all doubtful hosts share as many slots as one level reserves, and other free slots stay free: a
better page is about to come. Otherwise, where most links are dead, each new host would be sent a
request for each free slot before its first response came.

    requests for pages of b             credit
    the first one is under way            -1    doubtful: a second one would be a guess
    its page has come                     +1    two may begin
    two are under way                     -1
    both pages were dead                  -1    doubtful until another page comes

While silent hosts hold their whole share and others wait to be asked for the first time, a host
that is silent for `SILENT_S` after its first request goes behind them. Otherwise a few dead hosts
could keep out all other new ones for `--timeout`. Its second request has the whole `--timeout`.

Waiting hosts are resumed family by family, so that one with thousands of hosts has one turn of each
round.

slow     under way for `SLOW_S`, to a host that answered before
seed     host of a URL that the user named; with all hosts that its pages led to, however far, a
         family. A site that a seed's site led to is a family within it (`opic.families`)
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice, takewhile

from minicrawl.config import Politeness
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.side_requests import SideRequests

SLOW_S, SILENT_S = 2.0, 1.0
RESERVED = 1 / 16
"""Part of all slots that is reserved at each of two levels."""
_FEW = 4
"""Number of slots below which none is reserved."""
_LATELY_S = 10.0
"""Least time for which a family counts after its last request."""
MOST_WAITING = 8
"""Limit of strangers and pages that wait to be parsed, per slot.

With 2, 64 hosts with large sitemaps kept 17 of 20 others from their first page for seconds.
"""


class Standing(IntEnum):
    """Record of a host, best first; waiting hosts are resumed in this order."""

    PROVEN = 0
    """A page has come from it, and its last request was answered."""
    NEW = 1
    """It waits for its first request."""
    STRANGE = 2
    """It has answered, but no page has come from it. A robots.txt proves nothing: it costs an
    attacker nothing to answer that at once."""
    SILENT = 3
    """Its last request was not answered."""
    DOUBTFUL = 4
    """Fewer pages have come from it than were dead or are under way."""

    @classmethod
    def of(cls, host: Host, *, is_known: bool = True) -> "Standing":
        """Return the standing of a host; `is_known` is False before its rules are."""
        if host.credit < 0:
            return cls.DOUBTFUL
        if host.shared.answers:
            return cls.PROVEN if host.pages else cls.STRANGE
        return cls.SILENT if is_known or host.shared.was_requested else cls.NEW


_SILENT = (Standing.NEW, Standing.SILENT, Standing.DOUBTFUL)
"""Standings of hosts that share a part of all slots, as a response may never come."""


@dataclass(slots=True, eq=False)
class RequestSlot:
    """Slot of a request under way; `give_up` ends the request."""

    began: float
    seed: int
    family: int
    standing: Standing
    give_up: Callable[[], object] | None = None
    was_given_up: bool = False


class FamilyShares:
    """Slots in use by family, and the number of families that used or wanted one lately."""

    def __init__(self) -> None:
        self.in_use = Counter[int]()
        self._lately, self._before = set[int](), set[int]()
        self._active = 0

    def is_over(self, family: int, slots: int) -> bool:
        """Return whether the family has its equal part of the slots, or more."""
        return self._active > 1 and self.in_use.get(family, 0) >= max(1, slots // self._active)

    def note(self, family: int) -> None:
        """Note that the family wants a slot."""
        if family not in self._lately:
            self._lately.add(family)
            self._active += family not in self._before

    def take(self, family: int) -> None:
        self.note(family)
        self.in_use[family] += 1

    def leave(self, family: int) -> None:
        self.in_use[family] -= 1
        if not self.in_use[family]:
            del self.in_use[family]

    def begin_period(self) -> None:
        """Forget the families that wanted no slot in the last period."""
        self._before, self._lately = self._lately, set(self.in_use)
        self._active = len(self._before | self._lately)


class RequestSlots:
    """Slots of the requests under way. `resume` is called with a host that waited for a slot."""

    def __init__(
        self,
        politeness: Politeness,
        resume: Callable[[int], None],
        turns: SideRequests,
        families: Callable[[int], tuple[int, int]],
    ) -> None:
        """Set up; `families` returns the seed that led to a host, and the family within that."""
        self._turns, self._resume, self._families = turns, resume, families
        self.resize(politeness)
        self._under_way = self._silent = self._strange = self._doubtful = 0
        self._of_seeds, self._of_families = FamilyShares(), FamilyShares()
        self._period_ends_at = 0.0
        self._has_proven = self._had_proven = False
        """Whether proven hosts had requests in this period, and in the last one."""
        self._others: dict[RequestSlot, None] = {}  # slots of hosts that answer, oldest first
        self._first: dict[RequestSlot, None] = {}  # first requests to hosts, oldest first
        self._waiting: dict[Standing, dict[int, dict[int, dict[int, None]]]] = {
            standing: {} for standing in Standing
        }
        """Hosts that wait for a slot, by standing, seed and family."""
        self._new = 0

    def resize(self, politeness: Politeness) -> None:
        """Change the number of slots to that of these settings."""
        self._most = politeness.concurrency
        self._reserved = int(self._most * RESERVED) or int(self._most >= _FEW)
        self._most_strange = MOST_WAITING * self._most
        self._most_silent = max(1, int(self._most * politeness.silent_share))

    @property
    def free(self) -> int:
        return self._most - self._under_way + self._turns.idle

    def has_room(self, host: int, standing: Standing) -> bool:
        """Return whether a request to the host may begin."""
        room, most = self._room(standing), self._most
        if not 0 < room <= self._reserved:
            return room > 0
        seed, family = self._families(host)
        return not (self._of_seeds.is_over(seed, most) or self._of_families.is_over(family, most))

    def _room(self, standing: Standing) -> int:
        """Return how many requests to such hosts may begin, in reserved slots, too."""
        idle = self._turns.idle
        free = self._most - self._under_way + idle
        if standing is Standing.PROVEN:
            return free
        if self._has_proven or self._had_proven:
            free -= self._reserved
        if standing is Standing.DOUBTFUL and self._under_way > self._doubtful:
            free = min(free, max(self._reserved, 1) - self._doubtful)
        waiting = self._turns.waiting_to_be_read
        if waiting and self._strange + waiting >= self._most_strange:
            return 0
        return min(free, self._most_silent - self._silent + idle) if standing in _SILENT else free

    def take(self, now: float, host: int, standing: Standing) -> RequestSlot:
        """Take a slot for a request that starts, in a turn that lasts until `end_turn`."""
        if now >= self._period_ends_at:
            self._period_ends_at = now + _LATELY_S
            self._has_proven, self._had_proven = False, self._has_proven
            self._of_seeds.begin_period()
            self._of_families.begin_period()
        seed, family = self._families(host)
        self._of_seeds.take(seed)
        self._of_families.take(family)
        slot = RequestSlot(now, seed, family, standing)
        self._under_way += 1
        self._has_proven |= standing is Standing.PROVEN
        self._strange += standing is not Standing.PROVEN
        self._silent += standing in _SILENT
        self._doubtful += standing is Standing.DOUBTFUL
        if standing not in _SILENT:
            self._others[slot] = None
        elif standing is Standing.NEW:
            self._first[slot] = None
        return slot

    @contextmanager
    def held(self, slot: RequestSlot, on_loss: Callable[[], None]) -> Iterator[None]:
        """Hold the slot while this task sends its request, and give it back.

        If the slot is lost to another host meanwhile, the block ends early, `on_loss` is called,
        and the task goes on behind the block.
        """
        task = asyncio.current_task()
        assert task is not None
        slot.give_up = task.cancel
        try:
            yield
        except asyncio.CancelledError:
            # `give_up` has cancelled the task. Only that one cancellation is taken back: if the
            # crawl has cancelled the task as well, it ends.
            if not slot.was_given_up or task.uncancel():
                raise
            on_loss()
        finally:
            self.leave(slot)

    def leave(self, slot: RequestSlot) -> None:
        """Give back the slot of a request that has ended."""
        self._of_seeds.leave(slot.seed)
        self._of_families.leave(slot.family)
        self._strange -= slot.standing is not Standing.PROVEN
        self._silent -= slot.standing in _SILENT
        self._doubtful -= slot.standing is Standing.DOUBTFUL
        self._others.pop(slot, None)
        self._first.pop(slot, None)
        if slot.standing is not Standing.PROVEN:  # only others have room by their number
            self.resume_one()

    def end_turn(self) -> None:
        """Note the end of a turn that took a slot."""
        self._under_way -= 1
        if self.free <= 2 * self._reserved + 1:  # with more, no host waits for a free slot
            self.resume_one()

    def wait(self, host: int, standing: Standing) -> None:
        """Let a host wait until there is room for it."""
        seed, family = self._families(host)
        self._of_seeds.note(seed)
        self._of_families.note(family)
        hosts = self._waiting[standing].setdefault(seed, {}).setdefault(family, {})
        self._new += standing is Standing.NEW and host not in hosts
        hosts[host] = None

    def resume_one(self) -> bool:
        """Resume a waiting host, if there is room. Return whether there was one.

        The host may leave the slot unused. Its family, and that of its seed, come last now.
        """
        for standing, waiting in self._waiting.items():
            if not waiting or (place := self._next(standing)) is None:
                continue
            seed, family = place
            families = waiting.pop(seed)
            hosts = families.pop(family)
            host = next(iter(hosts))
            del hosts[host]
            if hosts:
                families[family] = hosts
            if families:
                waiting[seed] = families
            self._new -= standing is Standing.NEW
            self._resume(host)
            return True
        return False

    def _next(self, standing: Standing) -> tuple[int, int] | None:
        """Return seed and family of the waiting host that is next and has room, or None."""
        room = self._room(standing)
        if room <= 0:
            return None
        takes_all = room > self._reserved
        for seed, families in self._waiting[standing].items():
            if takes_all or not self._of_seeds.is_over(seed, self._most):
                for family in families:
                    if takes_all or not self._of_families.is_over(family, self._most):
                        return seed, family
        return None

    def has_too_many_slow(self, now: float) -> bool:
        """Return whether slow requests and silent hosts together hold more than their share."""
        slow = len(self._slow(now))
        return slow > 0 and self._silent + slow > self._most_silent

    def give_up_slowest(self, now: float) -> None:
        """End the oldest slow request of the seed with the most slots among the slow ones."""
        slow = self._slow(now)
        if slow:
            self._give_up(max(slow, key=lambda slot: self._of_seeds.in_use[slot.seed]))

    def give_up_for_waiting(self, now: float) -> None:
        """End a slow request if slow ones hold too many slots and hosts wait for one."""
        if self._are_hosts_short() and self.has_too_many_slow(now):
            self.give_up_slowest(now)

    def _are_hosts_short(self) -> bool:
        """Return whether hosts that answer wait for a slot."""
        return bool(self._waiting[Standing.PROVEN] or self._waiting[Standing.STRANGE])

    def _give_up(self, slot: RequestSlot) -> None:
        assert slot.give_up is not None
        slot.was_given_up = True
        slot.give_up()
        slot.give_up = None

    def next_silent(self) -> float | None:
        """Return when a silent host loses its slot to one that was never asked, or None."""
        return next((slot.began + SILENT_S for slot in self._dispensable()), None)

    def give_up_silent(self, now: float) -> None:
        """End first requests without an answer, one for each host that was never asked."""
        for slot in tuple(islice(self._dispensable(), self._new)) if self._new else ():
            if slot.began + SILENT_S <= now:
                self._give_up(slot)
                del self._first[slot]

    def _dispensable(self) -> Iterator[RequestSlot]:
        """Yield the first requests that a host without a first request may replace."""
        waiting = self._waiting[Standing.NEW]
        if not waiting or self._next(Standing.NEW) is not None:
            return
        # A family that has its part already takes the slots of its own hosts alone.
        is_short = any(not self._of_seeds.is_over(seed, self._most) for seed in waiting)
        for slot in self._first:
            if is_short or slot.seed in waiting:
                yield slot

    def when_all_were_asked(self, host: int, now: float) -> float:
        """Return the time by which the hosts that wait for their first request before this one have
        had it: as many of each family as of its own.
        """
        seed, _ = self._families(host)
        waiting = self._waiting[Standing.NEW]
        own = sum(map(len, waiting.get(seed, {}).values())) + 1
        before = min(self._new, own * len(waiting))
        return now + SILENT_S * -(-before // self._most_silent)

    def next_slow(self, now: float) -> float | None:
        """Return the time when the next request becomes slow while hosts wait, or None."""
        if self.free > 0 and not self._are_hosts_short():
            return None
        return next((s.began + SLOW_S for s in self._others if s.began + SLOW_S > now), None)

    def _slow(self, now: float) -> list[RequestSlot]:
        """Return the slow requests that can be ended, oldest first."""
        slow = takewhile(lambda slot: slot.began + SLOW_S <= now, self._others)
        return [slot for slot in slow if slot.give_up is not None]
