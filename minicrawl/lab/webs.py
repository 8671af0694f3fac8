"""Webs to run an experiment on: synthetic, or read from a graph file.

Law: every page is on one host and every host on one site. If hosts are unknown, all pages count as
pages of one host.

A synthetic web: the same arguments and a generator in the same state give the same graph. Self-
links and duplicate links that are drawn are dropped.

power_law     Each page draws an in-degree k from 1 to `nodes` with probability ~ k^-exponent, and
              a source for each in-link, uniformly. Pages with many in-links are as rare as on the
              web; who links to whom has no structure.
poisson       Like `power_law` with k from a Poisson distribution: all pages are about equal,
              unlike on any web. A control that shows the effect of the power law.
copying_web   A web that grows page by page, with hosts.

Growth of `copying_web`, in the terms of `WebHabits`:

host            A new page founds a host (`founding`) or joins one: that of an older page drawn
                uniformly, so that large hosts grow faster, or (`spreading`) a host drawn
                uniformly.
links           A page has a geometric number of links, `links_per_page` on average; 0 is the most
                likely number, so there are dead ends.
inside link     (`inside`) goes to any page of its own host, older or newer. These links make
                newer pages reachable.
outside link    goes to an older page on any host, which is either drawn uniformly or by a
                recommendation.
recommendation  (`recommended`) repeats the recommendation of an older page, except for a few
                (`original`) that name an older page drawn uniformly. Frequent recommendations are
                repeated more often: 1 % of the web gets a fifth of its PageRank, and more than a
                third of all pages link to the very first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError
from minicrawl.graph.csr import Csr
from minicrawl.graph.named_graph import NamedGraph, Names
from minicrawl.web import sites
from minicrawl.wording import counted


def power_law(nodes: int, rng: Generator, exponent: float = 2.1) -> Csr:
    """Return a graph with power-law in-degrees from 1 to `nodes`; 2.1 is typical of web crawls."""
    degrees = np.arange(1, nodes + 1)
    weights = degrees ** -float(exponent)
    return _with_even_sources(rng.choice(degrees, size=nodes, p=weights / weights.sum()), rng)


def poisson(nodes: int, rng: Generator, mean: float = 4.2) -> Csr:
    """Return a graph with Poisson in-degrees; 4.2 is about the mean degree of `power_law`."""
    return _with_even_sources(rng.poisson(mean, size=nodes), rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebHabits:
    """Parameters of a growing web; the module docstring explains them.

    All but the first are shares from 0 to 1. With the defaults, 200,000 pages make 6,000 hosts, two
    of three links stay within their host, and nearly every page can be reached by links from a few
    pages drawn at random.
    """

    links_per_page: float = 13.0
    founding: float = 0.03
    spreading: float = 0.8
    inside: float = 0.69
    recommended: float = 0.33
    original: float = 0.05


TYPICAL: Final = WebHabits()


def copying_web(nodes: int, rng: Generator, habits: WebHabits = TYPICAL) -> Web:
    """Return a growing web with hosts, each of them a site; pages and hosts are numbered by age."""
    is_founder = rng.random(nodes) < habits.founding
    is_founder[0] = True
    founders = np.flatnonzero(is_founder)
    hosts_before: NDArray[np.int64] = np.cumsum(is_founder) - is_founder
    older = _drawn_below(np.arange(nodes), rng)
    founder_of_any = founders[_drawn_below(hosts_before, rng)]
    joined = np.where(rng.random(nodes) < habits.spreading, founder_of_any, older)
    # The host of a page is that of the founder at the end of its chain of joins.
    ends = _ends_of_chains(np.where(is_founder, np.arange(nodes), joined))
    host = np.searchsorted(founders, ends)
    # The geometric distribution starts at 1.
    links = rng.geometric(1 / (habits.links_per_page + 1), size=nodes) - 1
    sources = np.repeat(np.arange(nodes), links)
    targets = np.empty_like(sources)
    is_inside = rng.random(len(sources)) < habits.inside
    pages_by_host, sizes = np.argsort(host, kind="stable"), np.bincount(host)
    own = host[sources[is_inside]]
    places = (np.cumsum(sizes) - sizes)[own] + _drawn_below(sizes[own], rng)
    targets[is_inside] = pages_by_host[places]
    targets[~is_inside] = _beyond_hosts(sources[~is_inside], rng, habits)
    numbers = host.astype(np.int32)
    return Web(_without_self_links(nodes, sources, targets), numbers, numbers)


def _beyond_hosts(
    sources: NDArray[np.int64], rng: Generator, habits: WebHabits
) -> NDArray[np.int64]:
    """Return an older page for each link, drawn uniformly or recommended; `sources` ascend."""
    targets = _drawn_below(sources, rng)
    recommendations = np.flatnonzero(rng.random(len(sources)) < habits.recommended)
    made_before = np.searchsorted(sources[recommendations], sources[recommendations])
    repeated = _drawn_below(made_before, rng)
    is_original = (rng.random(len(recommendations)) < habits.original) | (made_before == 0)
    # Each recommendation repeats an original, directly or through others.
    own = np.arange(len(recommendations))
    models = _ends_of_chains(np.where(is_original, own, repeated))
    targets[recommendations] = targets[recommendations[models]]
    return targets


def _drawn_below(bounds: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    """Return a random integer from 0 to bound - 1 for each bound; 0 for a bound of 0."""
    return (rng.random(len(bounds)) * bounds).astype(np.int64)


def _ends_of_chains(pointers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the end of each pointer's chain; pointers lead to earlier places or to themselves.

    Each round doubles the reach of every pointer, so the rounds are logarithmic in the longest
    chain. Following the growth itself would take one step for each link.
    """
    while not np.array_equal(further := pointers[pointers], pointers):
        pointers = further
    return pointers


def _with_even_sources(in_degrees: NDArray[np.int64], rng: Generator) -> Csr:
    nodes = len(in_degrees)
    targets = np.repeat(np.arange(nodes), in_degrees)
    return _without_self_links(nodes, rng.integers(0, nodes, size=len(targets)), targets)


def _without_self_links(nodes: int, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> Csr:
    is_link = sources != targets
    return Csr.from_edges(nodes, sources[is_link], targets[is_link])


Numbers = NDArray[np.int32]
Floats = NDArray[np.float64]
Links = list[Sequence[int]]
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
    names: Names | None = None

    def url_of(self, page: int) -> str:
        """Return the name of a page, or a URL made up for a page without a name."""
        if self.names is None or page >= self.graph.nodes:
            return f"http://{self.host[page]}.example/{page}"
        return self.names.of([page])[0]

    @property
    def has_hosts(self) -> bool:
        """True if the web has several hosts; False if it has one, or hosts are unknown."""
        return bool(self.host.any())


def synthetic_web(model: Model, nodes: int, seed: int) -> Web:
    """Return a web of this model; the same seed gives the same web."""
    rng = np.random.default_rng(seed)
    match model:
        case Model.POWER_LAW:
            return without_hosts(power_law(nodes, rng))
        case Model.POISSON:
            return without_hosts(poisson(nodes, rng))
        case Model.COPYING:
            return copying_web(nodes, rng)


def web_of(named: NamedGraph, path: Path) -> Web:
    """Return the web of a graph read from this file; hosts are known if names are URLs."""
    if named.graph.nodes < _FEWEST_PAGES:
        pages = counted(named.graph.nodes, "page")
        raise GraphFileError(f"{path}: only {pages} in it; expected links between at least two")
    hosts = named.names.hosts()
    here, host = np.unique(hosts.of_node, return_inverse=True)
    if len(here) == named.graph.nodes:
        return without_hosts(named.graph, named.names)
    names = [sites.site(hosts.names[number]) for number in here.tolist()]
    numbers: dict[str, int] = {}
    site_of_host = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
    return Web(named.graph, host.astype(np.int32), site_of_host[host], named.names)


def without_hosts(graph: Csr, names: Names | None = None) -> Web:
    same_host = np.zeros(graph.nodes, dtype=np.int32)
    return Web(graph, same_host, same_host, names)
