"""`minicrawl compare`, `stability` and `agree`: how good a rank is."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from minicrawl.analysis import comparing, labels
from minicrawl.analysis.source import Source
from minicrawl.cli.sources import source_options
from minicrawl.cli.stores import json_option, say_what_is_unranked
from minicrawl.cli.tables import show_facts, show_json
from minicrawl.export.cells import visible
from minicrawl.ranks.compare import Comparison, mean_of

KS = "10,100,1000"
UNDEFINED = "undefined: all are alike"
UNKNOWN = "unknown: all are 0 there"


class Sizes(click.ParamType[tuple[int, ...]]):
    """Whole numbers above 0 with commas between."""

    name = "sizes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        texts = [text.strip() for text in str(value).split(",")]
        if not all(text.isascii() and text.isdigit() and int(text) for text in texts):
            self.fail(f"{value!r} is no list of sizes such as {KS}", param, ctx)
        return tuple(sorted(set(map(int, texts))))


ks_option = click.option(
    "--k", "ks", metavar="K,...", type=Sizes(), default=KS, show_default=True, help="Sizes of tops."
)


@click.command()
@click.argument("one")
@click.argument("other")
@ks_option
@json_option
@source_options
def compare(source: Source, one: str, other: str, ks: Sequence[int], as_json: bool) -> None:
    """Show how far the ranks ONE and OTHER agree; errors are those of ONE if OTHER is the truth.

    `compare opic pagerank` says how good the importance is that the crawl kept. A rank that is not
    kept is computed with its usual options.
    """
    if source.snapshot is not None:
        say_what_is_unranked(source.snapshot, [one, other])
    found = comparing.compared(source, one, other, ks)
    if as_json:
        show_json({"a": one, "b": other} | _document(found))
    else:
        show_facts((("ranks", f"{one} beside {other}, {found.nodes:,} nodes"), *_facts(found)))


@click.command()
@click.argument("name")
@click.option(
    "--drop",
    metavar="SHARE",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.3,
    show_default=True,
    help="The share of the nodes that is taken away, with their links.",
)
@click.option(
    "--times",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How often, each time from the whole graph.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Which nodes go is drawn from this.",
)
@ks_option
@json_option
@source_options
def stability(
    source: Source,
    name: str,
    drop: float,
    times: int,
    seed: int,
    ks: Sequence[int],
    as_json: bool,
) -> None:
    """Show how the rank NAME changes when a share of the nodes is taken away.

    It is computed with its usual options on what is left, and compared there with the rank on the
    whole graph; the numbers are means.
    """
    wear = comparing.Wear(drop, times, seed)
    graph = source.graph
    with source.progress("stability") as tell:
        runs = comparing.stability(graph, name, wear, ks, tell)
    mean = mean_of(runs)
    if as_json:
        document = {"rank": name, "drop": drop, "times": times, "seed": seed}
        show_json(document | _document(mean) | {"runs": list(map(_document, runs))})
    else:
        said = f"{name} without {drop:.0%} of the nodes, mean of {times}, {mean.nodes:,} left"
        show_facts((("rank", said), *_facts(mean)))


@click.command()
@click.argument("name")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--best",
    type=click.Choice(["4", "1"]),
    default="4",
    show_default=True,
    help="The grade of the pages that matter most.",
)
@json_option
@source_options
def agree(source: Source, name: str, file: Path, best: str, as_json: bool) -> None:
    """Show how far the rank NAME agrees with the grades, 1 to 4, that people gave to pages.

    FILE is CSV with a page and a grade a line. The scores of these pages are cut into as many of
    each grade as people gave.
    """
    found = comparing.judged(source, name, labels.read(file), int(best))
    for unknown in found.unknown:
        click.echo(f"{visible(unknown)} is not known to {name}: it is left out", err=True)
    facts = asdict(found.agreement)
    if as_json:
        show_json(
            {"rank": name}
            | {key: _finite(value) for key, value in facts.items()}
            | {"unknown": found.unknown}
        )
        return
    agreement = found.agreement
    show_facts(
        (
            ("rank", f"{name} beside {agreement.judged:,} grades"),
            ("equal", f"{agreement.equal:.1%}, by chance {agreement.by_chance:.1%}"),
            ("within one", f"{agreement.within_one:.1%}"),
            ("Spearman", _number(agreement.spearman)),
        )
    )


def _document(found: Comparison) -> dict[str, object]:
    return {
        "nodes": found.nodes,
        "kendall_tau": _finite(found.kendall),
        "spearman": _finite(found.spearman),
        "overlap": {str(k): share for k, share in found.overlap.items()},
        "mean_relative_error": {
            "all": _finite(found.error_all),
            "top10": _finite(found.error_top10),
        },
    }


def _facts(found: Comparison) -> Iterator[tuple[str, str]]:
    yield "Kendall tau", _number(found.kendall)
    yield "Spearman", _number(found.spearman)
    for k, share in found.overlap.items():
        yield f"top {k:,}", f"{share:.1%} the same"
    yield "error of all", _percent(found.error_all)
    yield "of the top 10 %", _percent(found.error_top10)


def _number(value: float) -> str:
    return UNDEFINED if math.isnan(value) else f"{value:.4f}"


def _percent(error: float) -> str:
    return UNKNOWN if math.isnan(error) else f"{error:.2%}"


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else value
