"""Options for the order in which pages are found.

What finds pages is imported when it is needed: a command with these options tells its help at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minicrawl.cli.common.options import Number
from minicrawl.cli.common.tables import share
from minicrawl.export.cells import visible
from minicrawl.search.index import FOLDER, FieldWeights, SearchIndex
from minicrawl.search.query import Query
from minicrawl.search.ranking import RankingWeights
from minicrawl.store.reader import archive_folder, reading, search_folder

if TYPE_CHECKING:
    from minicrawl.report.search.searching import Finder, SearchRequest

Command = Callable[..., Any]

_MOST = 1_000_000.0
_IN_FIELDS = {
    one.name if one.name == "compound" else f"in-{one.name}": one.name
    for one in fields(FieldWeights)
}
_PARTS = [one.name for one in fields(RankingWeights) if one.name != "fields"]


class Linear(click.ParamType[float]):
    """`linear=W`: the part of the likeness."""

    name = "score"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        name, _, part = value.partition("=")
        if name != "linear":
            self.fail(f"{value!r} is not a score such as linear=0.7", param, ctx)
        return Number(0, 1).convert(part, param, ctx)


class Weight(click.ParamType[tuple[str, float]]):
    """`NAME=W`: how much a part of the score counts."""

    name = "weight"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        if isinstance(value, tuple):
            return value
        name, _, weight = str(value).partition("=")
        if name not in (*_PARTS, *_IN_FIELDS):
            known = ", ".join((*_PARTS, *_IN_FIELDS))
            self.fail(f"{value!r} is not a weight such as title=0.5; there are {known}", param, ctx)
        return name, Number(0, _MOST).convert(weight, param, ctx)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingChoice:
    """How pages are ordered."""

    by: str | None = None
    linear: float | None = None
    weights: RankingWeights = field(default_factory=RankingWeights)

    def finder(self, store: Path, told: Query | None = None) -> Finder:
        """What finds the pages of a store. The index is made first, if there is none.

        If ranks of topics are mixed, it says how they are for the query `told`.
        """
        from minicrawl.report.kept import kept_scores, scores
        from minicrawl.report.search.searching import Finder
        from minicrawl.report.search.topics import TopicMixture, is_by_topics
        from minicrawl.report.snapshot import snapshot

        prepare_index(store)
        folder = search_folder(store)
        if self.by is None:
            return Finder(folder)
        with snapshot(store) as seen:
            if not is_by_topics(self.by) or kept_scores(seen, self.by) is not None:
                return Finder(folder, scores(seen, self.by))
            mixture = TopicMixture(seen, SearchIndex(folder / FOLDER), self.by.partition(":")[2])
        if told is not None:
            parts = (f"{topic} {share(part)}" for topic, part in mixture.parts(told).items())
            click.echo(f"topics: {visible(', '.join(parts))}", err=True)
        return Finder(folder, mixture.scores)

    def asked(self, count: int, offset: int = 0, *, folds: bool = True) -> SearchRequest:
        """So many pages in this order."""
        from minicrawl.report.search.searching import SearchRequest

        return SearchRequest(
            count=count, offset=offset, folds=folds, linear=self.linear, weights=self.weights
        )


_OPTIONS = (
    click.option(
        "--by",
        metavar="NAME",
        help="Order the pages that have all words by this rank. `topics` mixes those of `rank "
        "pagerank --topics` by how likely the words are in each topic; topics:NAME mixes those "
        "saved with --as NAME.",
    ),
    click.option(
        "--score",
        "linear",
        metavar="linear=W",
        type=Linear(),
        help="Order by W parts of the likeness and 1 - W parts of the rank.",
    ),
    click.option(
        "--weight",
        "weights",
        metavar="NAME=W",
        type=Weight(),
        multiple=True,
        help=f"Change how much a part of the score counts: {', '.join(_PARTS)}, or a word "
        f"{', '.join(_IN_FIELDS)}. Repeatable.",
    ),
)


def ranking_options(command: Command) -> Command:
    """Pass `choice`, how pages are ordered, to the command."""

    @functools.wraps(command)
    def with_choice(
        *, by: str | None, linear: float | None, weights: tuple[tuple[str, float], ...], **rest: Any
    ) -> Any:
        choice = RankingChoice(by=by, linear=linear, weights=_weights(dict(weights)))
        return command(choice=choice, **rest)

    decorated: Command = with_choice
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def _weights(changed: dict[str, float]) -> RankingWeights:
    usual = RankingWeights()
    inner = {_IN_FIELDS[name]: value for name, value in changed.items() if name in _IN_FIELDS}
    parts = {name: value for name, value in changed.items() if name in _PARTS}
    return replace(usual, fields=replace(usual.fields, **inner), **parts)


def prepare_index(store: Path) -> None:
    """Make the index of a store, if there is none that can be used, and join the latest ranks."""
    from minicrawl.cli.search.indexing import bring_index_up_to_date
    from minicrawl.report.search.index_folder import has_index, why_useless
    from minicrawl.report.search.searching import join_importance

    folder = search_folder(store)
    with reading(store) as connection:
        is_there = has_index(folder) and not why_useless(folder, connection)
    if not is_there:
        bring_index_up_to_date(store)
    elif told := join_importance(folder, store):
        click.echo(f"minicrawl: {visible(told)}", err=True)
    if not archive_folder(store).is_dir():
        click.echo(f"{archive_folder(store)} is gone: only the index is left", err=True)
