"""Pages in the order of their importance.

Law: the rank of a page is its place among all pages known, whatever part of them is asked for; of
equals the one that became known first comes first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.export.rows import ExportRow
from minicrawl.model import READ_STATES, State
from minicrawl.report.snapshot import LABELS, Snapshot, host
from minicrawl.store import questions, tables

Pages = NDArray[np.int64]

_ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which pages are asked for. `count` 0 means all."""

    count: int = 0
    host: str | None = None
    unread: bool = False
    fetched: bool = False
    noindex: bool = True

    @property
    def is_all(self) -> bool:
        """Nothing is left out but by the count."""
        return not (self.host or self.unread or self.fetched) and self.noindex


class RankedPage(NamedTuple):
    """A page in `top`."""

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


def top(snapshot: Snapshot, choice: Choice) -> Iterator[RankedPage]:
    """The most important pages."""
    read = {state.label for state in READ_STATES}
    for row in rows(snapshot, choice):
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
        )


def rows(snapshot: Snapshot, choice: Choice) -> Iterator[ExportRow]:
    """All that is known of the pages chosen, the most important first; memory for a few at once."""
    pages, ranks = _in_order(snapshot, choice)
    found = _rows(snapshot, pages, ranks, noindex=choice.noindex)
    return islice(found, choice.count or None)


def rank_of(values: NDArray[np.float64] | NDArray[np.int64], place: int) -> int:
    """The rank of the value at this place, the largest being first."""
    value = values[place]
    return (
        1 + int(np.count_nonzero(values > value)) + int(np.count_nonzero(values[:place] == value))
    )


def richest(values: NDArray[np.float64] | NDArray[np.int64], count: int) -> Pages:
    """The places of the largest so many values, in order; all are not sorted for a few."""
    if not 0 < count < len(values):
        return np.argsort(-values, kind="stable")
    least = np.partition(values, -count)[-count]
    above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    best = above[np.argsort(-values[above], kind="stable")]
    return np.concatenate((best, equal[: count - len(best)]))


def _in_order(snapshot: Snapshot, choice: Choice) -> tuple[Pages, Pages]:
    """The pages chosen and their ranks."""
    if choice.is_all:
        pages = richest(snapshot.importance, choice.count)
        return pages, np.arange(1, len(pages) + 1)
    order = richest(snapshot.importance, 0)
    places = np.flatnonzero(_is_chosen(snapshot, choice)[order])
    return order[places], places + 1


def _is_chosen(snapshot: Snapshot, choice: Choice) -> NDArray[np.bool_]:
    chosen = np.ones(len(snapshot), dtype=np.bool_)
    if choice.unread:
        chosen &= snapshot.states == State.UNREAD
    if choice.fetched:
        chosen &= snapshot.was_read
    if choice.host:
        chosen &= np.isin(snapshot.host_of, _hosts_named(snapshot, choice.host))
    return chosen


def _hosts_named(snapshot: Snapshot, name: str) -> list[int]:
    """The hosts of this name, whatever their scheme and port."""
    wanted = name.lower()
    found = [number for number, host in enumerate(snapshot.hosts) if host == wanted]
    if not found:
        raise UsageError(f"no page of the host {name} is known; a host is a name like example.org")
    return found


def _rows(snapshot: Snapshot, pages: Pages, ranks: Pages, *, noindex: bool) -> Iterator[ExportRow]:
    for start in range(0, len(pages), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        yield from _block(snapshot, pages[block], ranks[block].tolist(), noindex=noindex)


def _block(
    snapshot: Snapshot, pages: Pages, ranks: list[int], *, noindex: bool
) -> Iterator[ExportRow]:
    states = snapshot.frontier.state
    importance, inlinks = snapshot.importance[pages].tolist(), snapshot.inlinks[pages].tolist()
    found = questions.pages(snapshot.connection, pages.tolist())
    for rank, share, links, row in zip(ranks, importance, inlinks, found, strict=True):
        page, origin, path, depth, title, status, keeps_out, first_at, last_at = row
        if keeps_out and not noindex:
            continue
        was_read = states[page] in READ_STATES
        yield ExportRow(
            rank,
            origin + path,
            host(origin),
            share,
            snapshot.cash(page),
            snapshot.history(page),
            links,
            LABELS[states[page]],
            status if was_read else _last_status(snapshot, page),
            depth,
            title or "",
            None if first_at is None else iso(first_at),
            None if last_at is None else iso(last_at),
        )


def _last_status(snapshot: Snapshot, page: int) -> int | None:
    """Of the last answer, where that was no page."""
    if snapshot.frontier.state[page] == State.UNREAD:
        return None
    last = tables.last_fetches(snapshot.connection, page, 1)
    return last[0].status if last else None


@lru_cache(maxsize=1)  # most pages were fetched once, so both their moments are the same
def iso(at: float) -> str:
    """A moment as ISO 8601 in UTC, to the second."""
    return f"{datetime.fromtimestamp(int(at), UTC).isoformat()[:-6]}Z"
