"""Findings in the log of the web server about a crawl: delays, repeated requests, pauses.

Laws: two requests to a host are at least the delay apart, whichever nodes sent them. A page is
requested again only if a kill or a cut came after the first request; a move repeats nothing. A node
that is cut off sends no request after its leases have expired by its own clock.

upset    a kill, a cut or a move: when it began, and when all shards were held again
pause    the longest time without a request that overlaps an upset
owner    function from a host to its shard
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from tests.cluster.proof.shelves import Asked

SLACK_S = 0.1
"""Time after which a busy server may log a request that has come."""
_ROBOTS = "/robots.txt"


class Silence(NamedTuple):
    """Time in which the node with this address must not send any request."""

    by: str
    since: float
    until: float


class Upset(NamedTuple):
    """An upset of the cluster, from its beginning until the cluster has recovered."""

    kind: str
    is_move: bool
    began: float
    ended: float
    silence: Silence | None = None


class Pauses(NamedTuple):
    """Longest time without a request, in seconds: of the whole crawl, and of any one shard."""

    of_all: float = 0.0
    of_a_shard: float = 0.0


class Judgement(NamedTuple):
    requests: int
    shortest_s: float  # between two requests to one host; infinite without any
    shortest_of_two_s: float  # of two nodes
    again: int  # pages that were asked for more than once
    most_often: int
    wrong: list[str]


def judge(asked: Sequence[Asked], upsets: Collection[Upset], delay_s: float) -> Judgement:
    """Judge a crawl by its requests, in order of time."""
    gaps = [one for requests in _by_host(asked).values() for one in pairwise(requests)]
    close = [after.at - before.at for before, after in gaps]
    of_two = [after.at - before.at for before, after in gaps if after.by != before.by]
    times = _times_by_page(asked)
    again = {url: found for url, found in times.items() if len(found) > 1}
    return Judgement(
        requests=len(asked),
        shortest_s=min(close, default=inf),
        shortest_of_two_s=min(of_two, default=inf),
        again=len(again),
        most_often=max(map(len, times.values()), default=0),
        wrong=[
            *(
                f"{after.url} was asked for {after.at - before.at:.3f} s after {before.url}"
                for before, after in gaps
                if after.at - before.at < delay_s - SLACK_S
            ),
            *_repeated(again, [one for one in upsets if not one.is_move]),
            *_broken(asked, upsets),
        ],
    )


def _repeated(again: dict[str, list[float]], harmful: Collection[Upset]) -> Iterator[str]:
    for url, times in again.items():
        for before, after in pairwise(times):
            if not any(one.began <= after and before <= one.ended for one in harmful):
                yield f"{url} was asked for again after {after - before:.1f} s without a reason"


def _broken(asked: Sequence[Asked], upsets: Iterable[Upset]) -> Iterator[str]:
    for silence in (one.silence for one in upsets if one.silence is not None):
        for one in asked:
            if one.by == silence.by and silence.since + SLACK_S < one.at < silence.until:
                late_s = one.at - silence.since
                yield f"{one.url} was asked for by a node {late_s:.1f} s after its leases"


def pauses(asked: Sequence[Asked], upset: Upset, owner: Callable[[str], int]) -> Pauses:
    by_shard = defaultdict[int, list[float]](list)
    for one in asked:
        by_shard[owner(one.host)].append(one.at)
    return Pauses(
        of_all=_longest((one.at for one in asked), upset),
        of_a_shard=max((_longest(times, upset) for times in by_shard.values()), default=0.0),
    )


def _longest(times: Iterable[float], upset: Upset) -> float:
    return max(
        (
            after - before
            for before, after in pairwise(times)
            if before <= upset.ended and after >= upset.began
        ),
        default=0.0,
    )


def _by_host(asked: Iterable[Asked]) -> dict[str, list[Asked]]:
    found = defaultdict[str, list[Asked]](list)
    for one in asked:
        found[one.host].append(one)
    return found


def _times_by_page(asked: Iterable[Asked]) -> dict[str, list[float]]:
    """Group the times of requests by page; robots.txt is not counted, as each holder reads it."""
    found = defaultdict[str, list[float]](list)
    for one in asked:
        if not one.url.endswith(_ROBOTS):
            found[one.url].append(one.at)
    return found
