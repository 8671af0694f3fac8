"""`minicrawl compare`: the agreement of two ranks."""

from collections.abc import Iterator, Sequence

import click

from minicrawl.cli.input_options import json_option, source_options, warn_of_unranked_pages
from minicrawl.cli.output import (
    NONE,
    correlation,
    share,
    show_facts,
    show_json,
    show_lines,
    sizes_option,
)
from minicrawl.ranks import comparing
from minicrawl.ranks.compare import RankErrors
from minicrawl.report.source import Source

_MANY, _MOST = 100, 1_000_000


@click.command()
@click.argument("a")
@click.argument("b")
@sizes_option("10,100,1000")
@json_option
@source_options
def compare(source: Source, a: str, b: str, ks: Sequence[int], as_json: bool) -> None:
    """Compare two ranks, A and B.

    The error of a page is the difference between A and B, relative to B. If B is close to 0, the
    mean error is huge; use the median.

    `opic`, or `importance`, is the order of `top`; `minicrawl compare opic pagerank` shows its
    quality. A missing rank is computed with its default options, and not saved.
    """
    if source.snapshot is not None:
        warn_of_unranked_pages(source.snapshot, {a, b})
    found = comparing.compared(source, a, b, ks)
    if as_json:
        show_json(_document(found))
    else:
        show_facts(_facts(found))
        show_lines(found.comparison.remarks)


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
    yield "nodes", f"{comparison.nodes:,}; {comparison.left_out:,} without a score in both"
    yield "Kendall's tau-b", correlation(comparison.kendall)
    yield "Spearman", correlation(comparison.spearman)
    for k, overlap in comparison.overlap.items():
        yield f"best {k:,}", f"{share(overlap)} in both"
    yield "mean error", _errors(comparison.errors)
    yield "in the best 10 % of b", _errors(comparison.errors_top10)


def _errors(found: RankErrors | None) -> str:
    if found is None:
        return NONE
    return f"{_relative(found.mean)}, median {_relative(found.median)}"


def _relative(error: float) -> str:
    if error < _MANY:
        return share(error)
    return f"{error:,.0f} times" if error < _MOST else "more than a million times"
