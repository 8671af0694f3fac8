"""`minicrawl seed-set`: seeds for a crawl, one from each community of a graph.

Groups of options become one argument each: `rule`, when a core is complete; `trial`, how the seeds
are evaluated; `new`, a newer graph in which they are looked up.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from minicrawl.analysis import seedset
from minicrawl.analysis.source import Source
from minicrawl.cli.common.options import Number
from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import json_option, source_options
from minicrawl.cli.common.tables import show_json
from minicrawl.cli.seed_set.figures import draw
from minicrawl.cli.seed_set.report import Report, document, show
from minicrawl.graph.named import NamedGraph
from minicrawl.graphfiles.reading import read
from minicrawl.lab.figures import prepare
from minicrawl.ranks.seeds.cores import CoreKind, CoreRule

Command = Callable[..., Any]

DEFAULT_RULE = CoreRule()
DRAWS, SEED = 10, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOptions:
    """How the seeds are evaluated."""

    draws: int
    seed: int


count_option = click.option(
    "--count",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Find N seeds.",
)
core_option = click.option(
    "--core",
    type=click.Choice([kind.value for kind in CoreKind]),
    help="When a core is complete. size: it has --size pages. density: the next page would lower "
    "its density below --density (the paper keeps that page, minicrawl removes it). maximal: like "
    "density, but such pages are skipped until no page is left that fits, or the core has "
    f"{DEFAULT_RULE.most_hubs} hubs.  [default: size with --size, else maximal]",
)
size_option = click.option(
    "--size",
    metavar="N",
    type=click.IntRange(min=2),
    help="A core has N hubs and authorities together; a page that is both counts twice.  "
    f"[default: {DEFAULT_RULE.size}]",
)
at_once_option = click.option(
    "--at-once",
    metavar="N",
    type=click.IntRange(min=1),
    help="With --core size: add N hubs and N authorities at a time.  "
    f"[default: {DEFAULT_RULE.at_once}]",
)
density_option = click.option(
    "--density",
    metavar="PERCENT",
    type=Number(min=0, min_open=True, max=100),
    help="The minimum share of the possible links from hubs to authorities.  "
    f"[default: {DEFAULT_RULE.density:g}]",
)
take_option = click.option(
    "--take",
    type=click.Choice([take.value for take in seedset.Take]),
    default=seedset.Take.HUB.value,
    show_default=True,
    help="Take the best hub of a core as the seed, or the best authority.",
)
evaluate_option = click.option(
    "--evaluate",
    is_flag=True,
    help="Show the distances between the cores, and compare breadth-first crawls from the seeds "
    "and from as many random pages.",
)
draws_option = click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Draw random pages N times.  [default: {DRAWS}]",
)
seed_option = click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    help=f"Seed of the random choice of pages.  [default: {SEED}]",
)
new_option = click.option(
    "--new",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A newer graph of the same web. The seeds are looked up and evaluated in it, by name.",
)
similar_option = click.option(
    "--similar",
    is_flag=True,
    help="If a seed is not in --new, take the page of its host that shares the most links.",
)


figures_option = click.option(
    "--figures",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Draw figures as PNG into this folder, with the numbers as CSV beside each: the degrees "
    "of the pages, the cores, the links that are left, and the crawls of --evaluate. Needs "
    "matplotlib.",
)


def rule_options(command: Command) -> Command:
    """Pass `rule`, when a core is complete, to the command."""

    @functools.wraps(command)
    def with_rule(
        core: str | None,
        size: int | None,
        at_once: int | None,
        density: float | None,
        **rest: Any,
    ) -> None:
        kind = CoreKind(core or (CoreKind.SIZE if size else DEFAULT_RULE.kind))
        if kind is CoreKind.SIZE and density is not None:
            raise click.UsageError("--density needs --core density or --core maximal")
        if kind is not CoreKind.SIZE and (size or at_once):
            raise click.UsageError("--size and --at-once need --core size")
        rule = CoreRule(
            kind=kind,
            size=size or DEFAULT_RULE.size,
            at_once=at_once or DEFAULT_RULE.at_once,
            density=density or DEFAULT_RULE.density,
        )
        command(rule=rule, **rest)

    return core_option(size_option(at_once_option(density_option(with_rule))))


def trial_options(command: Command) -> Command:
    """Pass `trial` to the command; None without --evaluate."""

    @functools.wraps(command)
    def with_trial(evaluate: bool, draws: int | None, seed: int | None, **rest: Any) -> None:
        if not evaluate and (draws, seed) != (None, None):
            raise click.UsageError("--draws and --seed need --evaluate")
        trial = TrialOptions(draws=draws or DRAWS, seed=SEED if seed is None else seed)
        command(trial=trial if evaluate else None, **rest)

    return evaluate_option(draws_option(seed_option(with_trial)))


def newer_options(command: Command) -> Command:
    """Pass `new`, a newer graph, and `similar` to the command."""

    @functools.wraps(command)
    def with_newer(new: Path | None, similar: bool, **rest: Any) -> None:
        if similar and new is None:
            raise click.UsageError("--similar needs --new")
        command(new=new, similar=similar, **rest)

    return new_option(similar_option(with_newer))


@click.command("seed-set")
@count_option
@rule_options
@take_option
@trial_options
@newer_options
@figures_option
@json_option
@source_options
def seed_set(
    source: Source,
    count: int,
    rule: CoreRule,
    take: str,
    trial: TrialOptions | None,
    new: Path | None,
    similar: bool,
    figures: Path | None,
    as_json: bool,
) -> None:
    """Find seeds for a crawl, one in each of the strongest communities.

    Links within a host are dropped. Then these steps repeat: HITS runs for 60 rounds, a core of
    hubs and authorities grows from the best authority, the core gives one seed, and its pages are
    removed.
    """
    if figures:
        prepare(figures)
    newer = _read_newer(new) if new else None
    found = seedset.seed_set(source, count, rule, seedset.Take(take))
    sown = seedset.sown_anew(found, newer, similar=similar) if newer else seedset.sown(found)
    result = _evaluate(found, sown, trial) if trial else None
    report = Report(asked=count, rule=rule, found=found, sown=sown, trial=result)
    show_json(document(report)) if as_json else show(report)
    if figures:
        draw(figures, report)


def _read_newer(file: Path) -> NamedGraph:
    with progress("newer graph") as tell:
        return read(file, tell)


def _evaluate(found: seedset.SeedSet, sown: seedset.Sown, options: TrialOptions) -> seedset.Trial:
    rng = np.random.default_rng(options.seed)
    return seedset.trial(found, sown, draws=options.draws, dice=rng, progress=progress)
