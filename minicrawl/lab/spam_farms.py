"""Spam farms beside the honest pages of a web, to measure what an order spends on them.

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

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.random import Generator

from minicrawl.lab.webs import Numbers, Web

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
    return Web(web.graph, _behind(web.host, host), _behind(web.site, site), web.names), found


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
