"""Options, base sets, storage and output shared by all ranks.

A command decorated with `ranking` gets the graph after guards, a progress function, and its own
options. It returns scores, or several scores by name with the main ones first, which are saved and
shown as RANK-NAME.
"""

import functools
import inspect
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from click.core import ParameterSource
from numpy.typing import NDArray

from minicrawl.cli.options import Command, Number, count_option, json_option, source_options
from minicrawl.cli.output import (
    percent,
    show_json,
    show_list,
    show_long_json,
    show_long_list,
)
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.graph.csr import Ids, NamedGraph, Vector
from minicrawl.opic.estimate import shares
from minicrawl.ports import Progress
from minicrawl.ranks.commands.named_ranks import RANKS, checked_name, keep
from minicrawl.ranks.hits import LINKING, ROOTS, BaseSet, base_set
from minicrawl.ranks.pagerank import (
    DAMPING,
    PRECISIONS,
    TOLERANCE,
    Dangling,
    Method,
    PageRankOptions,
)
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import Guards, with_marked_links
from minicrawl.report.snapshot import Snapshot, places_of_largest
from minicrawl.report.store_graph import Source, asked_for_weights, weighed
from minicrawl.store import questions, tables
from minicrawl.store.reader import search_folder
from minicrawl.store.records import reporting_damage
from minicrawl.web.words import words_of
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


# ================================================================ base sets
#
# Ranking by a query: base sets, and link weights from the words of pages and links.
#
# A base set has roots, all pages that they link to, and some of the pages that link to them. The
# roots are named in a file, or found by a query: in the search index of a store, or without an
# index in titles and URLs.
#
# The query may change the weights of links in a base set:
#
# words       weight = 1 + n, where n counts the query words, with repetitions, in the link and in
#             the 50 characters on either side (Chakrabarti et al., 1998), read from the archive
# similarity  weight = mean similarity of the two pages to the query. The similarity of a page is
#             the cosine between the words of the query and the words of its title and URL. A link
#             between two pages without any similarity is dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSetChoice:
    """Options of a base set: its roots, from a file or a query, and the limits of its growth."""

    root: str | None
    query: str | None
    roots: int
    linking: int

    def grown(self, source: Source, named: NamedGraph) -> BaseSet:
        """Return the base set in this graph of the source, and print its size."""
        if self.root is None:
            nodes = found_by_query(source, self.query or "", self.roots)
        else:
            names = list(dict.fromkeys(lines_of(Path(self.root))))
            nodes = nodes_of(named, names, self.root)
        base = base_set(named, nodes, self.linking)
        graph = base.named.graph
        click.echo(
            f"base set: {counted(graph.nodes, 'node')} and {counted(graph.edges, 'link')}, "
            f"from {counted(len(nodes), 'root')}",
            err=True,
        )
        return base


_BASE_SET_OPTIONS = (
    click.option(
        "--root",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, allow_dash=True),
        help="Rank only the base set of the nodes in this file, one per line; - for stdin.",
    ),
    click.option(
        "--query",
        metavar="WORDS",
        help="Rank only the base set of the search results for these words; without an index, of "
        "the best pages with the words in title or URL.",
    ),
    click.option(
        "--roots",
        metavar="N",
        type=click.IntRange(min=1),
        help=f"Start from the N best results of --query.  [default: {ROOTS}]",
    ),
    click.option(
        "--linking",
        metavar="D",
        type=click.IntRange(min=0),
        help="Add at most D pages that link to a root, besides all pages that it links to.  "
        f"  [default: {LINKING}]",
    ),
)


def base_set_options(command: Command) -> Command:
    """Pass `base`, the base set to rank, to the command; None for the whole graph."""

    @functools.wraps(command)
    def with_base(
        *, root: str | None, query: str | None, roots: int | None, linking: int | None, **rest: Any
    ) -> Any:
        if root is not None and query is not None and not rest.get("words"):
            raise click.UsageError(
                "--root and --query cannot be combined; `hits --words` takes both"
            )
        if root is None and (query is None or not query.strip()) and linking is not None:
            raise click.UsageError("--linking needs --root or --query")
        if roots is not None and (query is None or root is not None):
            raise click.UsageError("--roots needs --query without --root")
        if root is None and query is None:
            return command(base=None, **rest)
        choice = BaseSetChoice(
            root=root,
            query=query,
            roots=roots or ROOTS,
            linking=LINKING if linking is None else linking,
        )
        return command(base=choice, **rest)

    decorated: Command = with_base
    for option in reversed(_BASE_SET_OPTIONS):
        decorated = option(decorated)
    return decorated


# ================================================================ root sets


def found_by_query(source: Source, words: str, count: int) -> list[int]:
    """Return the best results for a query in the search index.

    Without an index, return the most important pages with all words in title or URL.
    """
    if (seen := source.snapshot) is None:
        raise UsageError("--query searches the pages of a store: use --root with --graph")
    if (by_index := _found_by_index(seen, words, count)) is not None:
        return by_index
    with reporting_damage(seen.path):
        found = questions.pages_with(seen.connection, words.split())
    if not words.split() or not found:
        raise UsageError(
            f"no page has {words!r} in its title or URL: use fewer words, or run "
            "`minicrawl index` to search the text of kept pages"
        )
    pages = np.array(found)
    return [int(page) for page in pages[places_of_largest(seen.importance[pages], count)]]


def _found_by_index(seen: Snapshot, words: str, count: int) -> list[int] | None:
    """Return the best results in the index; None without a usable index."""
    if not search_folder(seen.path).is_dir():
        return None
    try:
        from minicrawl.search.indexing import has_index, why_useless
        from minicrawl.search.query import parse
        from minicrawl.search.searching import Finder, SearchRequest
    except ModuleNotFoundError:  # the room `search` was deleted
        return None

    folder = search_folder(seen.path)
    if not has_index(folder) or why_useless(folder, seen.connection):
        return None
    asked = SearchRequest(count=count, folds=False)
    found = [one.entry.page for one in Finder(folder).find(parse(words), asked)]
    known = [page for page in found if page < len(seen)]
    if not known:
        raise UsageError(f"no page in the index has {words!r}: use fewer words")
    return known


# ================================================================ similarity

_PAGES_AT_ONCE = 10_000
_WORD = re.compile(r"\w+")


def similarity_to(source: Source, query: str, nodes: NDArray[np.int64]) -> Vector:
    """Return the similarity of each of these pages of a store to the query, from 0 to 1."""
    assert source.snapshot is not None, "a search found the pages in a store"
    connection, wanted = source.snapshot.connection, _distinct_words(query)
    found = []
    for first in range(0, len(nodes), _PAGES_AT_ONCE):
        pages = nodes[first : first + _PAGES_AT_ONCE].tolist()
        titles = {row.page: row.title for row in questions.documents(connection, pages)}
        urls = questions.locations(connection, pages).urls
        for page, url in zip(pages, urls, strict=True):
            words = _distinct_words(f"{url} {titles.get(page, '')}")
            found.append(len(wanted & words) / sqrt(max(len(wanted) * len(words), 1)))
    return np.array(found)


def _distinct_words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def mixed_with_similarity(scores: Scores, similarity: Vector, part: float) -> Scores:
    """Return (1 - part) * scores + part * similarity, both as shares."""
    values = (1 - part) * scores.values + part * shares(similarity)
    return replace(scores, values=values, error_bound=(1 - part) * scores.error_bound)


def weighed_by_similarity(named: NamedGraph, similarity: Vector, query: str) -> NamedGraph:
    """Return the graph with links weighted by the similarity of their ends to a query."""
    graph = named.graph
    weights = ((similarity[graph.sources()] + similarity[graph.targets]) / 2).astype(np.float32)
    if not weights.any():
        raise UsageError(f"no linked page has a word of {query!r} in its title or URL")
    if named.weights is not None:
        weights *= named.weights
    return with_marked_links(replace(named, weights=weights), weights > 0)


# ================================================================ words of links


def has_kept_pages(source: Source) -> bool:
    """Return True if a store has kept pages, so that the words of links can be read."""
    seen = source.snapshot
    return seen is not None and tables.archive_end(seen.connection) is not None


def weighed_by_words(source: Source, named: NamedGraph, query: str) -> NamedGraph:
    """Return a base set with links weighted by the query words in and around them.

    If a page has several links to another page, the best one counts.
    """
    from minicrawl.report.archived_pages import words_of_links

    if source.snapshot is None:
        raise UsageError("--words needs a store: a graph file has no words")
    seen, nodes = source.snapshot, len(named.names)
    urls, wanted = named.names.of(range(nodes)), set(words_of(query))
    node_of = {url: node for node, url in enumerate(urls)}
    counts: dict[int, int] = {}
    for link in words_of_links(seen, urls):
        words = sum(word in wanted for word in words_of(link.words))
        target = _end_of(seen, source, node_of, link.target) if words else None
        if target is not None:
            key = link.source * nodes + target
            counts[key] = max(words, counts.get(key, 0))
    return _with_amounts(
        named,
        np.fromiter(counts, np.int64, len(counts)),
        np.fromiter(counts.values(), np.float64, len(counts)),
        f"no link of these pages has a word of {query!r} in or around it, in the pages kept",
    )


def _with_amounts(named: NamedGraph, links: Ids, amounts: Vector, why_none: str) -> NamedGraph:
    """Add `amounts` to the weights of links, which are 1. Links that guards dropped are skipped.

    A link is source * nodes + target.
    """
    graph = named.graph
    keys = graph.sources().astype(np.int64) * graph.nodes + graph.targets
    is_there = np.isin(links, keys)
    weights = np.ones(graph.edges, dtype=np.float32)
    np.add.at(weights, np.searchsorted(keys, links[is_there]), amounts[is_there])
    if (weights == 1).all():
        raise UsageError(why_none)
    if named.weights is not None:
        weights *= named.weights
    return replace(named, weights=weights)


def _end_of(seen: Snapshot, source: Source, node_of: dict[str, int], url: str) -> int | None:
    """Return the node that a link to this URL leads to, after redirects."""
    if url in node_of:
        return node_of[url]
    (page,) = source.names.find([url])
    if page is None:
        return None
    (end,) = source.names.of([seen.frontier.books.stands_for(page)])
    return node_of.get(end)


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
        found: object = compute(named, tell)
        nodes = named.graph.nodes
        if (
            isinstance(found, Scores)
            and len(found.values) == nodes
            and np.isfinite(found.values).all()
        ):
            return found
        raise MinicrawlError(f"the rank {name!r} did not return `Scores` with {nodes:,} numbers")

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
