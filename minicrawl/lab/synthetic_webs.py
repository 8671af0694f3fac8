"""Synthetic graphs with known laws, for measurements that a real web cannot provide.

The same arguments and a generator in the same state give the same graph. Self-links and duplicate
links that are drawn are dropped.

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

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr


def power_law(nodes: int, rng: Generator, exponent: float = 2.1) -> Csr:
    """Return a graph with power-law in-degrees from 1 to `nodes`; 2.1 is typical of web crawls."""
    _refuse_no_pages(nodes)
    if not exponent > 0:
        raise UsageError(f"the exponent must be above 0, not {exponent}")
    degrees = np.arange(1, nodes + 1)
    weights = degrees ** -float(exponent)
    return _with_even_sources(rng.choice(degrees, size=nodes, p=weights / weights.sum()), rng)


def poisson(nodes: int, rng: Generator, mean: float = 4.2) -> Csr:
    """Return a graph with Poisson in-degrees; 4.2 is about the mean degree of `power_law`."""
    _refuse_no_pages(nodes)
    if not 0 <= mean < np.inf:
        raise UsageError(f"the mean number of links must be 0 or more, not {mean}")
    return _with_even_sources(rng.poisson(mean, size=nodes), rng)


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticWeb:
    """A graph whose page i is on host `host[i]`; hosts are numbered from 0 by age."""

    graph: Csr
    host: NDArray[np.int32]


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

    def __post_init__(self) -> None:
        if not 0 <= self.links_per_page < np.inf:
            raise UsageError(f"links_per_page must be 0 or more, not {self.links_per_page}")
        for share in fields(self)[1:]:
            value = getattr(self, share.name)
            if not 0 <= value <= 1:
                raise UsageError(f"{share.name} must be a share from 0 to 1, not {value}")


TYPICAL: Final = WebHabits()


def copying_web(nodes: int, rng: Generator, habits: WebHabits = TYPICAL) -> SyntheticWeb:
    """Return a growing web with hosts, its pages numbered by age."""
    _refuse_no_pages(nodes)
    host = _grown_hosts(nodes, rng, habits)
    # The geometric distribution starts at 1.
    links = rng.geometric(1 / (habits.links_per_page + 1), size=nodes) - 1
    sources = np.repeat(np.arange(nodes), links)
    targets = np.empty_like(sources)
    is_inside = rng.random(len(sources)) < habits.inside
    targets[is_inside] = _within_hosts(sources[is_inside], host, rng)
    targets[~is_inside] = _beyond_hosts(sources[~is_inside], rng, habits)
    return SyntheticWeb(
        graph=_without_self_links(nodes, sources, targets), host=host.astype(np.int32)
    )


def _grown_hosts(nodes: int, rng: Generator, habits: WebHabits) -> NDArray[np.int64]:
    """Return the host of every page: that of the founder at the end of its chain of joins."""
    is_founder = rng.random(nodes) < habits.founding
    is_founder[0] = True
    founders = np.flatnonzero(is_founder)
    hosts_before: NDArray[np.int64] = np.cumsum(is_founder) - is_founder
    older = _drawn_below(np.arange(nodes), rng)
    founder_of_any = founders[_drawn_below(hosts_before, rng)]
    joined = np.where(rng.random(nodes) < habits.spreading, founder_of_any, older)
    return np.searchsorted(
        founders, _ends_of_chains(np.where(is_founder, np.arange(nodes), joined))
    )


def _within_hosts(
    sources: NDArray[np.int64], host: NDArray[np.int64], rng: Generator
) -> NDArray[np.int64]:
    """Return a random page of the source's host for each link."""
    pages_by_host = np.argsort(host, kind="stable")
    sizes = np.bincount(host)
    first_place = np.cumsum(sizes) - sizes
    own = host[sources]
    places: NDArray[np.int64] = first_place[own] + _drawn_below(sizes[own], rng)
    return pages_by_host[places]


def _beyond_hosts(
    sources: NDArray[np.int64], rng: Generator, habits: WebHabits
) -> NDArray[np.int64]:
    """Return an older page for each link, drawn uniformly or recommended; `sources` ascend."""
    targets = _drawn_below(sources, rng)
    recommendations = np.flatnonzero(rng.random(len(sources)) < habits.recommended)
    models = _models(sources[recommendations], rng, habits.original)
    targets[recommendations] = targets[recommendations[models]]
    return targets


def _models(recommenders: NDArray[np.int64], rng: Generator, original: float) -> NDArray[np.int64]:
    """Return, for each recommendation, the original that it repeats, directly or through others."""
    made_before = np.searchsorted(recommenders, recommenders)
    repeated = _drawn_below(made_before, rng)
    is_original = (rng.random(len(recommenders)) < original) | (made_before == 0)
    return _ends_of_chains(np.where(is_original, np.arange(len(recommenders)), repeated))


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


def _refuse_no_pages(nodes: int) -> None:
    if nodes < 1:
        raise UsageError(f"a graph needs at least one page, not {nodes}")
