"""Options for the order of results."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import click

from minicrawl.cli.options import Number
from minicrawl.cli.output import share
from minicrawl.cli.parameters import option, with_made
from minicrawl.report.saved_ranks import kept_scores, scores
from minicrawl.report.snapshot import snapshot
from minicrawl.search.commands.index_command import prepare_index
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.ranking import RankingWeights
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import Query
from minicrawl.store.reader import search_folder
from minicrawl.wording import visible


class Linear(click.ParamType[float]):
    """Value of --score: `linear=W`, the weight of relevance."""

    name = "score"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        name, _, part = value.partition("=")
        if name != "linear":
            self.fail(f"{value!r} is not a score such as linear=0.7", param, ctx)
        return Number(0, 1).convert(part, param, ctx)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingChoice:
    """Order of search results."""

    by: str | None = None
    linear: float | None = None
    weights: RankingWeights = field(default_factory=RankingWeights)

    def finder(self, store: Path, query: Query | None = None) -> Finder:
        """Return the finder of a store. A missing index is built first.

        If ranks of topics are mixed, print their weights for `query`.
        """
        from minicrawl.search.topics import TopicMixture, is_by_topics

        prepare_index(store)
        folder = search_folder(store)
        if self.by is None:
            return Finder(folder)
        with snapshot(store) as view:
            if not is_by_topics(self.by) or kept_scores(view, self.by) is not None:
                return Finder(folder, scores(view, self.by))
            mixture = TopicMixture(view, SearchIndex(folder / FOLDER), self.by.partition(":")[2])
        if query is not None:
            parts = (f"{topic} {share(part)}" for topic, part in mixture.parts(query).items())
            click.echo(f"topics: {visible(', '.join(parts))}", err=True)
        return Finder(folder, mixture.scores)

    def request(self, count: int, offset: int = 0, *, folds: bool = True) -> SearchRequest:
        """Return a request for `count` pages in this order."""
        return SearchRequest(
            count=count, offset=offset, folds=folds, linear=self.linear, weights=self.weights
        )


def _choice(
    by: str | None = option(
        "Order results by this rank. topics mixes the ranks of `rank pagerank --topics` by the "
        "likelihood of the words in each topic; topics:NAME uses those saved with --as NAME.",
        metavar="NAME",
    ),
    linear: float | None = option(
        "Score = W x relevance + (1 - W) x rank.", flag="--score", metavar="linear=W", type=Linear()
    ),
) -> RankingChoice:
    return RankingChoice(by=by, linear=linear)


ranking_options = with_made(choice=_choice)
"""Passes `choice`, the order of results, to a command."""
