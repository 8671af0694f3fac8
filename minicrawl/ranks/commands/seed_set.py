"""`minicrawl seed-set`: options, command and report."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.cli import PROGRAM
from minicrawl.cli.options import Number, json_option, source_options
from minicrawl.cli.output import progress, show_json, show_list, show_table
from minicrawl.graph.csr import NamedGraph
from minicrawl.graph.distances import UNREACHED, Extent
from minicrawl.graph.outline import extent as extent_of
from minicrawl.graphfiles import read
from minicrawl.ranks.pagerank import pagerank
from minicrawl.ranks.seeds import (
    Core,
    CoreDistances,
    CoreKind,
    CoreRule,
    CrawlComparison,
    Depth,
    DepthCoverage,
    EqualPages,
    SeedChoice,
    SeedReplacement,
    SeedSet,
    TransferredSeeds,
    between_cores,
    compared,
    distribution,
    seed_set as seed_set_of,
    summary_of,
    transferred,
)
from minicrawl.ranks.sites import sites_of
from minicrawl.report.formats import Figure, PlotLine, prepare, write
from minicrawl.report.store_graph import Source
from minicrawl.wording import counted, visible

# ================================================================ report
#
# The output of `minicrawl seed-set`: seeds, their cores, vanished seeds and the evaluation.
#
# Law: stdout has only the seeds, or one JSON document. Tables and remarks go to stderr.

CORE_HEADINGS = ("core", "hubs×authorities", "density", "seed")
DEPTH_HEADINGS = ("depth", "pages", "mean PageRank", "random pages", "mean PageRank")
AFTER_HEADINGS = ("pages read", "PageRank from seeds", "from random pages", "± standard error")
_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """Distances between cores and in the graph, and coverage of the crawls."""

    between_cores: NDArray[np.int32]
    extent: Extent
    crawls: CrawlComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Input of the report."""

    asked: int
    rule: CoreRule
    found: SeedSet
    in_crawl: TransferredSeeds
    """Seeds in the graph to crawl: a newer graph, or the graph of the cores."""
    trial: Trial | None


def show(report: Report) -> None:
    """Print the seeds to stdout, and everything else to stderr."""
    found, in_crawl = report.found, report.in_crawl
    cores = zip(found.cores, found.named.names.of(found.seeds), strict=True)
    lines = (
        (
            f"{number:,}",
            f"({len(core.hubs):,}×{len(core.authorities):,})",
            f"{core.density:.4g} %",
            seed,
        )
        for number, (core, seed) in enumerate(cores, start=1)
    )
    show_list(CORE_HEADINGS, lines, texts=1, err=True)
    for remark in _remarks(report):
        click.echo(f"{PROGRAM}: {visible(remark)}", err=True)
    if report.trial is not None:
        _show_trial(report.trial, len(in_crawl.seeds))
    for name in in_crawl.named.names.of(in_crawl.seeds):
        click.echo(visible(name))


def document(report: Report) -> dict[str, object]:
    """Return the report as a JSON document."""
    found, in_crawl = report.found, report.in_crawl
    cores = zip(found.cores, found.named.names.of(found.seeds), strict=True)
    return {
        "nodes": found.named.graph.nodes,
        "edges": found.named.graph.edges,
        "links_between_hosts": found.cores[0].links_left,
        "asked": report.asked,
        "core": report.rule.kind.value,
        "seeds": in_crawl.named.names.of(in_crawl.seeds),
        "cores": [_core_document(core, seed, found.named) for core, seed in cores],
        "heirs": [
            {"seed": one.seed, "now": name, "shared_links": one.shared_links}
            for one, name in _named_replacements(in_crawl)
        ]
        or None,
        "evaluation": report.trial and _trial_document(report.trial),
    }


# ---------------------------------------------------------------- cores


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
            "only links of a node to itself can be dropped"
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
    looked_up = report.in_crawl.replacements
    if looked_up and all(one.node is not None and one.shared_links is None for one in looked_up):
        yield f"{counted(len(looked_up), 'seed is', 'seeds are')} in the newer graph"
    for one, name in _named_replacements(report.in_crawl):
        if name is None:
            yield f"{one.seed} is not in the newer graph"
        elif one.shared_links is not None:
            yield (
                f"{one.seed} is not in the newer graph: {name} replaces it, with "
                f"{counted(one.shared_links, 'shared link')}"
            )


def _sites_of_seeds(found: SeedSet) -> str:
    sites = sites_of(found.named.names)
    of_seeds = [sites.names[site] for site in sites.of_node[list(found.seeds)].tolist()]
    (site, most), *_ = Counter(of_seeds).most_common(1)
    together = "" if most == 1 else f", {most:,} of them on {site}"
    seeds, on = counted(len(of_seeds), "seed"), counted(len(set(of_seeds)), "site")
    return f"{seeds} on {on}{together}"


def _named_replacements(in_crawl: TransferredSeeds) -> Iterator[tuple[SeedReplacement, str | None]]:
    """Return each seed with the name of its node in the newer graph, or None."""
    nodes = [one.node for one in in_crawl.replacements if one.node is not None]
    names = iter(in_crawl.named.names.of(nodes))
    return ((one, None if one.node is None else next(names)) for one in in_crawl.replacements)


# ---------------------------------------------------------------- the evaluation


def _show_trial(trial: Trial, seeds: int) -> None:
    show_table(
        f"breadth-first crawls from {counted(seeds, 'seed')} and from as many random pages",
        DEPTH_HEADINGS,
        (
            (f"{number:,}", *_read_cells(depth.seeds), *_read_cells(depth.random))
            for number, depth in enumerate(trial.crawls.depths)
        ),
        caption(trial),
        err=True,
    )
    show_table(
        "PageRank gathered after equal numbers of pages",
        AFTER_HEADINGS,
        map(_after_line, trial.crawls.after),
        "a crawl that ends earlier keeps what it gathered",
        err=True,
    )


def _after_line(one: EqualPages) -> tuple[str, ...]:
    error = "-" if one.random_error is None else f"{100 * one.random_error:.2g} %"
    return f"{one.pages:,}", f"{100 * one.seeds:.3g} %", f"{100 * one.random:.3g} %", error


def _read_cells(read: DepthCoverage) -> tuple[str, str]:
    worth = "-" if read.importance is None else f"{100 * read.importance:.3g} %"
    return f"{read.pages:,.{0 if read.pages.is_integer() else 1}f}", worth


def caption(trial: Trial) -> str:
    """Return how far cores and pages are from each other, and whether that is an estimate."""
    connected = int(np.count_nonzero(trial.between_cores > 0))
    pairs = len(trial.between_cores) * (len(trial.between_cores) - 1)
    return (
        f"between cores: {_distances(summary_of(trial.between_cores))}, "
        f"{connected:,} of {counted(pairs, 'pair')} connected; "
        f"between pages: {_links(trial.extent.mean_distance)}"
        f"{'' if trial.extent.is_exact else ', estimated'}"
    )


def _distances(found: CoreDistances | None) -> str:
    if found is None:
        return _links(None)
    return f"{_links(found.mean)}, {found.smallest:,} at least and {found.largest:,} at most"


def _links(mean: float | None) -> str:
    if mean is None:
        return "no path"
    return f"{mean:.4g} {'link' if mean == 1 else 'links'} on average"


def _trial_document(trial: Trial) -> dict[str, object]:
    found = summary_of(trial.between_cores)
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


# ================================================================ figures
#
# Figures of `minicrawl seed-set`: degrees, cores, and the crawls and distances of --evaluate.

Degrees = NDArray[np.integer]


def draw(out: Path, report: Report) -> None:
    """Write all figures into this folder, each with its numbers."""
    for figure in _figures(report):
        for path in write(out, figure):
            click.echo(visible(str(path)), err=True)


def _figures(report: Report) -> Iterator[Figure]:
    found = report.found
    graph, pruned = found.named.graph, found.between_hosts
    yield _degrees_figure("in", "links to a page", graph.in_degrees(), pruned.in_degrees())
    yield _degrees_figure("out", "links from a page", graph.out_degrees(), pruned.out_degrees())
    yield _cores_figure(
        "core-sizes",
        "Hubs and authorities of each core",
        "pages",
        hubs=[len(core.hubs) for core in found.cores],
        authorities=[len(core.authorities) for core in found.cores],
    )
    yield _cores_figure(
        "links-left",
        "Links between hosts that earlier cores left",
        "links",
        links=[core.links_left for core in found.cores],
    )
    if (trial := report.trial) is not None:
        yield _depth_figure("Mean PageRank", trial.crawls.depths, lambda read: read.importance)
        yield _depth_figure("Pages", trial.crawls.depths, lambda read: read.pages or None)
        yield _after_figure(trial.crawls.after)
        yield _distances_figure(trial.between_cores)


def _degrees_figure(
    direction: str, links: str, everywhere: Degrees, between_hosts: Degrees
) -> Figure:
    degrees = {"all links": everywhere, "links between hosts": between_hosts}
    return Figure(
        name=f"{direction}-degrees",
        title=f"Pages by the {links}",
        x_label=links,
        y_label="pages",
        lines=[
            PlotLine(label=label, x=counts.degrees.tolist(), y=counts.pages.tolist())
            for label, counts in zip(degrees, map(distribution, degrees.values()), strict=True)
        ],
        log_x=True,
        log_y=True,
        points=True,
    )


def _cores_figure(name: str, title: str, y_label: str, **values: Sequence[int]) -> Figure:
    return Figure(
        name=name,
        title=title,
        x_label="core",
        y_label=y_label,
        lines=[
            PlotLine(label=label, x=range(1, len(numbers) + 1), y=numbers)
            for label, numbers in values.items()
        ],
    )


def _distances_figure(between: Degrees) -> Figure:
    """Draw the distances from each core to the nearest and to the farthest other core."""
    found = {core: row[row > 0] for core, row in enumerate(between, 1) if (row > 0).any()}
    return Figure(
        name="core-distances",
        title="Links from a core to the nearest and to the farthest other core",
        x_label="core",
        y_label="links",
        lines=[
            PlotLine(label=label, x=list(found), y=[int(of(row)) for row in found.values()])
            for label, of in (("smallest distance", np.min), ("largest distance", np.max))
        ],
        points=True,
    )


def _after_figure(after: Sequence[EqualPages]) -> Figure:
    pages = [one.pages for one in after]
    errors = [one.random_error for one in after if one.random_error is not None]
    return Figure(
        name="gathered-pagerank",
        title="PageRank gathered after equal numbers of pages",
        x_label="pages read",
        y_label="PageRank gathered, share of all",
        lines=[
            PlotLine(label="from the seeds", x=pages, y=[one.seeds for one in after]),
            PlotLine(
                label="from random pages",
                x=pages,
                y=[one.random for one in after],
                error=errors or None,
            ),
        ],
        log_x=True,
    )


def _depth_figure(
    name: str, depths: Sequence[Depth], value: Callable[[DepthCoverage], float | None]
) -> Figure:
    return Figure(
        name=f"depth-{name.lower().replace(' ', '-')}",
        title=f"{name} at each depth of a breadth-first crawl",
        x_label="links from the nearest seed",
        y_label=name,
        lines=[
            _line("from the seeds", [value(depth.seeds) for depth in depths]),
            _line("from random pages", [value(depth.random) for depth in depths]),
        ],
        log_y=True,
    )


def _line(label: str, values: Sequence[float | None]) -> PlotLine:
    known = {depth: value for depth, value in enumerate(values) if value is not None}
    return PlotLine(label=label, x=list(known), y=list(known.values()))


# ================================================================ command
#
# `minicrawl seed-set`: seeds for a crawl, one from each community of a graph.

DEFAULT_RULE = CoreRule()
DRAWS, SEED = 10, 1


@click.command("seed-set")
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Find N seeds.",
)
@click.option(
    "--core",
    type=click.Choice([kind.value for kind in CoreKind]),
    help="Complete a core at --size pages (size), before the page that lowers its density below "
    "--density (density), or when no more page fits --density (maximal). The last two stop at "
    f"{DEFAULT_RULE.most_hubs} hubs.  [default: size with --size, else maximal]",
)
@click.option(
    "--size",
    metavar="N",
    type=click.IntRange(min=2),
    help="Number of hubs and authorities in a core; a page that is both counts twice.  "
    f"[default: {DEFAULT_RULE.size}]",
)
@click.option(
    "--at-once",
    metavar="N",
    type=click.IntRange(min=1),
    help="Add N hubs and N authorities at a time, with --core size.  "
    f"[default: {DEFAULT_RULE.at_once}]",
)
@click.option(
    "--density",
    metavar="PERCENT",
    type=Number(min=0, min_open=True, max=100),
    help="Minimum share of the possible links from hubs to authorities.  "
    f"[default: {DEFAULT_RULE.density:g}]",
)
@click.option(
    "--take",
    type=click.Choice([choice.value for choice in SeedChoice]),
    default=SeedChoice.HUB.value,
    show_default=True,
    help="Take the best hub or the best authority of a core as its seed.",
)
@click.option(
    "--evaluate",
    is_flag=True,
    help="Show distances between the cores, and compare breadth-first crawls from the seeds and "
    "from as many random pages.",
)
@click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Number of random sets of pages to compare with.  [default: {DRAWS}]",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    help=f"Seed of the random choice of pages.  [default: {SEED}]",
)
@click.option(
    "--new",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Look the seeds up by name in this newer graph of the same web, and evaluate them there.",
)
@click.option(
    "--similar",
    is_flag=True,
    help="Replace a seed that is missing in --new by the page of its host that shares the most "
    "links.",
)
@click.option(
    "--figures",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Draw the degrees, the cores, the remaining links and the crawls of --evaluate as PNG in "
    "this folder, each with its CSV. Needs matplotlib.",
)
@json_option
@source_options
def seed_set(
    source: Source,
    count: int,
    core: str | None,
    size: int | None,
    at_once: int | None,
    density: float | None,
    take: str,
    evaluate: bool,
    draws: int | None,
    seed: int | None,
    new: Path | None,
    similar: bool,
    figures: Path | None,
    as_json: bool,
) -> None:
    """Find seeds, one per community.

    The strongest communities come first. Links within a host are dropped. Then these steps repeat:
    HITS runs for 60 rounds, a core of hubs and authorities grows from the best authority, the core
    gives one seed, and its pages are removed.
    """
    rule = _rule(core, size, at_once, density)
    if not evaluate and (draws, seed) != (None, None):
        raise click.UsageError("--draws and --seed need --evaluate")
    if similar and new is None:
        raise click.UsageError("--similar needs --new")
    if figures:
        prepare(figures)
    newer = None
    if new:
        with progress("newer graph") as tell:
            newer = read(new, tell)
    named = source.graph
    with source.progress("cores") as tell:
        found = seed_set_of(named, count, rule, SeedChoice(take), tell)
    if newer is None:
        in_crawl = TransferredSeeds(named=named, seeds=found.seeds)
    else:
        in_crawl = transferred(found, newer, similar=similar)
    trial = None
    if evaluate:
        rng = np.random.default_rng(SEED if seed is None else seed)
        trial = _evaluated(found, in_crawl, rng, draws or DRAWS)
    report = Report(asked=count, rule=rule, found=found, in_crawl=in_crawl, trial=trial)
    show_json(document(report)) if as_json else show(report)
    if figures:
        draw(figures, report)


def _rule(
    core: str | None, size: int | None, at_once: int | None, density: float | None
) -> CoreRule:
    """Return the rule that says when a core is complete."""
    kind = CoreKind(core or (CoreKind.SIZE if size else DEFAULT_RULE.kind))
    if kind is CoreKind.SIZE and density is not None:
        raise click.UsageError("--density needs --core density or --core maximal")
    if kind is not CoreKind.SIZE and (size or at_once):
        raise click.UsageError("--size and --at-once need --core size")
    return CoreRule(
        kind=kind,
        size=size or DEFAULT_RULE.size,
        at_once=at_once or DEFAULT_RULE.at_once,
        density=density or DEFAULT_RULE.density,
    )


def _evaluated(
    found: SeedSet, in_crawl: TransferredSeeds, rng: np.random.Generator, draws: int
) -> Trial:
    """Evaluate the cores in the graph they were found in, and the seeds in the graph to crawl."""
    graph = found.named.graph
    with progress("distances") as tell:
        extent = extent_of(graph, rng, tell)
    with progress("distances of cores") as tell:
        distances = between_cores(graph, found.cores, tell)
    graph = in_crawl.named.graph
    with progress("crawls") as tell:
        importance = pagerank(graph).values
        crawls = compared(graph, importance, in_crawl.seeds, rng, draws=draws, tell=tell)
    return Trial(between_cores=distances, extent=extent, crawls=crawls)
