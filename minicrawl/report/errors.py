"""The pages that failed or were refused, by kind, by host and one by one.

Law: the detail of a page comes from its last request with the outcome of the page. A page without a
request has the detail of its host.

failure    a page whose requests failed, or that was not requested because its host was down
refusal    a page that minicrawl did not want; it is counted, and shown only if its kind is named
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from minicrawl.model import PageId, State
from minicrawl.report.ranks import Pages, hosts_named
from minicrawl.report.snapshot import LABELS, Snapshot
from minicrawl.store import fetches, questions, tables
from minicrawl.store.records import NOT_ASKED, FetchRow
from minicrawl.store.trouble import reporting_damage
from minicrawl.wording import iso

_PAGES_AT_ONCE = 10_000


class KindHelp(NamedTuple):
    """What a kind of failure means, and what helps."""

    means: str
    helps: str


_LATER = "run the crawl again after an hour"

KINDS = {
    State.DNS: KindHelp("the host name has no address", f"check the spelling, or {_LATER}"),
    State.CONNECT: KindHelp("the host does not accept connections", _LATER),
    State.PROXY: KindHelp("the proxy is down or refuses", "see the detail, mend the proxy"),
    State.TLS: KindHelp("bad certificate or handshake", "see the detail"),
    State.TIMEOUT: KindHelp("no complete response in time", f"a longer --timeout, or {_LATER}"),
    State.RESET: KindHelp(
        "the connection ended before the response", f"a longer --delay, or {_LATER}"
    ),
    State.PROTOCOL: KindHelp("the response is not HTTP", "see the detail"),
    State.ENCODING: KindHelp("the body cannot be decoded", "only the server's owner can fix it"),
    State.TOO_LARGE: KindHelp("far too large", "see the detail"),
    State.CROWDED: KindHelp("too many large bodies at once", "a larger --max-bodies"),
    State.THROTTLED: KindHelp("429: too many requests", f"a longer --delay, or {_LATER}"),
    State.SERVER_ERROR: KindHelp("5xx: the server has a problem", _LATER),
    State.NOT_FOUND: KindHelp("404, 410: there is no such page", "nothing: old links are normal"),
    State.CLIENT_ERROR: KindHelp("any other 4xx, such as 403", "set --contact; --auth for 401"),
    State.BAD_STATUS: KindHelp(
        "a status that makes no sense here", "only the server's owner can fix it"
    ),
    State.BAD_REDIRECT: KindHelp("a redirect to nowhere, or too many", "see the detail"),
    State.INTERRUPTED: KindHelp(
        "minicrawl ended the request for another one", "nothing: it is retried"
    ),
    State.LOST: KindHelp("the worker process ended", "check that there is enough memory"),
    State.ROBOTS: KindHelp("robots.txt forbids it or is not available", "the owner may change it"),
    State.SCOPE: KindHelp("outside the scope", "a wider --scope or --allow, a narrower --deny"),
    State.DEPTH: KindHelp("too many links away from the seeds", "a larger --max-depth"),
    State.HOST_BUDGET: KindHelp(
        "its host has reached --per-host-pages", "a larger --per-host-pages"
    ),
    State.FOCUS: KindHelp("too many links away from pages in focus", "a larger --focus-only"),
    State.ADDRESS: KindHelp("the address is not public", "--allow-private, if it is yours"),
    State.TYPE: KindHelp("of a type that is not read", "--types, if its links matter"),
    State.TRAP: KindHelp("probably a trap: endless similar pages", "the detail has the limit"),
    State.ALLOWANCE: KindHelp("its host or site has used up its quota", "the detail has the limit"),
}
"""Every failure, then every refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorQuery:
    """Which pages to report. Without kinds, all failures; `count` 0 is all."""

    kinds: frozenset[State] = frozenset()
    host: str | None = None
    count: int = 0


class ErrorKind(NamedTuple):
    """The pages and the requests of a kind; the share is that of all requests."""

    kind: str
    pages: int
    requests: int
    share: float
    means: str
    helps: str


class FailingHost(NamedTuple):
    """A host, its most frequent kind, and the last detail."""

    host: str
    pages: int
    kind: str
    detail: str


class FailedPage(NamedTuple):
    """A page. `at` is None if it was not requested."""

    url: str
    kind: str
    status: int | None
    detail: str
    at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """The report: the most frequent kinds and hosts first, and the latest pages."""

    kinds: list[ErrorKind]
    hosts: list[FailingHost]
    pages: list[FailedPage]

    def as_json(self) -> dict[str, object]:
        """The values by name."""
        return {
            "kinds": [kind._asdict() for kind in self.kinds],
            "hosts": [host._asdict() for host in self.hosts],
            "pages": [page._asdict() for page in self.pages],
        }


def errors(snapshot: Snapshot, query: ErrorQuery) -> ErrorReport:
    """Report what failed in this store."""
    with reporting_damage(snapshot.path):
        pages = _pages_of(snapshot, query.host)
        shown = query.kinds or frozenset(state for state in KINDS if state.is_failure)
        failed = pages[np.isin(snapshot.states[pages], list(shown))]
        return ErrorReport(
            kinds=list(_kinds(snapshot, pages, query)),
            hosts=list(_hosts(snapshot, failed, query.count)),
            pages=list(_one_by_one(snapshot, failed, query.count)),
        )


def _pages_of(snapshot: Snapshot, host: str | None) -> Pages:
    if host is None:
        return np.arange(len(snapshot))
    return np.flatnonzero(np.isin(snapshot.host_of, hosts_named(snapshot, host)))


def _kinds(snapshot: Snapshot, pages: Pages, query: ErrorQuery) -> Iterator[ErrorKind]:
    """Failures, then refusals; the most frequent first."""
    hosts = None if query.host is None else hosts_named(snapshot, query.host)
    requests = fetches.outcomes(snapshot.connection, hosts)
    counts = np.bincount(snapshot.states[pages], minlength=max(State) + 1).tolist()
    total = sum(requests.values())
    kinds = query.kinds or KINDS
    for state in sorted(kinds, key=lambda state: (not state.is_failure, -counts[state], state)):
        asked = requests.get(state.outcome, 0)
        if counts[state] or asked:
            share = asked / total if asked else 0.0
            yield ErrorKind(state.label, counts[state], asked, share, *KINDS[state])


def _hosts(snapshot: Snapshot, pages: Pages, count: int) -> Iterator[FailingHost]:
    """The hosts with most of these pages."""
    hosts = snapshot.host_of[pages]
    order = np.argsort(hosts, kind="stable")
    found, starts, counts = np.unique(hosts[order], return_index=True, return_counts=True)
    worst = np.argsort(-counts, kind="stable")[: count or None]
    details = _last_details(snapshot, pages, set(found[worst].tolist()))
    states = snapshot.states[pages][order]
    for place in worst.tolist():
        host, start = int(found[place]), starts[place]
        usual = int(np.bincount(states[start : start + counts[place]]).argmax())
        yield FailingHost(
            snapshot.origins[host],
            int(counts[place]),
            LABELS[usual],
            details.get(host) or _trouble(snapshot, host),
        )


def _last_details(snapshot: Snapshot, pages: Pages, hosts: set[int]) -> dict[int, str]:
    """The status and detail of the last of these requests, by host."""
    details: dict[int, str] = {}
    for row in _last_requests(snapshot, pages):
        host = int(snapshot.host_of[row.page])
        if host in hosts:
            details.setdefault(host, f"{row.status or ''} {row.detail}".strip())
            if len(details) == len(hosts):
                break
    return details


def _one_by_one(snapshot: Snapshot, pages: Pages, count: int) -> Iterator[FailedPage]:
    """Requested pages, the latest first, then the others, the newest first."""
    rows = {row.page: row for row in islice(_last_requests(snapshot, pages), count or None)}
    unasked = np.setdiff1d(pages, list(rows))[::-1]
    shown = [*rows, *unasked.tolist()][: count or None]
    for start in range(0, len(shown), _PAGES_AT_ONCE):
        block = shown[start : start + _PAGES_AT_ONCE]
        for page, url in zip(
            block, questions.locations(snapshot.connection, block).urls, strict=True
        ):
            yield _failed_page(snapshot, page, url, rows.get(page))


def _failed_page(snapshot: Snapshot, page: PageId, url: str, row: FetchRow | None) -> FailedPage:
    kind = LABELS[int(snapshot.states[page])]
    if row is None:
        return FailedPage(url, kind, None, _trouble(snapshot, int(snapshot.host_of[page])), None)
    return FailedPage(url, kind, row.status, row.detail, iso(row.at))


def _last_requests(snapshot: Snapshot, pages: Pages) -> Iterator[FetchRow]:
    """The last request of each page with the outcome of the page; the latest first."""
    states, waiting = snapshot.states.tobytes(), np.zeros(len(snapshot), dtype=np.bool_)
    waiting[pages] = True
    awaited = bytearray(waiting.tobytes())
    outcomes = {state.value: state.outcome for state in KINDS}
    for row in fetches.failed_requests(snapshot.connection):
        if awaited[row.page] and row.outcome in (outcomes[states[row.page]], NOT_ASKED):
            awaited[row.page] = False
            yield row


def _trouble(snapshot: Snapshot, host: int) -> str:
    """The last problem of a host, or an empty string."""
    row = tables.host(snapshot.connection, host)
    return "" if row is None else row.trouble or ""
