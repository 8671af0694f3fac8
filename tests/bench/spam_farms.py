"""Spam farms beside the honest pages of a web, to measure what an order spends on them.

    python -m tests.bench.spam_farms --graph web.txt --spam host --spam random --spam trap

Each order crawls the web with and without farms. The tables are the share of spam in the pages
fetched, and the importance lost.

Law: honest pages have the importance that they have without farms, and pages of farms have none.
Honest pages keep their numbers and links. Pages of farms are numbered after them.

host        each page links to all pages of the farm
random      each page links to 20 pages of the farm, drawn uniformly
trap        each page links to five pages that nothing else links to, endlessly: the trap has more
            pages than any budget can discover
entrances   Ten honest pages, such as guest books, link to a farm. They and their targets in the
            farm are drawn uniformly. A trap is entered at its first page.

A farm may use several hosts, to which its pages are dealt out in turn. Either the hosts form one
site, or they are domains that link to each other, each a site of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import click
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.cli.parameters import choice, number, option, with_made, with_options
from minicrawl.lab.commands.order import cells
from minicrawl.lab.commands.web_choice import WebChoice, a_web, draws_option
from minicrawl.lab.importance_curves import Crawls, Terrain, gather, spread
from minicrawl.lab.known_webs import true_importance
from minicrawl.lab.webs import Links, Model, Numbers, Web
from minicrawl.ports import unreported

PAGES = 20_000
ENTRANCES = 10
_LINKS = 20
_BRANCHES = 5


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
    both = [*links, *own]
    entered = 1 if farm.kind is FarmKind.TRAP else len(own)
    for page in rng.choice(honest, size=min(ENTRANCES, honest), replace=False).tolist():
        both[page] = [*both[page], first + int(rng.integers(entered))]
    host = np.arange(len(own), dtype=np.int32) % farm.hosts
    site = np.zeros_like(host) if farm.is_one_site else host
    return Web(web.graph, _behind(web.host, host), _behind(web.site, site), web.names), both


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


class Spam(NamedTuple):
    """Share of spam among the pages fetched, and importance lost by it, by draw and budget."""

    order: str
    share: NDArray[np.float64]
    lost: NDArray[np.float64]


def spam_of(
    web: Web, orders: Sequence[str], farms: Sequence[Farm], crawls: Crawls
) -> Iterator[Spam]:
    """Yield what farms cost each order."""
    truth = true_importance(web.graph, crawls.small_edge)
    honest = Terrain(web, list(web.graph.adjacency()), truth)
    rng = np.random.default_rng(crawls.seed)
    spammed, links = web, honest.links
    for farm in farms:
        spammed, links = planted(spammed, links, farm, rng)
    terrain = Terrain(spammed, links, np.append(truth, np.zeros(len(links) - len(truth))))
    nodes = web.graph.nodes
    budgets = [b if isinstance(b, int) else int(b * nodes) for b in crawls.fractions]
    for name in orders:
        alone, beside = (gather(each, name, crawls, unreported) for each in (honest, terrain))
        shares = [
            [float(np.mean(pages[: max(budget, 1)] >= nodes)) for budget in budgets]
            for pages in beside.pages
        ]
        yield Spam(name, np.array(shares), alone.mass - beside.mass)


@click.command()
@with_options
@with_made(web=a_web(Model.COPYING))
def main(
    web: WebChoice,
    kinds: Sequence[FarmKind] = choice(FarmKind, "Kind of a farm.", flag="--spam", multiple=True),
    orders: Sequence[str] = option("Order.", ["siblings"], flag="--strategy", multiple=True),
    hosts: int = number("Hosts of each farm, of one domain.", 1),
    domains: int = number("Domains of each farm.", 1),
    draws: int | None = draws_option,
) -> None:
    farms = [
        Farm(kind=kind, hosts=max(hosts, domains), is_one_site=domains == 1)
        for kind in kinds or FarmKind
    ]
    crawls = Crawls(draws=web.otherwise(draws, 6, 3), seed=web.seed, endowment=web.endowment(None))
    for spam in spam_of(web.web(), orders, farms, crawls):
        click.echo("\t".join((spam.order, "spam", *cells(spread(spam.share)))))
        click.echo("\t".join((spam.order, "lost", *cells(spread(spam.lost)))))


if __name__ == "__main__":
    main()
