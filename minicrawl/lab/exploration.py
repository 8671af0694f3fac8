"""A crawl of a web that is known to the laboratory but not to the crawler."""

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.lab.webs import Web
from minicrawl.opic.ledger import Ledger
from minicrawl.opic.money import SMALL_EDGE, fixed_edge

Floats = NDArray[np.float64]


class Exploration:
    """What a crawler has discovered of a web. `truth` is the importance of the web's pages.

    `links` may have more pages than the web's graph: those of farms, which are behind the others.

    `pages` has the web's page for each id of the crawler, which are given in the order of
    discovery; `_ids` is the way back, -1 for a page that is unknown.
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
        """All that is known at first."""
        self.seeds = self.discover(seeds)
        self.ledger.endow(self.seeds, endowment)

    def discover(self, pages: Sequence[int]) -> range:
        """These pages of the web become known."""
        born = self.ledger.mint(len(pages))
        self.pages.extend(pages)
        for known, page in zip(born, pages, strict=True):
            self._ids[page] = known
        return born

    def links_of(self, known: int) -> tuple[list[int], range]:
        """The links of a page, in the crawler's ids, and which of them were unknown."""
        ids = self._ids
        targets = self._links[self.pages[known]]
        born = self.discover([page for page in targets if ids[page] < 0])
        return [ids[page] for page in targets], born

    def host_of(self, known: int) -> int:
        """The host of a page."""
        return int(self.web.host[self.pages[known]])

    def site_of(self, known: int) -> int:
        """The site of a page."""
        return int(self.web.site[self.pages[known]])
