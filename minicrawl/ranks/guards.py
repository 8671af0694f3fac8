"""Guards against collusion: weights of links, before a rank is computed.

In collusion, pages link to each other to raise their rank. Guards reweight or drop links; all
nodes stay. The result depends on the graph alone. Guards that cannot change anything are refused,
and so are guards that drop every link.

capped     A page keeps at most N links from its own site, or N links from any one site: those of
           the first pages of the graph, which a store discovered first. Other links are dropped,
           not made lighter: a page that splits all its score among its links would pass on as
           much along light ones.
weighed    Links inside a site and links between sites get different weights; weight 0 drops them.

A site is a registrable domain; a node that is not a URL is its own site.
"""

from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graph.subgraphs import with_links
from minicrawl.ranks.sites import sites_of

_ALIKE = "all links get the same weight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Requested guards. The defaults leave the graph unchanged."""

    most_internal: int | None = None
    most_of_site: int | None = None
    internal: float = 1.0
    transverse: float = 1.0

    def __post_init__(self) -> None:
        for kind in ("internal", "transverse"):
            weight = getattr(self, kind)
            if not 0 <= weight < np.inf:
                raise UsageError(f"invalid weight of {kind} links {weight}: expected 0 or more")

    def chosen(self) -> dict[str, float]:
        """Return the guards that differ from the defaults, by name."""
        usual = asdict(Guards())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    def guarded(self, named: NamedGraph) -> NamedGraph:
        """Return the graph with the weights of the guards, without the links that they drop."""
        if self == Guards() or not named.graph.edges:
            return named
        site_of = sites_of(named.names).of_node
        self._refuse_idle(named, site_of)
        left = named
        if self.internal != self.transverse or self.internal != 1:
            is_inside = site_of[left.graph.sources()] == site_of[left.graph.targets]
            weights = np.where(is_inside, np.float32(self.internal), np.float32(self.transverse))
            if named.weights is not None:
                weights *= named.weights
            left = with_marked_links(replace(left, weights=weights), weights > 0)
        if self.most_internal is not None:
            graph = left.graph
            stays = site_of[graph.sources()] != site_of[graph.targets]
            inside = np.flatnonzero(~stays)
            targets = graph.targets[inside].astype(np.int64)
            stays[inside] = first_of_each(targets, self.most_internal)
            left = with_marked_links(left, stays)
        if self.most_of_site is not None:
            sites = int(site_of.max(initial=0)) + 1
            keys = left.graph.targets.astype(np.int64) * sites + site_of[left.graph.sources()]
            left = with_marked_links(left, first_of_each(keys, self.most_of_site))
        if not left.graph.edges:
            raise UsageError(
                f"{self._options()} drops all {named.graph.edges:,} links of the graph"
            )
        return left

    def _refuse_idle(self, named: NamedGraph, site_of: NDArray[np.int32]) -> None:
        is_inside = site_of[named.graph.sources()] == site_of[named.graph.targets]
        guards_internal = self.most_internal is not None or self.internal != 1
        if guards_internal and not is_inside.any():
            reason = "no link is inside a registrable domain (ids and titles have none)"
        elif (self.most_of_site or self.most_internal) and len(np.unique(site_of)) == len(site_of):
            reason = "no two nodes are on one registrable domain (ids and titles have none)"
        elif self.transverse != 1 and is_inside.all():
            reason = "no link leads from one registrable domain to another"
        elif self.internal != 1 and (is_inside.all() or self.internal == self.transverse):
            reason = _ALIKE if self.internal else ""
        else:
            reason = _ALIKE if self.transverse not in (0, 1) and not is_inside.any() else ""
        if reason:
            raise UsageError(f"{self._options()} changes nothing: {reason}")

    def _options(self) -> str:
        """Return the options that chose these guards, for a message."""
        caps = {"--intra-cap": self.most_internal, "--domain-cap": self.most_of_site}
        weights = {"internal": self.internal, "transverse": self.transverse}
        given = [f"{name} {most}" for name, most in caps.items() if most is not None]
        given += [f"--weight {kind}={weight:g}" for kind, weight in weights.items() if weight != 1]
        return " with ".join(given)


def with_marked_links(named: NamedGraph, is_kept: NDArray[np.bool_]) -> NamedGraph:
    weights = None if named.weights is None else named.weights[is_kept]
    return replace(named, graph=with_links(named.graph, is_kept), weights=weights)


def first_of_each(keys: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Return a mask of the first `most` positions of each key."""
    # A stable sort keeps links with equal keys in the order of the graph.
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(in_order[1:], in_order[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    ranks = np.arange(len(keys)) - np.repeat(firsts, np.diff(firsts, append=len(keys)))
    is_early = np.empty(len(keys), dtype=np.bool_)
    is_early[order] = ranks < most
    return is_early
