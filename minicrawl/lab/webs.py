"""Webs to run an experiment on: synthetic, or read from a graph file.

Law: every page is on one host and every host on one site, or hosts are unknown. Then all pages
count as pages of one host.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import repeat
from pathlib import Path
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError
from minicrawl.graph import synthetic
from minicrawl.graph.csr import Csr, NamedGraph
from minicrawl.graphfiles.reading import read
from minicrawl.opic.estimate import shares
from minicrawl.opic.ledger import READ, UNREAD, Ledger, Plan
from minicrawl.opic.money import SMALL_EDGE, fixed_edge
from minicrawl.opic.queues import CandidateHeap
from minicrawl.opic.sibling_queue import ByGroup
from minicrawl.opic.siblings import Siblings
from minicrawl.ranks.compare import places
from minicrawl.web import urls as sites
from minicrawl.wording import counted

Numbers = NDArray[np.int32]
_FEWEST_PAGES = 2


class Model(StrEnum):
    """Kind of a synthetic web."""

    POWER_LAW = "power-law"
    POISSON = "poisson"
    COPYING = "copying"


@dataclass(frozen=True, slots=True, eq=False)
class Web:
    """A graph whose page i is on host `host[i]` of site `site[i]`, both numbered from 0."""

    graph: Csr
    host: Numbers
    site: Numbers

    @property
    def has_hosts(self) -> bool:
        """True if hosts of pages are known."""
        return bool(self.host.any())


def synthetic_web(model: Model, nodes: int, seed: int) -> Web:
    """Return a web of this model; the same seed gives the same web."""
    rng = np.random.default_rng(seed)
    match model:
        case Model.POWER_LAW:
            return without_hosts(synthetic.power_law(nodes, rng))
        case Model.POISSON:
            return without_hosts(synthetic.poisson(nodes, rng))
        case Model.COPYING:
            grown = synthetic.copying_web(nodes, rng)
            return Web(grown.graph, grown.host, grown.host)


def web_from_file(path: Path) -> Web:
    """Read the web in a graph file. Hosts are known if pages are named by URLs."""
    return web_of(read(path), path)


def web_of(found: NamedGraph, path: Path) -> Web:
    """Return the web of a graph read from this file."""
    if found.graph.nodes < _FEWEST_PAGES:
        pages = counted(found.graph.nodes, "page")
        raise GraphFileError(f"{path}: only {pages} in it; expected links between at least two")
    hosts = found.names.hosts()
    here, host = np.unique(hosts.of_node, return_inverse=True)
    if len(here) == found.graph.nodes:
        return without_hosts(found.graph)
    site_of_host = _numbered([sites.site(hosts.names[number]) for number in here.tolist()])
    return Web(found.graph, host.astype(np.int32), site_of_host[host])


def without_hosts(graph: Csr) -> Web:
    """Return a web with unknown hosts."""
    one = np.zeros(graph.nodes, dtype=np.int32)
    return Web(graph, one, one)


def _numbered(names: list[str]) -> Numbers:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int32)


# ================================================================ strategies
#
# Orders of reading: greedy by cash, and orders that ignore cash.
#
# Protocol: pages are `born`; `take` leases a page; its plan is posted and passed to `settled`, or
# the lease is returned by `put_back`. A strategy serves one pool, unread or read pages: pages to
# discover and pages to refresh never compete.
#
# Orders here serve known webs as well. `discovery` has those of unknown webs only.


class Strategy(Protocol):
    """An order of reading."""

    def born(self, pages: Sequence[int]) -> None:
        """Add pages that have become known."""

    def take(self) -> int | None:
        """Lease the next page, or return None."""

    def settled(self, plan: Plan) -> None:
        """End the lease of the plan's page, if it has one, after the plan was posted."""

    def put_back(self, page: int) -> None:
        """End a lease without a plan: the page waits again."""


class Greedy:
    """CandidateHeap page first; of unread pages, the one that links gave most."""

    def __init__(self, ledger: Ledger, pool: int = UNREAD) -> None:
        self._richest = CandidateHeap(ledger.key, ledger.flags, pool)

    def born(self, pages: Sequence[int]) -> None:
        self._richest.offer(pages)

    def take(self) -> int | None:
        return self._richest.take()

    def settled(self, plan: Plan) -> None:
        self._richest.offer(plan.links)
        if plan.extras:
            self._richest.offer([page for page, _ in plan.extras])
        self._richest.release(plan.page)

    def put_back(self, page: int) -> None:
        self._richest.release(page)


class Cycle:
    """Pages in the order of discovery, round and round.

    For unread pages this is breadth-first: ids are assigned in the order of discovery.
    """

    def __init__(self, ledger: Ledger, pool: int = UNREAD) -> None:
        self._flags = ledger.flags
        self._pool = pool
        self._next = 0
        self._leased: set[int] = set()

    def born(self, pages: Sequence[int]) -> None:
        """The round will reach new pages: nothing to do."""

    def take(self) -> int | None:
        for start, end in ((self._next, len(self._flags)), (0, self._next)):
            page = self._flags.find(self._pool, start, end)
            while page in self._leased:
                page = self._flags.find(self._pool, page + 1, end)
            if page >= 0:
                self._next = page + 1
                self._leased.add(page)
                return page
        return None

    def settled(self, plan: Plan) -> None:
        self._leased.discard(plan.page)

    def put_back(self, page: int) -> None:
        self._leased.discard(page)


class Lottery:
    """A random page of the pool, with equal chances."""

    def __init__(self, ledger: Ledger, rng: Random, pool: int = UNREAD) -> None:
        self._flags = ledger.flags
        self._rng = rng
        self._pool = pool
        self._waiting = array("I")
        self._is_waiting = bytearray()

    def born(self, pages: Sequence[int]) -> None:
        self._is_waiting.extend(repeat(0, len(pages)))
        for page in pages:
            self._let_wait(page)

    def take(self) -> int | None:
        while self._waiting:
            drawn = self._rng.randrange(len(self._waiting))
            self._waiting[drawn], self._waiting[-1] = self._waiting[-1], self._waiting[drawn]
            page = self._waiting.pop()
            self._is_waiting[page] = 0
            if self._flags[page] == self._pool:
                return page
        return None

    def settled(self, plan: Plan) -> None:
        self._let_wait(plan.page)

    def put_back(self, page: int) -> None:
        self._let_wait(page)

    def _let_wait(self, page: int) -> None:
        if self._flags[page] == self._pool and not self._is_waiting[page]:
            self._is_waiting[page] = 1
            self._waiting.append(page)


OF_A_KNOWN_WEB: dict[str, Callable[[Ledger, int], Strategy]] = {
    "random": lambda ledger, seed: Lottery(ledger, Random(seed), READ),
    "cycle": lambda ledger, _seed: Cycle(ledger, READ),
    "greedy": lambda ledger, _seed: Greedy(ledger, READ),
}
"""Orders in which the pages of a known web are read again and again."""


# ================================================================ exploration
#
# A crawl of a web that the laboratory knows and the crawler does not.

Floats = NDArray[np.float64]


class Exploration:
    """The part of a web that a crawler has discovered.

    `truth` is the importance of the web's pages. `links` may have more pages than the web's graph:
    those of farms, behind the others. `pages` has the web's page for each id of the crawler, in the
    order of discovery; `_ids` is the inverse, with -1 for an unknown page.
    """

    def __init__(
        self,
        web: Web,
        links: Sequence[Sequence[int]],
        truth: Floats,
        small_edge: float = SMALL_EDGE,
    ) -> None:
        self.web = web
        self.truth = truth
        self.small_edge = small_edge
        self.ledger = Ledger(small_edge=fixed_edge(small_edge))
        self.pages = array("q")
        self.seeds = range(0)
        self._ids = array("q", [-1]) * len(links)
        self._links = links

    def start(self, seeds: Sequence[int], endowment: int) -> None:
        """Make the seeds known, and endow them."""
        self.seeds = self.discover(seeds)
        self.ledger.endow(self.seeds, endowment)

    def discover(self, pages: Sequence[int]) -> range:
        """Make these pages of the web known, and return their ids."""
        born = self.ledger.mint(len(pages))
        self.pages.extend(pages)
        for known, page in zip(born, pages, strict=True):
            self._ids[page] = known
        return born

    def links_of(self, known: int) -> tuple[list[int], range]:
        """Return the links of a page as ids, and the ids that are new."""
        ids = self._ids
        targets = self._links[self.pages[known]]
        born = self.discover([page for page in targets if ids[page] < 0])
        return [ids[page] for page in targets], born

    def host_of(self, known: int) -> int:
        return int(self.web.host[self.pages[known]])

    def site_of(self, known: int) -> int:
        return int(self.web.site[self.pages[known]])


# ================================================================ siblings
#
# The order by siblings in the laboratory, with the code of the crawl.
#
# Law: hosts and sites are those of the laboratory's web; if hosts are unknown, there is one.


class BySiblings:
    """Order by siblings: pages of a host that one page introduced are judged together."""

    def __init__(self, crawl: Exploration) -> None:
        self._crawl = crawl
        self._host_of = array("I")
        self._siblings = Siblings(crawl.ledger, self._host_of, _SitesOfWeb(crawl.web))
        self._queue = ByGroup(self._siblings)
        self._new = range(0)

    def born(self, pages: Sequence[int]) -> None:
        """Add new pages. The first are the seeds; others wait until their introducer is settled."""
        if not pages:
            return
        self._host_of.extend(map(self._crawl.host_of, pages))
        if self._new.stop:
            self._new = range(pages[0], pages[-1] + 1)
            return
        self._new = range(len(pages), len(pages))
        self._siblings.introduce(range(len(pages)))
        self._siblings.vouch(pages)
        self._queue.posted((), pages)

    def take(self) -> int | None:
        page = self._queue.take()
        if page is not None:
            self._queue.resume(self._host_of[page])
        return page

    def settled(self, plan: Plan) -> None:
        self._siblings.end_turn(plan, self._new)
        self._queue.posted((plan,), self._new)
        self._new = range(self._new.stop, self._new.stop)

    def put_back(self, page: int) -> None:
        self._queue.release(page)


class _SitesOfWeb:
    """Sites of the hosts of a web."""

    def __init__(self, web: Web) -> None:
        self._sites = np.zeros(int(web.host.max(initial=0)) + 1, dtype=np.uint32)
        self._sites[web.host] = web.site

    def site(self, host: int) -> int:
        return int(self._sites[host])


# ================================================================ measure
#
# Errors of an estimate of importance, in percent.
#
# Estimate and truth are normalised. The relative error of a page is |estimate - truth| / truth.


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateErrors:
    """Errors of an estimate, in percent.

    `all`: mean relative error of all pages. `top10`: of the most important tenth of the pages.
    `weighted`: mean weighted by importance, which is twice the mass on wrong pages. `rank`: mean
    distance of a page from its place in the ranking, in percent of the pages. `deviation`: standard
    deviation of the relative errors. `above_twice`: share of the pages with an error above twice
    the mean.
    """

    all: float
    top10: float
    weighted: float
    rank: float
    deviation: float
    above_twice: float


def errors(estimate: Floats, truth: Floats) -> EstimateErrors:
    """Compare an estimate with the truth; neither need be normalised."""
    estimate, truth = shares(estimate), shares(truth)
    relative = np.abs(estimate - truth) / truth
    top = np.argsort(-truth, kind="stable")[: max(1, len(truth) // 10)]
    return EstimateErrors(
        all=100 * float(relative.mean()),
        top10=100 * float(relative[top].mean()),
        weighted=100 * float((relative * truth).sum()),
        rank=100 * float(np.abs(places(estimate) - places(truth)).mean()) / len(truth),
        deviation=100 * float(relative.std()),
        above_twice=100 * float((relative > 2 * relative.mean()).mean()),
    )


def mean(found: Sequence[EstimateErrors]) -> EstimateErrors:
    """Return the mean over several moments."""
    names = [field.name for field in fields(EstimateErrors)]
    return EstimateErrors(
        **{name: sum(getattr(one, name) for one in found) / len(found) for name in names}
    )
