"""Graphs made up by known laws, to measure on what a real web cannot be asked for.

Law: the same arguments and a generator in the same state give the same graph. No page links to
itself and no link is there twice; what the dice throw double or back at the page is dropped.

power_law     Every page draws how many links it gets, k of 1 to `nodes` with probability
              ~ k^-exponent, and each of them comes from a page drawn evenly. The few with very
              many links in are as rare as on the web; who links to whom means nothing.
poisson       The same with k drawn from Poisson's law: all pages are about alike, which no web
              is. The control that shows what the power law does.
copying_web   A web that grows page by page, with hosts.

How the web of `copying_web` grows, in the words of `WebHabits`:

host            A new page founds a host (`founding`), or joins one: that of an older page drawn
                evenly, so that the large grow larger, or (`spreading`) a host drawn evenly.
links           A page has a geometric number of links, `links_per_page` on average; 0 is the
                likeliest, so there are dead ends.
inside link     (`inside`) goes to any page of its own host, older or newer. These are what the
                newer pages are reached by.
outside link    goes to an older page, whichever host that has. Either it is drawn evenly, or it
                is a
recommendation  (`recommended`), which repeats one that an older page made, save for a few
                (`original`) that name an older page of their own choice. What has been repeated
                often is repeated oftener: 1 % of the web comes to hold a fifth of its PageRank,
                and more than a third of all pages end up linking to the very first.
"""

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr


def power_law(nodes: int, rng: Generator, exponent: float = 2.1) -> Csr:
    """In-degrees by a power law, from 1 to `nodes`; 2.1 is what crawls of the web have shown."""
    _refuse_no_pages(nodes)
    if not exponent > 0:
        raise UsageError(f"the exponent must be above 0, not {exponent}")
    degrees = np.arange(1, nodes + 1)
    weights = degrees ** -float(exponent)
    return _with_even_sources(rng.choice(degrees, size=nodes, p=weights / weights.sum()), rng)


def poisson(nodes: int, rng: Generator, mean: float = 4.2) -> Csr:
    """In-degrees by Poisson's law; 4.2 is about the mean degree that `power_law` comes to."""
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
    """How pages of a growing web behave; the module says which word means what.

    All but the first are shares from 0 to 1. With these values 200,000 pages make 6,000 hosts,
    two links of three stay inside their host, and nearly every page can be reached by links
    from a few drawn at random.
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
    """A growing web with hosts, its pages numbered by age."""
    _refuse_no_pages(nodes)
    host = _grown_hosts(nodes, rng, habits)
    # The geometric law counts from 1, links from 0.
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
    """The host of every page: that of the founder at which the chain of its models ends."""
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
    """For each link any page of the host that it leaves from."""
    pages_by_host = np.argsort(host, kind="stable")
    sizes = np.bincount(host)
    first_place = np.cumsum(sizes) - sizes
    own = host[sources]
    places: NDArray[np.int64] = first_place[own] + _drawn_below(sizes[own], rng)
    return pages_by_host[places]


def _beyond_hosts(
    sources: NDArray[np.int64], rng: Generator, habits: WebHabits
) -> NDArray[np.int64]:
    """For each link an older page, drawn evenly or recommended; `sources` ascend."""
    targets = _drawn_below(sources, rng)
    recommendations = np.flatnonzero(rng.random(len(sources)) < habits.recommended)
    models = _models(sources[recommendations], rng, habits.original)
    targets[recommendations] = targets[recommendations[models]]
    return targets


def _models(recommenders: NDArray[np.int64], rng: Generator, original: float) -> NDArray[np.int64]:
    """For each recommendation the original one that it repeats, at first or at tenth hand."""
    made_before = np.searchsorted(recommenders, recommenders)
    repeated = _drawn_below(made_before, rng)
    is_original = (rng.random(len(recommenders)) < original) | (made_before == 0)
    return _ends_of_chains(np.where(is_original, np.arange(len(recommenders)), repeated))


def _drawn_below(bounds: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    """For each bound a whole number from 0 to one less, drawn evenly; 0 where the bound is 0."""
    return (rng.random(len(bounds)) * bounds).astype(np.int64)


def _ends_of_chains(pointers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each place leads to, if every place points to an earlier one or ends at itself.

    Each round doubles how far a pointer reaches, so all is done after the logarithm of the
    longest chain; the growth itself would have to go link by link.
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
        raise UsageError(f"a graph to measure on has at least one page, not {nodes}")
