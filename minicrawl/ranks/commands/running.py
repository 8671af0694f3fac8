"""Options, storage and output shared by all ranks.

A command decorated with `ranking` gets the graph after guards, a progress function, and its own
options. It returns scores, or several scores by name with the main ones first, which are saved and
shown as RANK-NAME.
"""

import functools
import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from minicrawl.cli.options import Command, Number, given_options
from minicrawl.cli.output import percent, show_json, show_list, show_long_json, show_long_list
from minicrawl.cli.parameters import choice, number, option, switch, with_made
from minicrawl.cli.store_options import count_option, json_option, source_options
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks import pagerank
from minicrawl.ranks.commands.named_ranks import RANKS, checked_name, keep
from minicrawl.ranks.guards import Guards
from minicrawl.ranks.scores import Scores
from minicrawl.report.graph.source import Source, weighed, weight_options
from minicrawl.report.snapshot import places_of_largest
from minicrawl.wording import at_most, counted

damping_option = option(
    "Damping factor: share of its score that a page passes to its links.",
    pagerank.DAMPING,
    metavar="C",
    type=Number(0, 1, max_open=True),
)
tolerance_option = option(
    "Stop when the error, summed over all scores, is at most this.",
    pagerank.TOLERANCE,
    metavar="ERROR",
    type=Number(0, min_open=True),
)


def pagerank_options(
    damping: float = damping_option,
    dangling: pagerank.Dangling = choice(
        pagerank.Dangling,
        "Where dangling pages pass their score; virtual is OPIC's virtual page.",
        pagerank.Dangling.UNIFORM,
    ),
    one_more_link: bool = switch(
        "Give each page one more link, to the virtual page, instead of --damping. Needs "
        "--dangling virtual."
    ),
    method: pagerank.Method | None = choice(
        pagerank.Method,
        "Update all pages at once (power), block by block (gauss-seidel), or only pages with much "
        "to pass on (sweeping).",
        usual="gauss-seidel; power for several topics",
    ),
    lazy: bool = switch("Stay in place half of the time (L + I)."),
    tolerance: float = tolerance_option,
    most_rounds: int = number("Stop after N rounds.", 1000, flag="--rounds"),
    precision: str = choice(tuple(pagerank.PRECISIONS), "Floating-point precision.", "double"),
) -> pagerank.PageRankOptions:
    if one_more_link and dangling is not pagerank.Dangling.VIRTUAL:
        raise UsageError("--one-more-link needs --dangling virtual")
    if one_more_link and "damping" in given_options():
        raise UsageError("--damping is not used with --one-more-link")
    return pagerank.PageRankOptions(
        damping=None if one_more_link else damping,
        dangling=dangling,
        method=method,
        lazy=lazy,
        tolerance=tolerance,
        most_iterations=most_rounds,
        precision=precision,
    )


def refuse_idle_dangling(options: pagerank.PageRankOptions) -> None:
    """Refuse --dangling where it has no effect: with uniform jumps, all its values are equal."""
    if options.damping is not None and options.dangling is not pagerank.Dangling.UNIFORM:
        raise UsageError(
            f"--dangling {options.dangling.value} is the same as uniform if jumps lead to all "
            "nodes equally: set the targets of jumps, or combine virtual with --one-more-link"
        )


LINK_KINDS = ("internal", "transverse")


def _link_weight(text: str) -> tuple[str, float]:
    """`internal=0.5` -> ("internal", 0.5)."""
    kind, _, number = text.partition("=")
    try:
        weight = float(number)
    except ValueError:
        kind, weight = "", 0.0
    if kind not in LINK_KINDS:
        kinds = " or ".join(f"{kind}=W" for kind in LINK_KINDS)
        raise click.BadParameter(f"{text!r} is not a link weight: use {kinds}")
    return kind, weight


def guards_of(
    intra_cap: int | None = number(
        "Count at most K links to a page from its own registrable domain, in order of discovery.",
        least=0,
        metavar="K",
        usual="all",
    ),
    domain_cap: int | None = number(
        "Count at most K links to a page from any one registrable domain, in order of discovery.",
        least=0,
        metavar="K",
        usual="all",
    ),
    weight: Sequence[tuple[str, float]] = option(
        "Weight of links within a registrable domain (internal) or between two (transverse). "
        "internal=0 drops internal links; repeatable.",
        metavar="KIND=W",
        type=_link_weight,
        multiple=True,
        usual=1,
    ),
) -> Guards:
    return Guards(most_internal=intra_cap, most_of_site=domain_cap, **dict(weight))


NAMES_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_SHOWN = 10


def lines_of(path: Path) -> list[str]:
    """Return the stripped lines of a file, without empty lines and comments."""
    try:
        with click.open_file(str(path), encoding="utf-8-sig") as file:
            lines = [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error.reason}") from error
    return [line for line in lines if line and not line.startswith("#")]


def nodes_of(named: NamedGraph, names: Sequence[str], place: str) -> list[int]:
    """Return the nodes with these names; warn about names that are not in the graph."""
    nodes = named.names.find(names)
    unknown = [name for name, node in zip(names, nodes, strict=True) if node is None]
    known = [node for node in nodes if node is not None]
    if not known:
        raise UsageError(f"{place} names no node of the graph")
    if unknown:
        more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
        shown = ", ".join(map(ascii, unknown[:_SHOWN]))
        click.echo(f"{place}: skipped names that are not in the graph: {shown}{more}", err=True)
    return known


HEADINGS = ("rank", "score", "node")
MEGA = 1_000_000

as_option = click.option(
    "--as",
    "name",
    metavar="NAME",
    help="Save the rank under this name.  [default: name of the command]",
)

_weights_option = click.option(
    "--crawl-weights",
    is_flag=True,
    help="Use the link weights of the crawl (--weight-internal).",
)


class Shown(NamedTuple):
    """A rank to show, with its best nodes."""

    name: str
    edges: int
    scores: Scores
    best: list[tuple[str, float]]
    disk: Mapping[str, int] | None = None
    """Bytes read and written, for a rank in blocks."""


def ranking(command: Command) -> Command:
    """Pass the graph (`named`) and `tell` to the command; save and show the scores it returns."""

    @with_made(guards=guards_of)
    @_weights_option
    @functools.wraps(command)
    def with_graph(
        source: Source,
        guards: Guards,
        crawl_weights: bool,
        name: str | None,
        n: int,
        as_json: bool,
        **options: Any,
    ) -> None:
        name = rank_name(name, source)
        graph = weighed(source) if crawl_weights else source.graph
        if crawl_weights and graph.weights is None and source.snapshot is not None:
            despite = "".join(f", despite {flag}" for flag in weight_options(source.snapshot))
            click.echo(f"all links between these pages have the same weight{despite}", err=True)
        graph = guards.guarded(graph)
        chosen = {option: value for option, value in options.items() if value is not None}
        chosen |= {"crawl_weights": True} if crawl_weights else {}
        with source.progress(name) as tell:
            scores = command(named=graph, tell=tell, **options)
        ranks = {name: scores}
        if not isinstance(scores, Scores):
            ranks = {f"{name}-{suffix}": values for suffix, values in scores.items()}
        try:
            keep(source, ranks, graph.graph.edges, chosen | guards.chosen())
        finally:
            show_ranks(graph, ranks, n, as_json)

    return source_options(json_option(count_option(100)(as_option(with_graph))))


def command_of_added_rank(name: str) -> click.Command:
    compute = RANKS[name]

    def rank(named: NamedGraph, tell: Progress) -> Scores:
        result: object = compute(named, tell)
        nodes = named.graph.nodes
        if (
            isinstance(result, Scores)
            and len(result.values) == nodes
            and np.isfinite(result.values).all()
        ):
            return result
        raise MinicrawlError(f"the rank {name!r} did not return `Scores` with {nodes:,} numbers")

    return click.command(name, help=inspect.getdoc(compute))(ranking(rank))


def rank_name(chosen: str | None, source: Source) -> str:
    """Return the name chosen by the user, or that of the command, after inverse- with --inverse."""
    if chosen is not None and source.snapshot is None:
        raise UsageError("--as needs a store: the ranks of a graph file are not saved")
    context = click.get_current_context()
    default = f"{'inverse-' if context.params.get('inverse') else ''}{context.command.name}"
    return checked_name(default if chosen is None else chosen)


def show_ranks(graph: NamedGraph, ranks: Mapping[str, Scores], count: int, as_json: bool) -> None:
    """Show the best nodes of each rank of a run, as tables or as JSON.

    The JSON is that of the main rank, with the other ranks in `others`.
    """
    shown = []
    for name, scores in ranks.items():
        nodes = places_of_largest(scores.values, count)
        best = zip(graph.names.of(nodes.tolist()), scores.values[nodes].tolist(), strict=True)
        shown.append(Shown(name, graph.graph.edges, scores, list(best)))
    if as_json:
        first, *more = map(_document, shown)
        show_json(first | ({"others": more} if more else {}))
        return
    for rank in shown:
        show_list(HEADINGS, _best_lines(itertools.count(1), rank.best), texts=1)
        click.echo("; ".join(_caption(rank)))


def show_in_parts(
    shown: Shown, count: int, parts: Iterator[list[tuple[str, float]]], as_json: bool
) -> None:
    """Show a rank whose `count` best nodes arrive in parts."""
    if as_json:
        show_long_json(_document(shown), "scores", map(nodes_with_scores, parts))
        return
    first = next(parts)
    widest = (f"{count:,}", percent(first[0][1]))
    places = itertools.count(1)
    lines = (_best_lines(places, part) for part in itertools.chain([first], parts))
    show_long_list(HEADINGS, lines, widest=widest, texts=1)
    click.echo("; ".join(_caption(shown)))


def _document(shown: Shown) -> dict[str, object]:
    bound, estimated = shown.scores.error_bound, shown.scores.standard_error
    return {
        "rank": shown.name,
        "nodes": len(shown.scores.values),
        "edges": shown.edges,
        "iterations": shown.scores.iterations,
        "error_bound": bound if isfinite(bound) else None,
        **({} if estimated is None else {"standard_error": estimated}),
        **({} if shown.disk is None else {"disk": shown.disk}),
        "scores": nodes_with_scores(shown.best),
    }


def nodes_with_scores(best: list[tuple[str, float]]) -> list[object]:
    return [{"node": node, "score": score} for node, score in best]


def _best_lines(
    places: Iterator[int], best: list[tuple[str, float]]
) -> Iterator[tuple[str, str, str]]:
    for (node, score), place in zip(best, places, strict=False):
        yield f"{place:,}", percent(score), node


def _caption(shown: Shown) -> Iterator[str]:
    scores = shown.scores
    yield (f"{shown.name} of {counted(len(scores.values), 'node')}, {counted(shown.edges, 'link')}")
    if scores.iterations:
        error = at_most(scores.error_bound) if isfinite(scores.error_bound) else "error unknown"
        if scores.standard_error is not None:
            error = f"standard error of a score {scores.standard_error:.1%}, not a bound"
        yield f"{counted(scores.iterations, 'iteration')}, {error}"
    if not scores.converged:
        yield "not converged"
    if disk := shown.disk:
        yield (
            f"in {counted(disk['blocks'], 'block')}: "
            f"read {disk['bytes_read'] / MEGA:,.1f} MB in {counted(disk['reads'], 'read')}, "
            f"wrote {disk['bytes_written'] / MEGA:,.1f} MB in {counted(disk['writes'], 'write')}"
        )
