"""`minicrawl compare`: how far two ranks agree."""

from collections.abc import Iterator, Sequence

import click

from minicrawl.analysis import comparing
from minicrawl.analysis.source import Source
from minicrawl.cli.common.stores import json_option, say_what_is_unranked, source_options
from minicrawl.cli.common.tables import (
    NONE,
    correlation,
    say,
    share,
    show_facts,
    show_json,
    sizes_option,
)
from minicrawl.ranks.compare import RankErrors

_MANY = 100


@click.command()
@click.argument("a")
@click.argument("b")
@sizes_option("10,100,1000")
@json_option
@source_options
def compare(source: Source, a: str, b: str, ks: Sequence[int], as_json: bool) -> None:
    """Show how far the ranks A and B agree.

    Errors are those of A if B is the truth, each in proportion to what B gives to the page: where
    that is next to nothing the mean is huge, and the median says more: half err by less.

    `minicrawl compare opic pagerank` tells how good the importance is that the crawl kept. A rank
    that is not kept is computed with its usual options, and not kept.
    """
    if source.snapshot is not None:
        say_what_is_unranked(source.snapshot, {a, b})
    found = comparing.compared(source, a, b, ks)
    if as_json:
        show_json(_document(found))
    else:
        show_facts(_facts(found))
        say(found.comparison.remarks)


def _document(found: comparing.Compared) -> dict[str, object]:
    comparison = found.comparison
    errors = {"all": comparison.errors, "top10": comparison.errors_top10}
    return {
        "a": found.one.name,
        "b": found.other.name,
        "origins": [found.one.origin, found.other.origin],
        "nodes": comparison.nodes,
        "left_out": comparison.left_out,
        "kendall_tau": comparison.kendall,
        "spearman": comparison.spearman,
        "overlap": comparison.overlap,
        "mean_relative_error": {name: found and found.mean for name, found in errors.items()},
        "median_relative_error": {name: found and found.median for name, found in errors.items()},
        "remarks": comparison.remarks,
    }


def _facts(found: comparing.Compared) -> Iterator[tuple[str, str]]:
    comparison = found.comparison
    yield "a", f"{found.one.name}, {found.one.origin}"
    yield "b", f"{found.other.name}, {found.other.origin}"
    yield "nodes", f"{comparison.nodes:,}; without a score in both {comparison.left_out:,}"
    yield "Kendall's tau-b", correlation(comparison.kendall)
    yield "Spearman", correlation(comparison.spearman)
    for k, overlap in comparison.overlap.items():
        yield f"of the best {k:,}", f"{share(overlap)} in both"
    yield "mean error", _errors(comparison.errors)
    yield "of b's best 10 %", _errors(comparison.errors_top10)


def _errors(found: RankErrors | None) -> str:
    if found is None:
        return NONE
    return f"{_told(found.mean)}, median {_told(found.median)}"


def _told(error: float) -> str:
    return share(error) if error < _MANY else f"{error:.1e} times"
