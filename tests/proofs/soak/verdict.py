"""Verdict on the samples of a crawl: five limits, each kept or not.

The warm-up, in which URLs become known and caches fill, is left out: the cache of the store takes
16 MB, that is some 200,000 pages. An hour or more should follow, because a single step of s MB in
the middle of T hours already makes a slope of 1.5 s/T.

floor    least memory of a minute. Large pages raise memory for a moment; a leak raises the floor
slope    least-squares slope of the floor over the time
fifth    a fifth of the time after the warm-up; the last one is compared with the first
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import attrgetter
from statistics import linear_regression, median
from typing import NamedTuple

from tests.bench.notes import head, kept, row
from tests.proofs.soak.samples import Sample

MOST_MB_AN_HOUR = 1.0
MOST_FILES_MORE = 4
MOST_WAL_MB = 64.0
LEAST_PACE = 0.9
MOST_ARCHIVE = 3.5
"""Multiple of the smallest size. A crawl prunes an archive that has doubled, and copies the records
that stay before it removes anything. Readers delay the removal.
"""
_MB = 1e6
_MINUTE_S, _HOUR_S = 60.0, 3600.0
_FIFTH = 5


Read = Callable[[Sample], float]
_rss_mb: Read = attrgetter("rss_mb")
own_mb: Read = attrgetter("own_mb")


class Finding(NamedTuple):
    """A measured value, and its limit."""

    what: str
    found: float
    unit: str
    limit: str
    holds: bool


def after(samples: Sequence[Sample], warm_up_s: float) -> list[Sample]:
    """Return the samples after the warm-up."""
    return [one for one in samples if one.at_s >= warm_up_s]


def findings(samples: Sequence[Sample]) -> list[Finding]:
    return [
        memory("RSS grows by", samples, _rss_mb),
        memory("private memory grows by", samples, own_mb),
        _files(samples),
        _log(samples),
        _pace(samples),
    ]


def memory(what: str, samples: Sequence[Sample], read: Read) -> Finding:
    """Judge whether the floor of a memory figure rises."""
    lowest = floor(samples, read)
    found = slope([one.at_s / _HOUR_S for one in lowest], list(map(read, lowest)))
    holds = found < MOST_MB_AN_HOUR
    return Finding(what, found, "MB/h", f"< {MOST_MB_AN_HOUR:g}", holds)


def _files(samples: Sequence[Sample]) -> Finding:
    first, last = (median(one.files for one in part) for part in ends(samples))
    holds = last - first <= MOST_FILES_MORE
    return Finding("open files grow by", last - first, "", f"<= {MOST_FILES_MORE}", holds)


def _log(samples: Sequence[Sample]) -> Finding:
    found = max(one.wal_bytes for one in samples) / _MB
    holds = found <= MOST_WAL_MB
    return Finding("largest write-ahead log", found, "MB", f"<= {MOST_WAL_MB:g}", holds)


def _pace(samples: Sequence[Sample]) -> Finding:
    first, last = map(pace, ends(samples))
    found = last / first if first else 0.0
    holds = found >= LEAST_PACE
    return Finding("pace at the end", found, "of the first", f">= {LEAST_PACE:g}", holds)


def archive(sizes: Sequence[int]) -> list[Finding]:
    """Judge from its sizes whether an archive was pruned and stayed small."""
    pruned = sum(late < early for early, late in pairwise(sizes))
    most = max(sizes) / min(sizes) if sizes and min(sizes) else 0.0
    limit, holds = f"<= {MOST_ARCHIVE:g}", 0 < most <= MOST_ARCHIVE
    return [
        Finding("prunings of the archive", pruned, "", ">= 1", pruned >= 1),
        Finding("largest size of the archive", most, "of the smallest", limit, holds),
    ]


def floor(samples: Sequence[Sample], read: Read) -> list[Sample]:
    """Return the sample with the least memory of each minute."""
    minutes = groupby(samples, key=lambda one: one.at_s // _MINUTE_S)
    return [min(minute, key=read) for _, minute in minutes]


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the least-squares slope; 0 if all xs are equal."""
    return linear_regression(xs, ys).slope if len(set(xs)) > 1 else 0.0


def ends(samples: Sequence[Sample]) -> tuple[Sequence[Sample], Sequence[Sample]]:
    """Return the first and the last fifth of the samples, each with at least two."""
    count = max(len(samples) // _FIFTH, 2)
    return samples[:count], samples[-count:]


def pace(samples: Sequence[Sample]) -> float:
    """Return pages per second."""
    seconds = samples[-1].at_s - samples[0].at_s
    return (samples[-1].pages - samples[0].pages) / seconds if seconds else 0.0


def cpu_ms(samples: Sequence[Sample]) -> float:
    """Return CPU milliseconds per page. The total drops when a process ends; ignore drops."""
    spent = sum(max(late.cpu_s - early.cpu_s, 0.0) for early, late in pairwise(samples))
    pages = samples[-1].pages - samples[0].pages
    return 1000 * spent / pages if pages else 0.0


def table(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield a table of the two ends of the crawl."""
    yield from head("", "first fifth", "last fifth")
    for title, read, form in (
        ("pages/s", pace, ",.1f"),
        ("CPU ms a page", cpu_ms, ".2f"),
        ("RSS, MB", lambda part: median(map(_rss_mb, part)), ",.1f"),
        ("least RSS, MB", lambda part: median(map(_rss_mb, floor(part, _rss_mb))), ",.1f"),
        ("least private memory, MB", lambda part: median(map(own_mb, floor(part, own_mb))), ",.1f"),
        ("URLs known", lambda part: median(one.known for one in part), ",.0f"),
        ("open files", lambda part: median(one.files for one in part), ",.0f"),
        ("processes", lambda part: median(len(one.rss_bytes) for one in part), ",.0f"),
    ):
        first, last = (read(part) for part in ends(samples))
        yield row(title, f"{first:{form}}", f"{last:{form}}")


def limits(found: Iterable[Finding]) -> Iterator[str]:
    """Yield a table of findings and their limits."""
    yield from head("", "found", "limit", "")
    for one in found:
        yield row(one.what, f"{one.found:,.2f} {one.unit}".rstrip(), one.limit, kept(one.holds))
