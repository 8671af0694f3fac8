"""Why a page has its rank and state: its cash, the sources of it, and what it waits for."""

from dataclasses import asdict, dataclass
from heapq import nlargest
from math import isnan
from typing import NamedTuple

import numpy as np

from minicrawl.model import FailureKind, PageId, State
from minicrawl.progress import Progress
from minicrawl.report.kept import Convergence, convergence_of, kept, scores
from minicrawl.report.links.gifts import CashGifts, CashSoFar, gifts_to, history_of
from minicrawl.report.ranks import rank_of
from minicrawl.report.snapshot import Snapshot, page_of
from minicrawl.report.waiting import QueuePosition, queue_position
from minicrawl.store import questions, tables
from minicrawl.store.records import NOT_ASKED, FetchRow, HostRow
from minicrawl.web.robots.rules import Rules
from minicrawl.web.scope import may_be_html
from minicrawl.wording import counted, iso

_SOURCES_SHOWN = 10
_FETCHES_SHOWN = 5
_ALIKE_SHOWN = 10

_ENDED = {
    State.FETCHED: "it was read",
    State.ROBOTS: "the robots.txt of its host forbids it, or is not available",
    State.SCOPE: "it is outside the scope of the crawl, so it is ranked but not fetched",
    State.DEPTH: "it is more than --max-depth links away from the seeds",
    State.HOST_BUDGET: "its host has reached --per-host-pages",
    State.FOCUS: "it is not in focus, and more than --focus-only links away from the seeds "
    "and from pages in focus",
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
    """A page that gave cash to this one: the units it gave, and the share of all cash received."""

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
    """The score and rank of the page by one rank; None if the page was found later."""

    name: str
    score: float | None
    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All that the store knows about a page."""

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
    """URLs of pages that say the same, the one that was found first before the others."""
    place: QueuePosition | None
    ranks: list[RankScore]
    reasons: list[str]
    fetches: list[Fetch]
    givers: list[CashSource]
    received: list[CashSoFar]

    def as_json(self) -> dict[str, object]:
        """The values by name."""
        return asdict(self) | {
            "place": self.place and self.place._asdict(),
            "ranks": [score._asdict() for score in self.ranks],
            "fetches": [fetch._asdict() for fetch in self.fetches],
            "givers": [giver._asdict() for giver in self.givers],
            "received": [moment._asdict() for moment in self.received],
        }


def explain(snapshot: Snapshot, text: str, tell: Progress = lambda _share: None) -> Explanation:
    """Explain the page that the user means."""
    page = page_of(snapshot, text)
    (found_url,), _, (depth,) = questions.locations(snapshot.connection, [page])
    document = tables.document(snapshot.connection, page)
    alone = np.array([page])
    state = State(snapshot.frontier.state[page])
    target = snapshot.frontier.books.stands_for(page)
    position = queue_position(snapshot, page) if state is State.UNREAD else None
    gifts = gifts_to(snapshot, page, tell)
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
        status=document.status or None if document else None,
        first_fetched=iso(document.first_at) if document else None,
        last_fetched=iso(document.last_at) if document else None,
        stands_for=None if target == page else snapshot.url(target),
        near_duplicates=_near_duplicates(snapshot, page),
        place=position,
        ranks=_rank_scores(snapshot, page),
        reasons=_reasons(snapshot, page, state, position),
        fetches=[_fetch(row) for row in _last_fetches(snapshot, page)],
        givers=_cash_sources(snapshot, gifts),
        received=history_of(snapshot, gifts),
    )


def _near_duplicates(snapshot: Snapshot, page: PageId) -> list[str]:
    alike = snapshot.near_duplicates.like(page)[:_ALIKE_SHOWN]
    return [snapshot.url(other) for other in alike]


def _rank_scores(snapshot: Snapshot, page: PageId) -> list[RankScore]:
    names = [one.row.name for one in kept(snapshot.path, snapshot.connection)]
    return [_rank_score(snapshot, name, page) for name in names]


def _rank_score(snapshot: Snapshot, name: str, page: PageId) -> RankScore:
    values = scores(snapshot, name)
    if isnan(values[page]):
        return RankScore(name, None, None)
    return RankScore(name, float(values[page]), rank_of(values, page))


def _fetch(row: FetchRow) -> Fetch:
    return Fetch(iso(row.at), row.outcome, row.status, row.detail)


def _last_fetches(snapshot: Snapshot, page: PageId) -> list[FetchRow]:
    return tables.last_fetches(snapshot.connection, page, _FETCHES_SHOWN)


# ---------------------------------------------------------------- why


def _reasons(
    snapshot: Snapshot, page: PageId, state: State, position: QueuePosition | None
) -> list[str]:
    if position is not None and snapshot.frontier.terms.imported:
        return ["it has no links in the imported graph"]
    if position is not None:
        return _reasons_to_wait(snapshot, page, position)
    reasons = [*_ended(snapshot, page, state), *_why_not_requested(snapshot, page)]
    host = _host(snapshot, page)
    if host.trouble and not state.was_read and not _last_fetches(snapshot, page):
        reasons.append(f"the problem of its host was: {host.trouble}")
    if state is State.ROBOTS and host.robots_until is not None:
        until = iso(host.robots_until)
        reasons.append(f"a crawl that runs after {until} asks for robots.txt again")
    return reasons


def _ended(snapshot: Snapshot, page: PageId, state: State) -> list[str]:
    end = snapshot.frontier.books.stands_for(page)
    if end != page:
        return [f"{_ENDED[state]} {snapshot.url(end)}, which gets its links"]
    url = snapshot.url(page)
    if state is State.TYPE and not may_be_html(url) and not _was_requested(snapshot, page):
        ending = url.partition("?")[0].rpartition(".")[2]
        return [f"its URL ends in .{ending}, so it is no page and was not requested"]
    return [_ENDED[state]]


def _was_requested(snapshot: Snapshot, page: PageId) -> bool:
    """Whether its last request was answered: a seed is asked for, whatever its URL ends in."""
    last = tables.last_fetches(snapshot.connection, page, 1)
    return any(row.status is not None for row in last)


def _why_not_requested(snapshot: Snapshot, page: PageId) -> list[str]:
    """The reason why the crawl set the page aside, if that was its last decision."""
    last = tables.last_fetches(snapshot.connection, page, 1)
    return [row.detail for row in last if row.outcome == NOT_ASKED]


_ORDERED = {
    "greedy": ("with more cash", "has the most cash"),
    "siblings": ("with more to expect", "has the most to expect"),
    "breadth-first": ("that were found before it", "was found first"),
    "random": ("that were drawn before it", "was drawn first"),
}
"""By their strategies: what is said of the pages before one, and of the first one."""


def _reasons_to_wait(snapshot: Snapshot, page: PageId, position: QueuePosition) -> list[str]:
    ahead, ahead_on_host = position.of_all - 1, position.of_host - 1
    before, first = _ORDERED[snapshot.strategy]
    reasons = [
        f"it waits for {counted(ahead, 'page')} {before}, {ahead_on_host:,} on its host"
        if ahead
        else f"it {first} of all unread pages"
    ]
    host = _host(snapshot, page)
    if host.wait_until is not None:
        reasons.append(f"its host asked for a pause until {iso(host.wait_until)}")
    rules = None if host.robots is None else Rules.from_text(host.robots)
    if rules is None:
        reasons.append("the robots.txt of its host was not requested yet")
    elif not rules.allows(snapshot.url(page)):
        reasons.append("the robots.txt of its host forbids it, so it will not be requested")
    elif rules.crawl_delay_s is not None:
        reasons.append(f"its host asks for a delay of {rules.crawl_delay_s:g} s")
    return reasons


def _host(snapshot: Snapshot, page: PageId) -> HostRow:
    number = int(snapshot.host_of[page])
    return tables.host(snapshot.connection, number) or HostRow(number, "")


def _cash_sources(snapshot: Snapshot, gifts: CashGifts) -> list[CashSource]:
    """The pages that gave most, by their last spendings."""
    total = float(gifts.units.sum())
    amounts = zip(gifts.givers.tolist(), gifts.units.tolist(), strict=True)
    largest = nlargest(_SOURCES_SHOWN, amounts, key=lambda gift: gift[1])
    return [
        CashSource(snapshot.url(giver), amount, amount / total)
        for giver, amount in largest
        if amount
    ]
