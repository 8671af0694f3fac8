"""Pages that are new, changed or gone since a given time.

new      read for the first time since then
changed  read before, and different when read again: the text differs from that of the last version
         before. A new session id, comment or attribute does not change the text. If the archive
         lacks one of the versions, any different byte counts, and words are not counted
moved    read before, now a redirect
gone     read before, now nonexistent
failed   read before, now failing
refused  read before, now forbidden

Law: a page has one row, for its current state. A page whose failed request will be retried counts
as unchanged.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.archive.reader import ArchiveReader, last_page
from minicrawl.errors import Damaged
from minicrawl.frontier.page_table import Frontier
from minicrawl.frontier.url_table import sites_of
from minicrawl.model import READ_STATES, PageId, State
from minicrawl.opic.money import UNIT
from minicrawl.progress import Progress
from minicrawl.report.archived import PageVersion, kept_pages
from minicrawl.report.flows import flows
from minicrawl.report.kept import scores
from minicrawl.report.link_graphs import refuse_without_links
from minicrawl.report.ranks import hosts_named, places_of_largest, rank_of
from minicrawl.report.snapshot import Snapshot, host_name, inlinks, last_spent
from minicrawl.store import questions, tables
from minicrawl.store.derived import OPIC, OPIC_SITES, rank_row, rank_scores, reading_beside
from minicrawl.store.reader import archive_folder
from minicrawl.store.records import NONSENSE, reporting_damage
from minicrawl.wording import iso

NEW, CHANGED = "new", "changed"
_MOVED, _GONE, _FAILED, _REFUSED = "moved", "gone", "failed", "refused"


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


def changes(
    snapshot: Snapshot, since: float | None = None, host: str | None = None
) -> list[Change]:
    """Return the changes since a time, or since the last run began; most important pages first."""
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
"""Value of a page whose text has not changed."""


def _text_changes(
    snapshot: Snapshot, found: Mapping[int, tuple[str, float]], since: float
) -> Iterator[tuple[int, Words]]:
    """Yield the words before and now of each changed page with both versions in the archive."""
    changed = [page for page, (what, _) in found.items() if what == CHANGED]
    has_pages = tables.archive_end(snapshot.connection) is not None
    if not changed or not has_pages or not archive_folder(snapshot.path).is_dir():
        return
    with kept_pages(snapshot) as archive:
        for page in changed:
            with suppress(Damaged):  # `minicrawl check` reports it
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
    """Return what happened to each page, and when."""
    connection, states = snapshot.connection, snapshot.states
    found = {page: (CHANGED, at) for page, at in questions.changes(connection, since)}
    found |= {page: (NEW, at) for page, at in questions.pages_read_since(connection, since)}
    is_there = (State.UNREAD, *READ_STATES)
    read = np.array(questions.pages_read_ever(connection), dtype=np.int64)
    lost = read[~np.isin(states[read], is_there)].tolist()
    for page, at in zip(lost, questions.ends(connection, lost), strict=True):
        is_new = found.pop(page, ("", 0.0))[0] == NEW  # it appeared and disappeared since then
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
    statuses = questions.last_statuses(connection, pages)
    shares = snapshot.importance[pages].tolist()
    for page, share, url, status in zip(pages, shares, urls, statuses, strict=True):
        what, at = found[page]
        old, new = texts.get(page) or (None, None)
        yield Change(share, what, iso(at), status, old, new, url, titles[page])


# ================================================================ replay
#
# Replay of a store: compares its contents with its steps.
#
# Law: the same steps in the same order give the same frontier and the same ledger, to the atom. In
# a store that was gathered from shards, the log has the turns of pages but not what moved their
# cash.

_STEPS_PER_REPORT = 1000  # steps between progress reports


def differences(
    connection: tables.Connection,
    loaded: Frontier,
    tell: Progress = lambda _share: None,
    *,
    has_cash: bool = True,
) -> Iterator[str]:
    """Yield a line for each page and total that differs between the store and its steps.

    Pass `has_cash=False` for a gathered store, whose steps say nothing about cash.
    """
    replayed, last = Frontier(loaded.terms, partial(tables.spending, connection)), loaded.last_seq
    try:
        for row in tables.steps_after(connection, 0):
            replayed.apply(row)
            if not row.seq % _STEPS_PER_REPORT:
                tell(min(row.seq / max(last, 1), 1.0))
    except NONSENSE as error:
        yield f"step {replayed.last_seq} cannot be replayed: {error}"
        return
    states = (np.array(one.state, dtype=np.int64) for one in (loaded, replayed))
    yield from _column_differences("state", *states)
    if has_cash:
        yield from _cash_differences(loaded, replayed)
    for name, one, other in (
        ("inlinks", inlinks(connection, loaded), replayed.gained()),
        ("spent", last_spent(connection, loaded), replayed.spendings.of_all(len(replayed))),
    ):
        yield from _column_differences(name, one, other)
    if loaded.books.forwards != replayed.books.forwards:
        yield "pages stand for other pages than by the steps"
    if _channels(loaded) != _channels(replayed):
        yield f"batches were {_channels(loaded)}, but {_channels(replayed)} by the steps"


def _cash_differences(loaded: Frontier, replayed: Frontier) -> Iterator[str]:
    keys = (np.array(one.ledger.key, dtype=np.int64) for one in (loaded, replayed))
    yield from _column_differences("key", *keys)
    for page in range(len(loaded)):
        if loaded.window.past(page) != replayed.window.past(page):
            yield f"page {page} has another history than by the steps"
    if loaded.ledger.totals != replayed.ledger.totals:
        yield f"the totals are {loaded.ledger.totals}, but {replayed.ledger.totals} by the steps"


def _column_differences(name: str, loaded: NDArray[Any], replayed: NDArray[Any]) -> Iterator[str]:
    for page in np.flatnonzero(loaded != replayed).tolist():
        yield f"page {page} has {name} {loaded[page]}, but {replayed[page]} by the steps"


def _channels(frontier: Frontier) -> list[tuple[object, ...]]:
    """Return the state of the channels to other shards, as sortable rows."""
    rows = {} if frontier.channels is None else frontier.channels.as_rows()
    return [(name, *end) for name, ends in rows.items() for end in ends]


# ================================================================ sites
#
# Sites by the cash that other sites give them.
#
# Laws: links within a site say nothing about the site. The importance of a site is the cash that
# links from other sites brought to its pages, as a share of all cash that flowed between sites; if
# the importance has converged, it is the cash in the converged flow. That is stored with the
# importance, so that a large store does not need a pass over all links. By another rank, the score
# of a site is the sum over its pages.

Floats = NDArray[np.float64]
Groups = NDArray[np.int32]


class RankedSite(NamedTuple):
    """Site in `top --sites`. `score` is by the requested rank."""

    rank: int
    site: str
    importance: float
    pages: int
    fetched: int
    pages_importance: float
    score: float


def top_sites(
    snapshot: Snapshot, count: int = 0, by: str = OPIC, tell: Progress = lambda _share: None
) -> list[RankedSite]:
    """Return the best sites; ties go to the more important pages. `count` 0 is all."""
    refuse_without_links(snapshot)
    names, site_of = sites_of(snapshot.hosts, snapshot.host_of)
    received = _received(snapshot, site_of, len(names), tell)
    pages, fetched, summed = (
        np.bincount(site_of, weights=weights, minlength=len(names))
        for weights in (None, snapshot.was_read, snapshot.importance)
    )
    ranked = received if by == OPIC else _together(scores(snapshot, by), site_of, len(names))
    order = np.lexsort((-summed, -ranked))[: count or None]
    return [
        RankedSite(
            rank=rank,
            site=names[number],
            importance=float(received[number]),
            pages=int(pages[number]),
            fetched=int(fetched[number]),
            pages_importance=float(summed[number]),
            score=float(ranked[number]),
        )
        for rank, number in enumerate(order.tolist(), start=1)
    ]


def cash_of_sites(snapshot: Snapshot, tell: Progress) -> dict[str, float]:
    """Return the importance of all sites by name."""
    refuse_without_links(snapshot)
    names, site_of = sites_of(snapshot.hosts, snapshot.host_of)
    return dict(zip(names, _received(snapshot, site_of, len(names), tell).tolist(), strict=True))


def _together(values: Floats, site_of: Groups, count: int) -> Floats:
    """Return the sum of the pages' scores for each site. Missing scores count as 0."""
    sums = np.zeros(count)
    np.add.at(sums, site_of, np.nan_to_num(values))
    return sums


def _received(snapshot: Snapshot, site_of: Groups, count: int, tell: Progress) -> Floats:
    """Return the cash that each site received from others, as a share of all such cash."""
    kept = _kept(snapshot)
    return (
        _summed(snapshot, site_of, count, tell) if kept is None else _together(kept, site_of, count)
    )


def _kept(snapshot: Snapshot) -> Floats | None:
    """Return the pages' shares of their sites' importance, or None if they are outdated."""
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        row = rank_row(derived, OPIC_SITES)
        if derived is None or row is None or snapshot.converged is None:
            return None
        is_current = row.step == snapshot.converged.step
        return rank_scores(derived, OPIC_SITES, len(snapshot)) if is_current else None


def _summed(snapshot: Snapshot, site_of: Groups, count: int, tell: Progress) -> Floats:
    """Like `_received`, computed from all links of the store."""
    received = np.zeros(count)
    worth = snapshot.histories if snapshot.converged is None else snapshot.importance.__getitem__
    for givers, ends, parts in flows(snapshot, tell):
        crosses = site_of[givers] != site_of[ends]
        amounts = worth(givers[crosses]) * parts[crosses]
        received += np.bincount(site_of[ends[crosses]], weights=amounts, minlength=count)
    total = received.sum()
    return received / total if total else received


# ================================================================ waiting
#
# Unread pages in the order in which they would be read if no host made the crawl wait.

_PAGES_AT_ONCE = 20_000


class WaitingPage(NamedTuple):
    """Page in `frontier`."""

    rank: int
    url: str
    key: float | None  # in units of cash; None in an order without cash
    given: float
    cash: float
    depth: int
    inlinks: int
    host: str


class QueuePosition(NamedTuple):
    """Position of a page among all unread pages, and among those of its host; 1 is next."""

    of_all: int
    all_waiting: int
    of_host: int
    host_waiting: int


def waiting(snapshot: Snapshot, count: int = 0) -> Iterator[WaitingPage]:
    """Yield the unread pages that come first. `count` 0 is all."""
    unread = np.flatnonzero(snapshot.states == State.UNREAD)
    pages = unread[places_of_largest(snapshot.urgency(unread), count)]
    for start in range(0, len(pages), _PAGES_AT_ONCE):
        with reporting_damage(snapshot.path):
            block = list(_block(snapshot, pages[start : start + _PAGES_AT_ONCE], start + 1))
        yield from block


def _block(snapshot: Snapshot, pages: NDArray[np.int64], rank: int) -> Iterator[WaitingPage]:
    places = questions.locations(snapshot.connection, pages.tolist())
    columns = (
        range(rank, rank + len(pages)),
        places.urls,
        _keys(snapshot, pages),
        _given(snapshot, pages).tolist(),
        snapshot.cash(pages).tolist(),
        places.depths,
        snapshot.inlinks_of(pages).tolist(),
        map(host_name, places.origins),
    )
    return map(WaitingPage._make, zip(*columns, strict=True))


def _keys(snapshot: Snapshot, pages: NDArray[np.int64]) -> Iterable[float | None]:
    if snapshot.strategy not in ("greedy", "siblings"):
        return repeat(None, len(pages))
    keys: list[float] = (snapshot.urgency(pages) / UNIT).tolist()
    return keys


def _given(snapshot: Snapshot, pages: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the units that unread pages received from links and endowments."""
    return np.maximum(snapshot.keys[pages] / UNIT - 1, 0)


def queue_position(snapshot: Snapshot, page: PageId) -> QueuePosition:
    """Return the position of this unread page."""
    unread = np.flatnonzero(snapshot.states == State.UNREAD)
    on_host = unread[snapshot.host_of[unread] == snapshot.host_of[page]]
    return QueuePosition(
        of_all=_rank(snapshot, unread, page),
        all_waiting=len(unread),
        of_host=_rank(snapshot, on_host, page),
        host_waiting=len(on_host),
    )


def _rank(snapshot: Snapshot, pages: NDArray[np.int64], page: PageId) -> int:
    return rank_of(snapshot.urgency(pages), int(np.searchsorted(pages, page)))
