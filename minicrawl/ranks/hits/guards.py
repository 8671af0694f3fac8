"""Guards against collusion: pages that link to each other for the sake of rank.

Laws: the nodes stay as they are, and of links only weights change, or they are left out. The same
graph is guarded in the same way. A guard that cannot change anything is refused, and so are guards
that leave no link.

capped     At most so many links inside its site count towards a page, or so many links of any one
           site: those of the pages that come first in the graph, in a store the ones that were
           known first. The others are left out and not made lighter: a rank by which a page shares
           all it has among its links, however light, would not notice.
weighed    A link inside a site and one between two sites count differently; what counts nothing
           is left out.

A site is a registrable domain; of nodes that are no URLs, each is its own.
"""

from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.graph.parts import with_links
from minicrawl.ranks.sites import sites_of

_ALIKE = "all links get the same weight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """What is asked for; without any the graph is left alone."""

    most_internal: int | None = None
    most_of_site: int | None = None
    internal: float = 1.0
    transverse: float = 1.0

    def __post_init__(self) -> None:
        for most in (self.most_internal, self.most_of_site):
            if most is not None and most < 0:
                raise UsageError(f"the links of a site that count must be 0 or more, not {most}")
        for name in ("internal", "transverse"):
            weight = getattr(self, name)
            if not 0 <= weight < np.inf:
                raise UsageError(f"the weight of {name} links is 0 or more, not {weight}")

    def asked_for(self) -> dict[str, float]:
        """Those that are not as usual, by their names."""
        usual = asdict(Guards())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    def guarded(self, named: NamedGraph) -> NamedGraph:
        """The graph as the guards let it pass."""
        if self == Guards() or not named.graph.edges:
            return named
        site_of = sites_of(named.names).of_node
        self._refuse_idle(named, site_of)
        found = self._applied(named, site_of)
        if not found.graph.edges:
            raise UsageError(f"{self._asked()} drops all {named.graph.edges:,} links of the graph")
        return found

    def _refuse_idle(self, named: NamedGraph, site_of: NDArray[np.int32]) -> None:
        is_inside = site_of[named.graph.sources()] == site_of[named.graph.targets]
        guards_internal = self.most_internal is not None or self.internal != 1
        if guards_internal and not is_inside.any():
            reason = "no link is inside a registrable domain (ids and titles have none)"
        elif self.most_of_site and len(np.unique(site_of)) == len(site_of):
            reason = "no two nodes are on one registrable domain (ids and titles have none)"
        elif self.transverse != 1 and is_inside.all():
            reason = "no link leads from one registrable domain to another"
        elif self.internal != 1 and (is_inside.all() or self.internal == self.transverse):
            reason = _ALIKE if self.internal else ""
        else:
            reason = _ALIKE if self.transverse not in (0, 1) and not is_inside.any() else ""
        if reason:
            raise UsageError(f"{self._asked()} changes nothing: {reason}")

    def _asked(self) -> str:
        """The guards as options."""
        caps = {"--intra-cap": self.most_internal, "--domain-cap": self.most_of_site}
        weights = {"internal": self.internal, "transverse": self.transverse}
        given = [f"{name} {most}" for name, most in caps.items() if most is not None]
        given += [f"--weight {kind}={weight:g}" for kind, weight in weights.items() if weight != 1]
        return " with ".join(given)

    def _applied(self, named: NamedGraph, site_of: NDArray[np.int32]) -> NamedGraph:
        if self.internal != self.transverse or self.internal != 1:
            named = weighed(named, site_of, internal=self.internal, transverse=self.transverse)
        if self.most_internal is not None:
            named = capped_inside(named, site_of, self.most_internal)
        return named if self.most_of_site is None else capped(named, site_of, self.most_of_site)


def capped_inside(named: NamedGraph, site_of: NDArray[np.int32], most: int) -> NamedGraph:
    """At most so many links of its own site towards a page; those between sites all stay."""
    graph = named.graph
    is_kept = site_of[graph.sources()] != site_of[graph.targets]
    inside = np.flatnonzero(~is_kept)
    is_kept[inside] = first_of_each(graph.targets[inside].astype(np.int64), most)
    return kept(named, is_kept)


def capped(named: NamedGraph, site_of: NDArray[np.int32], most: int) -> NamedGraph:
    """At most so many links of one site, its own or another, towards a page."""
    targets = named.graph.targets.astype(np.int64)
    sites = int(site_of.max(initial=0)) + 1
    return kept(named, first_of_each(targets * sites + site_of[named.graph.sources()], most))


def weighed(
    named: NamedGraph, site_of: NDArray[np.int32], *, internal: float, transverse: float
) -> NamedGraph:
    """Links inside a site count `internal`, those between sites `transverse`."""
    graph = named.graph
    is_inside = site_of[graph.sources()] == site_of[graph.targets]
    weights = np.where(is_inside, np.float32(internal), np.float32(transverse))
    if named.weights is not None:
        weights *= named.weights
    return kept(replace(named, weights=weights), weights > 0)


def kept(named: NamedGraph, is_kept: NDArray[np.bool_]) -> NamedGraph:
    """All nodes, and these of the links."""
    weights = None if named.weights is None else named.weights[is_kept]
    return replace(named, graph=with_links(named.graph, is_kept), weights=weights)


def first_of_each(keys: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Whether each place is among the first `most` that have its key."""
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(in_order[1:], in_order[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    ranks = np.arange(len(keys)) - np.repeat(firsts, np.diff(firsts, append=len(keys)))
    is_early = np.empty(len(keys), dtype=np.bool_)
    is_early[order] = ranks < most
    return is_early
