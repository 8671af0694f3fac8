"""The link graph of a store and its figures, as the log is read on.

Figures that are not maintained link by link are measured, so they are older than the graph.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minicrawl.graph.cohesion import Cohesion, cohesion
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import Extent
from minicrawl.graph.dynamic import DynamicGraph
from minicrawl.graph.outline import Outline, extent
from minicrawl.model import CRAWLED
from minicrawl.ports import Progress, unreported
from minicrawl.report.progress.link_log import LinkLog
from minicrawl.report.progress.samples import Basis, Sample
from minicrawl.store import tables

MOST_EXACT = 3000
_MOST_LINKS_AT_ONCE = 100_000
"""New links in one update beyond which batches are used: link by link would take too long."""
MOST_WORK = 8_000_000
WORK_AT_ONCE = 1_000_000
"""Maximum work if a user is waiting for the figures."""
_SEED = 1
_NOTHING_YET = Extent(0, None, 0, is_exact=True)


class FollowedGraph:
    """Graph of a store and its outline."""

    def __init__(self, graph_of: str = CRAWLED, most_exact: int = MOST_EXACT) -> None:
        self.log = LinkLog(graph_of)
        self.distances_at = 0.0
        self._most = most_exact
        self._graph = DynamicGraph(most_exact)
        self._far = _NOTHING_YET
        self._cohesion: Cohesion | None = None
        self._measured = 0

    def follow(self, connection: tables.Connection, until: int | None = None) -> None:
        """Read the log on, to its end or to step `until`."""
        is_node, sources, targets, is_rewritten = self.log.follow(connection, until)
        # Exact distances link by link are for small crawls, whose curves should not jump; their
        # cost grows with the graph, while batches cost the same however often links arrive.
        if len(is_node) > self._most or len(sources) > _MOST_LINKS_AT_ONCE:
            self._graph.distances = None  # from here on they are measured
        change = self._graph.become if is_rewritten else self._graph.add
        change(is_node, sources, targets)

    @property
    def is_exact(self) -> bool:
        """True if all figures are maintained link by link."""
        return self._graph.distances is not None

    @property
    def graph(self) -> Csr:
        return self._graph.graph

    @property
    def distances_basis(self) -> Basis:
        if self.is_exact:
            return Basis.EXACT
        if self._far.is_exact:
            return Basis.BATCH
        return Basis.HYPERBALL if self._far.by_hyperball else Basis.ESTIMATE

    @property
    def is_unmeasured(self) -> bool:
        """True if the distances were never measured."""
        return not self.is_exact and not self._measured

    @property
    def are_distances_old(self) -> bool:
        """True if there are steps since the distances were measured."""
        return not self.is_exact and self._measured != self.log.step

    def measure(self, now: float, most_work: int, progress: Progress = unreported) -> None:
        """Measure the distances of the current graph, and what else is not maintained."""
        step, graph = self.log.step, self.graph
        if self._graph.cohesion is None:
            self._cohesion = cohesion(graph)
        self._far = extent(graph, np.random.default_rng(_SEED), progress, most_work)
        self._measured, self.distances_at = step, now

    def outline(self) -> Outline:
        return self._graph.outline(self._far, self._cohesion)

    def sample(self, at: float, counts: Mapping[str, Any]) -> Sample:
        """Return a sample of the graph, with these counts of the crawl."""
        return Sample(
            at=at,
            step=self.log.step,
            graph_of=self.log.graph_of,
            basis=Basis.EXACT if self.is_exact else Basis.BATCH,
            distances_at=at if self.is_exact else self.distances_at,
            distances_basis=self.distances_basis,
            outline=self.outline(),
            **counts,
        )
