"""Which pages are new, have changed, or are not there any more since a time.

new      read for the first time since then
changed  read before, and it said something else when it was read again: its text differs from that
         of the last version before. Another session id, comment or attribute changes no text.
         Without both versions in the archive, any other byte counts, and no words are counted.
moved    read before, and a redirect now
gone     read before, and it does not exist any more
failed   read before, and it could not be had any more
refused  read before, and it may not be asked for any more

Law: a page has one row, of what it is now. A page of which a request failed and will be made again
is as it was.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from minicrawl.archive.reader import ArchiveReader, last_page
from minicrawl.errors import Damaged
from minicrawl.model import READ_STATES, State
from minicrawl.report.archived.pages import PageVersion, kept_pages
from minicrawl.report.ranks import hosts_named, places_of_largest
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import fetches, questions, tables
from minicrawl.store.reader import archive_folder
from minicrawl.wording import iso

NEW, CHANGED = "new", "changed"
_MOVED, _GONE, _FAILED, _REFUSED = "moved", "gone", "failed", "refused"


class Change(NamedTuple):
    """A page that is not as it was."""

    importance: float
    what: str
    at: str
    status: int | None
    old_words: int | None
    new_words: int | None
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
    texts = dict(_text_changes(snapshot, found, since))
    found = {page: told for page, told in found.items() if texts.get(page) is not SAME}
    chosen = np.array(sorted(found), dtype=np.int64)
    if host is not None:
        chosen = chosen[np.isin(snapshot.host_of[chosen], hosts_named(snapshot, host))]
    chosen = chosen[places_of_largest(snapshot.importance[chosen], 0)]
    return list(_rows(snapshot, chosen.tolist(), found, texts))


Words = tuple[int, int] | None
SAME: Words = (-1, -1)
"""The text has not changed."""


def _text_changes(
    snapshot: Snapshot, found: Mapping[int, tuple[str, float]], since: float
) -> Iterator[tuple[int, Words]]:
    """Of the changed pages with both versions in the archive, their words before and now."""
    changed = [page for page, (what, _) in found.items() if what == CHANGED]
    has_pages = tables.archive_end(snapshot.connection) is not None
    if not changed or not has_pages or not archive_folder(snapshot.path).is_dir():
        return
    with kept_pages(snapshot) as archive:
        for page in changed:
            with suppress(Damaged):  # `minicrawl check` names it
                yield page, _words(archive, snapshot.url(page), since)


def _words(archive: ArchiveReader, url: str, since: float) -> Words:
    rows = archive.versions(url)
    before, last = last_page([row for row in rows if row.at < since]), last_page(rows)
    if not before or before == last:
        return None
    old, new = (
        PageVersion(archive.answer(rows[number - 1].place), number, len(rows)).text.split()
        for number in (before, last)
    )
    return SAME if old == new else (len(old), len(new))


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
    snapshot: Snapshot,
    pages: list[int],
    found: Mapping[int, tuple[str, float]],
    texts: Mapping[int, Words],
) -> Iterator[Change]:
    connection = snapshot.connection
    titles = {row.page: row.title for row in questions.documents(connection, pages)}
    urls = questions.locations(connection, pages).urls
    statuses = fetches.last_statuses(connection, pages)
    shares = snapshot.importance[pages].tolist()
    for page, share, url, status in zip(pages, shares, urls, statuses, strict=True):
        what, at = found[page]
        old, new = texts.get(page) or (None, None)
        yield Change(share, what, iso(at), status, old, new, url, titles[page])
