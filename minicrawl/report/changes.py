"""Which pages are new, have changed, or are not there any more since a time.

new      read for the first time since then
changed  read before, and it said something else when it was read again
moved    read before, and a redirect now
gone     read before, and it does not exist any more
failed   read before, and it could not be had any more
refused  read before, and it may not be asked for any more

Law: a page has one row, of what it is now. A page of which a request failed and will be made again
is as it was.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from minicrawl.model import READ_STATES, State
from minicrawl.report.ranks import hosts_named, places_of_largest
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import fetches, questions, tables
from minicrawl.wording import iso

NEW, CHANGED = "new", "changed"
_MOVED, _GONE, _FAILED, _REFUSED = "moved", "gone", "failed", "refused"


class Change(NamedTuple):
    """A page that is not as it was."""

    importance: float
    what: str
    at: str
    status: int | None
    url: str
    title: str


def changes(
    snapshot: Snapshot, since: float | None = None, host: str | None = None
) -> list[Change]:
    """What has changed since a time, or since the last run of the crawl began; the most important
    pages first.
    """
    if since is None:
        since = tables.last_run(snapshot.connection)
    found = _found(snapshot, since)
    chosen = np.array(sorted(found), dtype=np.int64)
    if host is not None:
        chosen = chosen[np.isin(snapshot.host_of[chosen], hosts_named(snapshot, host))]
    chosen = chosen[places_of_largest(snapshot.importance[chosen], 0)]
    return list(_rows(snapshot, chosen.tolist(), found))


def _found(snapshot: Snapshot, since: float) -> dict[int, tuple[str, float]]:
    """What happened to each page, and when."""
    connection, states = snapshot.connection, snapshot.states
    found = {page: (CHANGED, at) for page, at in fetches.changes(connection, since)}
    found |= {page: (NEW, at) for page, at in questions.pages_read_since(connection, since)}
    is_there = (State.UNREAD, *READ_STATES)
    read = np.array(questions.pages_read_ever(connection), dtype=np.int64)
    lost = read[~np.isin(states[read], is_there)].tolist()
    for page, at in zip(lost, fetches.ends(connection, lost), strict=True):
        is_new = found.pop(page, ("", 0.0))[0] == NEW  # it came and went since then
        if at is not None and at >= since and not is_new:
            found[page] = _end_of(State(int(states[page]))), at
    return found


def _end_of(state: State) -> str:
    if state in (State.MOVED, State.TWIN):
        return _MOVED
    if state is State.NOT_FOUND:
        return _GONE
    return _FAILED if state.is_failure else _REFUSED


def _rows(
    snapshot: Snapshot, pages: list[int], found: dict[int, tuple[str, float]]
) -> Iterator[Change]:
    connection = snapshot.connection
    titles = {row.page: row.title for row in questions.documents(connection, pages)}
    urls = questions.locations(connection, pages).urls
    statuses = fetches.last_statuses(connection, pages)
    shares = snapshot.importance[pages].tolist()
    for page, share, url, status in zip(pages, shares, urls, statuses, strict=True):
        what, at = found[page]
        yield Change(share, what, iso(at), status, url, titles[page])
