"""`minicrawl seed-set`: seeds for a crawl, one from each community of a graph.

Law: stdout has the seeds, one a line, and nothing else; what is told of them goes to stderr.
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
from minicrawl.cli.lab import Number
from minicrawl.cli.progress import progress
from minicrawl.cli.seed_report import Report, document, draw, show
from minicrawl.cli.sources import source_options
from minicrawl.cli.stores import json_option
from minicrawl.cli.tables import show_json
from minicrawl.graphfiles.reading import read
from minicrawl.lab.figures import pyplot
from minicrawl.ranks.seeds.cores import Kind, Rule

Command = Callable[..., Any]

USUAL = Rule()
DRAWS, SEED = 10, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trying:
    """How the seeds are tried."""

    draws: int
    seed: int
    figure: Path | None


def rule_options(command: Command) -> Command:
    """Hands the command `rule`."""

    @functools.wraps(command)
    def with_rule(
        core: str, size: int | None, at_once: int | None, density: float | None, **rest: Any
    ) -> None:
        kind = Kind(core)
        if kind is Kind.SIZE and density is not None:
            raise click.UsageError("--density is for --core density and --core maximal")
        if kind is not Kind.SIZE and (size or at_once):
            raise click.UsageError("--size and --at-once are for --core size")
        rule = Rule(
            kind=kind,
            size=size or USUAL.size,
            at_once=at_once or USUAL.at_once,
            density=density or USUAL.density,
        )
        command(rule=rule, **rest)

    decorated: Command = with_rule
    for option in (
        click.option(
            "--density",
            metavar="PERCENT",
            type=Number(min=0, min_open=True, max=100),
            help="Of the links that could lead from hubs to authorities, how many there are at "
            f"least.  [default: {USUAL.density:g}]",
        ),
        click.option(
            "--at-once",
            metavar="N",
            type=click.IntRange(min=1),
            help="With --core size, how many hubs join in a turn, and how many authorities.  "
            f"[default: {USUAL.at_once}]",
        ),
        click.option(
            "--size",
            metavar="N",
            type=click.IntRange(min=2),
            help="With --core size, how many pages are a core, hubs and authorities together.  "
            f"[default: {USUAL.size}]",
        ),
        click.option(
            "--core",
            type=click.Choice([kind.value for kind in Kind]),
            default=USUAL.kind.value,
            show_default=True,
            help="When a core is complete. size: it has so many pages. density: the next page "
            "would make it less dense; the paper keeps that page, here it is taken back. maximal: "
            "such pages are passed over until nobody is left who fits.",
        ),
    ):
        decorated = option(decorated)
    return decorated


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

    decorated: Command = with_trial
    for option in (
        click.option(
            "--figure",
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            callback=_drawable,
            help="Draw the crawls of --evaluate as a PNG.",
        ),
        click.option(
            "--seed",
            metavar="N",
            type=click.IntRange(min=0),
            help=f"The random pages are drawn from this.  [default: {SEED}]",
        ),
        click.option(
            "--draws",
            metavar="N",
            type=click.IntRange(min=1),
            help=f"How many times random pages are drawn.  [default: {DRAWS}]",
        ),
        click.option(
            "--evaluate",
            is_flag=True,
            help="Tell how far apart the cores are, and what breadth-first crawls read from the "
            "seeds, and from as many random pages.",
        ),
    ):
        decorated = option(decorated)
    return decorated


def _drawable(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Refuses before anything is computed what could not be drawn."""
    if path is not None:
        pyplot()
        if not path.absolute().parent.is_dir():
            raise click.BadParameter(f"there is no folder {path.absolute().parent}")
    return path


@click.command("seed-set")
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many seeds.",
)
@rule_options
@click.option(
    "--take",
    type=click.Choice([take.value for take in seedset.Take]),
    default=seedset.Take.HUB.value,
    show_default=True,
    help="The page of a core that is the seed: its best hub, or its best authority.",
)
@trial_options
@click.option(
    "--new",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A newer graph of the same web: the seeds are looked up in it by their names, and tried "
    "there.",
)
@click.option(
    "--similar",
    is_flag=True,
    help="Where a seed vanished from --new, take the page of its host that shares the most links.",
)
@json_option
@source_options
def seed_set(
    source: Source,
    count: int,
    rule: Rule,
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
    if similar and new is None:
        raise click.UsageError("--similar is for --new: name the newer graph")
    found = seedset.seed_set(source, count, rule, seedset.Take(take))
    sown = seedset.sown(found)
    if new is not None:
        with progress("newer graph") as tell:
            sown = seedset.sown_anew(found, read(new, tell), similar=similar)
    trial = None if trying is None else _tried(found, sown, trying)
    report = Report(asked=count, rule=rule, found=found, sown=sown, trial=trial)
    show_json(document(report)) if as_json else show(report)
    if trial is not None and trying is not None and trying.figure is not None:
        draw(trying.figure, trial)


def _tried(found: seedset.SeedSet, sown: seedset.Sown, trying: Trying) -> seedset.Trial:
    dice = np.random.default_rng(trying.seed)
    return seedset.trial(found, sown, draws=trying.draws, dice=dice, progress=progress)
