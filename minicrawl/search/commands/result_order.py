"""The order of results: `--by` and `--score`."""

from pathlib import Path

import click

from minicrawl.cli.options import Number
from minicrawl.cli.output import share
from minicrawl.report.saved_ranks import kept_scores, scores
from minicrawl.report.snapshot import snapshot
from minicrawl.search.commands.index_command import prepare_index
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.searching import Finder
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


def finder_by(rank: str | None, store: Path, query: Query) -> Finder:
    """Return the finder of a store, by a rank if one is named. A missing index is built first.

    If ranks of topics are mixed, print their weights for `query`.
    """
    from minicrawl.search.topics import TopicMixture

    prepare_index(store)
    folder = search_folder(store)
    if rank is None:
        return Finder(folder)
    with snapshot(store) as view:
        name, _, family = rank.partition(":")
        if name != "topics" or kept_scores(view, rank) is not None:
            return Finder(folder, scores(view, rank))
        mixture = TopicMixture(view, SearchIndex(folder / FOLDER), family)
    parts = (f"{topic} {share(part)}" for topic, part in mixture.parts(query).items())
    click.echo(f"topics: {visible(', '.join(parts))}", err=True)
    return Finder(folder, mixture.scores)
