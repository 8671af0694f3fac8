"""`minicrawl seed-set`: seeds for a crawl, one from each community of a graph."""

from pathlib import Path
from typing import Any

import click
import numpy as np

from minicrawl.cli.options import Number
from minicrawl.cli.output import show_json
from minicrawl.cli.parameters import choice, number, option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option, source_options
from minicrawl.graph.outline import extent as extent_of
from minicrawl.graphfiles.reading import read
from minicrawl.ranks.commands.seed_set_report import Report, Trial, document, show
from minicrawl.ranks.cores import CoreKind, CoreRule
from minicrawl.ranks.pagerank import pagerank
from minicrawl.ranks.seed_evaluation import between_cores, compared
from minicrawl.ranks.seeds import (
    POOL,
    SeedChoice,
    SeedSet,
    TransferredSeeds,
    seed_set as seed_set_of,
    transferred,
)
from minicrawl.report.graph.source import Source

DEFAULT_RULE = CoreRule()
DRAWS, SEED = 10, 1


class Take(click.ParamType[int | SeedChoice]):
    """A page of a core, or the seed of a random choice of cores."""

    name = "take"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | SeedChoice:
        kind, _, seed = str(value).partition(":")
        if kind == "random" and seed.isascii() and seed.isdigit():
            return int(seed)
        if value not in {choice.value for choice in SeedChoice}:
            self.fail(f"{value!r} is none of hub, authority, random:SEED with a number", param, ctx)
        return SeedChoice(value)


_TAKE = Take()
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


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
        type=_TAKE,
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
        type=_FILE,
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
    rule = _rule(core, size, at_once, density)
    if not evaluate and (draws, seed) != (None, None):
        raise click.UsageError("--draws and --seed need --evaluate")
    if similar and new is None:
        raise click.UsageError("--similar needs --new")
    if new:
        with progress("newer graph") as tell:
            newer = read(new, tell)
    with source.progress("cores") as tell:
        cores_rng = np.random.default_rng(take) if isinstance(take, int) else None
        kind = SeedChoice.HUB if isinstance(take, int) else take
        seeds = seed_set_of(source.graph, count, rule, kind, tell, rng=cores_rng)
    in_crawl = TransferredSeeds(named=source.graph, seeds=seeds.seeds)
    if new:
        in_crawl = transferred(seeds, newer, similar=similar)
    trial = None
    if evaluate:
        rng = np.random.default_rng(SEED if seed is None else seed)
        trial = evaluated(seeds, in_crawl, rng, draws or DRAWS)
    report = Report(count=count, rule=rule, seed_set=seeds, in_crawl=in_crawl, trial=trial)
    show_json(document(report)) if as_json else show(report)


def _rule(
    core: CoreKind | None, size: int | None, at_once: int | None, density: float | None
) -> CoreRule:
    kind = core or (CoreKind.SIZE if size else DEFAULT_RULE.kind)
    if kind.is_by_size and density is not None:
        raise click.UsageError("--density needs --core density or --core maximal")
    if not kind.is_by_size and (size or at_once):
        raise click.UsageError("--size and --at-once need --core size or --core paper")
    return CoreRule(
        kind=kind,
        size=size or DEFAULT_RULE.size,
        at_once=at_once or DEFAULT_RULE.at_once,
        density=density or DEFAULT_RULE.density,
    )


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
