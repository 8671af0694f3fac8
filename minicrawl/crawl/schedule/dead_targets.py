"""Dead targets: known pages whose last request failed, and when each is requested again.

A broken link may be mended any day, so no failure is final for a run that reads pages again. A dead
target waits as long as it is known to be dead, and never longer than a week:

    night   0     1     2     3     4     5     6     7     8     9   ...   16
            404   404   404         404                     404             200
    wait    none  none  1 day       2 days                  4 days          fixed

Whoever mends a link and looks again within the hour finds it requested at once. Redirects to a dead
target are requested with it, because either of the two may be mended. Dead targets come before the
pages that are read again: there are few, and failures use up no budget of pages.

since   first failed request after the page was last read
last    last failed request
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from minicrawl.crawl.record.recorder import Recorder
from minicrawl.model import PageId
from minicrawl.states import State

HOUR_S = 3600.0
_LONGEST_S = 7 * 86_400.0
_EARLY = 0.9
"""Part of a wait after which it is over: a job of every night does not begin on the second."""
_AT_ONCE = 1000
DEAD = tuple(state for state in State if state.is_dead_end)


def is_due(since: float, last: float, today: float, least_s: float = 0.0) -> bool:
    """Return whether to request a dead target again. A clock turned back counts as time passed."""
    known_s = abs(last - since)
    wait_s = _EARLY * min(known_s, _LONGEST_S) if known_s >= HOUR_S else 0.0
    return abs(today - last) >= max(wait_s, least_s)


def due_targets(recorder: Recorder, today: float, least_s: float = 0.0) -> Iterator[list[PageId]]:
    """Yield the dead targets that are due with the redirects to them, richest first, in blocks.

    Pages that were never requested, as their hosts were down, are due.
    """
    frontier = recorder.frontier
    states = frontier.states()
    dead, redirects = np.flatnonzero(np.isin(states, DEAD)), defaultdict[int, list[int]](list)
    for page in np.flatnonzero(states == State.MOVED).tolist() if len(dead) else ():
        redirects[frontier.books.stands_for(page)].append(page)
    richest = dead[np.argsort(-frontier.ledger.cash_of(dead.astype(np.uint32)), kind="stable")]
    for start in range(0, len(richest), _AT_ONCE):
        block = richest[start : start + _AT_ONCE].tolist()
        due = [
            page
            for page, (since, last) in zip(block, recorder.pages.failing(block), strict=True)
            if since is None or last is None or is_due(since, last, today, least_s)
        ]
        yield [other for page in due for other in (page, *redirects.get(page, ()))]


class DeadTargets:
    """Dead targets that are due, by host. A host leaves when it may not be contacted."""

    def __init__(self, host_of: Sequence[int]) -> None:
        self._host_of = host_of
        self._of_host: dict[int, deque[int]] = {}
        self._ready: dict[int, None] = {}
        self._pages = set[int]()  # waiting or leased

    def __len__(self) -> int:
        return sum(map(len, self._of_host.values()))

    def add(self, pages: Iterable[PageId]) -> None:
        """Let pages wait that do not wait yet."""
        for page in pages:
            if page not in self._pages:
                self._pages.add(page)
                self._wait(page).append(page)

    def give_back(self, page: PageId) -> None:
        """End the lease of a page that was not requested, or is tried again: it is the next one."""
        self._wait(page).appendleft(page)

    def end(self, page: PageId) -> None:
        self._pages.discard(page)

    def look_again(self, host: int) -> None:
        """Reconsider a host, which may be contacted."""
        if host in self._of_host:
            self._ready[host] = None

    def take(self, may_be_asked: Callable[[int], bool]) -> PageId | None:
        """Lease a page of a host that may be contacted."""
        while self._ready:
            host = next(iter(self._ready))
            del self._ready[host]
            if may_be_asked(host):
                page = self._of_host[host].popleft()
                if not self._of_host[host]:
                    del self._of_host[host]
                return page
        return None

    def _wait(self, page: PageId) -> deque[int]:
        host = self._host_of[page]
        self._ready[host] = None
        return self._of_host.setdefault(host, deque())
