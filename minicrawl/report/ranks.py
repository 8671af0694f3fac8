"""Pages in the order of their importance.

Law: the rank of a page is its place among all pages known, whatever part of them is asked for; of
equals the one that became known first comes first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from math import isnan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.export.rows import Block, ExportRow, rows_of
from minicrawl.model import READ_STATES, State
from minicrawl.progress import Progress, unreported
from minicrawl.report.kept import OWN, Floats, scores
from minicrawl.report.snapshot import LABELS, Snapshot, host
from minicrawl.store import questions
from minicrawl.store.records import DocumentRow
from minicrawl.store.trouble import reporting_damage

Pages = NDArray[np.int64]

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which pages are asked for, and by which rank. `count` 0 means all."""

    count: int = 0
    by: str = OWN
    host: str | None = None
    unread: bool = False
    fetched: bool = False
    noindex: bool = True

    @property
    def is_all(self) -> bool:
        """Nothing is left out but by the count."""
        return not (self.host or self.unread or self.fetched) and self.noindex


class RankedPage(NamedTuple):
    """A page in `top`; the score is that of the rank that was asked for."""

    rank: int
    url: str
    importance: float
    cash: float
    history: float
    inlinks: int
    fetched: bool
    status: int | None
    title: str
    host: str
    score: float | None


def top(snapshot: Snapshot, choice: Choice) -> Iterator[RankedPage]:
    """The best pages."""
    read = {state.label for state in READ_STATES}
    score = score_column(choice.by)
    found = blocks(snapshot, choice, (choice.by,))
    pairs = chain.from_iterable(zip(rows_of(one), one[score], strict=True) for one in found)
    for row, value in pairs:
        yield RankedPage(
            rank=row.rank,
            url=row.url,
            importance=row.importance,
            cash=row.cash,
            history=row.history,
            inlinks=row.inlinks,
            fetched=row.state in read,
            status=row.status,
            title=row.title,
            host=row.host,
            score=value,
        )


def rows(snapshot: Snapshot, choice: Choice) -> Iterator[ExportRow]:
    """All that is known of the pages chosen, the best first."""
    return chain.from_iterable(map(rows_of, blocks(snapshot, choice)))


def blocks(
    snapshot: Snapshot,
    choice: Choice,
    others: Sequence[str] = (),
    tell: Progress = unreported,
) -> Iterator[Block]:
    """The same column by column, with memory for one block at a time.

    Behind them comes a column for each of the other ranks that are named.
    """
    columns = {score_column(name): scores(snapshot, name) for name in others}
    pages, ranks = _in_order(snapshot, choice)
    wanted, start = choice.count or len(pages), 0
    while wanted and start < len(pages):
        stop = start + min(wanted, _ROWS_AT_ONCE)
        with reporting_damage(snapshot.path):
            block = _block(
                snapshot, pages[start:stop], ranks[start:stop], columns, noindex=choice.noindex
            )
        yield block
        tell(stop / len(pages))
        wanted -= len(block["rank"])
        start = stop


def chosen(snapshot: Snapshot, choice: Choice) -> Pages:
    """The pages themselves, the best first."""
    pages, _ = _in_order(snapshot, choice)
    if not choice.noindex:
        pages = pages[~np.isin(pages, questions.hidden(snapshot.connection))]
    return pages[: choice.count or None]


def rank_of(values: NDArray[np.float64] | NDArray[np.int64], place: int) -> int:
    """The rank of the value at this place, the largest being first."""
    value = values[place]
    return (
        1 + int(np.count_nonzero(values > value)) + int(np.count_nonzero(values[:place] == value))
    )


def richest(values: NDArray[np.floating | np.int64], count: int) -> Pages:
    """The places of the largest so many values, in order; all are not sorted for a few."""
    if not 0 < count < len(values):
        return np.argsort(-values, kind="stable")
    least = np.partition(values, -count)[-count]
    above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    best = above[np.argsort(-values[above], kind="stable")]
    return np.concatenate((best, equal[: count - len(best)]))


def score_column(name: str) -> str:
    """What the column of a rank is called."""
    return f"rank_{name}"


def or_none(values: Floats) -> list[float | None]:
    """What is not known is None, for files and for people."""
    return [None if isnan(value) else value for value in values.tolist()]


def _in_order(snapshot: Snapshot, choice: Choice) -> tuple[Pages, Pages]:
    """The pages chosen and their ranks; those without a score are the last."""
    values = scores(snapshot, choice.by)
    if choice.by != OWN:  # in which every page has a score
        np.nan_to_num(values, copy=False, nan=-1.0)
    if choice.is_all:
        pages = richest(values, choice.count)
        return pages, np.arange(1, len(pages) + 1)
    order = richest(values, 0)
    places = np.flatnonzero(_is_chosen(snapshot, choice)[order])
    return order[places], places + 1


def _is_chosen(snapshot: Snapshot, choice: Choice) -> NDArray[np.bool_]:
    chosen = np.ones(len(snapshot), dtype=np.bool_)
    if choice.unread:
        chosen &= snapshot.states == State.UNREAD
    if choice.fetched:
        chosen &= snapshot.was_read
    if choice.host:
        chosen &= np.isin(snapshot.host_of, hosts_named(snapshot, choice.host))
    return chosen


def hosts_named(snapshot: Snapshot, name: str) -> list[int]:
    """The ids of the hosts of this name, whatever their scheme and port."""
    wanted = name.lower()
    found = [number for number, host in enumerate(snapshot.hosts) if host == wanted]
    if not found:
        raise UsageError(f"no page of the host {name} is known; a host is a name like example.org")
    return found


def _block(
    snapshot: Snapshot, pages: Pages, ranks: Pages, others: Mapping[str, Floats], *, noindex: bool
) -> Block:
    documents = list(questions.documents(snapshot.connection, pages.tolist()))
    if not noindex:
        hidden = [document.page for document in documents if document.noindex]
        shown = ~np.isin(pages, hidden)
        pages, ranks = pages[shown], ranks[shown]
        documents = [document for document in documents if not document.noindex]
    places = questions.places(snapshot.connection, pages.tolist())
    said = _said(snapshot, pages, documents)
    return {
        "rank": ranks.tolist(),
        "url": places.urls,
        "host": list(map(host, places.origins)),
        "importance": snapshot.importance[pages].tolist(),
        "cash": snapshot.cash(pages).tolist(),
        "history": snapshot.histories(pages).tolist(),
        "inlinks": snapshot.inlinks_of(pages).tolist(),
        "state": [LABELS[state] for state in snapshot.states[pages].tolist()],
        "status": said.statuses,
        "depth": places.depths,
        "title": said.titles,
        "first_fetched": said.first_at,
        "last_fetched": said.last_at,
    } | {name: or_none(values[pages]) for name, values in others.items()}


class _Said(NamedTuple):
    """What pages said, if they were read: a list a column."""

    statuses: list[int | None]
    titles: list[str]
    first_at: list[str | None]
    last_at: list[str | None]


def _said(snapshot: Snapshot, pages: Pages, documents: Iterable[DocumentRow]) -> _Said:
    count = len(pages)
    said = _Said([None] * count, [""] * count, [None] * count, [None] * count)
    places = {page: place for place, page in enumerate(pages.tolist())}
    for document in documents:
        place = places[document.page]
        said.titles[place] = document.title
        said.first_at[place] = iso(document.first_at)
        said.last_at[place] = iso(document.last_at)
        if snapshot.was_read[document.page]:
            said.statuses[place] = document.status or None
    _add_other_statuses(snapshot, pages, said.statuses)
    return said


def _add_other_statuses(snapshot: Snapshot, pages: Pages, statuses: list[int | None]) -> None:
    """Of the last answer, where that was no page."""
    has_ended = snapshot.states[pages] != State.UNREAD
    others = np.flatnonzero(has_ended & ~snapshot.was_read[pages])
    found = questions.last_statuses(snapshot.connection, pages[others].tolist())
    for place, status in zip(others.tolist(), found, strict=True):
        statuses[place] = status


@lru_cache(maxsize=1)  # most pages were fetched once, so both their moments are the same
def iso(at: float) -> str:
    """A moment as ISO 8601 in UTC, to the second."""
    return f"{datetime.fromtimestamp(int(at), UTC).isoformat()[:-6]}Z"
