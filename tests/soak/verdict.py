"""What the samples of a crawl prove: five limits, each kept or not.

Pure: samples in, findings out. What is left out at the beginning is the warm-up, in which pages
become known and caches fill: the store's takes 16 MB, that is some 200,000 pages. Behind it there
should be an hour or more: one step of s MB in the midst of T hours is a slope of 1.5 s/T.

floor    the least memory of a minute. Large pages come and go by tens of MB; what nobody gives
         back lifts the floor
slope    least squares, of the floor over the time
fifth    a fifth of the time after the warm-up; the last is compared with the first
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import attrgetter
from statistics import linear_regression, median
from typing import NamedTuple

from tests.bench.notes import head, kept, row
from tests.soak.samples import Sample

MOST_MB_AN_HOUR = 1.0
MOST_FILES_MORE = 4
MOST_WAL_MB = 64.0
LEAST_PACE = 0.9
MOST_ARCHIVE = 3.5
"""Multiple of its least: a crawl prunes when the archive has doubled, and copies what stays before
it removes anything; a reader delays that.
"""
_MB = 1e6
_MINUTE_S, _HOUR_S = 60.0, 3600.0
_FIFTH = 5


Read = Callable[[Sample], float]
_rss_mb: Read = attrgetter("rss_mb")
own_mb: Read = attrgetter("own_mb")


class Finding(NamedTuple):
    """A limit, and what was found."""

    what: str
    found: float
    unit: str
    limit: str
    holds: bool


def after(samples: Sequence[Sample], warm_up_s: float) -> list[Sample]:
    """Those from which something can be learned."""
    return [one for one in samples if one.at_s >= warm_up_s]


def findings(samples: Sequence[Sample]) -> list[Finding]:
    """What the samples behind the warm-up prove."""
    return [
        memory("RSS grows by", samples, _rss_mb),
        memory("memory of its own by", samples, own_mb),
        _files(samples),
        _log(samples),
        _pace(samples),
    ]


def memory(what: str, samples: Sequence[Sample], read: Read) -> Finding:
    """Whether the floor stays where it is."""
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
    return Finding("the log takes up to", found, "MB", f"<= {MOST_WAL_MB:g}", found <= MOST_WAL_MB)


def _pace(samples: Sequence[Sample]) -> Finding:
    first, last = map(pace, ends(samples))
    found = last / first if first else 0.0
    holds = found >= LEAST_PACE
    return Finding("the pace at the end is", found, "of the first", f">= {LEAST_PACE:g}", holds)


def archive(sizes: Sequence[int]) -> list[Finding]:
    """Whether old versions went, again and again, of an archive of these sizes."""
    pruned = sum(late < early for early, late in pairwise(sizes))
    most = max(sizes) / min(sizes) if sizes and min(sizes) else 0.0
    limit = f"<= {MOST_ARCHIVE:g}"
    return [
        Finding("the archive was pruned", pruned, "times", ">= 1", pruned >= 1),
        Finding("it takes up to", most, "of its least", limit, 0 < most <= MOST_ARCHIVE),
    ]


def floor(samples: Sequence[Sample], read: Read) -> list[Sample]:
    """The sample with the least memory of each minute."""
    minutes = groupby(samples, key=lambda one: one.at_s // _MINUTE_S)
    return [min(minute, key=read) for _, minute in minutes]


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """How much y grows with each x; nothing can be said of a single moment."""
    return linear_regression(xs, ys).slope if len(set(xs)) > 1 else 0.0


def ends(samples: Sequence[Sample]) -> tuple[Sequence[Sample], Sequence[Sample]]:
    """The first fifth and the last one, of two samples at least."""
    count = max(len(samples) // _FIFTH, 2)
    return samples[:count], samples[-count:]


def pace(samples: Sequence[Sample]) -> float:
    """Pages a second."""
    seconds = samples[-1].at_s - samples[0].at_s
    return (samples[-1].pages - samples[0].pages) / seconds if seconds else 0.0


def cpu_ms(samples: Sequence[Sample]) -> float:
    """Of the processor for a page. A process that ended takes its time with it: it is left out."""
    spent = sum(max(late.cpu_s - early.cpu_s, 0.0) for early, late in pairwise(samples))
    pages = samples[-1].pages - samples[0].pages
    return 1000 * spent / pages if pages else 0.0


def table(samples: Sequence[Sample]) -> Iterator[str]:
    """The ends of the crawl side by side."""
    yield from head("", "first fifth", "last fifth")
    for title, read, form in (
        ("pages/s", pace, ",.1f"),
        ("CPU ms a page", cpu_ms, ".2f"),
        ("RSS, MB", lambda part: median(map(_rss_mb, part)), ",.1f"),
        ("at least, MB", lambda part: median(map(_rss_mb, floor(part, _rss_mb))), ",.1f"),
        ("its own at least, MB", lambda part: median(map(own_mb, floor(part, own_mb))), ",.1f"),
        ("URLs known", lambda part: median(one.known for one in part), ",.0f"),
        ("open files", lambda part: median(one.files for one in part), ",.0f"),
        ("processes", lambda part: median(len(one.rss_bytes) for one in part), ",.0f"),
    ):
        first, last = (read(part) for part in ends(samples))
        yield row(title, f"{first:{form}}", f"{last:{form}}")


def limits(found: Iterable[Finding]) -> Iterator[str]:
    """What was found beside what may be."""
    yield from head("", "found", "limit", "")
    for one in found:
        yield row(one.what, f"{one.found:,.2f} {one.unit}".rstrip(), one.limit, kept(one.holds))
