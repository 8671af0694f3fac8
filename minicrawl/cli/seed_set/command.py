"""`minicrawl seed-set`: seeds for a crawl, one from each community of a graph."""

from pathlib import Path

import click
import numpy as np

from minicrawl.analysis import seedset
from minicrawl.analysis.source import Source
from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.sources import source_options
from minicrawl.cli.common.stores import json_option
from minicrawl.cli.common.tables import show_json
from minicrawl.cli.seed_set.options import (
    Trying,
    count_option,
    newer_options,
    rule_options,
    take_option,
    trial_options,
)
from minicrawl.cli.seed_set.report import Report, document, draw, show
from minicrawl.graph.named import NamedGraph
from minicrawl.graphfiles.reading import read
from minicrawl.ranks.seeds.cores import CoreRule


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
