"""The same budget on one machine and in a cluster, on the demo web.

What counts is the importance of pages in the whole web, by PageRank, of a crawl that read all of
it. The cluster is that of `minicrawl crawl --cluster demo`.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from math import isnan
from pathlib import Path

from minicrawl.model import READ_STATES
from minicrawl.results import Store
from tests.bench.notes import head, kept, row

PARTS = (0.1, 0.3)
LEAST = 0.95
ERROR = 1e-6
_REFINED = 1e-9
_RANK = "pagerank"
_ALL = 10**9
_LONGEST_S = 600


def agreement(folder: Path, demo_pages: int) -> Iterator[str]:
    """Crawl everything, then parts of it, both ways."""
    whole = [_crawl(folder, demo_pages, _ALL, in_cluster=cluster) for cluster in (False, True)]
    for store in whole:
        _run(folder, "refine", "--store", store.name, "--until", str(_REFINED))
        _run(folder, "rank", _RANK, "--store", store.name)
    important = _scores(whole[0], _RANK)
    read = [_read(store) for store in whole]
    yield f"Demo web of {demo_pages:,} pages; one machine, and three servers with four nodes."
    yield ""
    yield from head(
        *("budget", "one machine has", "the cluster has", "pages of both"),
        "of the importance of one machine's pages the cluster has",
    )
    shares = []
    for part in PARTS:
        budget = round(part * len(read[0]))
        one, many = (
            _read(_crawl(folder, demo_pages, budget, in_cluster=cluster))
            for cluster in (False, True)
        )
        shares.append(_sum(important, one & many) / _sum(important, one))
        yield row(
            f"{budget:,} pages, {part:.0%}",
            f"{_sum(important, one):.1%}",
            f"{_sum(important, many):.1%}",
            f"{len(one & many):,}",
            f"{shares[-1]:.1%}",
        )
    yield ""
    yield f"At least {LEAST:.0%}: {kept(min(shares) >= LEAST)}."
    yield ""
    yield from _whole_told(whole, read)


def _whole_told(whole: list[Path], read: list[set[str]]) -> Iterator[str]:
    """Whether both know the same, and rank it alike."""
    ranks = [_scores(store, "opic") for store in whole]
    pages = [_scores(store, _RANK) for store in whole]
    known = ranks[0].keys() | ranks[1].keys()
    yield (
        f"All pages: {len(read[0]):,} read by one machine, {len(read[1]):,} by the cluster, "
        f"{len(read[0] & read[1]):,} of them the same; {len(known):,} known, "
        f"{len(ranks[0].keys() & ranks[1].keys()):,} to both."
    )
    far = _furthest(ranks[0], ranks[1])
    yield (
        f"After `refine` no rank is further from one machine's than {far:.1e}; at most {ERROR:g}: "
        f"{kept(far <= ERROR)}. PageRank: {_furthest(pages[0], pages[1]):.1e}."
    )


def _furthest(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return max(abs(one.get(url, 0) - other.get(url, 0)) for url in one.keys() | other.keys())


def _sum(scores: Mapping[str, float], pages: set[str]) -> float:
    return sum(scores.get(url, 0) for url in pages)


def _crawl(folder: Path, demo_pages: int, budget: int, *, in_cluster: bool) -> Path:
    """The store with what was found."""
    store = folder / f"{'cluster' if in_cluster else 'one'}-{budget}.db"
    where = ("--cluster", "demo") if in_cluster else ("--demo", "--store", store.name)
    options = (f"--demo-pages={demo_pages}", f"--pages={budget}", "--quiet")
    _run(folder, "crawl", *where, *options)
    if in_cluster:
        (folder / "data" / "demo-cluster.db").rename(store)
    return store


def _run(folder: Path, *words: str) -> None:
    command = (sys.executable, "-m", "minicrawl", *words)
    subprocess.run(command, cwd=folder, check=True, timeout=_LONGEST_S, stdout=subprocess.DEVNULL)


def _read(path: Path) -> set[str]:
    with Store.open(path) as store:
        return {one.url for one in store.pages(states=READ_STATES)}


def _scores(path: Path, name: str) -> dict[str, float]:
    with Store.open(path) as store:
        scores, urls = store.rank(name), store.graph.urls()
    ranked = zip(urls, scores.tolist(), strict=True)
    return {url: score for url, score in ranked if not isnan(score)}
