"""Compare crawls of one machine and of a cluster with the same budget, on the demo web.

The importance of a page is its PageRank in a complete crawl. The cluster is that of `minicrawl
crawl --cluster demo`. One machine crawls each budget twice, because responses never arrive in
exactly the same order. The endless part of the demo web is left out: the order decides when a
crawl detects it.

The crawls must differ only in the order of pages, so both have the same politeness. There is no
delay for the one address of all hosts, of which each shard would get an eighth. Without a delay for
hosts, both have the same number of requests in flight, fewer than there are hosts; otherwise one
machine would ask all hosts in turn, and not the richest pages first.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from math import isnan
from pathlib import Path
from typing import NamedTuple

from minicrawl.results import Store
from minicrawl.states import READ_STATES
from tests.bench.notes import head, kept, row

PARTS = (0.1, 0.3)
DELAYS_S = (0, 0.5, 1)
"""Seconds between requests to a host. The last value is the default."""
LEAST = 0.95
ERROR = 1e-6
_REFINED = 1e-9
_RANK = "pagerank"
CLUSTER = "cluster"
_ALL = 10**9
_LONGEST_S = 600
_SHARDS = 8
"""Shards of the demo cluster."""
_ENDLESS = "//calendar[.]town-hall"


class Budget(NamedTuple):
    """Limits of a crawl."""

    pages: int
    delay_s: float
    order: str = "greedy"
    """Order of the cluster, and of both when they read everything: what is a trap depends on it.
    One machine reads the other budgets by its default, siblings."""

    def options(self, who: str) -> tuple[str, ...]:
        """Return the options of `minicrawl crawl`."""
        options = [f"--pages={self.pages}", f"--delay={self.delay_s}", "--address-delay=0"]
        if who == CLUSTER or self.pages == _ALL:
            options.append(f"--strategy={self.order}")
        if self.delay_s or self.pages == _ALL:
            return tuple(options)
        return *options, f"--concurrency={1 if who == CLUSTER else _SHARDS}"


def agreement(folder: Path, demo_pages: int) -> Iterator[str]:
    """Crawl the whole web and then parts of it, on one machine and in the cluster."""
    crawls = DemoCrawls(folder, demo_pages)
    everything = Budget(_ALL, 0)
    whole = [crawls.run("one", everything), crawls.run(CLUSTER, everything)]
    for store in whole:
        _run(folder, "refine", "--store", store.name, "--until", str(_REFINED))
        _run(folder, "rank", _RANK, "--store", store.name)
    read = [_read(store) for store in whole]
    yield f"Demo web of {demo_pages:,} pages; one machine, and three servers with four nodes."
    yield ""
    yield from head(
        *("budget", "order of the cluster", "delay s", "importance: one machine", "cluster"),
        *("share of one machine's pages in the cluster", "in another crawl of one machine"),
    )
    shares = []
    limits = [
        *product(PARTS, DELAYS_S, ("greedy",)),
        *product(PARTS, (DELAYS_S[-1],), ("siblings",)),
    ]
    for part, delay_s, order in limits:
        budget = Budget(round(part * len(read[0])), delay_s, order)
        found = BothWays(_scores(whole[0], _RANK), crawls, budget)
        shares.append(found.agreement(CLUSTER))
        yield row(
            f"{budget.pages:,} pages, {part:.0%}",
            order,
            f"{delay_s:g}",
            f"{found.gathered('one'):.1%}",
            f"{found.gathered(CLUSTER):.1%}",
            f"{shares[-1]:.1%}",
            f"{found.agreement('another'):.1%}",
        )
    yield ""
    yield f"At least {LEAST:.0%}: {kept(min(shares) >= LEAST)}."
    yield ""
    yield from _comparison(whole, read)


class BothWays:
    """Pages that crawls with the same budget have read."""

    def __init__(self, ranks: Mapping[str, float], crawls: "DemoCrawls", budget: Budget) -> None:
        self._ranks = ranks
        self._read = {who: _read(crawls.run(who, budget)) for who in ("one", "another", CLUSTER)}

    def gathered(self, who: str) -> float:
        """Return the importance of all pages that a crawl has read."""
        return self._sum(self._read[who])

    def agreement(self, who: str) -> float:
        """Return the share of the importance of one machine's pages that a crawl has also read."""
        one = self._read["one"]
        return self._sum(one & self._read[who]) / self._sum(one)

    def _sum(self, pages: set[str]) -> float:
        return sum(self._ranks.get(url, 0) for url in pages)


def _comparison(whole: list[Path], read: list[set[str]]) -> Iterator[str]:
    """Yield a comparison of the complete crawls: their pages and their ranks."""
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
        f"After `refine` ranks differ by at most {far:.1e}; limit {ERROR:g}: "
        f"{kept(far <= ERROR)}. PageRank: {_furthest(pages[0], pages[1]):.1e}."
    )


def _furthest(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return max(abs(one.get(url, 0) - other.get(url, 0)) for url in one.keys() | other.keys())


class DemoCrawls:
    """Crawls of one demo web, which is served anew for each."""

    def __init__(self, folder: Path, demo_pages: int) -> None:
        self._folder, self._demo_pages = folder, demo_pages

    def run(self, who: str, budget: Budget) -> Path:
        """Crawl the demo web and return the store."""
        store = self._folder / f"{who}-{budget.pages}-{budget.delay_s}-{budget.order}.db"
        is_cluster = who == CLUSTER
        where = ("--cluster", "demo") if is_cluster else ("--demo", "--store", store.name)
        web = (f"--demo-pages={self._demo_pages}", "--deny", _ENDLESS, "--quiet")
        _run(self._folder, "crawl", *where, *web, *budget.options(who))
        if is_cluster:
            (self._folder / "data" / "demo-cluster.db").rename(store)
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
