"""`minicrawl rank hits`: hubs, and the authorities that they link to."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
import numpy as np

from minicrawl.cli.input_options import (
    count_option,
    json_option,
    percent,
    source_options,
)
from minicrawl.cli.output import show_json, show_list
from minicrawl.cli.setting_options import Number
from minicrawl.errors import UsageError
from minicrawl.graph.csr import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks import hits as ranks
from minicrawl.ranks.commands.base_sets import (
    BaseSetChoice,
    base_set_options,
    has_kept_pages,
    similarity_to,
    weighed_by_similarity,
    weighed_by_words,
)
from minicrawl.ranks.commands.named_ranks import keep
from minicrawl.ranks.commands.rank_options import as_option, guard_options, rank_name, ranking
from minicrawl.ranks.hits import Community, Sign, by_deflation, by_destroying, randomised, subspace
from minicrawl.ranks.scores import FURTHEST, Scores
from minicrawl.ranks.sites import Guards
from minicrawl.report.snapshot import places_of_largest
from minicrawl.report.store_graph import Source
from minicrawl.wording import counted

_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HitsVariant:
    """Variant of HITS to compute; by default the limit of the iteration."""

    rounds: int | None
    restart: float | None
    dimensions: int | None
    tolerance: float

    def compute(self, named: NamedGraph, tell: Progress) -> ranks.Hits:
        graph, weights, tolerance = named.graph, named.weights, self.tolerance
        if self.rounds:
            return ranks.textbook(graph, weights, rounds=self.rounds, tell=tell)
        variant: Any = ranks.hits
        if self.restart:
            variant = partial(randomised, restart=self.restart)
        elif self.dimensions:
            variant = partial(subspace, size=self.dimensions, rng=np.random.default_rng(_SEED))
        found: ranks.Hits = variant(graph, weights, tolerance=tolerance, tell=tell)
        return found


random_option = click.option(
    "--random",
    "restart",
    metavar="E",
    type=Number(0, 1, min_open=True),
    help="Randomised HITS: probability of a restart at a random node before each step.",
)

subspace_option = click.option(
    "--subspace",
    "dimensions",
    metavar="K",
    type=click.IntRange(1, ranks.MOST_DIMENSIONS),
    help="Subspace HITS: use the first K eigenvectors.",
)


@click.command()
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop after N rounds, converged or not, as in the paper.",
)
@random_option
@subspace_option
@click.option(
    "--tolerance",
    metavar="ERROR",
    type=Number(min=0, min_open=True),
    help="Stop when the error, summed over all scores, is at most this.  "
    f"[default: {ranks.TOLERANCE:g}]",
)
@click.option(
    "--words",
    is_flag=True,
    help="Weight each link 1 + n, where n is how often the words of --query occur in the link and "
    "the 50 characters on either side. Needs kept pages.",
)
@click.option(
    "--likeness",
    is_flag=True,
    help="Weight each link by the mean cosine similarity of its two pages' titles and URLs to the "
    "words of --query. Links without any of the words are dropped.",
)
@ranking
@base_set_options
@click.pass_obj
def hits(
    source: Source,
    named: NamedGraph,
    tell: Progress,
    rounds: int | None,
    restart: float | None,
    dimensions: int | None,
    tolerance: float | None,
    base: BaseSetChoice | None,
    words: bool,
    likeness: bool,
) -> Mapping[str, Scores]:
    """Rank by HITS: good hubs link to good authorities, and vice versa.

    HITS runs on the whole graph or on a base set: roots, the pages that they link to, and some
    pages that link to them. --weight internal=0 drops the links within a site, as Kleinberg does.
    """
    if sum(choice is not None for choice in (rounds, restart, dimensions)) > 1:
        raise click.UsageError("--rounds, --random and --subspace cannot be combined")
    if rounds is not None and tolerance is not None:
        raise click.UsageError("--rounds and --tolerance cannot be combined")
    variant = HitsVariant(
        rounds=rounds,
        restart=restart,
        dimensions=dimensions,
        tolerance=tolerance or ranks.TOLERANCE,
    )
    asked = base.query if base is not None and words else None
    if words and (asked is None or not has_kept_pages(source)):
        raise UsageError("--words needs a store with kept pages (crawl --keep pages), and --query")
    if likeness and (base is None or base.query is None):
        raise UsageError("--likeness needs --query, whose words it compares with the pages")
    if base is None:
        return _both(variant, named, tell)
    grown = base.grown(source, named)
    of_base = grown.named if asked is None else weighed_by_words(source, grown.named, asked)
    if likeness and base.query is not None:
        similarity = similarity_to(source, base.query, grown.nodes)
        of_base = weighed_by_similarity(of_base, similarity, base.query)
    found = _both(variant, of_base, tell)
    return {name: grown.over_all(scores, named.graph.nodes) for name, scores in found.items()}


def _both(variant: HitsVariant, named: NamedGraph, tell: Progress) -> dict[str, Scores]:
    found = variant.compute(named, tell)
    if variant.dimensions and found.authorities.error_bound >= FURTHEST:
        click.echo(
            f"--subspace {variant.dimensions}: the last eigenvalue is too close to the next one to "
            "tell their eigenvectors apart; choose another number",
            err=True,
        )
    return {"authorities": found.authorities, "hubs": found.hubs}


# ================================================================ communities
#
# `minicrawl rank communities`: groups of hubs and authorities, the largest one first.

_SUFFIXES: dict[Sign, str] = {"+": "", "-": "-minus"}
_HEADINGS = ("community", "role", "score", "node")

METHODS = ("deflation", "destroying")
LARGEST = 10


@click.command()
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Find N communities. Deflation finds two per number from the second on, one of each sign.",
)
@click.option(
    "--by",
    "method",
    type=click.Choice(METHODS),
    default=METHODS[0],
    show_default=True,
    help="Use the n-th eigenvectors (deflation), or rerun HITS without links to the largest "
    "authorities (destroying).",
)
@click.option(
    "--largest",
    metavar="N",
    type=click.IntRange(min=1),
    help="Drop the links to N authorities of each community, with --by destroying.  "
    f"[default: {LARGEST}]",
)
@count_option(10)
@json_option
@as_option
@source_options
@guard_options
def communities(
    source: Source,
    guards: Guards,
    count: int,
    method: str,
    largest: int | None,
    name: str | None,
    n: int,
    as_json: bool,
) -> None:
    """Find communities: the group of hubs and authorities that HITS finds, and further groups.

    The scores of a community sum to 1. --n limits the hubs and the authorities shown for each. The
    second community is saved as communities-2-authorities and communities-2-hubs, and the one of
    the other sign, if deflation finds it, as communities-2-minus-authorities and so on.
    """
    name = rank_name(name, source)
    if largest and method != "destroying":
        raise click.UsageError("--largest needs --by destroying")
    largest = largest or LARGEST
    named = guards.guarded(source.graph)
    with source.progress(name) as tell:
        found = list(_found(named, method, count=count, largest=largest, tell=tell))
    asked = {"way": method, "count": count, "largest": largest} | guards.asked_for()
    try:
        keep(source, dict(_by_name(name, found)), named.graph.edges, asked)
    finally:
        _show(name, named, method, found, n=n, as_json=as_json)


def _found(
    named: NamedGraph, method: str, *, count: int, largest: int, tell: Progress
) -> Iterator[Community]:
    graph, weights = named.graph, named.weights
    if method == "destroying":
        return by_destroying(graph, weights, count=count, largest=largest, tell=tell)
    rng = np.random.default_rng(_SEED)
    return by_deflation(graph, weights, count=count, rng=rng, tell=tell)


def _by_name(name: str, found: Iterable[Community]) -> Iterator[tuple[str, Scores]]:
    for each in found:
        community = f"{name}-{each.number}{_SUFFIXES[each.sign]}"
        yield f"{community}-authorities", each.hits.authorities
        yield f"{community}-hubs", each.hits.hubs


def _show(
    name: str,
    named: NamedGraph,
    method: str,
    found: Sequence[Community],
    *,
    n: int,
    as_json: bool,
) -> None:
    best = partial(_best, named, count=n)
    if as_json:
        show_json({"rank": name} | _document(named, method, found, best))
        return
    show_list(_HEADINGS, _lines(found, best), texts=1)
    missed = [f"{each.number}{each.sign}" for each in found if not each.hits.converged]
    end = f"; not converged: {', '.join(missed)}" if missed else ""
    click.echo(f"{counted(len(found), 'community', 'communities')} by {method}{end}")


def _best(named: NamedGraph, scores: Scores, count: int) -> list[tuple[str, float]]:
    """Return the members with the highest scores. A node with score 0 is not a member."""
    nodes = places_of_largest(scores.values, count)
    nodes = nodes[scores.values[nodes] > 0]
    return list(zip(named.names.of(nodes.tolist()), scores.values[nodes].tolist(), strict=True))


def _document(
    named: NamedGraph,
    method: str,
    found: Iterable[Community],
    best: Callable[[Scores], list[tuple[str, float]]],
) -> dict[str, object]:
    return {
        "by": method,
        "nodes": named.graph.nodes,
        "edges": named.graph.edges,
        "communities": [
            {
                "number": each.number,
                "sign": each.sign,
                "iterations": each.hits.authorities.iterations,
                "error_bound": max(each.hits.authorities.error_bound, each.hits.hubs.error_bound),
                "converged": each.hits.converged,
                "authorities": _members(best(each.hits.authorities)),
                "hubs": _members(best(each.hits.hubs)),
            }
            for each in found
        ],
    }


def _members(best: Iterable[tuple[str, float]]) -> list[dict[str, object]]:
    return [{"node": node, "score": score} for node, score in best]


def _lines(
    found: Iterable[Community], best: Callable[[Scores], list[tuple[str, float]]]
) -> Iterator[tuple[str, ...]]:
    for each in found:
        for role, scores in (("authority", each.hits.authorities), ("hub", each.hits.hubs)):
            for node, score in best(scores):
                yield f"{each.number}{each.sign}", role, percent(score), node
