"""The output of `minicrawl seed-set`: seeds, their cores, vanished seeds and the evaluation.

Law: stdout has only the seeds, or one JSON document. Tables and remarks go to stderr.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import click
import numpy as np

from minicrawl.analysis.seedset import SeedSet, Sown, Trial
from minicrawl.cli import PROGRAM
from minicrawl.cli.common.tables import show_list, show_table
from minicrawl.export.cells import visible
from minicrawl.graph.distances import UNREACHED
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks.seeds.cores import Core, CoreKind, CoreRule
from minicrawl.ranks.seeds.evaluation import (
    CoreDistances,
    Depth,
    DepthCoverage,
    EqualPages,
    in_short,
)
from minicrawl.ranks.seeds.succession import Heir
from minicrawl.ranks.sites import sites_of
from minicrawl.wording import counted

CORE_HEADINGS = ("core", "hubs×authorities", "density", "seed")
DEPTH_HEADINGS = ("depth", "pages", "mean PageRank", "random pages", "mean PageRank")
AFTER_HEADINGS = ("pages read", "PageRank from seeds", "from random pages", "± standard error")
_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that the output is made from."""

    asked: int
    rule: CoreRule
    found: SeedSet
    sown: Sown
    trial: Trial | None


def show(report: Report) -> None:
    """Print the seeds on stdout, and all else for people on stderr."""
    found, sown = report.found, report.sown
    cores = zip(found.cores, found.named.names.of(found.seeds), strict=True)
    lines = (_core_line(number, *core) for number, core in enumerate(cores, start=1))
    show_list(CORE_HEADINGS, lines, texts=1, err=True)
    for remark in _remarks(report):
        click.echo(f"{PROGRAM}: {visible(remark)}", err=True)
    if report.trial is not None:
        _show_trial(report.trial, len(sown.seeds))
    for name in sown.named.names.of(sown.seeds):
        click.echo(visible(name))


def document(report: Report) -> dict[str, object]:
    """The report as a JSON document."""
    found, sown = report.found, report.sown
    cores = zip(found.cores, found.named.names.of(found.seeds), strict=True)
    return {
        "nodes": found.named.graph.nodes,
        "edges": found.named.graph.edges,
        "links_between_hosts": found.cores[0].links_left,
        "asked": report.asked,
        "core": report.rule.kind.value,
        "seeds": sown.named.names.of(sown.seeds),
        "cores": [_core_document(core, seed, found.named) for core, seed in cores],
        "heirs": _heirs_document(sown) if sown.heirs else None,
        "evaluation": report.trial and _trial_document(report.trial),
    }


# ---------------------------------------------------------------- cores


def _core_line(number: int, core: Core, seed: str) -> tuple[str, ...]:
    shape = f"({len(core.hubs):,}×{len(core.authorities):,})"
    return f"{number:,}", shape, f"{core.density:.4g} %", seed


def _core_document(core: Core, seed: str, named: NamedGraph) -> dict[str, object]:
    return {
        "seed": seed,
        "hubs": len(core.hubs),
        "authorities": len(core.authorities),
        "links": core.links,
        "density": core.density,
        "links_left": core.links_left,
        "first_hubs": named.names.of(core.hubs[:_EXAMPLES]),
        "first_authorities": named.names.of(core.authorities[:_EXAMPLES]),
    }


# ---------------------------------------------------------------- remarks


def _remarks(report: Report) -> Iterator[str]:
    found, cores, rule = report.found, report.found.cores, report.rule
    left, links, nodes = cores[0].links_left, found.named.graph.edges, found.named.graph.nodes
    yield f"{left:,} of {counted(links, 'link')} lead from one host to another ({left / links:.1%})"
    if len(found.hosts.names) == nodes:
        yield (
            f"no two of the {nodes:,} nodes share a host name (ids and titles have none): "
            "no link can be pruned but those of a node to itself"
        )
    else:
        yield _sites_of_seeds(found)
    if len(cores) < report.asked:
        seeds = counted(report.asked, "seed")
        yield f"found {len(cores):,} of {seeds}: no links are left for another core"
    small = sum(core.size < rule.size for core in cores) if rule.kind is CoreKind.SIZE else 0
    if small:
        of_cores = f"{small:,} of {counted(len(cores), 'core')}"
        yield f"{of_cores} below {counted(rule.size, 'page')}: no other page fits"
    heirs = report.sown.heirs
    if heirs and all(heir.node is not None and heir.shared_links is None for heir in heirs):
        yield f"{counted(len(heirs), 'seed is', 'seeds are')} in the newer graph"
    for heir, name in _named_heirs(report.sown):
        if name is None:
            yield f"{heir.seed} is not in the newer graph"
        elif heir.shared_links is not None:
            yield (
                f"{heir.seed} is not in the newer graph: {name} replaces it, with "
                f"{counted(heir.shared_links, 'shared link')}"
            )


def _sites_of_seeds(found: SeedSet) -> str:
    sites = sites_of(found.named.names)
    of_seeds = [sites.names[site] for site in sites.of_node[list(found.seeds)].tolist()]
    (site, most), *_ = Counter(of_seeds).most_common(1)
    together = "" if most == 1 else f", {most:,} of them on {site}"
    seeds, on = counted(len(of_seeds), "seed"), counted(len(set(of_seeds)), "site")
    return f"{seeds} on {on}{together}"


def _named_heirs(sown: Sown) -> Iterator[tuple[Heir, str | None]]:
    """Each seed with the name of the page that takes its place in the newer graph."""
    nodes = [heir.node for heir in sown.heirs if heir.node is not None]
    names = iter(sown.named.names.of(nodes))
    return ((heir, None if heir.node is None else next(names)) for heir in sown.heirs)


def _heirs_document(sown: Sown) -> list[dict[str, object]]:
    return [
        {"seed": heir.seed, "now": name, "shared_links": heir.shared_links}
        for heir, name in _named_heirs(sown)
    ]


# ---------------------------------------------------------------- the evaluation


def _show_trial(trial: Trial, seeds: int) -> None:
    show_table(
        f"breadth-first crawls from {counted(seeds, 'seed')} and from as many random pages",
        DEPTH_HEADINGS,
        (_depth_line(number, depth) for number, depth in enumerate(trial.crawls.depths)),
        _caption(trial),
        err=True,
    )
    show_table(
        "the PageRank gathered after as many pages",
        AFTER_HEADINGS,
        map(_after_line, trial.crawls.after),
        "a crawl that ends earlier keeps what it gathered",
        err=True,
    )


def _depth_line(number: int, depth: Depth) -> tuple[str, ...]:
    return f"{number:,}", *_read_cells(depth.seeds), *_read_cells(depth.random)


def _after_line(one: EqualPages) -> tuple[str, ...]:
    error = "-" if one.random_error is None else f"{100 * one.random_error:.2g} %"
    return f"{one.pages:,}", f"{100 * one.seeds:.3g} %", f"{100 * one.random:.3g} %", error


def _read_cells(read: DepthCoverage) -> tuple[str, str]:
    worth = "-" if read.importance is None else f"{100 * read.importance:.3g} %"
    return f"{read.pages:,.{0 if read.pages.is_integer() else 1}f}", worth


def _caption(trial: Trial) -> str:
    connected = int(np.count_nonzero(trial.between_cores > 0))
    pairs = len(trial.between_cores) * (len(trial.between_cores) - 1)
    return (
        f"between cores: {_distances(in_short(trial.between_cores))}, "
        f"{connected:,} of {counted(pairs, 'pair')} connected; "
        f"between pages: {_links(trial.extent.mean_distance)}"
        f"{'' if trial.extent.is_exact else ', measured from some pages'}"
    )


def _distances(found: CoreDistances | None) -> str:
    if found is None:
        return _links(None)
    return f"{_links(found.mean)}, {found.smallest:,} at least and {found.largest:,} at most"


def _links(mean: float | None) -> str:
    return "no path" if mean is None else f"{mean:.4g} links on average"


def _trial_document(trial: Trial) -> dict[str, object]:
    found = in_short(trial.between_cores)
    return {
        "core_distances": [
            [None if links == UNREACHED else links for links in row]
            for row in trial.between_cores.tolist()
        ],
        "smallest_core_distance": found and found.smallest,
        "mean_core_distance": found and found.mean,
        "largest_core_distance": found and found.largest,
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
            for number, depth in enumerate(trial.crawls.depths)
        ],
        "after": [
            {
                "pages": one.pages,
                "pagerank": one.seeds,
                "random_pagerank": one.random,
                "random_error": one.random_error,
            }
            for one in trial.crawls.after
        ],
    }
