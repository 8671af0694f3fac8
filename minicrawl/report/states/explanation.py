"""Why a page has its rank and state: its cash, where that came from, and what it waits for.

Law: a gift of cash is the share of the giver's history that its last spending sent to the page, and
is dated by the giver's last request. So the running sum ends with the sum of all gifts, but its
earlier points are approximate.
"""

from dataclasses import dataclass
from heapq import nlargest
from math import isnan
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from minicrawl.config.host_settings import HOST_SETTINGS, rules_for
from minicrawl.model import FULL_VALUE, PageId
from minicrawl.opic.ledger.money import UNIT
from minicrawl.ports import Progress
from minicrawl.report.graph.flows import flows
from minicrawl.report.links.backlinks import indexed_linking_pages, standing_for
from minicrawl.report.saved_ranks import (
    Convergence,
    Floats,
    convergence_of,
    position_of,
    saved_ranks,
    scores,
)
from minicrawl.report.selected_pages import COLUMNS, page_row
from minicrawl.report.snapshot import Numbers, Snapshot, page_of
from minicrawl.report.states.cuts import remedy
from minicrawl.report.states.errors import trouble_of_host
from minicrawl.report.waiting_pages import QueuePosition, queue_position
from minicrawl.states import CUT, State
from minicrawl.store import request_log, tables
from minicrawl.store.records import NOT_ASKED, HostRow
from minicrawl.wording import counted, iso

_SOURCES_SHOWN = 10
_FETCHES_SHOWN = 5
_ALIKE_SHOWN = 10


class CashSource(NamedTuple):
    """Page that gave cash to another: units given, and share of all cash received."""

    url: str
    amount: float
    share: float


class Fetch(NamedTuple):
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
    host_settings: list[str]
    """Settings of its host by which it is crawled, as `--host-setting` has them."""
    ranks: list[RankScore]
    reasons: list[str]
    fetches: list[Fetch]
    givers: list[CashSource]
    received: list["CashSoFar"]


_OF_ROW = tuple(name for name in COLUMNS if name in Explanation.__dataclass_fields__)


def explain(snapshot: Snapshot, text: str, progress: Progress = lambda _share: None) -> Explanation:
    """Return an explanation of the page that the user named."""
    page = page_of(snapshot, text)
    row = page_row(snapshot, page)
    state = State(snapshot.frontier.state[page])
    target = snapshot.frontier.books.stands_for(page)
    position = queue_position(snapshot, page) if state is State.UNREAD else None
    linking = indexed_linking_pages(snapshot, standing_for(snapshot, page))
    givers, units = gifts_to(snapshot, page, progress, linking)
    largest = nlargest(
        _SOURCES_SHOWN, zip(givers.tolist(), units.tolist(), strict=True), key=itemgetter(1)
    )
    host = snapshot.hosts[snapshot.host_of[page]]
    stored = tables.settings(snapshot.connection).get(HOST_SETTINGS)
    texts = stored if isinstance(stored, list) else ()
    by_rank = {
        saved.name: scores(snapshot, saved.name)
        for saved in saved_ranks(snapshot.path, snapshot.connection)
    }
    return Explanation(
        **{name: getattr(row, name) for name in _OF_ROW},
        original=tables.original(snapshot.connection, page),
        convergence=convergence_of(snapshot),
        stands_for=None if target == page else snapshot.url(target),
        near_duplicates=[
            snapshot.url(other) for other in snapshot.near_duplicates.like(page)[:_ALIKE_SHOWN]
        ],
        place=position,
        host_settings=[str(rule) for rule in rules_for(texts, host).values()],
        ranks=[
            RankScore(name, None, None)
            if isnan(values[page])
            else RankScore(name, float(values[page]), position_of(values, page))
            for name, values in by_rank.items()
        ],
        reasons=_reasons(snapshot, page, state, position),
        fetches=[
            Fetch(iso(last.at), last.outcome, last.status, last.detail)
            for last in tables.last_fetches(snapshot.connection, page, _FETCHES_SHOWN)
        ],
        givers=[
            CashSource(snapshot.url(giver), amount, amount / float(units.sum()))
            for giver, amount in largest
            if amount
        ],
        received=history_of(snapshot, givers, units),
    )


def _reasons(
    snapshot: Snapshot, page: PageId, state: State, position: QueuePosition | None
) -> list[str]:
    if position is not None and snapshot.frontier.terms.imported:
        return ["it has no links in the imported graph"]
    if position is not None:
        return _reasons_to_wait(snapshot, page, position)
    from minicrawl.web.scope import may_be_html

    last = tables.last_fetches(snapshot.connection, page, 1)
    end, url = snapshot.frontier.books.stands_for(page), snapshot.url(page)
    # The last request of a seed may have got a response, as seeds may have any suffix.
    has_status = any(row.status is not None for row in last)
    if end != page:
        reasons = [f"{state.row.means} {snapshot.url(end)}, which gets its links"]
    elif state is State.TYPE and not may_be_html(url) and not has_status:
        ending = url.partition("?")[0].rpartition(".")[2]
        reasons = [f"its URL ends in .{ending}, so it is not a page and was not requested"]
    else:
        failed = f"its requests failed: {state.label}"
        reasons = [failed if state.is_failure else state.row.means]
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
    trouble = trouble_of_host(snapshot, host.id, state)
    if trouble and not last:
        reasons.append(f"the problem of its host was: {trouble}")
    if state is State.ROBOTS and host.robots_until is not None:
        until = iso(host.robots_until)
        reasons.append(f"a crawl that runs after {until} asks for robots.txt again")
    return reasons


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
    host_id = int(snapshot.host_of[page])
    before, first = _ORDERED.get(snapshot.strategy, _OTHERWISE)
    reasons = [
        f"it waits for {counted(ahead, 'page')} {before}, {ahead_on_host:,} on its host"
        if ahead
        else f"it {first} of all unread pages"
    ]
    if (siblings := snapshot.frontier.siblings) is not None and siblings.has_estimates:
        from minicrawl.opic.importance.early_rank import LAST_TURN

        reasons.append(
            f"PageRank of the links read so far gives it {siblings.keys[page] / UNIT:.2f} units, "
            f"which stand in for its cash until {LAST_TURN:,} pages are read"
        )
    if siblings is not None:
        from minicrawl.opic.siblings.values import live_share

        share, of_host = live_share(siblings, siblings.group_of(page), host_id), siblings.live
        if share < 1:
            pages = counted(of_host.turns[host_id], "page")
            reasons.append(
                f"{of_host.dead[host_id]:,} of {pages} of its host were dead, so its key is "
                f"multiplied by {share:.2g} and it comes later"
            )
    if (values := snapshot.frontier.values) is not None:
        value, signals = values.signals_of(page)
        known = ", ".join(f"{name} {mean:.2f} over {pages:,}" for name, mean, pages in signals)
        reasons.append(f"its expected value is {value:.2f}: {known or 'nothing like it was read'}")
    host = _host(snapshot, page)
    if host.wait_until is not None:
        reasons.append(f"its host asked for a pause until {iso(host.wait_until)}")
    from minicrawl.web.robots.rules import Rules

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


def _host(snapshot: Snapshot, page: PageId) -> HostRow:
    number = int(snapshot.host_of[page])
    return tables.host(snapshot.connection, number) or HostRow(number, "")


MOST_MOMENTS = 120


class CashSoFar(NamedTuple):
    """Cash that a page had received by a moment, and the number of its givers."""

    at: str
    units: float
    pages: int


def gifts_to(
    snapshot: Snapshot, page: PageId, progress: Progress, linking: Numbers | None = None
) -> tuple[Numbers, Floats]:
    """Return the pages that gave cash, which are among `linking` if given, and each one's units."""
    givers, units = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for links in flows(snapshot, progress, linking):
        here = np.flatnonzero(links.ends == page)
        givers.append(links.givers[here])
        histories = snapshot.frontier.window.histories(links.givers[here])
        units.append(histories * links.parts[here])
    names, places = np.unique(np.concatenate(givers), return_inverse=True)
    sums = np.bincount(places, np.concatenate(units), minlength=len(names))
    return names, sums.astype(np.float64, copy=False)


def history_of(snapshot: Snapshot, givers: Numbers, units: Floats) -> list[CashSoFar]:
    """Return the running sum of gifts at up to `MOST_MOMENTS` moments.

    The first and the last moment are included. Imported pages were never requested, and are
    omitted.
    """
    moments = request_log.last_values(snapshot.connection, "at", givers.tolist())
    times = np.array([np.nan if at is None else at for at in moments])
    order = np.argsort(times)[: int(np.count_nonzero(~np.isnan(times)))]
    sums = np.cumsum(units[order])
    steps = np.linspace(0, len(order) - 1, min(len(order), MOST_MOMENTS)).astype(int)
    return [
        CashSoFar(iso(float(times[order[step]])), float(sums[step]), int(step) + 1)
        for step in steps
    ]
