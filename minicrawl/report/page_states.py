"""States of pages: failures by kind, changes since a time, and why a page has its rank.

errors   pages that failed or were refused: by kind, by host and one by one
reasons  reasons for the rank and state of one page
changes  pages that are new, changed or gone
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from heapq import nlargest
from itertools import islice
from math import isnan
from typing import NamedTuple

import numpy as np

from minicrawl.errors import Damaged, NoText
from minicrawl.model import CUT, FULL_VALUE, READ_STATES, FailureKind, PageId, State
from minicrawl.opic.importance.expected_value import Signal
from minicrawl.ports import Progress
from minicrawl.report.cuts import remedy
from minicrawl.report.page_links import indexed_linking_pages, standing_for
from minicrawl.report.selected_pages import Pages, hosts_named, pages_of_host
from minicrawl.report.snapshot import (
    LABELS,
    Convergence,
    QueuePosition,
    Snapshot,
    convergence_of,
    page_of,
    places_of_largest,
    queue_position,
    rank_of,
    saved_ranks,
    scores,
)
from minicrawl.report.store_graph import CashGifts, CashSoFar, final_pages, gifts_to, history_of
from minicrawl.store import questions, tables
from minicrawl.store.derived import CheckRow, all_checks
from minicrawl.store.reader import archive_folder
from minicrawl.store.records import NOT_ASKED, DocumentRow, FetchRow, HostRow, reporting_damage
from minicrawl.wording import counted, iso

# ================================================================ errors
#
# Pages that failed or were refused: by kind, by host and one by one.
#
# Law: the detail of a page is that of its last request with the page's outcome. A page without a
# request has the detail of its host.
#
# failure    a page whose requests failed, or that was not requested because its host was down
# refusal    a page that minicrawl chose not to read; refusals are counted, and listed only if their
#            kind is named

_PAGES_AT_ONCE = 10_000


class KindHelp(NamedTuple):
    """Meaning of a kind of failure, with advice."""

    means: str
    helps: str


_LATER = "run the crawl again after an hour"

KINDS = {
    State.DNS: KindHelp("the host name has no address", f"check the spelling, or {_LATER}"),
    State.CONNECT: KindHelp("the host does not accept connections", _LATER),
    State.PROXY: KindHelp("the proxy is down or refuses", "see the detail, repair the proxy"),
    State.TLS: KindHelp("bad certificate or handshake", "see the detail"),
    State.TIMEOUT: KindHelp("no complete response in time", f"a longer --timeout, or {_LATER}"),
    State.RESET: KindHelp(
        "the connection ended before the response", f"a longer --delay, or {_LATER}"
    ),
    State.PROTOCOL: KindHelp("the response is not HTTP", "see the detail"),
    State.ENCODING: KindHelp("the body cannot be decoded", "only the server's owner can fix it"),
    State.TOO_LARGE: KindHelp("far too large", "see the detail"),
    State.CROWDED: KindHelp("too many large bodies at once", "a smaller --concurrency"),
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
    State.FOCUS: KindHelp("off focus, in a crawl of an older version", "resume the crawl"),
    State.ADDRESS: KindHelp("the address is not public", "--allow-private, if it is yours"),
    State.TYPE: KindHelp("of a type that is not read", "--types, if its links matter"),
    State.TRAP: KindHelp("probably a trap: endless similar pages", "the detail has the limit"),
    State.ALLOWANCE: KindHelp("its host or site has used up its quota", "the detail has the limit"),
}
"""Failures, then refusals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorQuery:
    """Selection of pages to report. Without kinds, all failures; `count` 0 is all."""

    kinds: frozenset[State] = frozenset()
    host: str | None = None
    count: int = 0


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

    def as_json(self) -> dict[str, object]:
        """Return the report as a JSON document."""
        return {
            "kinds": [kind._asdict() for kind in self.kinds],
            "hosts": [host._asdict() for host in self.hosts],
            "pages": [page._asdict() for page in self.pages],
        }


def errors(snapshot: Snapshot, query: ErrorQuery) -> ErrorReport:
    """Return a report on the failures in this store."""
    with reporting_damage(snapshot.path):
        pages = pages_of_host(snapshot, query.host)
        shown = query.kinds or frozenset(state for state in KINDS if state.is_failure)
        failed = pages[np.isin(snapshot.states[pages], list(shown))]
        return ErrorReport(
            kinds=list(_kinds(snapshot, pages, query)),
            hosts=list(_hosts(snapshot, failed, query.count)),
            pages=list(_one_by_one(snapshot, failed, query.count)),
        )


def _kinds(snapshot: Snapshot, pages: Pages, query: ErrorQuery) -> Iterator[ErrorKind]:
    """Yield failures, then refusals, most frequent first."""
    hosts = None if query.host is None else hosts_named(snapshot, query.host)
    requests = questions.outcomes(snapshot.connection, hosts)
    counts = np.bincount(snapshot.states[pages], minlength=max(State) + 1).tolist()
    total = sum(requests.values())
    kinds = query.kinds or KINDS
    for state in sorted(kinds, key=lambda state: (not state.is_failure, -counts[state], state)):
        asked = requests.get(state.outcome, 0)
        if counts[state] or asked:
            share = asked / total if asked else 0.0
            yield ErrorKind(state.label, counts[state], asked, share, *KINDS[state])


def _hosts(snapshot: Snapshot, pages: Pages, count: int) -> Iterator[FailingHost]:
    """Yield the hosts with most of these pages."""
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
            details.get(host) or _trouble(snapshot, host, State(usual)),
        )


def _last_details(snapshot: Snapshot, pages: Pages, hosts: set[int]) -> dict[int, str]:
    """Return status and detail of the last failed request for these pages, by host."""
    details: dict[int, str] = {}
    for row in _last_requests(snapshot, pages):
        host = int(snapshot.host_of[row.page])
        if host in hosts:
            details.setdefault(host, f"{row.status or ''} {row.detail}".strip())
            if len(details) == len(hosts):
                break
    return details


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
                trouble = _trouble(snapshot, int(snapshot.host_of[page]), state)
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
    for row in questions.failed_requests(snapshot.connection):
        if awaited[row.page] and row.outcome in (outcomes[states[row.page]], NOT_ASKED):
            awaited[row.page] = False
            yield row


def _trouble(snapshot: Snapshot, host: int, state: State) -> str:
    """Return the last problem of a host if it explains the state of pages without requests."""
    row = tables.host(snapshot.connection, host)
    trouble = "" if row is None else row.trouble or ""
    if state is State.ROBOTS:  # the host may have had a problem later, with another page
        return trouble if trouble.startswith("robots.txt: ") else ""
    return trouble if state.is_failure or state is State.ADDRESS else ""


# ================================================================ reasons
#
# Reasons for the rank and state of a page: its cash, where that came from, and what it waits for.

_SOURCES_SHOWN = 10
_FETCHES_SHOWN = 5
_ALIKE_SHOWN = 10

_ENDED = {
    State.FETCHED: "it was read",
    State.ROBOTS: "the robots.txt of its host forbids it, or is not available",
    State.SCOPE: "it is outside the scope of the crawl, so it is ranked but not fetched",
    State.DEPTH: "it is more than --max-depth links away from the seeds",
    State.HOST_BUDGET: "its host has reached --per-host-pages",
    State.FOCUS: "it is off the focus of a crawl by an older version; the next run reads it",
    State.ADDRESS: "its address is not public",
    State.TYPE: "it is of a type that is not read (--types)",
    State.TRAP: "it is probably part of a trap: endless similar pages",
    State.ALLOWANCE: "its host or its site has used up its quota",
    State.MOVED: "it redirects to",
    State.CANONICAL: "its canonical URL is",
    State.ALIAS: "it has the same content as",
    State.FOREIGN: "it is a page of another shard of the crawl, which reads it",
    State.TWIN: "it was not requested, because by its URL it is the same as",
} | {State.of(kind): f"its requests failed: {kind.value}" for kind in FailureKind}


class CashSource(NamedTuple):
    """Page that gave cash to another: units given, and share of all cash received."""

    url: str
    amount: float
    share: float


class Fetch(NamedTuple):
    """One request for the page."""

    at: str
    outcome: str
    status: int | None
    detail: str


class RankScore(NamedTuple):
    """Score and place of the page by one saved rank; None if the page was found later."""

    name: str
    score: float | None
    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that the store knows about a page."""

    url: str
    original: str | None
    state: str
    rank: int
    importance: float
    convergence: Convergence | None
    cash: float
    history: float
    depth: int
    inlinks: int
    title: str
    status: int | None
    first_fetched: str | None
    last_fetched: str | None
    stands_for: str | None
    near_duplicates: list[str]
    """URLs of near-duplicates, in the order in which they were found."""
    place: QueuePosition | None
    ranks: list[RankScore]
    reasons: list[str]
    fetches: list[Fetch]
    givers: list[CashSource]
    received: list[CashSoFar]

    def as_json(self) -> dict[str, object]:
        """Return the explanation as a JSON document."""
        return asdict(self) | {
            "place": self.place and self.place._asdict(),
            "ranks": [score._asdict() for score in self.ranks],
            "fetches": [fetch._asdict() for fetch in self.fetches],
            "givers": [giver._asdict() for giver in self.givers],
            "received": [moment._asdict() for moment in self.received],
        }


def explain(snapshot: Snapshot, text: str, tell: Progress = lambda _share: None) -> Explanation:
    """Return an explanation of the page that the user named."""
    page = page_of(snapshot, text)
    (found_url,), _, (depth,) = questions.locations(snapshot.connection, [page])
    document = tables.document(snapshot.connection, page)
    alone = np.array([page])
    state = State(snapshot.frontier.state[page])
    target = snapshot.frontier.books.stands_for(page)
    position = queue_position(snapshot, page) if state is State.UNREAD else None
    linking = indexed_linking_pages(snapshot, standing_for(snapshot, page))
    gifts = gifts_to(snapshot, page, tell, linking)
    return Explanation(
        url=found_url,
        original=tables.original(snapshot.connection, page),
        state=state.label,
        rank=rank_of(snapshot.importance, page),
        importance=float(snapshot.importance[page]),
        convergence=convergence_of(snapshot),
        cash=float(snapshot.cash(alone)[0]),
        history=float(snapshot.histories(alone)[0]),
        depth=depth,
        inlinks=int(snapshot.inlinks_of(alone)[0]),
        title=document.title if document else "",
        status=_status(snapshot, page, state, document),
        first_fetched=iso(document.first_at) if document else None,
        last_fetched=iso(document.last_at) if document else None,
        stands_for=None if target == page else snapshot.url(target),
        near_duplicates=[
            snapshot.url(other) for other in snapshot.near_duplicates.like(page)[:_ALIKE_SHOWN]
        ],
        place=position,
        ranks=list(_rank_scores(snapshot, page)),
        reasons=_reasons(snapshot, page, state, position),
        fetches=[_fetch(row) for row in _last_fetches(snapshot, page)],
        givers=_cash_sources(snapshot, gifts),
        received=history_of(snapshot, gifts),
    )


def _status(
    snapshot: Snapshot, page: PageId, state: State, document: DocumentRow | None
) -> int | None:
    """Return the status in the lists of pages."""
    if document and snapshot.was_read[page]:
        return document.status or None
    if state is State.UNREAD:
        return None
    (last,) = questions.last_statuses(snapshot.connection, [page])
    return last


def _rank_scores(snapshot: Snapshot, page: PageId) -> Iterator[RankScore]:
    for saved in saved_ranks(snapshot.path, snapshot.connection):
        values = scores(snapshot, saved.row.name)
        if isnan(values[page]):
            yield RankScore(saved.row.name, None, None)
        else:
            yield RankScore(saved.row.name, float(values[page]), rank_of(values, page))


def _fetch(row: FetchRow) -> Fetch:
    return Fetch(iso(row.at), row.outcome, row.status, row.detail)


def _last_fetches(snapshot: Snapshot, page: PageId) -> list[FetchRow]:
    return tables.last_fetches(snapshot.connection, page, _FETCHES_SHOWN)


# ---------------------------------------------------------------- reasons


def _reasons(
    snapshot: Snapshot, page: PageId, state: State, position: QueuePosition | None
) -> list[str]:
    if position is not None and snapshot.frontier.terms.imported:
        return ["it has no links in the imported graph"]
    if position is not None:
        return _reasons_to_wait(snapshot, page, position)
    last = tables.last_fetches(snapshot.connection, page, 1)
    reasons = _ended(snapshot, page, state)
    details = [row.detail for row in last if row.outcome == NOT_ASKED]
    reasons += details
    if state in CUT:
        is_cut = (snapshot.states == state) & (snapshot.host_of == snapshot.host_of[page])
        number = counted(int(np.count_nonzero(is_cut)), "page")
        limits = f"limits of this kind cut off {number} of its host"
        reasons.append(f"{limits}; {remedy(state, ''.join(details))}")
    if (value := tables.values_of(snapshot.connection, [page]).get(page)) is not None:
        reasons.append(f"its value is {value / FULL_VALUE:.2f}")
    host = _host(snapshot, page)
    trouble = _trouble(snapshot, host.id, state)
    if trouble and not _last_fetches(snapshot, page):
        reasons.append(f"the problem of its host was: {trouble}")
    if state is State.ROBOTS and host.robots_until is not None:
        until = iso(host.robots_until)
        reasons.append(f"a crawl that runs after {until} asks for robots.txt again")
    return reasons


def _ended(snapshot: Snapshot, page: PageId, state: State) -> list[str]:
    end = snapshot.frontier.books.stands_for(page)
    if end != page:
        return [f"{_ENDED[state]} {snapshot.url(end)}, which gets its links"]
    from minicrawl.web.scope import may_be_html

    url = snapshot.url(page)
    if state is State.TYPE and not may_be_html(url):
        # The last request of a seed may have got a response, as seeds may have any suffix.
        last = tables.last_fetches(snapshot.connection, page, 1)
        if all(row.status is None for row in last):
            ending = url.partition("?")[0].rpartition(".")[2]
            return [f"its URL ends in .{ending}, so it is not a page and was not requested"]
    return [_ENDED[state]]


_ORDERED = {
    "greedy": ("with more cash", "has the most cash"),
    "siblings": ("with a higher key", "has the highest key"),
    "breadth-first": ("that were found before it", "was found first"),
    "random": ("that were drawn before it", "was drawn first"),
}
"""Phrases by strategy: for the pages ahead, and for the first page."""
_OTHERWISE = ("that its order puts before it", "is the first")
"""Phrases for a page order that a package adds."""


def _reasons_to_wait(snapshot: Snapshot, page: PageId, position: QueuePosition) -> list[str]:
    ahead, ahead_on_host = position.of_all - 1, position.of_host - 1
    before, first = _ORDERED.get(snapshot.strategy, _OTHERWISE)
    reasons = [
        f"it waits for {counted(ahead, 'page')} {before}, {ahead_on_host:,} on its host"
        if ahead
        else f"it {first} of all unread pages"
    ]
    if (siblings := snapshot.frontier.siblings) is not None and siblings.has_estimates:
        reasons.append(_estimated(siblings.keys[page]))
    if (values := snapshot.frontier.values) is not None:
        reasons.append(_expected(*values.signals_of(page)))
    host = _host(snapshot, page)
    if host.wait_until is not None:
        reasons.append(f"its host asked for a pause until {iso(host.wait_until)}")
    from minicrawl.web.robots import Rules

    rules = None if host.robots is None else Rules.from_text(host.robots)
    purpose = tables.settings(snapshot.connection).get("obey-usage")
    if rules is None:
        reasons.append("the robots.txt of its host was not requested yet")
    elif not rules.allows(snapshot.url(page)):
        reasons.append("the robots.txt of its host forbids it, so it will not be requested")
    elif purpose and (where := rules.denial(snapshot.url(page), str(purpose))):
        reasons.append(f"{where} of its host denies {purpose}, so it will not be requested")
    elif rules.crawl_delay_s is not None:
        reasons.append(f"its host asks for a delay of {rules.crawl_delay_s:g} s")
    return reasons


def _estimated(atoms: int) -> str:
    from minicrawl.opic.importance.early_rank import LAST_TURN
    from minicrawl.opic.ledger.money import UNIT

    return (
        f"PageRank of the links read so far gives it {atoms / UNIT:.2f} units, which stand in for "
        f"its cash until {LAST_TURN:,} pages are read"
    )


def _expected(value: float, signals: Sequence[Signal]) -> str:
    known = ", ".join(f"{one.name} {one.mean:.2f} over {one.pages:,}" for one in signals)
    return f"its expected value is {value:.2f}: {known or 'nothing like it was read'}"


def _host(snapshot: Snapshot, page: PageId) -> HostRow:
    number = int(snapshot.host_of[page])
    return tables.host(snapshot.connection, number) or HostRow(number, "")


def _cash_sources(snapshot: Snapshot, gifts: CashGifts) -> list[CashSource]:
    """Return the pages that gave most, by their last spendings."""
    total = float(gifts.units.sum())
    amounts = zip(gifts.givers.tolist(), gifts.units.tolist(), strict=True)
    largest = nlargest(_SOURCES_SHOWN, amounts, key=lambda gift: gift[1])
    return [
        CashSource(snapshot.url(giver), amount, amount / total)
        for giver, amount in largest
        if amount
    ]


# ================================================================ changes
#
# Pages that are new, changed or gone since a given time.
#
# new         read for the first time since then
# changed     read before, and read again with another main text than in the last version before.
#             A new menu, session id, comment or attribute is no change. If either version has no
#             main text, the whole texts are compared; if the archive lacks one of the versions,
#             any different byte counts, and words are not counted
# fixed       dead when it was last requested, whether it was ever read, and there again, perhaps as
#             a redirect; or a link outside the crawl that `--check` found dead
# moved       read before, now a redirect
# gone        read before, now nonexistent
# failed      read before, now failing
# refused     read before, now forbidden
#
# Law: a page has one row, for its current state. A page whose failed request will be retried counts
# as unchanged.

NEW, CHANGED, FIXED = "new", "changed", "fixed"
_MOVED, _GONE, _FAILED, _REFUSED = "moved", "gone", "failed", "refused"


KINDS_OF_CHANGE = (NEW, CHANGED, FIXED, _MOVED, _GONE, _FAILED, _REFUSED)


class Change(NamedTuple):
    """Changed page."""

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
        found, self._texts = _changed(snapshot, since)
        pages = np.array(sorted(found), dtype=np.int64)
        self._pages = pages[places_of_largest(snapshot.importance[pages], 0)]
        told = [found[page] for page in self._pages.tolist()]
        kinds = {what: number for number, what in enumerate(KINDS_OF_CHANGE)}
        self._kinds = np.array([kinds[what] for what, _ in told], dtype=np.uint8)
        self._times = np.array([at for _, at in told])

    def rows(self, host: str | None = None, count: int = 0) -> tuple[list[Change], int]:
        """Return at most `count` changes of a host or of all, and the number of all of them."""
        places = np.arange(len(self._pages))
        if host is not None:
            hosts = hosts_named(self._snapshot, host)
            places = np.flatnonzero(np.isin(self._snapshot.host_of[self._pages], hosts))
        first = places[: count or None]
        pages = self._pages[first].tolist()
        kinds = [KINDS_OF_CHANGE[kind] for kind in self._kinds[first].tolist()]
        found = dict(zip(pages, zip(kinds, self._times[first].tolist(), strict=True), strict=True))
        return list(_rows(self._snapshot, pages, found, self._texts)), len(places)


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


def counted_changes(snapshot: Snapshot, since: float | None = None) -> dict[str, int]:
    """Return the number of changes of each kind since a time, or since the last run began.

    `unchanged` are pages that were read since then, with the text they had before.
    """
    if since is None:
        since = tables.last_run(snapshot.connection)
    found, _ = _changed(snapshot, since)
    counts = Counter(what for what, _ in found.values())
    answered = questions.pages_answered_since(snapshot.connection, since)
    there = sum(counts[what] for what in (NEW, CHANGED, FIXED))
    # A page that was read and then lost in one run counts only as lost.
    counts[FIXED] += len(_fixed_checks(snapshot, since))
    return {what: counts[what] for what in KINDS_OF_CHANGE} | {
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
    found, _ = _changed(snapshot, since)
    wanted = (NEW, CHANGED, FIXED)
    return frozenset(page for page, (what, _) in found.items() if what in wanted)


def _changed(
    snapshot: Snapshot, since: float
) -> tuple[dict[int, tuple[str, float]], dict[int, Words]]:
    """Return kind and time of each page's change, without equal texts, and the word counts."""
    found = _found(snapshot, since)
    texts = dict(_text_changes(snapshot, found, since))
    return {page: told for page, told in found.items() if texts.get(page) is not SAME}, texts


def _text_changes(
    snapshot: Snapshot, found: Mapping[int, tuple[str, float]], since: float
) -> Iterator[tuple[int, Words]]:
    """Yield the word counts of each changed page, before and now; None without both versions."""
    changed = [page for page, (what, _) in found.items() if what == CHANGED]
    has_pages = tables.archive_end(snapshot.connection) is not None
    if not changed or not has_pages or not archive_folder(snapshot.path).is_dir():
        return
    from minicrawl.report.archived_pages import ComparedTexts, kept_pages

    with kept_pages(snapshot) as archive, ComparedTexts(snapshot, archive) as compared:
        for page in changed:
            with suppress(Damaged, NoText):  # `minicrawl check` reports damage
                texts = compared.around(snapshot.url(page), since)
                yield page, None if texts is None else _words(*texts)


def _words(before: str, now: str) -> Words:
    old, new = before.split(), now.split()
    return SAME if old == new else (len(old), len(new))


def _found(snapshot: Snapshot, since: float) -> dict[int, tuple[str, float]]:
    """Return kind and time of each page's change, without comparing texts."""
    connection, states = snapshot.connection, snapshot.states
    found = {page: (CHANGED, at) for page, at in questions.changes(connection, since)}
    new = {page: (NEW, at) for page, at in questions.pages_read_since(connection, since)}
    found |= new | {page: (FIXED, new[page][1]) for page in questions.died(connection, [*new])}
    mended, ends = questions.mended(connection, since), final_pages(snapshot)
    is_there = (State.UNREAD, *READ_STATES)
    found |= {page: (FIXED, at) for page, at in mended if states[ends[page]] in READ_STATES}
    read = np.array(questions.pages_read_ever(connection), dtype=np.int64)
    lost = read[~np.isin(states[read], is_there)].tolist()
    for page, at in zip(lost, questions.failing_since(connection, lost), strict=True):
        kind = found.get(page, ("", 0.0))[0]
        if kind == FIXED and states[ends[page]] in READ_STATES:
            continue  # it redirects to a page that is there
        found.pop(page, None)
        has_come = kind in (NEW, FIXED)  # and gone again since then
        if at is not None and at >= since and not has_come:
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
    statuses = questions.last_statuses(connection, pages)
    shares = snapshot.importance[pages].tolist()
    for page, share, url, status in zip(pages, shares, urls, statuses, strict=True):
        what, at = found[page]
        old, new = texts.get(page) or (None, None)
        yield Change(share, what, iso(at), status, old, new, url, titles.get(page, ""))
