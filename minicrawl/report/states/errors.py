"""Pages that failed or were refused: by kind, by host and one by one.

Law: the detail of a page is that of its last request with the page's outcome. A page without a
request has the detail of its host.

failure    a page whose requests failed, or that was not requested because its host was down
refusal    a page that minicrawl chose not to read; refusals are counted, and listed only if their
           kind is named
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from minicrawl.report.selected_pages import hosts_named, pages_of_host
from minicrawl.report.snapshot import LABELS, Pages, Snapshot
from minicrawl.states import FAILURES, REFUSALS, State
from minicrawl.store import questions, request_log, tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.records import NOT_ASKED, FetchRow
from minicrawl.wording import iso

_PAGES_AT_ONCE = 10_000
KINDS = (*FAILURES, *REFUSALS)


class ErrorKind(NamedTuple):
    """Pages and requests of one kind; `share` is its part of all requests."""

    kind: str
    pages: int
    requests: int
    share: float
    means: str
    helps: str


class FailingHost(NamedTuple):
    """Host with the most frequent kind of its failures, and the detail of the last one."""

    host: str
    pages: int
    kind: str
    detail: str


class FailedPage(NamedTuple):
    """Failed page. `at` is None if it was not requested."""

    url: str
    kind: str
    status: int | None
    detail: str
    at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """Report: most frequent kinds and hosts first, latest pages first."""

    kinds: list[ErrorKind]
    hosts: list[FailingHost]
    pages: list[FailedPage]


def errors(
    snapshot: Snapshot, kinds: Collection[State] = (), host: str | None = None, count: int = 0
) -> ErrorReport:
    """Return a report on the failures of these kinds; without kinds on all. `count` 0 is all."""
    with reporting_damage(snapshot.path):
        pages = pages_of_host(snapshot, host)
        failed = pages[np.isin(snapshot.states[pages], list(kinds or FAILURES))]
        return ErrorReport(
            kinds=list(_kinds(snapshot, pages, kinds or KINDS, host)),
            hosts=list(_hosts(snapshot, failed, count)),
            pages=list(_one_by_one(snapshot, failed, count)),
        )


def _kinds(
    snapshot: Snapshot, pages: Pages, kinds: Collection[State], host: str | None
) -> Iterator[ErrorKind]:
    """Yield failures, then refusals, most frequent first."""
    hosts = None if host is None else hosts_named(snapshot, host)
    requests = request_log.outcomes(snapshot.connection, hosts)
    counts = np.bincount(snapshot.states[pages], minlength=max(State) + 1).tolist()
    total = sum(requests.values())
    for state in sorted(kinds, key=lambda state: (not state.is_failure, -counts[state], state)):
        requested = requests.get(state.outcome, 0)
        if counts[state] or requested:
            share = requested / total if requested else 0.0
            means, helps = state.row[:2]
            helps = helps if counts[state] else "nothing: no page is lost"
            yield ErrorKind(state.label, counts[state], requested, share, means, helps)


def _hosts(snapshot: Snapshot, pages: Pages, count: int) -> Iterator[FailingHost]:
    hosts = snapshot.host_of[pages]
    order = np.argsort(hosts, kind="stable")
    host_ids, starts, counts = np.unique(hosts[order], return_index=True, return_counts=True)
    worst = np.argsort(-counts, kind="stable")[: count or None]
    details, unexplained = dict[int, str](), set(host_ids[worst].tolist())
    for row in _last_requests(snapshot, pages):
        if (host := int(snapshot.host_of[row.page])) in unexplained:
            details[host] = f"{row.status or ''} {row.detail}".strip()
            unexplained.remove(host)
            if not unexplained:
                break
    states = snapshot.states[pages][order]
    for place in worst.tolist():
        host, start = int(host_ids[place]), starts[place]
        usual = int(np.bincount(states[start : start + counts[place]]).argmax())
        yield FailingHost(
            snapshot.origins[host],
            int(counts[place]),
            LABELS[usual],
            details.get(host) or trouble_of_host(snapshot, host, State(usual)),
        )


def _one_by_one(snapshot: Snapshot, pages: Pages, count: int) -> Iterator[FailedPage]:
    """Yield the requested pages, latest first, then the others, newest first."""
    rows = {row.page: row for row in islice(_last_requests(snapshot, pages), count or None)}
    unasked = np.setdiff1d(pages, list(rows))[::-1]
    shown = [*rows, *unasked.tolist()][: count or None]
    for start in range(0, len(shown), _PAGES_AT_ONCE):
        block = shown[start : start + _PAGES_AT_ONCE]
        for page, url in zip(
            block, questions.locations(snapshot.connection, block).urls, strict=True
        ):
            state, row = State(snapshot.states[page]), rows.get(page)
            if row is None:
                trouble = trouble_of_host(snapshot, int(snapshot.host_of[page]), state)
                yield FailedPage(url, state.label, None, trouble, None)
            else:
                yield FailedPage(url, state.label, row.status, row.detail, iso(row.at))


def _last_requests(snapshot: Snapshot, pages: Pages) -> Iterator[FetchRow]:
    """Yield the last request of each page with the page's outcome, latest first."""
    # As bytes, because rows come one by one: looking up single items is slow in numpy arrays.
    states, waiting = snapshot.states.tobytes(), np.zeros(len(snapshot), dtype=np.bool_)
    waiting[pages] = True
    awaited = bytearray(waiting.tobytes())
    outcomes = {state.value: state.outcome for state in KINDS}
    for row in request_log.failed_requests(snapshot.connection):
        if awaited[row.page] and row.outcome in (outcomes[states[row.page]], NOT_ASKED):
            awaited[row.page] = False
            yield row


def trouble_of_host(snapshot: Snapshot, host: int, state: State) -> str:
    """Return the last problem of a host if it explains the state of pages without requests."""
    row = tables.host(snapshot.connection, host)
    trouble = "" if row is None else row.trouble or ""
    if state is State.ROBOTS:  # the host may have had a problem later, with another page
        return trouble if trouble.startswith("robots.txt: ") else ""
    return trouble if state.is_failure or state is State.ADDRESS else ""
