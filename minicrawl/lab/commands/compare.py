"""`minicrawl lab compare`: the agreement of two ranks."""

from collections.abc import Sequence
from dataclasses import asdict

import click

from minicrawl.cli.options import ListOption, sizes
from minicrawl.cli.output import NONE, correlation, share, show_facts, show_json
from minicrawl.cli.store_options import json_option, source_options, warn_of_unranked_pages
from minicrawl.ranks.agreement import Comparison, compare as compare_scores
from minicrawl.ranks.commands.named_ranks import full_name, rank_of
from minicrawl.report.graph.source import Source

_MANY, _MOST = 100, 1_000_000


@click.command()
@click.argument("a")
@click.argument("b")
@click.option(
    "--k",
    "ks",
    cls=ListOption,
    metavar="K,...",
    type=sizes,
    default="10,100,1000",
    show_default=True,
    help="Show the overlap of the K best pages of each rank.",
)
@json_option
@source_options
def compare(source: Source, a: str, b: str, ks: Sequence[int], as_json: bool) -> None:
    """Compare two ranks, A and B.

    The error of a page is the difference between A and B, relative to B. If B is close to 0, the
    mean error is huge; use the median.

    `opic`, or `importance`, is the order of `top`; `minicrawl lab compare opic pagerank` shows its
    quality. A missing rank is computed with its default options, and not saved.
    """
    if source.snapshot is not None:
        warn_of_unranked_pages(source.snapshot, {a, b})
    a, b = full_name(source, a), full_name(source, b)
    first = rank_of(source, a)
    second = first if a == b else rank_of(source, b)
    with source.progress("comparison") as tell:
        comparison = compare_scores(first.scores, second.scores, ks, tell=tell)
    if as_json:
        names = {"a": first.name, "b": second.name, "origins": [first.origin, second.origin]}
        show_json(names | asdict(comparison))
        return
    facts = {
        "a": f"{first.name}, {first.origin}",
        "b": f"{second.name}, {second.origin}",
        "nodes": f"{comparison.nodes:,}; {comparison.left_out:,} without a score in both",
        "Kendall's tau-b": correlation(comparison.kendall_tau),
        "Spearman": correlation(comparison.spearman),
    }
    for k, overlap in comparison.overlap.items():
        facts[f"best {k:,}"] = NONE if overlap is None else f"{share(overlap)} in both"
    facts["mean error"] = _errors(comparison, "all")
    facts["in the best 10 % of b"] = _errors(comparison, "top10")
    show_facts(facts.items())
    for remark in comparison.remarks:
        click.echo(remark)


def _errors(comparison: Comparison, group: str) -> str:
    mean, median = comparison.mean_relative_error[group], comparison.median_relative_error[group]
    if mean is None or median is None:
        return NONE
    return f"{_relative(mean)}, median {_relative(median)}"


def _relative(error: float) -> str:
    if error < _MANY:
        return share(error)
    return f"{error:,.0f} times" if error < _MOST else "more than a million times"
