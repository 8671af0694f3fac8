"""One core from each community of a graph, the strongest community first.

Law: links inside a host count for nothing. Then, until there are cores enough or no links: HITS on
what is left, a core is grown from its best authority, and the pages of the core are taken away.
So no page is in two cores.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.parts import with_links, with_pages
from minicrawl.progress import Progress, unreported
from minicrawl.ranks.hits.hits import textbook
from minicrawl.ranks.seeds.cores import Core, CoreRule, RankedGraph, grown

ROUNDS = 60
"""Of HITS before each core."""


def extracted(
    graph: Csr,
    hosts: NDArray[np.integer],
    count: int,
    rule: CoreRule = CoreRule(),  # noqa: B008 - a frozen value
    *,
    rounds: int = ROUNDS,
    tell: Progress = unreported,
) -> list[Core]:
    """So many cores, or as many as there are; page i is on host `hosts[i]`."""
    cores = []
    for core in islice(_all_cores(between_hosts(graph, hosts), rule, rounds), count):
        cores.append(core)
        tell(len(cores) / count)
    return cores


def between_hosts(graph: Csr, hosts: NDArray[np.integer]) -> Csr:
    """The graph without the links that stay inside a host."""
    return with_links(graph, hosts[graph.sources()] != hosts[graph.targets])


def _all_cores(graph: Csr, rule: CoreRule, rounds: int) -> Iterator[Core]:
    left = _Left(graph=graph, backwards=graph.reversed(), pages=np.arange(graph.nodes))
    while (left := left.linked()).graph.edges:
        core = grown(left.ranked(rounds), rule)
        yield _renumbered(core, left.pages)
        left = left.without(core)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Left:
    """What is left of a graph; its page i is `pages[i]` of the whole."""

    graph: Csr
    backwards: Csr
    pages: NDArray[np.integer]

    def linked(self) -> "_Left":
        """Without the pages that no link leaves or leads to."""
        return self._with((self.graph.out_degrees() > 0) | (self.backwards.out_degrees() > 0))

    def without(self, core: Core) -> "_Left":
        is_kept = np.ones(len(self.pages), dtype=np.bool_)
        is_kept[[*core.hubs, *core.authorities]] = False
        return self._with(is_kept)

    def ranked(self, rounds: int) -> RankedGraph:
        found = textbook(self.graph, rounds=rounds)
        return RankedGraph(
            graph=self.graph,
            backwards=self.backwards,
            hubs=found.hubs.values,
            authorities=found.authorities.values,
        )

    def _with(self, is_kept: NDArray[np.bool_]) -> "_Left":
        return _Left(
            graph=with_pages(self.graph, is_kept),
            backwards=with_pages(self.backwards, is_kept),
            pages=self.pages[is_kept],
        )


def _renumbered(core: Core, pages: NDArray[np.integer]) -> Core:
    return replace(
        core,
        best_hub=int(pages[core.best_hub]),
        hubs=tuple(pages[list(core.hubs)].tolist()),
        authorities=tuple(pages[list(core.authorities)].tolist()),
    )
