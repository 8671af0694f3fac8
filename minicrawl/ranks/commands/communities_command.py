"""`minicrawl rank communities`: groups of hubs and authorities, the largest one first."""

from collections.abc import Sequence

import click
import numpy as np

from minicrawl.cli.output import percent, show_json, show_list
from minicrawl.cli.parameters import choice, number, with_made, with_options
from minicrawl.cli.store_options import count_option, json_option, source_options
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ranks.commands.centrality_command import SEED
from minicrawl.ranks.commands.named_ranks import keep
from minicrawl.ranks.commands.running import as_option, guards_of, nodes_with_scores, rank_name
from minicrawl.ranks.communities import Community, Sign, by_deflation, by_destroying
from minicrawl.ranks.guards import Guards
from minicrawl.ranks.scores import Scores
from minicrawl.report.graph.source import Source
from minicrawl.report.snapshot import places_of_largest
from minicrawl.wording import counted

_SUFFIXES: dict[Sign, str] = {"+": "", "-": "-minus"}

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
    ranks = {
        f"{name}-{each.number}{_SUFFIXES[each.sign]}-{role}": scores
        for each in groups
        for role, scores in (("authorities", each.hits.authorities), ("hubs", each.hits.hubs))
    }
    options = {"way": method, "count": count, "largest": largest} | guards.chosen()
    try:
        keep(source, ranks, graph.edges, options)
    finally:
        if as_json:
            document = {"rank": name, "by": method, "nodes": graph.nodes, "edges": graph.edges}
            show_json(document | {"communities": [_document(named, each, n) for each in groups]})
        else:
            _show(named, groups, method, n)


def _document(named: NamedGraph, community: Community, count: int) -> dict[str, object]:
    authorities, hubs = community.hits.authorities, community.hits.hubs
    return {
        "number": community.number,
        "sign": community.sign,
        "iterations": authorities.iterations,
        "error_bound": max(authorities.error_bound, hubs.error_bound),
        "converged": community.hits.converged,
        "authorities": nodes_with_scores(members(named, authorities, count)),
        "hubs": nodes_with_scores(members(named, hubs, count)),
    }


def _show(named: NamedGraph, groups: Sequence[Community], method: str, count: int) -> None:
    lines = (
        (f"{each.number}{each.sign}", role, percent(score), node)
        for each in groups
        for role, scores in (("authority", each.hits.authorities), ("hub", each.hits.hubs))
        for node, score in members(named, scores, count)
    )
    show_list(("community", "role", "score", "node"), lines, texts=1)
    missed = [f"{each.number}{each.sign}" for each in groups if not each.hits.converged]
    end = f"; not converged: {', '.join(missed)}" if missed else ""
    click.echo(f"{counted(len(groups), 'community', 'communities')} by {method}{end}")


def members(named: NamedGraph, scores: Scores, count: int) -> list[tuple[str, float]]:
    """Return the members with the highest scores. A node with score 0 is not a member."""
    nodes = places_of_largest(scores.values, count)
    nodes = nodes[scores.values[nodes] > 0]
    return list(zip(named.names.of(nodes.tolist()), scores.values[nodes].tolist(), strict=True))
