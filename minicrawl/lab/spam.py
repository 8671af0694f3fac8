"""Farms: hosts of spam beside the honest pages of a web, to see what an order gives them.

Law: the importance of the honest pages is that of the web without farms, and a page of a farm has
none. The honest pages keep their numbers and links. Pages of farms are numbered behind them.

host        each page links to all pages of the farm
random      each page links to 20 pages of the farm, drawn evenly
trap        each page links to five that nothing else links to, without an end: there are more of
            them than any budget comes to know
entrances   a farm is found by the links that ten honest pages have to it, those of a guest book,
            say. They are drawn evenly, and so are the farm's pages that they link to. A trap is
            entered at its first page.

A farm may be spread over hosts: its pages are dealt out to them one by one. The hosts are of one
site, or each is a site of its own; then they are domains that feed each other.
"""

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
    """How the pages of a farm link to each other."""

    HOST = "host"
    RANDOM = "random"
    TRAP = "trap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Farm:
    """A farm on so many hosts, each a site of its own or all of one site."""

    kind: FarmKind
    hosts: int = 1
    is_one_site: bool = True
    pages: int = PAGES
    """Those of a trap are as many as a crawl of the honest web could come to know."""


def planted(web: Web, links: Links, farm: Farm, rng: Generator) -> tuple[Web, Links]:
    """The web with the farm, and all links of it."""
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
    """The links of the farm's pages, the first of which has this number."""
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
