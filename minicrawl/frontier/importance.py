"""Importance of pages as reports show it, and the gathered share of it.

The shown importance comes from converged ranks, updated for later steps.

Laws: without converged ranks beside the store, it is the crawl's estimate. Ranks that include all
steps are shown as they are. Otherwise, if the log is short, they are converged again, so that they
are exact at every moment; a crawl that wants convergence does so even before it has kept any ranks.
The ranks may include more steps than the frontier, if the crawl went on after the frontier was
loaded. If the log is long, only later turns are included: the flow through a newly read page is
passed on along its links until it ends. If even that would take too long, only pages found later
are estimated.

In each iteration the virtual page sends 1 to each page, so the flow through a page is at least 1.

gathered   share of the importance of all readable pages that is on pages already read
guaranteed share of PageRank with jumps to the seeds that is surely on pages already read

Laws: the gathered share is summed over slices of the pages, so that a crawl never stalls, however
many pages there are. Pages that a rule forbids, that redirect or that do not exist do not count: a
site that was read completely is gathered completely. Pages that a limit cut off do count, as they
may be worth something. The share falls only if there is more to read.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.page_table import Frontier
from minicrawl.model import PageId
from minicrawl.opic.importance.cash_flow import KEPT, CashFlow, FlowBuilder, Refinement
from minicrawl.opic.importance.estimate import RunningLevels, completed, shares
from minicrawl.opic.importance.rank_mass import RankMass
from minicrawl.opic.ledger.books import Books, Spending, StepKind
from minicrawl.opic.ledger.money import exact_edge
from minicrawl.states import READ_STATES, READABLE, State
from minicrawl.store import page_columns, questions, step_log, tables
from minicrawl.store.derived.file import reading_beside
from minicrawl.store.derived.ranks import (
    FLOWED,
    GATHERED,
    GUARANTEED,
    OPIC,
    READABLE_PAGES,
    RankRow,
    rank_row,
    rank_scores,
)
from minicrawl.store.stored_links import unpack, unpack_plain
from minicrawl.store.tables import Connection

UNTIL = 1e-6
"""Error bound of converged shares, summed over all pages."""
MOST_STEPS = 20_000
"""Maximum number of steps to converge anew or to include, in about a third of a second."""
_SUMMED_AT_ONCE = 8192
"""Pages per slice, which takes about a millisecond."""
_LOOKUPS_A_SLICE = 8

Floats = NDArray[np.float64]
GoOn = Callable[[], bool]
"""Function that returns True while there is time left."""


def always() -> bool:
    """Return True: a time budget that never runs out."""
    return True


class ShownImportance(NamedTuple):
    """Shares of all pages; they sum to 1."""

    row: RankRow | None
    """Converged ranks on which the shares are based, or None."""
    shares: Floats
    flow: CashFlow | None = None
    """Flow of all cash, if the ranks were converged anew."""


def shown_importance(path: Path, connection: Connection, frontier: Frontier) -> ShownImportance:
    """Return the importance of all pages of the store at `path`, given its frontier."""
    row, scores = _kept(path, connection, len(frontier))
    if not converges_anew(row, connection):
        return _carried_on(row, scores, connection, frontier)
    start = None if row is None else completed(scores, frontier.importance())
    flow = cash_flow(frontier, connection)
    assert flow is not None, "there is always time"
    refinement = _finished(Refinement(flow, start))
    anew = RankRow(
        name=OPIC,
        options=rank_options(refinement, frontier.states(), row),
        made_at=time.time(),
        step=frontier.last_seq,
        nodes=flow.pages,
        edges=flow.links,
        iterations=refinement.rounds,
        error_bound=refinement.error,
        converged=True,
    )
    return ShownImportance(anew, refinement.importance, flow)


def converges_anew(row: RankRow | None, connection: Connection) -> bool:
    """Return True if showing the importance converges it again, given the kept ranks."""
    is_wanted = row is not None or bool(tables.counters(connection).get(tables.CONVERGES))
    known = 0 if row is None else row.step
    return is_wanted and known != tables.last_step(connection) <= MOST_STEPS


def kept_importance(path: Path, connection: Connection, frontier: Frontier) -> ShownImportance:
    """Like `shown_importance`, but without converging again, however short the log is."""
    return _carried_on(*_kept(path, connection, len(frontier)), connection, frontier)


def cash_flow(
    frontier: Frontier, connection: Connection, goes_on: GoOn = always
) -> CashFlow | None:
    """Return where the cash of each page goes now, or None if time runs out.

    Takes one pass over the log.
    """
    saved = page_columns.whole(connection, "frontier", "spent")
    spent = frontier.spendings.of_all(len(frontier), saved)
    is_forward = np.zeros(len(frontier), dtype=np.bool_)
    is_forward[list(frontier.books.forwards)] = True
    builder = FlowBuilder(exact_edge(frontier.small_edge))
    for block in step_log.spendings(connection):
        if not goes_on():
            return None
        current = block.only(spent[block.pages] == block.seqs)
        _add(builder, current, frontier.books, is_forward)
    return builder.flow(len(frontier))


def _add(
    builder: FlowBuilder, block: step_log.Spendings, books: Books, is_forward: NDArray[np.bool_]
) -> None:
    """Add a block of spendings.

    Most pages have equal links that lead directly to their targets; these are added in bulk, which
    is ten times faster.
    """
    moved = is_forward[block.pages]
    for page in block.pages[moved].tolist():
        builder.forward(page, books.stands_for(page))
    plain, custom = block.only(~moved).split()
    if plain.blobs:
        counts, links = unpack_plain(plain.blobs)
        rows = np.repeat(np.arange(len(counts)), counts)
        has_detour = np.zeros(len(counts), dtype=np.bool_)
        has_detour[rows[is_forward[links]]] = True
        straight = ~has_detour
        builder.spend_equally(plain.pages[straight], counts[straight], links[straight[rows]])
        _add_each(builder, plain.only(has_detour), books)
    _add_each(builder, custom, books)


def _add_each(builder: FlowBuilder, block: step_log.Spendings, books: Books) -> None:
    for page, blob in zip(block.pages.tolist(), block.blobs, strict=True):
        builder.spend(page, books.without_detours(page, unpack(blob)))


def _kept(path: Path, connection: Connection, pages: int) -> tuple[RankRow | None, Floats]:
    """Return the converged ranks beside the store, and their scores of `pages` pages.

    Damaged scores are ignored.
    """
    with reading_beside(path, connection) as derived:
        row = rank_row(derived, OPIC)
        if derived is None or row is None:
            return None, np.empty(0)
        scores = rank_scores(derived, OPIC, pages)
    is_valid = 0 < np.nansum(scores) < np.inf and not (scores < 0).any()
    return (row, scores) if is_valid else (None, np.empty(0))


def rank_options(
    refinement: Refinement,
    states: NDArray[np.uint8],
    before: RankRow | None,
    proven: float | None = None,
) -> str:
    """Return the options of the importance rank as JSON; `before` is the rank that it replaces.

    The gathered share never falls unless there is more to read.
    """
    readable = int(np.isin(states, READABLE).sum())
    gathered = share_read(refinement.importance, states)
    if before is not None and readable <= (before.number(READABLE_PAGES) or 0):
        gathered = max(gathered, before.number(GATHERED) or 0.0)
    options = {GATHERED: gathered, READABLE_PAGES: readable, FLOWED: refinement.flowed}
    return json.dumps(options if proven is None else options | {GUARANTEED: proven})


_OPEN = (State.FOREIGN, *(state for state in READABLE if not state.was_read))
"""States of pages whose links are not known yet."""


def guaranteed_share(flow: CashFlow, frontier: Frontier) -> float | None:
    """Return the share of PageRank from the seeds that the pages read surely have.

    None without seeds or stored links.
    """
    mass, states = rank_mass(flow, frontier), frontier.states()
    return None if mass is None else proven_share(mass, states, always)


def rank_mass(flow: CashFlow, frontier: Frontier) -> RankMass | None:
    """Return the cash of the seeds before it moves; None without seeds or stored links."""
    ledger, seeds = frontier.ledger, dict[int, int]()
    for page, atoms in ledger.endowed.items():
        target = frontier.books.stands_for(page)
        seeds[target] = seeds.get(target, 0) + max(atoms, 1)
    if not seeds or not frontier.terms.links:
        return None
    edge = frontier.small_edge
    return RankMass(flow, seeds, KEPT * edge if ledger.virtual_page.focus else edge)


def proven_share(mass: RankMass, states: NDArray[np.uint8], goes_on: GoOn) -> float:
    """Move the cash of the seeds while `goes_on`, and return the share that this proves."""
    is_open = np.isin(states, _OPEN)
    mass.move(is_open, goes_on)
    return mass.share(np.isin(states, READ_STATES), is_open)


def _carried_on(
    row: RankRow | None, scores: Floats, connection: Connection, frontier: Frontier
) -> ShownImportance:
    if row is None:
        return ShownImportance(None, frontier.importance())
    later, flow = frontier.last_seq - row.step, row.number(FLOWED)
    if later <= 0:
        return ShownImportance(row, shares(scores))
    if later > MOST_STEPS or flow is None:
        return ShownImportance(row, completed(scores, frontier.importance()))
    # Pages found later get 1, what the virtual page sends to each page in an iteration.
    through = np.nan_to_num(scores * (flow * row.nodes), nan=1.0)
    books, builder = frontier.books, FlowBuilder(exact_edge(frontier.small_edge))
    for kind, page, spending in _turns(connection, row.step):
        if kind == StepKind.FORWARD:  # the page has come to stand for another
            through[books.stands_for(page)] += through[page]
            through[page] = 1
        elif page not in books.forwards:
            builder.spend(page, books.without_detours(page, spending))
    refinement = Refinement(builder.flow(len(frontier)), cash=through)
    return ShownImportance(row, _finished(refinement).importance)


def _finished(refinement: Refinement) -> Refinement:
    for _ in refinement.until(UNTIL):
        pass  # each step is a round
    return refinement


def _turns(connection: Connection, after: int) -> Iterator[tuple[int, int, Spending]]:
    """Yield the turns with links after this step, except those of pages read before.

    The ranks include links of such pages already, usually the same ones.
    """
    for block in step_log.spendings(connection, after):
        documents = questions.documents(connection, block.pages.tolist())
        again = {document.page for document in documents if document.checks}
        for kind, page, blob in zip(
            block.kinds.tolist(), block.pages.tolist(), block.blobs, strict=True
        ):
            if page not in again:
                yield kind, page, unpack(blob)


PAGES_AT_ONCE = 1 << 15
"""Pages of a slice, which takes some 10 ms."""


class GatheredImportance:
    """Running sum of the gathered importance, in repeated laps over all pages.

    `share`, and `waiting`, the share of pages still to be read, are those of the last complete lap.
    The level of all pages is found in an extra lap before the first. With `flowed`, the shares are
    of the cash that flowed, not of importance.
    """

    def __init__(
        self,
        frontier: Frontier,
        share: float = 0.0,
        *,
        flowed: bool = False,
        at_once: int = PAGES_AT_ONCE,
    ) -> None:
        """`at_once` is the number of pages of a slice."""
        self.share = share
        self.waiting = 1 - share
        self.read = self.unread = 0.0
        """Importance of pages that were read, and of those still to be read, up to a factor."""
        self._frontier, self._at_once = frontier, at_once
        self._levels = None if flowed else RunningLevels(frontier.estimate)
        self._most = 0
        self._start = self._readable = 0
        self._read = self._unread = 0.0

    def go_on(self) -> bool:
        """Sum one more slice. Return True if it completed a lap."""
        pages = len(self._frontier)
        start, stop = self._start, min(self._start + self._at_once, pages)
        self._start = stop if stop < pages else 0
        if self._levels is not None:
            is_first = not self._levels.is_whole
            self._levels.add(start, stop, pages)
            if is_first and (start, stop) != (0, pages):
                return False
        level = None if self._levels is None else self._levels.now
        importance = self._frontier.importance_of(level, start, stop)
        states = self._frontier.states()[start:stop]
        self._readable += int(np.isin(states, READABLE).sum())
        read, unread = _read_and_unread(importance, states)
        self._read += read
        self._unread += unread
        if stop < pages:
            return False
        self.read, self.unread = self._read, self._unread
        if whole := self._read + self._unread:
            least = self.share if self._readable <= self._most else 0.0
            self.share = max(self._read / whole, least)
            self.waiting = 1 - self.share
        self._most = self._readable
        self._readable = 0
        self._read = self._unread = 0.0
        return True


def _read_and_unread(importance: Floats, states: NDArray[np.uint8]) -> tuple[float, float]:
    """Return the importance of pages that were read, and of those that still may be."""
    is_readable, was_read = np.isin(states, READABLE), np.isin(states, READ_STATES)
    return float(importance[was_read].sum()), float(importance[is_readable & ~was_read].sum())


def share_read(importance: Floats, states: NDArray[np.uint8]) -> float:
    """Return the share of the importance of readable pages that is on pages already read."""
    read, unread = _read_and_unread(importance, states)
    return read / (read + unread) if read + unread else 0.0


def gathered_now(row: RankRow | None, connection: Connection) -> float | None:
    """Return the gathered share as reports show it, or None if it was never computed.

    The share is that of the converged ranks `row` if they include all steps, else the crawl's own.
    """
    if row is not None and row.step >= tables.last_step(connection):
        share = row.number(GATHERED)
        if share is not None:
            return share
    counted = tables.counters(connection).get(tables.GATHERED)
    return float(counted) if isinstance(counted, int | float) else None


def gathered(frontier: Frontier) -> float:
    """Return the gathered share now, in one complete lap."""
    gathering = GatheredImportance(frontier)
    while not gathering.go_on():
        pass
    return gathering.share


class CurrentShares:
    """Estimated current shares of single pages.

    The total of all pages is summed in slices, one slice per `_LOOKUPS_A_SLICE` lookups.
    """

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._levels = RunningLevels(frontier.estimate)
        self._summed, self._sum, self._total = 0, 0.0, 0.0
        self._lookups = 0

    def of(self, page: PageId) -> float:
        """Return the share of this page."""
        if self._lookups % _LOOKUPS_A_SLICE == 0:
            self._sum_slice()
        self._lookups += 1
        own = float(self._frontier.importance_of(self._levels.now, page, page + 1)[0])
        return min(own / self._total, 1.0) if self._total > 0 else 0.0

    def _sum_slice(self) -> None:
        pages = len(self._frontier)
        end = min(self._summed + _SUMMED_AT_ONCE, pages)
        self._levels.add(self._summed, end, pages)
        importance = self._frontier.importance_of(self._levels.now, self._summed, end)
        self._sum += float(importance.sum())
        self._summed = end
        is_whole = end == pages
        if is_whole or self._total == 0:  # the first slice is extrapolated
            self._total = self._sum * pages / end
        if is_whole:
            self._summed, self._sum = 0, 0.0
