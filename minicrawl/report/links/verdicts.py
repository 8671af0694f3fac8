"""Verdicts on link targets: what a person would find behind a link.

alive      a page or a file is there, perhaps behind redirects
dead       nothing is there: a link to it is broken
blocked    the server turns robots away: a challenge, or too many requests; people may find a page
forbidden  robots.txt forbids it, so nobody asked
unchecked  nobody asked for another reason, or the failure was ours

A verdict follows from the state of a page, and from the detail of its last request, which names
the service behind a challenge. A separate state for challenges was rejected: stores and their
views would have to be migrated, and a challenge may come with any status.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from minicrawl.fetch.http.heads import TOO_LONG
from minicrawl.report.snapshot import Snapshot
from minicrawl.states import OPEN, LinkVerdict, State
from minicrawl.store import questions, request_log
from minicrawl.store.derived.checks import CheckRow, all_checks, all_findings
from minicrawl.web.responses.challenges import BLOCKS, COOKIE_WALL
from minicrawl.web.responses.soft_404 import SOFT_404, is_missing_sibling
from minicrawl.web.urls import split

Checks = list[tuple[int | None, CheckRow]]
"""Link checks, each with its page if that is known."""
ROWS_AT_ONCE = 10_000
_NEEDS_LOGIN = (401, 407)

SHOWN = (LinkVerdict.DEAD, LinkVerdict.BLOCKED)
"""Verdicts that lists of broken links show."""
NOT_CHECKED = (LinkVerdict.FORBIDDEN, LinkVerdict.UNCHECKED)


def verdict_of(state: State, status: int | None = None, detail: str = "") -> LinkVerdict:
    """Return the verdict on a page in this state, by its last request."""
    if detail.startswith(BLOCKS) or detail.endswith(COOKIE_WALL):
        return LinkVerdict.BLOCKED
    if status in _NEEDS_LOGIN or detail.endswith(TOO_LONG):
        return LinkVerdict.UNCHECKED
    if state is State.TYPE and status is not None:
        return LinkVerdict.ALIVE
    return state.row.verdict


def verdict_of_check(row: CheckRow) -> LinkVerdict:
    return verdict_of(State(row.state), row.status, row.detail)


def verdicts(snapshot: Snapshot, checks: Checks | None = None) -> NDArray[np.uint8]:
    """Return the verdict on each known page; a redirect is judged like any page, not by its end."""
    by_state = np.zeros(max(State) + 1, np.uint8)
    for state in State:
        by_state[state] = verdict_of(state)
    # By state for all pages at once; only the few states that depend on the response need a query.
    by_page = by_state[snapshot.states]
    pages = np.flatnonzero(np.isin(snapshot.states, OPEN))
    for start in range(0, len(pages), ROWS_AT_ONCE):
        block = pages[start : start + ROWS_AT_ONCE].tolist()
        statuses = request_log.last_values(snapshot.connection, "status", block)
        details = request_log.last_values(snapshot.connection, "detail", block)
        for page, status, detail in zip(block, statuses, details, strict=True):
            by_page[page] = verdict_of(State(snapshot.states[page]), status, detail or "")
    for page, row in checked_pages(snapshot, checks).items():
        by_page[page] = verdict_of_check(row)
    by_page[soft_404s(snapshot)] = LinkVerdict.DEAD
    return by_page


def soft_404s(snapshot: Snapshot) -> list[int]:
    """Return the pages that say "not found" with status 200."""
    return [row.source for row in all_findings(snapshot.path, snapshot.connection, SOFT_404)]


def checked_pages(snapshot: Snapshot, checks: Checks | None = None) -> dict[int, CheckRow]:
    """Return the link checks of known pages that the crawl did not read."""
    rows, was_read = _checks(snapshot) if checks is None else checks, snapshot.was_read
    return {page: row for page, row in rows if page is not None and not was_read[page]}


def checked_files(snapshot: Snapshot, checks: Checks | None = None) -> list[CheckRow]:
    """Return the checks of URLs that are not pages of the store, such as images."""
    rows = _checks(snapshot) if checks is None else checks
    return [row for page, row in rows if page is None and not is_missing_sibling(row.url)]


def _checks(snapshot: Snapshot) -> Checks:
    """Return all checks, each with its page if that is known."""
    rows = all_checks(snapshot.path, snapshot.connection)
    if not rows:
        return []
    pages = questions.find_all(snapshot.connection, [split(row.url) for row in rows])
    return list(zip(pages, rows, strict=True))


def verdicts_of(snapshot: Snapshot, urls: Collection[str]) -> dict[str, LinkVerdict]:
    """Return the verdicts on URLs, which may be pages or files."""
    checks = _checks(snapshot)
    codes = verdicts(snapshot, checks)
    files = {row.url: row for row in checked_files(snapshot, checks)}
    of_store = [url for url in urls if url not in files]
    pages = questions.find_all(snapshot.connection, list(map(split, of_store)))
    of_pages = zip(of_store, pages, strict=True)
    of_files = {url: verdict_of_check(files[url]) for url in urls if url in files}
    return of_files | {url: LinkVerdict(codes[page]) for url, page in of_pages if page is not None}
