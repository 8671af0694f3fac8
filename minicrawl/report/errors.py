"""What went wrong: the pages that failed or were refused, by kind, by host and one by one.

Law: what is told of a page is its last request that ended as the page did; of a page that nobody
asked for it is what was wrong with its host.

failure    a page that was asked for in vain, or not at all because its host was down
refusal    a page left alone for a reason of ours: counted, and shown only to who names its kind
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from minicrawl.model import State
from minicrawl.report.ranks import Pages, hosts_named, iso
from minicrawl.report.snapshot import LABELS, Snapshot
from minicrawl.store import questions, tables
from minicrawl.store.records import NOT_ASKED, FetchRow
from minicrawl.store.trouble import reporting_damage

_PAGES_AT_ONCE = 10_000


class Words(NamedTuple):
    """What a kind means, and what the user can do."""

    means: str
    helps: str


_LATER = "a run an hour later asks again"

WORDS = {
    State.DNS: Words("the host's name has no address", f"is it spelled right? {_LATER}"),
    State.CONNECT: Words("nobody answers at the host's address", _LATER),
    State.TLS: Words("the certificate or the handshake is wrong", "the detail says what is"),
    State.TIMEOUT: Words("no whole answer came in time", f"a longer --timeout; {_LATER}"),
    State.RESET: Words("the connection ended before the answer", f"a longer --delay; {_LATER}"),
    State.PROTOCOL: Words("what came is no HTTP", "the detail says what came"),
    State.ENCODING: Words("the body cannot be decoded", "only the server's owner can mend it"),
    State.TOO_LARGE: Words("past any reason", "the detail says what was"),
    State.CROWDED: Words("too many large bodies at once", "a larger --max-bodies"),
    State.THROTTLED: Words("429: asked to slow down", f"a longer --delay; {_LATER}"),
    State.SERVER_ERROR: Words("5xx: the server is in trouble", _LATER),
    State.NOT_FOUND: Words("404, 410: there is no such page", "nothing: some links are old"),
    State.CLIENT_ERROR: Words("any other 4xx, such as 403", "say who you are with --contact"),
    State.BAD_STATUS: Words("a status that means nothing here", "only the server's owner can"),
    State.BAD_REDIRECT: Words("a redirect to nowhere, or one too many", "the detail says which"),
    State.INTERRUPTED: Words("the request was ended for another one", "it is asked for again"),
    State.LOST: Words("the process that asked for it ended", "is there enough memory?"),
    State.ROBOTS: Words("robots.txt forbids it, or cannot be had", "the owner may change that"),
    State.SCOPE: Words("outside the scope", "a wider --scope or --allow, a narrower --deny"),
    State.DEPTH: Words("too many links away from the seeds", "a larger --max-depth"),
    State.HOST_BUDGET: Words("its host has had its pages", "a larger --per-host-pages"),
    State.ADDRESS: Words("at an address that is not public", "--allow-private, if it is yours"),
    State.TYPE: Words("not HTML", "nothing: only HTML is read"),
    State.TRAP: Words("there would be no end of pages like it", "the detail names the limit"),
    State.ALLOWANCE: Words("its host or site has had what it earned", "the detail names the limit"),
}
"""Of every failure, then of every refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorQuery:
    """Which of them are asked for. No kinds are all failures; `count` 0 means all."""

    kinds: frozenset[State] = frozenset()
    host: str | None = None
    count: int = 0


class ErrorKind(NamedTuple):
    """The pages that ended alike, and the requests that did; the share is of all requests."""

    kind: str
    pages: int
    requests: int
    share: float
    means: str
    helps: str


class FailingHost(NamedTuple):
    """A host, its most frequent kind, and what was said of it last."""

    host: str
    pages: int
    kind: str
    detail: str


class FailedPage(NamedTuple):
    """A page; without a moment where nobody asked for it."""

    url: str
    kind: str
    status: int | None
    detail: str
    at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """All that was asked for, the most frequent and the latest first."""

    kinds: list[ErrorKind]
    hosts: list[FailingHost]
    pages: list[FailedPage]

    def as_json(self) -> dict[str, object]:
        """Its values by their names."""
        return {
            "kinds": [kind._asdict() for kind in self.kinds],
            "hosts": [host._asdict() for host in self.hosts],
            "pages": [page._asdict() for page in self.pages],
        }


def errors(snapshot: Snapshot, question: ErrorQuery) -> ErrorReport:
    """What went wrong in this store."""
    with reporting_damage(snapshot.path):
        pages = _pages_of(snapshot, question.host)
        shown = question.kinds or frozenset(state for state in WORDS if state.is_failure)
        failed = pages[np.isin(snapshot.states[pages], list(shown))]
        return ErrorReport(
            kinds=list(_kinds(snapshot, pages, question)),
            hosts=list(_hosts(snapshot, failed, question.count)),
            pages=list(_one_by_one(snapshot, failed, question.count)),
        )


def _pages_of(snapshot: Snapshot, host: str | None) -> Pages:
    if host is None:
        return np.arange(len(snapshot))
    return np.flatnonzero(np.isin(snapshot.host_of, hosts_named(snapshot, host)))


def _kinds(snapshot: Snapshot, pages: Pages, question: ErrorQuery) -> Iterator[ErrorKind]:
    """Failures before refusals; of either the most frequent first."""
    hosts = None if question.host is None else hosts_named(snapshot, question.host)
    requests = questions.outcomes(snapshot.connection, hosts)
    counts = np.bincount(snapshot.states[pages], minlength=max(State) + 1).tolist()
    total = sum(requests.values())
    kinds = question.kinds or WORDS
    for state in sorted(kinds, key=lambda state: (not state.is_failure, -counts[state], state)):
        asked = requests.get(state.outcome, 0)
        if counts[state] or asked:
            share = asked / total if asked else 0.0
            yield ErrorKind(state.label, counts[state], asked, share, *WORDS[state])


def _hosts(snapshot: Snapshot, pages: Pages, count: int) -> Iterator[FailingHost]:
    """Those with most of these pages."""
    hosts = snapshot.host_of[pages]
    order = np.argsort(hosts, kind="stable")
    found, starts, counts = np.unique(hosts[order], return_index=True, return_counts=True)
    worst = np.argsort(-counts, kind="stable")[: count or None]
    said = _said_last(snapshot, pages, set(found[worst].tolist()))
    states = snapshot.states[pages][order]
    for place in worst.tolist():
        host, start = int(found[place]), starts[place]
        usual = int(np.bincount(states[start : start + counts[place]]).argmax())
        yield FailingHost(
            snapshot.origins[host],
            int(counts[place]),
            LABELS[usual],
            said.get(host) or _trouble(snapshot, host),
        )


def _said_last(snapshot: Snapshot, pages: Pages, hosts: set[int]) -> dict[int, str]:
    """By host, what the last of these requests came to."""
    said: dict[int, str] = {}
    for row in _last_requests(snapshot, pages):
        host = int(snapshot.host_of[row.page])
        if host in hosts:
            said.setdefault(host, f"{row.status or ''} {row.detail}".strip())
            if len(said) == len(hosts):
                break
    return said


def _one_by_one(snapshot: Snapshot, pages: Pages, count: int) -> Iterator[FailedPage]:
    """The latest first; then those that nobody asked for, the youngest first."""
    rows = {row.page: row for row in islice(_last_requests(snapshot, pages), count or None)}
    unasked = np.setdiff1d(pages, list(rows))[::-1]
    shown = [*rows, *unasked.tolist()][: count or None]
    for start in range(0, len(shown), _PAGES_AT_ONCE):
        block = shown[start : start + _PAGES_AT_ONCE]
        for page, url in zip(block, questions.places(snapshot.connection, block).urls, strict=True):
            yield _failed_page(snapshot, page, url, rows.get(page))


def _failed_page(snapshot: Snapshot, page: int, url: str, row: FetchRow | None) -> FailedPage:
    kind = LABELS[int(snapshot.states[page])]
    if row is None:
        return FailedPage(url, kind, None, _trouble(snapshot, int(snapshot.host_of[page])), None)
    return FailedPage(url, kind, row.status, row.detail, iso(row.at))


def _last_requests(snapshot: Snapshot, pages: Pages) -> Iterator[FetchRow]:
    """Of each of these pages the last that ended as the page did, the latest first."""
    states, waiting = snapshot.states.tobytes(), np.zeros(len(snapshot), dtype=np.bool_)
    waiting[pages] = True
    awaited = bytearray(waiting.tobytes())
    outcomes = {state.value: state.outcome for state in WORDS}
    for row in questions.failed_requests(snapshot.connection):
        if awaited[row.page] and row.outcome in (outcomes[states[row.page]], NOT_ASKED):
            awaited[row.page] = False
            yield row


def _trouble(snapshot: Snapshot, host: int) -> str:
    """What was wrong with the host as a whole."""
    row = tables.host(snapshot.connection, host)
    return "" if row is None else row.trouble or ""
