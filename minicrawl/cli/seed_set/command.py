"""`minicrawl seed-set`: seeds for a crawl, one from each community of a graph.

The options of `minicrawl seed-set`: together what a core is, and how seeds are tried.
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
from minicrawl.cli.seed_set.report import Report, document, draw, show
from minicrawl.graph.named import NamedGraph
from minicrawl.graphfiles.reading import read
from minicrawl.lab.figures import pyplot
from minicrawl.ranks.seeds.cores import CoreKind, CoreRule

Command = Callable[..., Any]

USUAL = CoreRule()
DRAWS, SEED = 10, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trying:
    """How the seeds are tried."""

    draws: int
    seed: int
    figure: Path | None


count_option = click.option(
    "--count",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many seeds.",
)
core_option = click.option(
    "--core",
    type=click.Choice([kind.value for kind in CoreKind]),
    default=USUAL.kind.value,
    show_default=True,
    help="When a core is complete. size: it has so many pages. density: the next page would make "
    "it less dense; the paper keeps that page, here it is taken back. maximal: such pages are "
    f"passed over until nobody is left who fits, or there are {USUAL.most_hubs} hubs.",
)
size_option = click.option(
    "--size",
    metavar="N",
    type=click.IntRange(min=2),
    help="With --core size, how many pages are a core, hubs and authorities together.  "
    f"[default: {USUAL.size}]",
)
at_once_option = click.option(
    "--at-once",
    metavar="N",
    type=click.IntRange(min=1),
    help="With --core size, how many hubs join in a turn, and how many authorities.  "
    f"[default: {USUAL.at_once}]",
)
density_option = click.option(
    "--density",
    metavar="PERCENT",
    type=Number(min=0, min_open=True, max=100),
    help="Of the links that could lead from hubs to authorities, how many there are at least.  "
    f"[default: {USUAL.density:g}]",
)
take_option = click.option(
    "--take",
    type=click.Choice([take.value for take in seedset.Take]),
    default=seedset.Take.HUB.value,
    show_default=True,
    help="The page of a core that is the seed: its best hub, or its best authority.",
)
evaluate_option = click.option(
    "--evaluate",
    is_flag=True,
    help="Tell how far apart the cores are, and what breadth-first crawls read from the seeds, "
    "and from as many random pages.",
)
draws_option = click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"How many times random pages are drawn.  [default: {DRAWS}]",
)
seed_option = click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    help=f"The random pages are drawn from this.  [default: {SEED}]",
)
new_option = click.option(
    "--new",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A newer graph of the same web: the seeds are looked up in it by name, and tried there.",
)
similar_option = click.option(
    "--similar",
    is_flag=True,
    help="Where a seed vanished from --new, take the page of its host that shares the most links.",
)


def _drawable(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Refuses before anything is computed what could not be drawn."""
    if path is not None:
        pyplot()
        if not path.absolute().parent.is_dir():
            raise click.BadParameter(f"there is no folder {path.absolute().parent}")
    return path


figure_option = click.option(
    "--figure",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_drawable,
    help="Draw the crawls of --evaluate as a PNG.",
)


def rule_options(command: Command) -> Command:
    """Hands the command `rule`."""

    @functools.wraps(command)
    def with_rule(
        core: str, size: int | None, at_once: int | None, density: float | None, **rest: Any
    ) -> None:
        kind = CoreKind(core)
        if kind is CoreKind.SIZE and density is not None:
            raise click.UsageError("--density is for --core density and --core maximal")
        if kind is not CoreKind.SIZE and (size or at_once):
            raise click.UsageError("--size and --at-once are for --core size")
        rule = CoreRule(
            kind=kind,
            size=size or USUAL.size,
            at_once=at_once or USUAL.at_once,
            density=density or USUAL.density,
        )
        command(rule=rule, **rest)

    return core_option(size_option(at_once_option(density_option(with_rule))))


def trial_options(command: Command) -> Command:
    """Hands the command `trying`, or None."""

    @functools.wraps(command)
    def with_trial(
        evaluate: bool, draws: int | None, seed: int | None, figure: Path | None, **rest: Any
    ) -> None:
        if not evaluate and (draws, seed, figure) != (None, None, None):
            raise click.UsageError("--draws, --seed and --figure are for --evaluate: add it")
        trying = Trying(draws=draws or DRAWS, seed=SEED if seed is None else seed, figure=figure)
        command(trying=trying if evaluate else None, **rest)

    return evaluate_option(draws_option(seed_option(figure_option(with_trial))))


def newer_options(command: Command) -> Command:
    """Hands the command `new`, and `similar`, which is for it."""

    @functools.wraps(command)
    def with_newer(new: Path | None, similar: bool, **rest: Any) -> None:
        if similar and new is None:
            raise click.UsageError("--similar is for --new: name the newer graph")
        command(new=new, similar=similar, **rest)

    return new_option(similar_option(with_newer))


@click.command("seed-set")
@count_option
@rule_options
@take_option
@trial_options
@newer_options
@json_option
@source_options
def seed_set(
    source: Source,
    count: int,
    rule: CoreRule,
    take: str,
    trying: Trying | None,
    new: Path | None,
    similar: bool,
    as_json: bool,
) -> None:
    """Print seeds for a crawl, one from each of the strongest communities.

    Links inside a host are dropped. Then, again and again: 60 rounds of HITS, a core of hubs and
    authorities that grows from the best authority, a seed from it, and its pages are taken away.
    """
    newer = _newer(new) if new else None
    found = seedset.seed_set(source, count, rule, seedset.Take(take))
    sown = seedset.sown_anew(found, newer, similar=similar) if newer else seedset.sown(found)
    trial = _tried(found, sown, trying) if trying else None
    report = Report(asked=count, rule=rule, found=found, sown=sown, trial=trial)
    show_json(document(report)) if as_json else show(report)
    if trial and trying and trying.figure:
        draw(trying.figure, trial)


def _newer(file: Path) -> NamedGraph:
    with progress("newer graph") as tell:
        return read(file, tell)


def _tried(found: seedset.SeedSet, sown: seedset.Sown, trying: Trying) -> seedset.Trial:
    dice = np.random.default_rng(trying.seed)
    return seedset.trial(found, sown, draws=trying.draws, dice=dice, progress=progress)
