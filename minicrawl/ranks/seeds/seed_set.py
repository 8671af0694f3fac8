"""Seeds for a crawl, one from each community of a graph (Daneshpajouh, Nasiri, Ghodsi, 2008)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.named_graph import NamedGraph, NodeHosts
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.seeds.cores import Core, CoreRule, between_hosts, extracted
from minicrawl.ranks.seeds.successors import SeedReplacement, most_similar, still_there

POOL = 10
"""Number of cores from which one is drawn at random."""


class SeedChoice(StrEnum):
    """Page of a core that becomes its seed."""

    HUB = "hub"
    AUTHORITY = "authority"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeedSet:
    """Seeds and their cores, at least one."""

    named: NamedGraph
    between_hosts: Csr
    """Links from one host to another: only these count for the cores."""
    cores: Sequence[Core]
    seeds: Sequence[int]
    hosts: NodeHosts


def seed_set(
    named: NamedGraph,
    count: int,
    rule: CoreRule,
    choice: SeedChoice,
    tell: Progress = unreported,
    *,
    rng: np.random.Generator | None = None,
) -> SeedSet:
    """Return `count` seeds, or one per community if there are fewer communities.

    `rng` draws the cores among the `POOL` x `count` strongest; without it, the strongest are taken.
    """
    hosts = named.names.hosts()
    pruned = between_hosts(named.graph, hosts.of_node)
    cores = extracted(pruned, count if rng is None else POOL * count, rule, tell=tell)
    if rng is not None and len(cores) > count:
        drawn = rng.choice(len(cores), size=count, replace=False)
        cores = [cores[place] for place in np.sort(drawn).tolist()]
    if not named.graph.edges:
        raise UsageError("the graph has no links: seeds are taken from communities of linked pages")
    if not cores:
        raise UsageError(
            f"none of the {named.graph.edges:,} links leads from one host to another: "
            "the communities that seeds are taken from are made of such links"
        )
    is_hub = choice is SeedChoice.HUB
    seeds = [core.best_hub if is_hub else core.authorities[0] for core in cores]
    return SeedSet(named=named, between_hosts=pruned, cores=cores, seeds=seeds, hosts=hosts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransferredSeeds:
    """Seeds in the graph to crawl; `replacements` has the fate of each seed in a newer graph."""

    named: NamedGraph
    seeds: Sequence[int]
    replacements: Sequence[SeedReplacement] = ()


def transferred(old: SeedSet, newer: NamedGraph, *, similar: bool) -> TransferredSeeds:
    """Return the seeds in a newer graph; with `similar`, similar pages replace vanished seeds."""
    look_up = most_similar if similar else still_there
    replacements = look_up(old.named, newer, old.seeds)
    nodes = [replacement.node for replacement in replacements if replacement.node is not None]
    if not nodes:
        raise UsageError("no seed is in the newer graph: it must be a graph of the same web")
    seeds = list(dict.fromkeys(nodes))
    return TransferredSeeds(named=newer, seeds=seeds, replacements=replacements)
