"""`minicrawl rank communities`: groups of hubs and authorities, the largest one first."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import click
import numpy as np

from minicrawl.cli.output import percent, show_json, show_list
from minicrawl.cli.parameters import choice, number, with_made, with_options
from minicrawl.cli.store_options import count_option, json_option, source_options
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ranks.commands.centrality_command import SEED
from minicrawl.ranks.commands.named_ranks import keep
from minicrawl.ranks.commands.running import as_option, nodes_with_scores, rank_name
from minicrawl.ranks.commands.walk_options import guards_of
from minicrawl.ranks.communities import Community, Sign, by_deflation, by_destroying
from minicrawl.ranks.guards import Guards
from minicrawl.ranks.scores import Scores
from minicrawl.report.graph.source import Source
from minicrawl.report.snapshot import places_of_largest
from minicrawl.wording import counted

_SUFFIXES: dict[Sign, str] = {"+": "", "-": "-minus"}
_HEADINGS = ("community", "role", "score", "node")

METHODS = ("deflation", "destroying")
LARGEST = 10


@click.command()
@with_options
@count_option(10)
@json_option
@as_option
@source_options
@with_made(guards=guards_of)
def communities(
    source: Source,
    guards: Guards,
    name: str | None,
    n: int,
    as_json: bool,
    count: int = number(
        "Find N communities. Deflation finds two per number from the second on, one of each sign.",
        5,
    ),
    method: str = choice(
        METHODS,
        "Use the n-th eigenvectors (deflation), or rerun HITS without links to the largest "
        "authorities (destroying).",
        METHODS[0],
        flag="--by",
    ),
    largest: int | None = number(
        "Drop the links to N authorities of each community, with --by destroying.", usual=LARGEST
    ),
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
    graph, weights = named.graph, named.weights
    with source.progress(name) as tell:
        if method == "destroying":
            ordered = by_destroying(graph, weights, count=count, largest=largest, tell=tell)
        else:
            rng = np.random.default_rng(SEED)
            ordered = by_deflation(graph, weights, count=count, rng=rng, tell=tell)
        groups = list(ordered)
    ranks: dict[str, Scores] = {}
    for each in groups:
        community = f"{name}-{each.number}{_SUFFIXES[each.sign]}"
        ranks[f"{community}-authorities"] = each.hits.authorities
        ranks[f"{community}-hubs"] = each.hits.hubs
    options = {"way": method, "count": count, "largest": largest} | guards.asked_for()
    best = partial(_best, named, count=n)
    try:
        keep(source, ranks, graph.edges, options)
    finally:
        if as_json:
            show_json({"rank": name} | _document(named, method, groups, best))
        else:
            show_list(_HEADINGS, _lines(groups, best), texts=1)
            missed = [f"{each.number}{each.sign}" for each in groups if not each.hits.converged]
            end = f"; not converged: {', '.join(missed)}" if missed else ""
            click.echo(f"{counted(len(groups), 'community', 'communities')} by {method}{end}")


def _best(named: NamedGraph, scores: Scores, count: int) -> list[tuple[str, float]]:
    """Return the members with the highest scores. A node with score 0 is not a member."""
    nodes = places_of_largest(scores.values, count)
    nodes = nodes[scores.values[nodes] > 0]
    return list(zip(named.names.of(nodes.tolist()), scores.values[nodes].tolist(), strict=True))


def _document(
    named: NamedGraph,
    method: str,
    groups: Iterable[Community],
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
                "authorities": nodes_with_scores(best(each.hits.authorities)),
                "hubs": nodes_with_scores(best(each.hits.hubs)),
            }
            for each in groups
        ],
    }


def _lines(
    groups: Iterable[Community], best: Callable[[Scores], list[tuple[str, float]]]
) -> Iterator[tuple[str, ...]]:
    for each in groups:
        for role, scores in (("authority", each.hits.authorities), ("hub", each.hits.hubs)):
            for node, score in best(scores):
                yield f"{each.number}{each.sign}", role, percent(score), node
