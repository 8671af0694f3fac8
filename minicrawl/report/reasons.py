"""Why a page is where it is: its cash, who gave it, and what keeps it from being read."""

from dataclasses import asdict, dataclass
from heapq import nlargest
from math import isnan
from typing import NamedTuple

import numpy as np

from minicrawl.model import FailureKind, State
from minicrawl.progress import Progress, unreported
from minicrawl.report.finding import page_of
from minicrawl.report.flows import flows
from minicrawl.report.kept import kept, scores
from minicrawl.report.ranks import iso, rank_of
from minicrawl.report.snapshot import Snapshot
from minicrawl.report.waiting import QueuePosition, place
from minicrawl.store import questions, tables
from minicrawl.store.records import NOT_ASKED, FetchRow, HostRow
from minicrawl.web.robots.rules import Rules

_GIVERS_SHOWN = 10
_FETCHES_SHOWN = 5

_ENDED = {
    State.FETCHED: "it was read",
    State.ROBOTS: "the robots.txt of its host forbids it, or could not be had",
    State.SCOPE: "it is outside the scope of the crawl: known and ranked, not fetched",
    State.DEPTH: "it is more links away from the seeds than allowed",
    State.HOST_BUDGET: "its host has had all the pages it may have",
    State.ADDRESS: "it leads to an address that is not public",
    State.TYPE: "it is not HTML",
    State.TRAP: "there would be no end of pages like it",
    State.ALLOWANCE: "it has to wait until its host and its site have earned more",
    State.MOVED: "it redirects to",
    State.CANONICAL: "it names as its canonical form",
    State.ALIAS: "it has the same content as",
    State.TWIN: "it was not asked for, as its URL says that it is the same as",
} | {State.of(kind): f"it was asked for in vain: {kind.value}" for kind in FailureKind}


class Giver(NamedTuple):
    """A page that gave cash to this one: units of its history, and the share of all that came."""

    url: str
    amount: float
    share: float


class Fetch(NamedTuple):
    """One request for the page."""

    at: str
    outcome: str
    status: int | None
    detail: str


class Standing(NamedTuple):
    """What a rank says of the page; nothing if it became known later."""

    name: str
    score: float | None
    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All that the store knows of a page."""

    url: str
    original: str | None
    state: str
    rank: int
    importance: float
    cash: float
    history: float
    depth: int
    inlinks: int
    title: str
    status: int | None
    first_fetched: str | None
    last_fetched: str | None
    stands_for: str | None
    place: QueuePosition | None
    ranks: list[Standing]
    reasons: list[str]
    fetches: list[Fetch]
    givers: list[Giver]

    def as_json(self) -> dict[str, object]:
        """Its values by their names."""
        return asdict(self) | {
            "place": self.place and self.place._asdict(),
            "ranks": [standing._asdict() for standing in self.ranks],
            "fetches": [fetch._asdict() for fetch in self.fetches],
            "givers": [giver._asdict() for giver in self.givers],
        }


def explain(snapshot: Snapshot, text: str, tell: Progress = unreported) -> Explanation:
    """The page that a person means by this URL."""
    page = page_of(snapshot, text)
    (found_url,), _, (depth,) = questions.places(snapshot.connection, [page])
    document = tables.document(snapshot.connection, page)
    alone = np.array([page])
    state = State(snapshot.frontier.state[page])
    target = snapshot.frontier.books.stands_for(page)
    standing = place(snapshot, page) if state is State.UNREAD else None
    return Explanation(
        url=found_url,
        original=tables.original(snapshot.connection, page),
        state=state.label,
        rank=rank_of(snapshot.importance, page),
        importance=float(snapshot.importance[page]),
        cash=float(snapshot.cash(alone)[0]),
        history=float(snapshot.histories(alone)[0]),
        depth=depth,
        inlinks=int(snapshot.inlinks_of(alone)[0]),
        title=document.title if document else "",
        status=document.status or None if document else None,
        first_fetched=iso(document.first_at) if document else None,
        last_fetched=iso(document.last_at) if document else None,
        stands_for=None if target == page else snapshot.url(target),
        place=standing,
        ranks=_standings(snapshot, page),
        reasons=_reasons(snapshot, page, state, standing),
        fetches=[_fetch(row) for row in _last_fetches(snapshot, page)],
        givers=_givers(snapshot, page, tell),
    )


def _standings(snapshot: Snapshot, page: int) -> list[Standing]:
    names = [one.row.name for one in kept(snapshot.path, snapshot.connection)]
    return [_standing(snapshot, name, page) for name in names]


def _standing(snapshot: Snapshot, name: str, page: int) -> Standing:
    values = scores(snapshot, name)
    if isnan(values[page]):
        return Standing(name, None, None)
    return Standing(name, float(values[page]), rank_of(values, page))


def _fetch(row: FetchRow) -> Fetch:
    return Fetch(iso(row.at), row.outcome, row.status, row.detail)


def _last_fetches(snapshot: Snapshot, page: int) -> list[FetchRow]:
    return tables.last_fetches(snapshot.connection, page, _FETCHES_SHOWN)


# ---------------------------------------------------------------- why


def _reasons(
    snapshot: Snapshot, page: int, state: State, standing: QueuePosition | None
) -> list[str]:
    if standing is not None and snapshot.frontier.terms.imported:
        return ["the graph that was imported has no links from it"]
    if standing is not None:
        return _waits(snapshot, page, standing)
    reasons = [*_ended(snapshot, page, state), *_when_not_asked(snapshot, page)]
    home = _host(snapshot, page)
    if home.trouble and not state.was_read and not _last_fetches(snapshot, page):
        reasons.append(f"what was wrong with its host: {home.trouble}")
    if state is State.ROBOTS and home.robots_until is not None:
        until = iso(home.robots_until)
        reasons.append(f"that holds until {until}: a crawl that goes on later asks again")
    return reasons


def _ended(snapshot: Snapshot, page: int, state: State) -> list[str]:
    end = snapshot.frontier.books.stands_for(page)
    if end != page:
        return [f"{_ENDED[state]} {snapshot.url(end)}, and stands for that"]
    return [_ENDED[state]]


def _when_not_asked(snapshot: Snapshot, page: int) -> list[str]:
    """What the crawl said when it put the page aside, if that was what came of it last."""
    last = tables.last_fetches(snapshot.connection, page, 1)
    return [row.detail for row in last if row.outcome == NOT_ASKED]


def _waits(snapshot: Snapshot, page: int, standing: QueuePosition) -> list[str]:
    ahead, ahead_on_host = standing.of_all - 1, standing.of_host - 1
    reasons = [
        f"it waits behind {ahead:,} richer pages, {ahead_on_host:,} of them on its host"
        if ahead
        else "it is the richest of all pages that wait"
    ]
    asked = _host(snapshot, page)
    if asked.wait_until is not None:
        reasons.append(f"its host asked to be left alone until {iso(asked.wait_until)}")
    rules = None if asked.robots is None else Rules.from_text(asked.robots)
    if rules is None:
        reasons.append("the robots.txt of its host was not asked for yet")
    elif not rules.allows(snapshot.url(page)):
        reasons.append("the robots.txt of its host forbids it: it is closed when its turn comes")
    elif rules.crawl_delay_s is not None:
        reasons.append(f"its host asks for {rules.crawl_delay_s:g} s between two requests")
    return reasons


def _host(snapshot: Snapshot, page: int) -> HostRow:
    number = int(snapshot.host_of[page])
    return tables.host(snapshot.connection, number) or HostRow(number, "")


def _givers(snapshot: Snapshot, page: int, tell: Progress) -> list[Giver]:
    """Who gave most, of what their last spendings say."""
    amounts: dict[int, float] = {}
    for givers, ends, parts in flows(snapshot, tell):
        here = np.flatnonzero(ends == page)
        gifts = snapshot.histories(givers[here]) * parts[here]
        for giver, gift in zip(givers[here].tolist(), gifts.tolist(), strict=True):
            amounts[giver] = amounts.get(giver, 0.0) + gift
    total = sum(amounts.values())
    largest = nlargest(_GIVERS_SHOWN, amounts.items(), key=lambda gift: gift[1])
    return [
        Giver(snapshot.url(giver), amount, amount / total) for giver, amount in largest if amount
    ]
