"""`minicrawl rank pagerank` and `inverse-pagerank`: how often a walk over the links comes by."""

from collections.abc import Iterable
from pathlib import Path

import click

from minicrawl.analysis.source import Tell
from minicrawl.cli.rank.in_blocks import or_in_blocks
from minicrawl.cli.rank.running import ranking
from minicrawl.cli.rank.walking import NAMES_FILE, lines_of, nodes_of, terms_options
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.walks import inverse, topics
from minicrawl.ranks.walks import pagerank as ranks


@click.command()
@click.option("--topic", type=NAMES_FILE, help="Jumps lead to these nodes only.")
@click.option(
    "--topics",
    "by_topic",
    type=NAMES_FILE,
    help="A rank for each topic: lines of a topic, a tab and a node.",
)
@click.option("--mix", metavar="A=PART,...", help="One rank of the --topics, each by its part.")
@or_in_blocks
@ranking
@terms_options
def pagerank(
    named: NamedGraph,
    tell: Tell,
    terms: ranks.PageRankOptions,
    topic: Path | None,
    by_topic: Path | None,
    mix: str | None,
) -> Scores | dict[str, Scores]:
    """Rank by how often a walk that follows links, and now and then jumps, comes by."""
    if topic and by_topic:
        raise UsageError("--topic is one topic and --topics are several: leave out one of them")
    if by_topic:
        return _of_topics(named, tell, terms, by_topic, mix)
    if mix is not None:
        raise UsageError("--mix mixes the topics of --topics: name their file")
    jumps = None
    if topic:
        jumps = topics.teleport(named.graph.nodes, nodes_of(named, lines_of(topic), str(topic)))
    return ranks.pagerank(named.graph, named.weights, terms=terms, teleport=jumps, tell=tell)


@click.command("inverse-pagerank")
@ranking
@terms_options
def inverse_pagerank(named: NamedGraph, tell: Tell, terms: ranks.PageRankOptions) -> Scores:
    """Rank by PageRank of the links followed backwards: what leads to much."""
    return inverse.inverse_pagerank(named.graph, named.weights, terms=terms, tell=tell)


def _of_topics(
    named: NamedGraph, tell: Tell, terms: ranks.PageRankOptions, file: Path, mix: str | None
) -> Scores | dict[str, Scores]:
    parts = None if mix is None else _parts(mix)
    nodes = {
        topic: nodes_of(named, names, f"topic {topic!a} of {file}")
        for topic, names in _names_by_topic(lines_of(file), str(file)).items()
    }
    found = topics.topic_ranks(named.graph, nodes, named.weights, terms=terms, tell=tell)
    return found if parts is None else topics.mixture(found, parts)


def _names_by_topic(lines: Iterable[str], place: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        topic, tab, name = line.partition("\t")
        if not tab:
            raise UsageError(f"{place}: expected a topic, a tab and a node, found {line[:40]!a}")
        found.setdefault(topic.strip(), []).append(name.strip())
    if not found:
        raise UsageError(f"{place} names no topic: its lines are a topic, a tab and a node")
    return found


def _parts(mix: str) -> dict[str, float]:
    try:
        pairs = [part.rpartition("=") for part in mix.split(",")]
        return {name.strip(): float(number) for name, _, number in pairs}
    except ValueError as error:
        raise UsageError(f"--mix is like news=0.3,sport=0.7, not {mix!a}") from error
