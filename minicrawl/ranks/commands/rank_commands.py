"""`minicrawl rank degree`, `harmonic`, `sites`, `trust`, `hits` and `communities`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import click
import numpy as np

from minicrawl.cli.options import Number, count_option, json_option, source_options
from minicrawl.cli.output import percent, show_json, show_list
from minicrawl.errors import UsageError
from minicrawl.graph.csr import NamedGraph
from minicrawl.ports import Progress
from minicrawl.ranks import centrality, hits as hits_ranks
from minicrawl.ranks.commands.named_ranks import TRUSTED, keep
from minicrawl.ranks.commands.rank_options import (
    NAMES_FILE,
    BaseSetChoice,
    as_option,
    base_set_options,
    damping_option,
    guard_options,
    has_kept_pages,
    lines_of,
    nodes_of,
    nodes_with_scores,
    pagerank_options,
    rank_name,
    ranking,
    refuse_idle_dangling,
    show_ranks,
    similarity_to,
    tolerance_option,
    weighed_by_similarity,
    weighed_by_words,
)
from minicrawl.ranks.hits import Community, Sign, by_deflation, by_destroying, randomised, subspace
from minicrawl.ranks.pagerank import (
    SEEDS_BY,
    PageRankOptions,
    Passing,
    TrustOptions,
    chosen_seeds,
    less_distrust,
    pagerank,
    trust as trust_scores,
)
from minicrawl.ranks.scores import FURTHEST, Scores
from minicrawl.ranks.sites import Guards, of_pages, site_graph, sites_of
from minicrawl.report.snapshot import places_of_largest
from minicrawl.report.store_graph import Source, cash_of_sites
from minicrawl.wording import counted


@click.command()
@click.option(
    "--direction",
    type=click.Choice([direction.value for direction in centrality.Direction]),
    default=centrality.Direction.IN.value,
    show_default=True,
    help="Count inlinks or outlinks.",
)
@ranking
@base_set_options
@click.pass_obj
def degree(
    source: Source, named: NamedGraph, tell: Progress, direction: str, base: BaseSetChoice | None
) -> Scores:
    """Rank by degree: the share of all links that lead to a page, or from it.

    With --root or --query, only links within the base set count.
    """

    def counted(graph: NamedGraph) -> Scores:
        return centrality.degree(
            graph.graph, graph.weights, direction=centrality.Direction(direction)
        )

    if base is None:
        found = counted(named)
    else:
        grown = base.grown(source, named)
        found = grown.over_all(counted(grown.named), named.graph.nodes)
    tell(1.0)
    return found


_SEED = 1


@click.command()
@click.option(
    "--precision",
    metavar="BITS",
    type=click.IntRange(centrality.FEWEST_BITS, centrality.MOST_BITS),
    help="Use 2 x 2^BITS one-byte registers per node. The standard error is 1.04 / √2^BITS: "
    f"13 % for 6, 6.5 % for 8, 3.3 % for 10.  [default: {centrality.PRECISION}]",
)
@click.option(
    "--memory",
    "memory_mib",
    metavar="MIB",
    type=click.IntRange(min=1),
    help=f"Memory limit of the registers, in MiB.  [default: {centrality.MEMORY_BYTES >> 20}]",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Compute exact distances, from every node. Practical up to about 10,000 nodes.",
)
@ranking
def harmonic(
    named: NamedGraph,
    tell: Progress,
    precision: int | None,
    memory_mib: int | None,
    exact: bool,
) -> Scores:
    """Rank by harmonic centrality: the sum of 1 / distance over all pages that lead to a page.

    Without --exact, the scores are estimates, shown with their standard error: two of three scores
    are closer. That is not a bound, so error_bound is null in the JSON. The same graph always gives
    the same scores. Link weights are ignored; guards that drop links work.
    """
    if exact and (precision or memory_mib):
        raise click.UsageError("--precision and --memory do not work with --exact")
    _refuse_weights(named, "distances do not count weights")
    if exact:
        return centrality.exact(named.graph, tell=tell)
    return centrality.hyperball(
        named.graph,
        rng=np.random.default_rng(_SEED),
        precision=precision or centrality.PRECISION,
        memory_bytes=memory_mib << 20 if memory_mib else centrality.MEMORY_BYTES,
        tell=tell,
    )


def _refuse_weights(named: NamedGraph, reason: str) -> None:
    """Refuse options that weight links, as this rank does not count weights.

    Weights in a graph file are ignored, and --weight KIND=0 drops links.
    """
    given = click.get_current_context().params
    options = [f"--weight {kind}={weight:g}" for kind, weight in given["weight"] if weight > 0]
    if given["crawl_weights"]:
        options.append("--crawl-weights")
    if named.weights is not None and options:
        raise click.UsageError(f"{options[-1]} changes nothing: {reason}")


# ================================================================ sites
#
# `minicrawl rank sites`: registrable domains by the links between them.

CASH = "cash"


@click.command()
@click.option(
    "--count",
    "counted",
    type=click.Choice(["links", "pages", CASH]),
    default="links",
    show_default=True,
    help="Weight of a link between sites: number of page links (links), number of linking pages "
    "(pages), or cash flow as in `top --sites` (cash). cash computes no PageRank.",
)
@count_option(100)
@json_option
@as_option
@source_options
@guard_options
@pagerank_options
def sites(
    source: Source,
    guards: Guards,
    terms: PageRankOptions,
    counted: str,
    name: str | None,
    n: int,
    as_json: bool,
) -> None:
    """Rank sites, which are registrable domains, by PageRank of the links between them.

    Links within a site do not count. With --count cash, sites are ranked by the cash that
    flows between them, as in `top --sites`. The score of a site is saved in equal parts for its
    pages, and `top --sites --by sites` adds it up again.
    """
    name = rank_name(name, source)
    if guards.asked_for().keys() - {"most_of_site"}:
        raise UsageError(
            "--intra-cap and --weight change nothing: links within a site do not count"
        )
    named = guards.guarded(source.graph)
    refuse_idle_dangling(terms)
    if counted == "pages" and len(sites_of(named.names).names) == named.graph.nodes:
        raise UsageError("--count pages is the same as links if each site has one page")
    linked = site_graph(named, by_page=counted == "pages")
    if not linked.graph.edges:
        raise UsageError("no site links to another one, so sites cannot be ranked")
    if counted == CASH and (guards.asked_for() or terms != PageRankOptions()):
        raise UsageError("--count cash cannot be combined with guards and options of PageRank")
    with source.progress(name) as tell:
        if counted == CASH:
            found = _by_cash(source, linked, tell)
        else:
            found = pagerank(linked.graph, linked.weights, options=terms, tell=tell)
    asked = {"count": counted} | asdict(terms) | guards.asked_for()
    try:
        kept = of_pages(found, sites_of(named.names))
        keep(source, {name: kept}, linked.graph.edges, asked)
    finally:
        show_ranks(linked, {name: found}, n, as_json)


def _by_cash(source: Source, linked: NamedGraph, tell: Progress) -> Scores:
    if source.snapshot is None:
        raise UsageError("--count cash needs a store: a graph file has no cash")
    cash = cash_of_sites(source.snapshot, tell)
    names = linked.names.of(range(len(linked.names)))
    values = np.array([cash.get(name, 0.0) for name in names])
    return Scores(values=values, iterations=0, error_bound=inf, converged=True)


# ================================================================ trust
#
# `minicrawl rank trust`: TrustRank, the trust that spreads from trusted pages.


@click.command()
@click.option("--seeds", type=NAMES_FILE, help="Trust the nodes in this file, one per line.")
@click.option(
    "--seed-by",
    type=click.Choice(list(SEEDS_BY)),
    help="Trust the best nodes by this rank, if --seeds is not given.  [default: inverse]",
)
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Number of trusted nodes without --seeds.  [default: {TRUSTED}]",
)
@click.option(
    "--bad",
    type=NAMES_FILE,
    help="Distrust the nodes in this file, one per line. Distrust spreads to pages that link to "
    "them, and is subtracted from trust.",
)
@damping_option
@click.option(
    "--passing",
    type=click.Choice([passing.value for passing in Passing]),
    default=Passing.SPLIT.value,
    show_default=True,
    help="Split a page's trust among its links (split), or pass all of it along each link and "
    "take the maximum or the sum at the target.",
)
@click.option(
    "--passes",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop after N passes, even if the scores have not converged.",
)
@tolerance_option
@ranking
def trust(
    named: NamedGraph,
    tell: Progress,
    seeds: Path | None,
    seed_by: str | None,
    count: int | None,
    bad: Path | None,
    damping: float,
    passing: str,
    passes: int | None,
    tolerance: float,
) -> Scores:
    """Rank by TrustRank: the trust that spreads along links from trusted pages.

    Link weights count only with `--passing split`; otherwise each link gets all of the trust.
    """
    if passing != Passing.SPLIT.value:
        _refuse_weights(named, f"with --passing {passing} each link gets all of the trust")
    if seeds and (seed_by or count):
        raise UsageError("--seeds cannot be combined with --seed-by and --count")
    if seeds:
        nodes = nodes_of(named, lines_of(seeds), str(seeds))
    else:
        by = seed_by or "inverse"
        nodes = chosen_seeds(named.graph, named.weights, by, count or TRUSTED)
    terms = TrustOptions(
        passing=Passing(passing), damping=damping, passes=passes, tolerance=tolerance
    )
    if bad is None:
        return trust_scores(named.graph, nodes, named.weights, options=terms, tell=tell)
    distrusted = nodes_of(named, lines_of(bad), str(bad))
    nodes = nodes if seeds else [node for node in nodes if node not in distrusted]
    return less_distrust(named.graph, nodes, distrusted, named.weights, options=terms, tell=tell)


# ================================================================ hits
#
# `minicrawl rank hits`: hubs, and the authorities that they link to.


@dataclass(frozen=True, slots=True, kw_only=True)
class HitsVariant:
    """Variant of HITS to compute; by default the limit of the iteration."""

    rounds: int | None
    restart: float | None
    dimensions: int | None
    tolerance: float

    def compute(self, named: NamedGraph, tell: Progress) -> hits_ranks.Hits:
        graph, weights, tolerance = named.graph, named.weights, self.tolerance
        if self.rounds:
            return hits_ranks.textbook(graph, weights, rounds=self.rounds, tell=tell)
        variant: Any = hits_ranks.hits
        if self.restart:
            variant = partial(randomised, restart=self.restart)
        elif self.dimensions:
            variant = partial(subspace, size=self.dimensions, rng=np.random.default_rng(_SEED))
        found: hits_ranks.Hits = variant(graph, weights, tolerance=tolerance, tell=tell)
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
    type=click.IntRange(1, hits_ranks.MOST_DIMENSIONS),
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
    f"[default: {hits_ranks.TOLERANCE:g}]",
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
        tolerance=tolerance or hits_ranks.TOLERANCE,
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
                "authorities": nodes_with_scores(best(each.hits.authorities)),
                "hubs": nodes_with_scores(best(each.hits.hubs)),
            }
            for each in found
        ],
    }


def _lines(
    found: Iterable[Community], best: Callable[[Scores], list[tuple[str, float]]]
) -> Iterator[tuple[str, ...]]:
    for each in found:
        for role, scores in (("authority", each.hits.authorities), ("hub", each.hits.hubs)):
            for node, score in best(scores):
                yield f"{each.number}{each.sign}", role, percent(score), node
