"""Webs to run an experiment on: synthetic, or read from a graph file.

Law: every page is on one host and every host on one site. If hosts are unknown, all pages count as
pages of one host.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError, UsageError
from minicrawl.frontier.url_table import traits_of
from minicrawl.graph import synthetic
from minicrawl.graph.csr import Csr, NamedGraph, Names
from minicrawl.opic.estimate import shares
from minicrawl.ranks.scores import places
from minicrawl.web import urls as sites
from minicrawl.wording import counted

Numbers = NDArray[np.int32]
Floats = NDArray[np.float64]
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
        """True if the web has several hosts; False if it has one, or hosts are unknown."""
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


def web_of(found: NamedGraph, path: Path) -> Web:
    """Return the web of a graph read from this file; hosts are known if names are URLs."""
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


# ================================================================ spam
#
# Spam farms beside the honest pages of a web, to measure what an order spends on them.
#
# Law: honest pages have the importance that they have without farms, and pages of farms have none.
# Honest pages keep their numbers and links. Pages of farms are numbered after them.
#
# host        each page links to all pages of the farm
# random      each page links to 20 pages of the farm, drawn uniformly
# trap        each page links to five pages that nothing else links to, endlessly: the trap has more
#             pages than any budget can discover
# entrances   Ten honest pages, such as guest books, link to a farm. They and their targets in the
#             farm are drawn uniformly. A trap is entered at its first page.
#
# A farm may use several hosts, to which its pages are dealt out in turn. Either the hosts form one
# site, or they are domains that link to each other, each a site of its own.

PAGES = 20_000
ENTRANCES = 10
_LINKS = 20
_BRANCHES = 5

Links = list[Sequence[int]]


class FarmKind(StrEnum):
    """Link structure of a farm."""

    HOST = "host"
    RANDOM = "random"
    TRAP = "trap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Farm:
    """A farm on one or more hosts, which form one site or are a site each."""

    kind: FarmKind
    hosts: int = 1
    is_one_site: bool = True
    pages: int = PAGES
    """Number of pages. A trap has as many as a crawl of the honest web could discover."""


def planted(web: Web, links: Links, farm: Farm, rng: Generator) -> tuple[Web, Links]:
    """Return the web with the farm, and its links."""
    first, honest = len(links), web.graph.nodes
    own = _own_links(farm, first, honest, rng)
    found = [*links, *own]
    entered = 1 if farm.kind is FarmKind.TRAP else len(own)
    for page in rng.choice(honest, size=min(ENTRANCES, honest), replace=False).tolist():
        found[page] = [*found[page], first + int(rng.integers(entered))]
    host = np.arange(len(own), dtype=np.int32) % farm.hosts
    site = np.zeros_like(host) if farm.is_one_site else host
    return Web(web.graph, _behind(web.host, host), _behind(web.site, site)), found


def _own_links(farm: Farm, first: int, honest: int, rng: Generator) -> Links:
    """Return the links of the farm's pages, the first of which has the number `first`."""
    match farm.kind:
        case FarmKind.HOST:
            return [range(first, first + farm.pages)] * farm.pages
        case FarmKind.RANDOM:
            ends = rng.integers(first, first + farm.pages, size=(farm.pages, _LINKS))
            return [sorted(set(row)) for row in ends.tolist()]
        case FarmKind.TRAP:
            starts = range(first + 1, first + 1 + _BRANCHES * honest, _BRANCHES)
            branches: Links = [range(start, start + _BRANCHES) for start in starts]
            leaves: Links = [()] * (_BRANCHES * honest + 1 - len(branches))
            return branches + leaves


def _behind(numbers: Numbers, more: Numbers) -> Numbers:
    return np.append(numbers, more + numbers.max(initial=-1) + 1)


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
    distance of a page from its true place, in percent of the pages. `deviation`: standard deviation
    of the relative errors. `above_twice`: share of the pages with an error above twice the mean.
    """

    all: float
    top10: float
    weighted: float
    rank: float
    deviation: float
    above_twice: float

    def as_json(self) -> dict[str, float]:
        return {
            "error_all": self.all,
            "error_top10": self.top10,
            "error_weighted": self.weighted,
            "rank_error": self.rank,
            "deviation": self.deviation,
            "above_twice": self.above_twice,
        }


def errors(estimate: Floats, truth: Floats) -> EstimateErrors:
    """Return the errors of an estimate; neither argument need be normalised."""
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
    """Return the mean of errors measured at several moments."""
    names = [field.name for field in fields(EstimateErrors)]
    return EstimateErrors(
        **{name: sum(getattr(one, name) for one in found) / len(found) for name in names}
    )


# ================================================================ values of pages
#
# Values that the user gives to the pages of a web, for experiments with the order by value.
#
# A file of values has a line for each page that is worth something: its name, or its name, a tab
# and a number from 0 to 1. The order itself is the crawl's (`opic.value_queue`).


class PageValues(NamedTuple):
    """Value of each page of a web, and the traits of its name."""

    value: NDArray[np.float64]
    traits: array[int]


def read_values(path: Path, names: Names) -> PageValues:
    """Read the values of named pages: a line is a name, or a name, a tab and a number.

    Other pages are worth 0. Names missing from the web are ignored, unless all are missing.
    """
    given = dict(_lines(path))
    found, values = names.find(list(given)), np.zeros(len(names))
    for page, value in zip(found, given.values(), strict=True):
        if page is not None:
            values[page] = value
    if not any(page is not None for page in found):
        raise UsageError(f"--value {path}: names no page of the graph")
    return PageValues(values, array("I", map(traits_of, names.of(range(len(names))))))


def _lines(path: Path) -> Iterator[tuple[str, float]]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        name, tab, text = line.partition("\t")
        try:
            value = float(text) if tab else 1.0
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise UsageError(f"--value {path}:{number}: {text!r} must be a number from 0 to 1")
        if name:
            yield name, value
