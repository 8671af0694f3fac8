"""Pages that are new, changed or gone since a given time.

new         read for the first time since then
changed     read before, and read again with another main text than in the last version before.
            A new menu, session id, comment or attribute is no change. If either version has no
            main text, the whole texts are compared; if the archive lacks one of the versions,
            any different byte counts, and words are not counted
fixed       dead when it was last requested, whether it was ever read, and there again, perhaps as
            a redirect; or a link outside the crawl that `--check` found dead
moved       read before, now a redirect
gone        read before, now nonexistent
failed      read before, now failing
refused     read before, now forbidden

Law: a page has one row, for its current state. A page whose failed request will be retried counts
as unchanged.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from minicrawl.errors import Damaged, NoText
from minicrawl.report.graph.flows import final_pages
from minicrawl.report.selected_pages import hosts_named
from minicrawl.report.snapshot import Snapshot, page_of, places_of_largest
from minicrawl.report.states.text_diffs import Parts, text_diff
from minicrawl.states import READ_STATES, State
from minicrawl.store import questions, request_log, tables
from minicrawl.store.derived.checks import CheckRow, all_checks
from minicrawl.store.reader import archive_folder
from minicrawl.wording import iso

NEW, CHANGED, FIXED = "new", "changed", "fixed"
_MOVED, _GONE, _FAILED, _REFUSED = "moved", "gone", "failed", "refused"

KINDS_OF_CHANGE = (NEW, CHANGED, FIXED, _MOVED, _GONE, _FAILED, _REFUSED)


class Change(NamedTuple):
    importance: float
    what: str
    at: str
    status: int | None
    old_words: int | None
    new_words: int | None
    url: str
    title: str


class ChangedPages:
    """Pages that changed since a time, or since the last run began; most important first."""

    def __init__(self, snapshot: Snapshot, since: float | None = None) -> None:
        self._snapshot = snapshot
        since = tables.last_run(snapshot.connection) if since is None else since
        changes, self._texts = _changed(snapshot, since)
        pages = np.array(sorted(changes), dtype=np.int64)
        self._pages = pages[places_of_largest(snapshot.importance[pages], 0)]
        changed = [changes[page] for page in self._pages.tolist()]
        kinds = {kind: number for number, kind in enumerate(KINDS_OF_CHANGE)}
        self._kinds = np.array([kinds[kind] for kind, _ in changed], dtype=np.uint8)
        self._times = np.array([at for _, at in changed])

    def rows(self, host: str | None = None, count: int = 0) -> tuple[list[Change], int]:
        """Return at most `count` changes of a host or of all, and the number of all of them."""
        places = np.arange(len(self._pages))
        if host is not None:
            hosts = hosts_named(self._snapshot, host)
            places = np.flatnonzero(np.isin(self._snapshot.host_of[self._pages], hosts))
        first = places[: count or None]
        pages = self._pages[first].tolist()
        kinds = [KINDS_OF_CHANGE[kind] for kind in self._kinds[first].tolist()]
        kinds_of = dict(
            zip(pages, zip(kinds, self._times[first].tolist(), strict=True), strict=True)
        )
        return list(_rows(self._snapshot, pages, kinds_of, self._texts)), len(places)


def changes(
    snapshot: Snapshot, since: float | None = None, host: str | None = None
) -> list[Change]:
    """Return the changes since a time, or since the last run began; most important pages first."""
    since = tables.last_run(snapshot.connection) if since is None else since
    fixed = [] if host else _fixed_checks(snapshot, since)
    return [
        *ChangedPages(snapshot, since).rows(host)[0],
        *(Change(0.0, FIXED, iso(row.at), row.status, None, None, row.url, "") for row in fixed),
    ]


def counted_changes(snapshot: Snapshot) -> dict[str, int]:
    """Return the number of changes of each kind since the last run began.

    `unchanged` are pages that were read since then, with the text they had before.
    """
    since = tables.last_run(snapshot.connection)
    changes, _ = _changed(snapshot, since)
    counts = Counter(kind for kind, _ in changes.values())
    answered = request_log.pages_answered_since(snapshot.connection, since)
    there = sum(counts[kind] for kind in (NEW, CHANGED, FIXED))
    # A page that was read and then lost in one run counts only as lost.
    counts[FIXED] += len(_fixed_checks(snapshot, since))
    return {kind: counts[kind] for kind in KINDS_OF_CHANGE} | {
        "unchanged": max(answered - there, 0)
    }


def _fixed_checks(snapshot: Snapshot, since: float) -> list[CheckRow]:
    """Return the checks outside the crawl that found a dead target mended since then."""
    return [
        row
        for row in all_checks(snapshot.path, snapshot.connection)
        if (row.since or 0) >= since and row.state == State.FETCHED
    ]


Words = tuple[int, int] | None
SAME: Words = (-1, -1)
"""Value of a page whose text has not changed."""


def new_and_changed(snapshot: Snapshot, since: float) -> frozenset[int]:
    """Return the ids of the pages that are new or have changed since a time."""
    changes, _ = _changed(snapshot, since)
    kinds = (NEW, CHANGED, FIXED)
    return frozenset(page for page, (kind, _) in changes.items() if kind in kinds)


def _changed(
    snapshot: Snapshot, since: float
) -> tuple[dict[int, tuple[str, float]], dict[int, Words]]:
    """Return kind and time of each page's change, without equal texts, and the words then and now.

    A page without both versions has no word counts.
    """
    changes, words = _found(snapshot, since), dict[int, Words]()
    changed = [page for page, (kind, _) in changes.items() if kind == CHANGED]
    for page, texts in _compared(snapshot, changed, since):
        words[page] = None
        if texts is not None:
            old, new = (text.split() for text in texts)
            words[page] = SAME if old == new else (len(old), len(new))
    return {page: change for page, change in changes.items() if words.get(page) is not SAME}, words


def text_diffs(snapshot: Snapshot, rows: Sequence[Change], since: float | None) -> list[Parts]:
    """Return the words that went from each changed page, and those that came."""
    since = tables.last_run(snapshot.connection) if since is None else since
    changed = [page_of(snapshot, row.url) for row in rows if row.what == CHANGED]
    texts = {snapshot.url(page): both for page, both in _compared(snapshot, changed, since) if both}
    return [text_diff(*texts[row.url]) if row.url in texts else [] for row in rows]


def _compared(
    snapshot: Snapshot, pages: Sequence[int], since: float
) -> Iterator[tuple[int, tuple[str, str] | None]]:
    """Yield the texts of each page before and now; None without both versions."""
    has_pages = tables.archive_end(snapshot.connection) is not None
    if not pages or not has_pages or not archive_folder(snapshot.path).is_dir():
        return
    from minicrawl.report.archived.made_texts import ComparedTexts
    from minicrawl.report.archived.page_versions import kept_pages

    with kept_pages(snapshot) as archive, ComparedTexts(snapshot, archive) as compared:
        for page in pages:
            with suppress(Damaged, NoText):  # `minicrawl check` reports damage
                yield page, compared.around(snapshot.url(page), since)


def _found(snapshot: Snapshot, since: float) -> dict[int, tuple[str, float]]:
    """Return kind and time of each page's change, without comparing texts."""
    connection, states = snapshot.connection, snapshot.states
    changes = {page: (CHANGED, at) for page, at in request_log.changes(connection, since)}
    new = {page: (NEW, at) for page, at in questions.pages_read_since(connection, since)}
    changes |= new | {page: (FIXED, new[page][1]) for page in request_log.died(connection, [*new])}
    mended, ends = request_log.mended(connection, since), final_pages(snapshot)
    is_there = (State.UNREAD, *READ_STATES)
    changes |= {page: (FIXED, at) for page, at in mended if states[ends[page]] in READ_STATES}
    read = np.array(questions.pages_by_first_reading(connection), dtype=np.int64)
    lost = read[~np.isin(states[read], is_there)].tolist()
    for page, at in zip(lost, request_log.failing_since(connection, lost), strict=True):
        kind = changes.get(page, ("", 0.0))[0]
        if kind == FIXED and states[ends[page]] in READ_STATES:
            continue  # it redirects to a page that is there
        changes.pop(page, None)
        has_come = kind in (NEW, FIXED)  # and gone again since then
        if at is not None and at >= since and not has_come:
            changes[page] = _end_of(State(int(states[page]))), at
    return changes


def _end_of(state: State) -> str:
    if state in (State.MOVED, State.TWIN):
        return _MOVED
    if state is State.NOT_FOUND:
        return _GONE
    return _FAILED if state.is_failure else _REFUSED


def _rows(
    snapshot: Snapshot,
    pages: list[int],
    changes: Mapping[int, tuple[str, float]],
    texts: Mapping[int, Words],
) -> Iterator[Change]:
    connection = snapshot.connection
    titles = {row.page: row.title for row in questions.documents(connection, pages)}
    urls = questions.locations(connection, pages).urls
    statuses = request_log.last_values(connection, "status", pages)
    shares = snapshot.importance[pages].tolist()
    for page, share, url, status in zip(pages, shares, urls, statuses, strict=True):
        kind, at = changes[page]
        old, new = texts.get(page) or (None, None)
        yield Change(share, kind, iso(at), status, old, new, url, titles.get(page, ""))
