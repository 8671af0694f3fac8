"""`minicrawl seed-set`: seeds for a crawl, one from each community of a graph.

Law: stdout has only the seeds, or one JSON document. Tables and remarks go to stderr.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.cli import PROGRAM
from minicrawl.cli.options import Number
from minicrawl.cli.output import show_json, show_list, show_table
from minicrawl.cli.parameters import choice, number, option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option, source_options
from minicrawl.graph.distances import UNREACHED, Extent
from minicrawl.graph.outline import extent as extent_of
from minicrawl.graphfiles import read
from minicrawl.ranks.pagerank import pagerank
from minicrawl.ranks.seeds.comparison import Depth, EqualPages, between_cores, compared, summary_of
from minicrawl.ranks.seeds.cores import CoreKind, CoreRule
from minicrawl.ranks.seeds.seed_set import (
    POOL,
    SeedChoice,
    SeedSet,
    TransferredSeeds,
    seed_set as seed_set_of,
    transferred,
)
from minicrawl.ranks.seeds.successors import SeedReplacement
from minicrawl.ranks.sites import sites_of
from minicrawl.report.graph.source import Source
from minicrawl.wording import counted, visible

DEFAULT_RULE = CoreRule()
DRAWS, SEED = 10, 1
_EXAMPLES = 5


def _take(value: str) -> int | SeedChoice:
    """Return a page of a core, or the seed of a random choice of cores."""
    kind, _, seed = value.partition(":")
    if kind == "random" and seed.isascii() and seed.isdigit():
        return int(seed)
    if value not in {choice.value for choice in SeedChoice}:
        raise click.BadParameter(f"{value!r} is none of hub, authority, random:SEED with a number")
    return SeedChoice(value)


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


@click.command("seed-set")
@with_options
@json_option
@source_options
def seed_set(
    source: Source,
    as_json: bool,
    count: int = number("Find N seeds.", 10),
    core: CoreKind | None = choice(
        CoreKind,
        "Complete a core at --size pages (size), after the round that reaches --size, as in the "
        "paper (paper), before the page that lowers its density below "
        "--density (density), or when no more page fits --density (maximal). The last two stop at "
        f"{DEFAULT_RULE.most_hubs} hubs.",
        usual="size with --size, else maximal",
    ),
    size: int | None = number(
        "Number of hubs and authorities in a core; a page that is both counts twice.",
        least=2,
        usual=DEFAULT_RULE.size,
    ),
    at_once: int | None = number(
        "Add N hubs and N authorities at a time, with --core size.", usual=DEFAULT_RULE.at_once
    ),
    density: float | None = option(
        "Minimum share of the possible links from hubs to authorities.",
        metavar="PERCENT",
        type=Number(min=0, min_open=True, max=100),
        usual=f"{DEFAULT_RULE.density:g}",
    ),
    take: int | SeedChoice = option(
        "Take the best hub or the best authority of a core as its seed. `random:SEED` takes the "
        f"best hubs of N cores drawn at random from the {POOL} N strongest.",
        SeedChoice.HUB.value,
        metavar="hub|authority|random:SEED",
        type=_take,
    ),
    evaluate: bool = switch(
        "Show distances between the cores, and compare breadth-first crawls from the seeds and "
        "from as many random pages."
    ),
    draws: int | None = number("Number of random sets of pages to compare with.", usual=DRAWS),
    seed: int | None = number("Seed of the random choice of pages.", least=0, usual=SEED),
    new: Path | None = option(
        "Look the seeds up by name in this newer graph of the same web, and evaluate them there.",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
    ),
    similar: bool = switch(
        "Replace a seed that is missing in --new by the page of its host that shares the most "
        "links."
    ),
) -> None:
    """Find seeds, one per community.

    The strongest communities come first. Links within a host are dropped. Then these steps repeat:
    HITS runs for 60 rounds, a core of hubs and authorities grows from the best authority, the core
    gives one seed, and its pages are removed.
    """
    kind = core or (CoreKind.SIZE if size else DEFAULT_RULE.kind)
    if kind.is_by_size and density is not None:
        raise click.UsageError("--density needs --core density or --core maximal")
    if not kind.is_by_size and (size or at_once):
        raise click.UsageError("--size and --at-once need --core size or --core paper")
    rule = CoreRule(
        kind=kind,
        size=size or DEFAULT_RULE.size,
        at_once=at_once or DEFAULT_RULE.at_once,
        density=density or DEFAULT_RULE.density,
    )
    if not evaluate and (draws, seed) != (None, None):
        raise click.UsageError("--draws and --seed need --evaluate")
    if similar and new is None:
        raise click.UsageError("--similar needs --new")
    if new:
        with progress("newer graph") as tell:
            newer = read(new, tell)
    with source.progress("cores") as tell:
        cores_rng = np.random.default_rng(take) if isinstance(take, int) else None
        page = SeedChoice.HUB if isinstance(take, int) else take
        seeds = seed_set_of(source.graph, count, rule, page, tell, rng=cores_rng)
    in_crawl = TransferredSeeds(named=source.graph, seeds=seeds.seeds)
    if new:
        in_crawl = transferred(seeds, newer, similar=similar)
    trial = None
    if evaluate:
        rng = np.random.default_rng(SEED if seed is None else seed)
        trial = evaluated(seeds, in_crawl, rng, draws or DRAWS)
    report = Report(count=count, rule=rule, seed_set=seeds, in_crawl=in_crawl, trial=trial)
    show_json(document(report)) if as_json else show(report)


def evaluated(
    seeds: SeedSet, in_crawl: TransferredSeeds, rng: np.random.Generator, draws: int
) -> Trial:
    """Evaluate the cores in the graph they were found in, and the seeds in the graph to crawl."""
    graph = seeds.named.graph
    with progress("distances") as tell:
        extent = extent_of(graph, rng, tell)
    with progress("distances of cores") as tell:
        distances = between_cores(graph, seeds.cores, tell)
    graph = in_crawl.named.graph
    with progress("crawls") as tell:
        importance = pagerank(graph).values
        depths, after = compared(graph, importance, in_crawl.seeds, rng, draws=draws, tell=tell)
    return Trial(between_cores=distances, extent=extent, depths=depths, after=after)


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
        sites = sites_of(seed_set.named.names)
        of_seeds = sites.of_node[list(seed_set.seeds)].tolist()
        counts = Counter(sites.names[site] for site in of_seeds)
        site, most = counts.most_common(1)[0]
        together = "" if most == 1 else f", {most:,} of them on {site}"
        yield f"{counted(counts.total(), 'seed')} on {counted(len(counts), 'site')}{together}"
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
            (f"{number:,}", *_cells(*depth[:2]), *_cells(*depth[2:]))
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
                _percent(equal.pagerank),
                _percent(equal.random_pagerank),
                _percent(equal.random_error, 2),
            )
            for equal in trial.after
        ),
        "a crawl that ends earlier keeps what it gathered",
        err=True,
    )


def _cells(pages: float, importance: float | None) -> tuple[str, str]:
    return f"{pages:,.{0 if pages.is_integer() else 1}f}", _percent(importance)


def _percent(share: float | None, digits: int = 3) -> str:
    return "-" if share is None else f"{100 * share:.{digits}g} %"


def caption(trial: Trial) -> str:
    """Return how far cores and pages are from each other, and whether that is an estimate."""
    cores, (least, mean, greatest) = len(trial.between_cores), summary_of(trial.between_cores)
    between = _links(mean)
    if mean is not None:
        between += f", {least:,} at least and {greatest:,} at most"
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
    least, mean, greatest = summary_of(trial.between_cores)
    return {
        "core_distances": [
            [None if links == UNREACHED else links for links in row]
            for row in trial.between_cores.tolist()
        ],
        "smallest_core_distance": least,
        "mean_core_distance": mean,
        "largest_core_distance": greatest,
        "mean_distance": trial.extent.mean_distance,
        "mean_distance_is_exact": trial.extent.is_exact,
        "depths": [
            {"depth": number, **depth._asdict()} for number, depth in enumerate(trial.depths)
        ],
        "after": trial.after,
    }
