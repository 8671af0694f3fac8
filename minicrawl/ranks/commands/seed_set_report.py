"""The output of `minicrawl seed-set`: seeds, their cores, vanished seeds and the evaluation.

Law: stdout has only the seeds, or one JSON document. Tables and remarks go to stderr.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.cli import PROGRAM
from minicrawl.cli.output import show_list, show_table
from minicrawl.graph.distances import UNREACHED, Extent
from minicrawl.ranks.cores import CoreRule
from minicrawl.ranks.seed_evaluation import (
    Depth,
    DepthCoverage,
    EqualPages,
    summary_of,
)
from minicrawl.ranks.seeds import SeedReplacement, SeedSet, TransferredSeeds
from minicrawl.ranks.sites import sites_of
from minicrawl.wording import counted, visible

_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """Distances between cores and in the graph, and coverage of the crawls."""

    between_cores: NDArray[np.int32]
    extent: Extent
    depths: Sequence[Depth]
    after: Sequence[EqualPages]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    count: int
    rule: CoreRule
    seed_set: SeedSet
    in_crawl: TransferredSeeds
    """Seeds in the graph to crawl: a newer graph, or the graph of the cores."""
    trial: Trial | None


def show(report: Report) -> None:
    """Print the seeds to stdout, and everything else to stderr."""
    seed_set, in_crawl = report.seed_set, report.in_crawl
    cores = zip(seed_set.cores, seed_set.named.names.of(seed_set.seeds), strict=True)
    lines = (
        (
            f"{number:,}",
            f"({len(core.hubs):,}×{len(core.authorities):,})",
            f"{core.density:.4g} %",
            seed,
        )
        for number, (core, seed) in enumerate(cores, start=1)
    )
    show_list(("core", "hubs×authorities", "density", "seed"), lines, texts=1, err=True)
    for remark in _remarks(report):
        click.echo(f"{PROGRAM}: {visible(remark)}", err=True)
    if report.trial is not None:
        _show_trial(report.trial, len(in_crawl.seeds))
    for name in in_crawl.named.names.of(in_crawl.seeds):
        click.echo(visible(name))


def document(report: Report) -> dict[str, object]:
    seed_set, in_crawl = report.seed_set, report.in_crawl
    cores = zip(seed_set.cores, seed_set.named.names.of(seed_set.seeds), strict=True)
    return {
        "nodes": seed_set.named.graph.nodes,
        "edges": seed_set.named.graph.edges,
        "links_between_hosts": seed_set.cores[0].links_left,
        "asked": report.count,
        "core": report.rule.kind.value,
        "seeds": in_crawl.named.names.of(in_crawl.seeds),
        "cores": [
            {
                "seed": seed,
                "hubs": len(core.hubs),
                "authorities": len(core.authorities),
                "links": core.links,
                "density": core.density,
                "links_left": core.links_left,
                "first_hubs": seed_set.named.names.of(core.hubs[:_EXAMPLES]),
                "first_authorities": seed_set.named.names.of(core.authorities[:_EXAMPLES]),
            }
            for core, seed in cores
        ],
        "heirs": [
            {"seed": replacement.seed, "now": name, "shared_links": replacement.shared_links}
            for replacement, name in _named_replacements(in_crawl)
        ]
        or None,
        "evaluation": report.trial and _trial_document(report.trial),
    }


def _remarks(report: Report) -> Iterator[str]:
    seed_set, cores, rule = report.seed_set, report.seed_set.cores, report.rule
    left, links, nodes = cores[0].links_left, seed_set.named.graph.edges, seed_set.named.graph.nodes
    yield f"{left:,} of {counted(links, 'link')} lead from one host to another ({left / links:.1%})"
    if len(seed_set.hosts.names) == nodes:
        yield (
            f"no two of the {nodes:,} nodes share a host name (ids and titles have none): "
            "only links of a node to itself can be dropped"
        )
    else:
        yield _sites_of_seeds(seed_set)
    if len(cores) < report.count:
        seeds = counted(report.count, "seed")
        yield f"found {len(cores):,} of {seeds}: no links are left for another core"
    small = sum(core.size < rule.size for core in cores) if rule.kind.is_by_size else 0
    if small:
        of_cores = f"{small:,} of {counted(len(cores), 'core')}"
        yield f"{of_cores} below {counted(rule.size, 'page')}: no other page fits"
    looked_up = report.in_crawl.replacements
    if looked_up and all(
        replacement.node is not None and replacement.shared_links is None
        for replacement in looked_up
    ):
        yield f"{counted(len(looked_up), 'seed is', 'seeds are')} in the newer graph"
    for replacement, name in _named_replacements(report.in_crawl):
        if name is None:
            yield f"{replacement.seed} is not in the newer graph"
        elif replacement.shared_links is not None:
            yield (
                f"{replacement.seed} is not in the newer graph: {name} replaces it, with "
                f"{counted(replacement.shared_links, 'shared link')}"
            )


def _sites_of_seeds(seed_set: SeedSet) -> str:
    sites = sites_of(seed_set.named.names)
    counts = Counter(sites.names[site] for site in sites.of_node[list(seed_set.seeds)].tolist())
    site, most = counts.most_common(1)[0]
    together = "" if most == 1 else f", {most:,} of them on {site}"
    return f"{counted(counts.total(), 'seed')} on {counted(len(counts), 'site')}{together}"


def _named_replacements(in_crawl: TransferredSeeds) -> Iterator[tuple[SeedReplacement, str | None]]:
    """Return each seed with the name of its node in the newer graph, or None."""
    nodes = [
        replacement.node for replacement in in_crawl.replacements if replacement.node is not None
    ]
    names = iter(in_crawl.named.names.of(nodes))
    return (
        (replacement, None if replacement.node is None else next(names))
        for replacement in in_crawl.replacements
    )


def _show_trial(trial: Trial, seeds: int) -> None:
    show_table(
        f"breadth-first crawls from {counted(seeds, 'seed')} and from as many random pages",
        ("depth", "pages", "mean PageRank", "random pages", "mean PageRank"),
        (
            (f"{number:,}", *_cells(depth.seeds), *_cells(depth.random))
            for number, depth in enumerate(trial.depths)
        ),
        caption(trial),
        err=True,
    )
    show_table(
        "PageRank gathered after equal numbers of pages",
        ("pages read", "PageRank from seeds", "from random pages", "± standard error"),
        (
            (
                f"{equal.pages:,}",
                _percent(equal.seeds),
                _percent(equal.random),
                _percent(equal.random_error, 2),
            )
            for equal in trial.after
        ),
        "a crawl that ends earlier keeps what it gathered",
        err=True,
    )


def _cells(read: DepthCoverage) -> tuple[str, str]:
    return f"{read.pages:,.{0 if read.pages.is_integer() else 1}f}", _percent(read.importance)


def _percent(share: float | None, digits: int = 3) -> str:
    return "-" if share is None else f"{100 * share:.{digits}g} %"


def caption(trial: Trial) -> str:
    """Return how far cores and pages are from each other, and whether that is an estimate."""
    cores, distances = len(trial.between_cores), summary_of(trial.between_cores)
    between = _links(distances and distances.mean)
    if distances is not None:
        between += f", {distances.smallest:,} at least and {distances.largest:,} at most"
    connected = int(np.count_nonzero(trial.between_cores > 0))
    return (
        f"between cores: {between}, {connected:,} of {counted(cores * (cores - 1), 'pair')} "
        f"connected; between pages: {_links(trial.extent.mean_distance)}"
        f"{'' if trial.extent.is_exact else ', estimated'}"
    )


def _links(mean: float | None) -> str:
    if mean is None:
        return "no path"
    return f"{mean:.4g} {'link' if mean == 1 else 'links'} on average"


def _trial_document(trial: Trial) -> dict[str, object]:
    distances = summary_of(trial.between_cores)
    return {
        "core_distances": [
            [None if links == UNREACHED else links for links in row]
            for row in trial.between_cores.tolist()
        ],
        "smallest_core_distance": distances and distances.smallest,
        "mean_core_distance": distances and distances.mean,
        "largest_core_distance": distances and distances.largest,
        "mean_distance": trial.extent.mean_distance,
        "mean_distance_is_exact": trial.extent.is_exact,
        "depths": [
            {
                "depth": number,
                "pages": depth.seeds.pages,
                "mean_pagerank": depth.seeds.importance,
                "random_pages": depth.random.pages,
                "random_mean_pagerank": depth.random.importance,
            }
            for number, depth in enumerate(trial.depths)
        ],
        "after": [
            {
                "pages": point.pages,
                "pagerank": point.seeds,
                "random_pagerank": point.random,
                "random_error": point.random_error,
            }
            for point in trial.after
        ],
    }
