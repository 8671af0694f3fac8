"""Seeds from the communities of a graph: selection, transfer to a newer graph, and evaluation.

Random choices come from the given dice only; the same graph gives the same seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr, NamedGraph, NodeHosts
from minicrawl.graph.distances import Extent
from minicrawl.graph.outline import extent as extent_of
from minicrawl.ranks.pagerank import pagerank
from minicrawl.ranks.seeds import (
    Core,
    CoreRule,
    CrawlComparison,
    Heir,
    between_cores,
    between_hosts,
    compared,
    extracted,
    most_similar,
    still_there,
)
from minicrawl.report.store_graph import ProgressFactory, Source


class Take(StrEnum):
    """Page of a core that becomes its seed."""

    HUB = "hub"
    AUTHORITY = "authority"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeedSet:
    """Seeds and the cores that they were taken from, one from each; at least one."""

    named: NamedGraph
    between_hosts: Csr
    """Links of the graph from one host to another; only these count for the cores."""
    cores: Sequence[Core]
    seeds: Sequence[int]
    hosts: NodeHosts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sown:
    """Seeds in the graph to be crawled; in a newer graph they come from the heirs."""

    named: NamedGraph
    seeds: Sequence[int]
    heirs: Sequence[Heir] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """Distances between cores and in the graph, and coverage of the crawls."""

    between_cores: NDArray[np.int32]
    extent: Extent
    crawls: CrawlComparison


def seed_set(source: Source, count: int, rule: CoreRule, take: Take) -> SeedSet:
    """Return `count` seeds, or as many as there are communities."""
    named = source.graph
    hosts = named.names.hosts()
    pruned = between_hosts(named.graph, hosts.of_node)
    with source.progress("cores") as tell:
        cores = extracted(pruned, count, rule, tell=tell)
    if not cores:
        raise UsageError(_poverty(named.graph))
    hubs = take is Take.HUB
    seeds = [core.best_hub if hubs else core.best_authority for core in cores]
    return SeedSet(named=named, between_hosts=pruned, cores=cores, seeds=seeds, hosts=hosts)


def sown(found: SeedSet) -> Sown:
    """Return the seeds in the graph they were found in."""
    return Sown(named=found.named, seeds=found.seeds)


def sown_anew(found: SeedSet, newer: NamedGraph, *, similar: bool) -> Sown:
    """Return the seeds in a newer graph; with `similar`, similar pages replace vanished seeds."""
    inherit = most_similar if similar else still_there
    heirs = inherit(found.named, newer, found.seeds)
    nodes = [heir.node for heir in heirs if heir.node is not None]
    if not nodes:
        raise UsageError(f"none of the {len(heirs)} seeds is in the newer graph: is it of one web?")
    return Sown(named=newer, seeds=list(dict.fromkeys(nodes)), heirs=heirs)


def trial(
    found: SeedSet, crawled: Sown, *, draws: int, dice: Generator, progress: ProgressFactory
) -> Trial:
    """Evaluate the cores in the graph they were found in, and the seeds in the crawled graph."""
    graph = found.named.graph
    with progress("distances") as tell:
        extent = extent_of(graph, dice, tell)
    with progress("distances of cores") as tell:
        distances = between_cores(graph, found.cores, tell)
    graph = crawled.named.graph
    with progress("crawls") as tell:
        crawls = compared(
            graph, pagerank(graph).values, crawled.seeds, dice, draws=draws, tell=tell
        )
    return Trial(between_cores=distances, extent=extent, crawls=crawls)


def _poverty(graph: Csr) -> str:
    if not graph.edges:
        return "the graph has no links: there is no community in it to take a seed from"
    return (
        f"none of the {graph.edges:,} links leads from one host to another: "
        "the communities that seeds are taken from are made of such links"
    )
