"""Options, storage and output shared by all ranks.

A command decorated with `ranking` gets the graph after guards, a progress function, and its own
options. It returns scores, or several scores by name with the main ones first, which are saved and
shown as RANK-NAME.
"""

import functools
import inspect
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from minicrawl.cli.input_options import (
    Command,
    count_option,
    json_option,
    percent,
    source_options,
)
from minicrawl.cli.output import (
    show_json,
    show_list,
    show_long_json,
    show_long_list,
)
from minicrawl.cli.setting_options import Number
from minicrawl.errors import UsageError
from minicrawl.graph.csr import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks.commands.named_ranks import RANKS, checked_name, keep
from minicrawl.ranks.pagerank import (
    DAMPING,
    PRECISIONS,
    TOLERANCE,
    Dangling,
    Method,
    PageRankOptions,
)
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import Guards
from minicrawl.report.snapshot import places_of_largest
from minicrawl.report.store_graph import Source, asked_for_weights, weighed
from minicrawl.wording import at_most, counted

# ================================================================ walk options
#
# Options of the ranks: for PageRank, guards against collusion, and files of node names.


# ---------------------------------------------------------------- PageRank

damping_option = click.option(
    "--damping",
    metavar="C",
    type=Number(0, 1, max_open=True),
    default=DAMPING,
    show_default=True,
    help="Damping factor: share of its score that a page passes to its links.",
)
tolerance_option = click.option(
    "--tolerance",
    metavar="ERROR",
    type=Number(0, min_open=True),
    default=TOLERANCE,
    show_default=True,
    help="Stop when the error, summed over all scores, is at most this.",
)

_PAGERANK_OPTIONS = (
    damping_option,
    click.option(
        "--dangling",
        type=click.Choice([dangling.value for dangling in Dangling]),
        default=Dangling.UNIFORM.value,
        show_default=True,
        help="Where dangling pages pass their score; virtual is OPIC's virtual page.",
    ),
    click.option(
        "--one-more-link",
        is_flag=True,
        help="Give each page one more link, to the virtual page, instead of --damping. Needs "
        "--dangling virtual.",
    ),
    click.option(
        "--method",
        type=click.Choice([method.value for method in Method]),
        help="Update all pages at once (power), block by block (gauss-seidel), or only pages with "
        "much to pass on (sweeping).  [default: gauss-seidel; power for several topics]",
    ),
    click.option("--lazy", is_flag=True, help="Stay in place half of the time (L + I)."),
    tolerance_option,
    click.option(
        "--rounds",
        "most_rounds",
        metavar="N",
        type=click.IntRange(min=1),
        default=1000,
        show_default=True,
        help="Stop after N rounds.",
    ),
    click.option(
        "--precision",
        type=click.Choice(list(PRECISIONS)),
        default="double",
        show_default=True,
        help="Floating-point precision.",
    ),
)


def pagerank_options(command: Command) -> Command:
    """Add the options of PageRank, and pass them to the command as `terms`."""

    @functools.wraps(command)
    def with_terms(
        damping: float,
        dangling: str,
        one_more_link: bool,
        method: str | None,
        lazy: bool,
        tolerance: float,
        most_rounds: int,
        precision: str,
        **rest: Any,
    ) -> Any:
        if one_more_link and dangling != Dangling.VIRTUAL.value:
            raise UsageError("--one-more-link needs --dangling virtual")
        given = click.get_current_context().get_parameter_source("damping")
        if one_more_link and given is ParameterSource.COMMANDLINE:
            raise UsageError("--damping is not used with --one-more-link")
        terms = PageRankOptions(
            damping=None if one_more_link else damping,
            dangling=Dangling(dangling),
            method=None if method is None else Method(method),
            lazy=lazy,
            tolerance=tolerance,
            most_iterations=most_rounds,
            precision=precision,
        )
        return command(terms=terms, **rest)

    decorated: Command = with_terms
    for option in reversed(_PAGERANK_OPTIONS):
        decorated = option(decorated)
    return decorated


def refuse_idle_dangling(terms: PageRankOptions) -> None:
    """Refuse --dangling where it has no effect: with uniform jumps, all its values are equal."""
    if terms.damping is not None and terms.dangling is not Dangling.UNIFORM:
        raise UsageError(
            f"--dangling {terms.dangling.value} is the same as uniform if jumps lead to all "
            "nodes equally: set the targets of jumps, or combine virtual with --one-more-link"
        )


# ---------------------------------------------------------------- guards

LINK_KINDS = ("internal", "transverse")


class _LinkWeight(click.ParamType[tuple[str, float]]):
    """`internal=0.5` -> ("internal", 0.5)."""

    name = "weight"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        kind, _, number = str(value).partition("=")
        try:
            weight = float(number)
        except ValueError:
            kind, weight = "", 0.0
        if kind not in LINK_KINDS:
            kinds = " or ".join(f"{kind}=W" for kind in LINK_KINDS)
            self.fail(f"{value!r} is not a link weight: use {kinds}", param, ctx)
        return kind, weight


_intra_cap_option = click.option(
    "--intra-cap",
    metavar="K",
    type=click.IntRange(min=0),
    help="Count at most K links to a page from its own registrable domain, in order of discovery. "
    " [default: all]",
)
_domain_cap_option = click.option(
    "--domain-cap",
    metavar="K",
    type=click.IntRange(min=0),
    help="Count at most K links to a page from any one registrable domain, in order of discovery. "
    " [default: all]",
)
_weight_option = click.option(
    "--weight",
    metavar="KIND=W",
    type=_LinkWeight(),
    multiple=True,
    help="Weight of links within a registrable domain (internal) or between two (transverse). "
    "internal=0 drops internal links; repeatable.  [default: 1]",
)


def guard_options(command: Command) -> Command:
    """Add the guards against collusion, and pass them to the command as `guards`."""

    @functools.wraps(command)
    def with_guards(
        intra_cap: int | None,
        domain_cap: int | None,
        weight: Sequence[tuple[str, float]],
        **rest: Any,
    ) -> Any:
        guards = Guards(most_internal=intra_cap, most_of_site=domain_cap, **dict(weight))
        return command(guards=guards, **rest)

    return _intra_cap_option(_domain_cap_option(_weight_option(with_guards)))


# ---------------------------------------------------------------- files of names

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
    found = named.names.find(names)
    unknown = [name for name, node in zip(names, found, strict=True) if node is None]
    known = [node for node in found if node is not None]
    if not known:
        raise UsageError(f"{place} names no node of the graph")
    if unknown:
        more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
        shown = ", ".join(map(ascii, unknown[:_SHOWN]))
        click.echo(f"{place}: skipped names that are not in the graph: {shown}{more}", err=True)
    return known


# ================================================================ running

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
        graph = guards.guarded(_weighed(source) if crawl_weights else source.graph)
        chosen = {option: value for option, value in options.items() if value is not None}
        chosen |= {"crawl_weights": True} if crawl_weights else {}
        with source.progress(name) as tell:
            found = _by_name(name, command(named=graph, tell=tell, **options))
        try:
            keep(source, found, graph.graph.edges, chosen | guards.asked_for())
        finally:
            show_ranks(graph, found, n, as_json)

    guarded = guard_options(_weights_option(with_graph))
    return source_options(json_option(count_option(100)(as_option(guarded))))


def command_of_added_rank(name: str) -> click.Command:
    """Return the command of a package's rank."""
    compute = RANKS[name]

    def rank(named: NamedGraph, tell: Progress) -> Scores:
        return compute(named, tell)

    return click.command(name, help=inspect.getdoc(compute))(ranking(rank))


def _weighed(source: Source) -> NamedGraph:
    found = weighed(source)
    if found.weights is None and source.snapshot is not None:
        wanted = "".join(f", despite {one}" for one in asked_for_weights(source.snapshot))
        click.echo(f"all links between these pages have the same weight{wanted}", err=True)
    return found


def rank_name(chosen: str | None, source: Source) -> str:
    """Return the name chosen by the user, or that of the command, after inverse- with --inverse."""
    if chosen is not None and source.snapshot is None:
        raise UsageError("--as needs a store: the ranks of a graph file are not saved")
    context = click.get_current_context()
    default = f"{'inverse-' if context.params.get('inverse') else ''}{context.command.name}"
    return checked_name(default if chosen is None else chosen)


def show_ranks(graph: NamedGraph, found: Mapping[str, Scores], count: int, as_json: bool) -> None:
    """Show the best nodes of each rank of a run, as tables or as JSON."""
    shown = [_shown(name, graph, scores, count) for name, scores in found.items()]
    show_json(_as_json(shown)) if as_json else _show(shown)


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


def _by_name(name: str, answer: Scores | Mapping[str, Scores]) -> dict[str, Scores]:
    if isinstance(answer, Scores):
        return {name: answer}
    return {f"{name}-{suffix}": scores for suffix, scores in answer.items()}


def _shown(name: str, named: NamedGraph, scores: Scores, count: int) -> Shown:
    nodes = places_of_largest(scores.values, count)
    best = zip(named.names.of(nodes.tolist()), scores.values[nodes].tolist(), strict=True)
    return Shown(name, named.graph.edges, scores, list(best))


def _as_json(shown: list[Shown]) -> dict[str, object]:
    """Return the main rank, with the other ranks of the run in `others`."""
    first, *others = map(_document, shown)
    return first | ({"others": others} if others else {})


def _document(shown: Shown) -> dict[str, object]:
    bound, estimated = shown.scores.error_bound, shown.scores.standard_error
    return {
        "rank": shown.name,
        "nodes": len(shown.scores.values),
        "edges": shown.edges,
        "iterations": shown.scores.iterations,
        "error_bound": bound if math.isfinite(bound) else None,
        **({} if estimated is None else {"standard_error": estimated}),
        **({} if shown.disk is None else {"disk": shown.disk}),
        "scores": nodes_with_scores(shown.best),
    }


def nodes_with_scores(best: list[tuple[str, float]]) -> list[object]:
    """Return nodes and scores as JSON."""
    return [{"node": node, "score": score} for node, score in best]


def _show(shown: list[Shown]) -> None:
    for one in shown:
        show_list(HEADINGS, _best_lines(itertools.count(1), one.best), texts=1)
        click.echo("; ".join(_caption(one)))


def _best_lines(
    places: Iterator[int], best: list[tuple[str, float]]
) -> Iterator[tuple[str, str, str]]:
    for (node, score), place in zip(best, places, strict=False):
        yield f"{place:,}", percent(score), node


def _caption(shown: Shown) -> Iterator[str]:
    scores = shown.scores
    yield (f"{shown.name} of {counted(len(scores.values), 'node')}, {counted(shown.edges, 'link')}")
    if scores.iterations:
        yield f"{counted(scores.iterations, 'iteration')}, {_error(scores)}"
    if not scores.converged:
        yield "not converged"
    if disk := shown.disk:
        yield (
            f"in {counted(disk['blocks'], 'block')}: "
            f"read {disk['bytes_read'] / MEGA:,.1f} MB in {counted(disk['reads'], 'read')}, "
            f"wrote {disk['bytes_written'] / MEGA:,.1f} MB in {counted(disk['writes'], 'write')}"
        )


def _error(scores: Scores) -> str:
    if scores.standard_error is not None:
        return f"standard error of a score {scores.standard_error:.1%}, not a bound"
    if not math.isfinite(scores.error_bound):
        return "error unknown"
    return at_most(scores.error_bound)
