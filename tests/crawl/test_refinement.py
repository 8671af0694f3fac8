"""Converged ranks are kept beside the store, and reports show them with their error bound."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from minicrawl.crawl.refinement.converged_ranks import HONEST, Refined, is_due, refine
from minicrawl.errors import UsageError
from minicrawl.frontier.importance import UNTIL
from minicrawl.opic.importance.estimate import shares
from minicrawl.opic.ledger.books import Spending, Step, StepKind, terms
from minicrawl.opic.ledger.money import in_parts
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.ports import unreported
from minicrawl.report.integrity.audit import differences
from minicrawl.report.progress.crawl_status import status
from minicrawl.report.saved_ranks import convergence_of
from minicrawl.report.snapshot import snapshot
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch, StepRow, StoreTerms
from minicrawl.store.writer import StoreWriter
from tests.crawl.refined_stores import a_store, frontier_of, load, take
from tests.stores import A, B, C, HandCrawl

TIGHT = 1e-11
KEPT = 0.85

Floats = NDArray[np.float64]


def shown(path: Path) -> Floats:
    with snapshot(path) as seen:
        return seen.importance


def flows_of(path: Path) -> Floats:
    """Return the flow through each page, in units of the least, and 1 for one unknown page."""
    importance = shown(path)
    return np.append(importance / importance.min(), 1.0)


def refined(path: Path, until: float = UNTIL, to: Path | None = None) -> Refined:
    found = refine(path, until=until, to=to)
    assert found is not None
    return found


def last_step(path: Path) -> int:
    with reading(path) as connection:
        return tables.last_step(connection)


def pagerank(path: Path) -> Floats:
    """Return PageRank by networkx; each redirect gets one dividend of the virtual page."""
    frontier = frontier_of(path)
    edge = frontier.small_edge
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(frontier)))
    with reading(path) as connection:
        spending_of = load(connection).spendings.of
        for page in range(len(frontier)):
            for link in spending_of(page).links:
                end = frontier.books.stands_for(link)
                if end != page and page not in frontier.books.forwards:
                    graph.add_edge(page, end)
    pages = [page for page in graph if page not in frontier.books.forwards]
    born = dict.fromkeys(pages, 1.0)
    for page in frontier.books.forwards:
        born[frontier.books.stands_for(page)] += 1
    found = nx.pagerank(
        graph.subgraph(pages),
        alpha=1 - edge,
        personalization=born,
        dangling=born,
        tol=1e-14,
        max_iter=10_000,
    )
    importance = np.zeros(len(frontier))
    importance[pages] = [found[page] for page in pages]
    # The virtual page gives the same dividend to each page, redirects included.
    given = _dividend(importance, graph, edge) / len(frontier)
    importance[list(frontier.books.forwards)] = given
    return shares(importance)


def _dividend(importance: Floats, graph: "nx.DiGraph[int]", edge: float) -> float:
    """Return the cash that the virtual page hands on in one round over all pages."""
    links = np.array([graph.out_degree(page) for page in range(len(importance))])
    return float(importance[links == 0].sum() + edge * importance[links > 0].sum())


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return a_store(tmp_path / "crawl.db")


@pytest.mark.parametrize("window", WINDOWS)
def test_reports_show_the_pagerank_of_the_links(window: str, tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db", StoreTerms(window=window))
    before, expected = frontier_of(path).importance(), pagerank(path)
    found = refined(path, until=TIGHT)
    assert shown(path) == pytest.approx(expected, abs=1e-9)
    assert found.pages == 80
    assert found.error_bound <= TIGHT
    assert found.converged
    assert found.moved == pytest.approx(np.abs(expected - before).sum(), abs=1e-9)


@pytest.mark.parametrize("edge", [0.15, 0.01, 0.123456, 0.3, 0.99])
@pytest.mark.parametrize("is_later", [False, True], ids=["from the start", "changed later"])
def test_the_error_bound_is_for_the_small_edge_that_was_given(
    edge: float, is_later: bool, tmp_path: Path
) -> None:
    """The ledger counts it in 65,536ths, which moves importance by up to 1e-5."""
    path = a_store(tmp_path / "crawl.db", StoreTerms(small_edge=0.5 if is_later else edge))
    if is_later:
        with closing(StoreWriter.open(path)) as store:
            take(store, (terms(-1, edge=in_parts(edge)), State.UNREAD))
            store.commit(Batch(counters={tables.SETTINGS: {"small-edge": edge}}))
    assert frontier_of(path).small_edge == edge
    error_bound = refined(path, until=TIGHT).error_bound
    assert np.abs(shown(path) - pagerank(path)).sum() <= error_bound + 1e-12


def test_a_small_edge_that_the_store_knows_only_in_parts_is_what_the_ledger_uses(
    path: Path,
) -> None:
    with closing(StoreWriter.open(path)) as store:
        take(store, (terms(-1, edge=in_parts(0.3)), State.UNREAD))
    assert frontier_of(path).small_edge == in_parts(0.3) / 65_536


def test_refining_changes_nothing_in_the_store(path: Path) -> None:
    before, keys = dump(path), frontier_of(path).ledger.key
    refine(path)
    assert dump(path) == before
    assert frontier_of(path).ledger.key == keys
    with reading(path) as connection:
        assert list(differences(connection, frontier_of(path), unreported)) == []


def test_steps_behind_the_last_checkpoint_count(path: Path) -> None:
    last = StepRow(last_step(path) + 1, State.FETCHED, Step(StepKind.VISIT, 70, 0, Spending((75,))))
    with closing(StoreWriter.open(path)) as store:
        store.commit(Batch(steps=[last]))
    expected = pagerank(path)
    refine(path, until=TIGHT)
    assert shown(path) == pytest.approx(expected, abs=1e-9)


def test_where_nothing_was_read_all_pages_have_the_same_rank(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db", fetched=0)
    found = refined(path)
    assert (found.links, found.rounds, found.error_bound) == (0, 0, 0)
    assert shown(path) == pytest.approx([1 / 80] * 80)


def go_on(path: Path) -> None:
    with closing(StoreWriter.open(path)) as store:
        take(store, (Step(StepKind.VISIT, 79, 1, Spending((0, 80))), State.FETCHED))


def test_with_a_short_log_the_ranks_are_always_up_to_date(path: Path) -> None:
    refine(path)
    with closing(StoreWriter.open(path)) as store:
        take(
            store,
            (Step(StepKind.VISIT, 79, 1, Spending((0, 80))), State.FETCHED),
            (Step(StepKind.VISIT, 2, 0, Spending((1, 78))), State.FETCHED),
            (Step(StepKind.FORWARD, 78, 0, Spending((76,))), State.MOVED),
        )
    with snapshot(path) as seen:
        assert seen.importance == pytest.approx(pagerank(path), abs=UNTIL)
        told = convergence_of(seen)
    assert told is not None
    assert (told.steps_since, told.pages_since, told.is_complete) == (0, 0, True)
    assert told.error_bound <= UNTIL
    assert is_due(path)  # showing ranks does not store them


def test_a_crawl_that_converges_shows_true_ranks_before_any_are_stored(path: Path) -> None:
    for converges, expected in ((False, frontier_of(path).importance()), (True, pagerank(path))):
        with closing(StoreWriter.open(path)) as store:
            store.commit(Batch(counters={tables.CONVERGES: converges}))
        assert shown(path) == pytest.approx(expected, abs=UNTIL)


def test_a_report_does_not_use_ranks_newer_than_its_snapshot(path: Path) -> None:
    """The crawl goes on, and its ranks are refined again, while a report is made."""
    refine(path)
    expected = pagerank(path)
    with snapshot(path) as seen:
        go_on(path)
        refine(path)
        assert seen.importance == pytest.approx(expected, abs=UNTIL)


LongLog = Callable[..., None]


def test_in_a_long_log_later_visits_are_added_to_the_ranks(path: Path, long_log: LongLog) -> None:
    """By hand: the flow through page 79, less the small edge, goes to its two links."""
    long_log(20)
    refine(path, until=TIGHT)
    flows = flows_of(path)
    go_on(path)
    flows[[0, 80]] += flows[79] * KEPT / 2
    assert shown(path) == pytest.approx(shares(flows), abs=UNTIL)
    told = status(path).convergence
    assert told is not None
    assert (told.steps_since, told.pages_since) == (1, 1)
    assert status(path).importance_gathered is None  # this crawl counted none


def test_in_a_long_log_a_later_redirect_hands_its_flow_to_its_target(
    path: Path, long_log: LongLog
) -> None:
    long_log(20)
    refine(path, until=TIGHT)
    flows = flows_of(path)
    with closing(StoreWriter.open(path)) as store:
        take(
            store,
            (Step(StepKind.VISIT, 79, 0, Spending((77, 78), (1, 2), (), 1)), State.FETCHED),
            (Step(StepKind.FORWARD, 78, 0, Spending((76,))), State.MOVED),
        )
    flows[[77, 76]] += flows[79] * KEPT * np.array([1, 2]) / 4
    flows[76] += flows[78]
    flows[78] = 1
    assert shown(path) == pytest.approx(shares(flows[:80]), abs=UNTIL)


def test_in_a_long_log_a_page_that_is_read_again_hands_on_nothing_new(
    tmp_path: Path, long_log: LongLog
) -> None:
    long_log(1)
    path = tmp_path / "crawl.db"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.read(A, [B, C])
        crawl.commit()
        refine(path)
        before = shown(path)
        crawl.read(A, [B])
        crawl.commit()
    assert shown(path) == pytest.approx(before)


def test_after_many_steps_pages_are_estimated(path: Path, long_log: LongLog) -> None:
    refine(path)
    converged = shown(path)
    go_on(path)
    long_log()
    estimated = frontier_of(path).importance()
    found = shown(path)
    assert found[80] == pytest.approx(estimated[80])
    assert found[:80] == pytest.approx(converged * (1 - estimated[80]))


def test_the_next_refinement_begins_from_the_stored_ranks(path: Path) -> None:
    cold = refined(path).rounds
    assert refined(path).rounds == 0
    go_on(path)
    expected = pagerank(path)
    assert 0 < refined(path).rounds < cold
    assert shown(path) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("score", [np.inf, -1.0, np.nan, 0.0])
def test_damaged_scores_are_computed_from_scratch(score: float, path: Path) -> None:
    refine(path)
    estimated, blob = frontier_of(path).importance(), np.full(80, score).tobytes()
    with closing(sqlite3.connect(f"{path}-ranks")) as derived, derived:
        derived.execute("UPDATE scores SET scores = ?", (blob,))
    assert shown(path) == pytest.approx(estimated)
    found = refined(path)
    assert np.abs(shown(path) - pagerank(path)).sum() <= found.error_bound + 1e-12
    assert found.moved == pytest.approx(np.abs(shown(path) - estimated).sum())


def test_ranks_of_another_small_edge_lead_to_those_of_the_new_one(path: Path) -> None:
    refine(path)
    with closing(StoreWriter.open(path)) as store:
        take(store, (terms(-1, edge=in_parts(0.5)), State.UNREAD))
        store.commit(Batch(counters={tables.SETTINGS: {"small-edge": 0.5}}))
    found = refined(path)
    assert np.abs(shown(path) - pagerank(path)).sum() <= found.error_bound + 1e-12


def test_refinement_is_due_until_ranks_converge_and_after_each_step(path: Path) -> None:
    assert is_due(path)
    broken_off(path, rounds=4)
    assert is_due(path)
    refine(path)
    assert not is_due(path)
    go_on(path)
    assert is_due(path)


def test_without_the_file_of_ranks_reports_show_the_estimate(path: Path) -> None:
    refine(path)
    for file in path.parent.glob("crawl.db-ranks*"):
        file.unlink()
    assert shown(path) == pytest.approx(frontier_of(path).importance())
    assert status(path).convergence is None


def broken_off(path: Path, rounds: int, to: Path | None = None) -> Refined | None:
    """Refine for `rounds` rounds. `goes_on` is called once more, before the log is read."""
    asked = count()
    return refine(path, to=to, goes_on=lambda: next(asked) <= rounds)


def test_ranks_broken_off_are_kept_with_an_honest_error_bound(path: Path) -> None:
    limit, before = pagerank(path), frontier_of(path).importance()
    found = broken_off(path, rounds=4)
    assert found is not None
    assert (found.rounds, found.converged, found.is_kept) == (4, False, True)
    off = float(np.abs(shown(path) - limit).sum())
    assert off <= found.error_bound < HONEST
    assert off < float(np.abs(before - limit).sum())
    told = status(path).convergence
    assert told is not None
    assert not told.is_complete
    assert told.error_bound == found.error_bound


def test_without_time_to_read_the_log_nothing_is_done(path: Path) -> None:
    assert refine(path, goes_on=lambda: False) is None
    assert status(path).convergence is None


_KILLED = """
import os, signal, sys
from pathlib import Path
from minicrawl.crawl.refinement.converged_ranks import refine

def tell(done):
    if done > 0.9:
        os.kill(os.getpid(), signal.SIGKILL)

refine(Path(sys.argv[1]), progress=tell)
"""


def test_a_kill_leaves_the_ranks_that_were_there(path: Path) -> None:
    """The kill comes in the last round, before the ranks are written."""
    broken_off(path, rounds=4)
    before = shown(path)
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert shown(path) == pytest.approx(before)
    assert refined(path).converged


def test_the_ranks_may_be_kept_beside_a_copy(path: Path) -> None:
    to = path.parent / "new" / "copy.db"
    assert refined(path, to=to).store == to
    assert dump(to) == dump(path)
    assert status(path).convergence is None
    assert status(to).convergence is not None
    assert {file.name for file in to.parent.iterdir()} >= {"copy.db", "copy.db-ranks"}
    assert not list(to.parent.glob("*.part*"))


def test_no_copy_is_made_of_ranks_broken_off_too_early(path: Path) -> None:
    to = path.with_name("copy.db")
    broken_off(path, rounds=0, to=to)
    assert not to.exists()


def test_a_store_without_links_is_refused(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db", StoreTerms(links=False))
    with pytest.raises(UsageError, match="--no-links"):
        refine(path)


def test_an_empty_and_a_missing_store_are_refused_and_none_is_made(tmp_path: Path) -> None:
    absent, new = tmp_path / "absent.db", tmp_path / "new.db"
    StoreWriter.open(new).close()
    with pytest.raises(UsageError, match="no store at"):
        refine(absent)
    with pytest.raises(UsageError, match="has no pages yet"):
        refine(new)
    assert not absent.exists()


@pytest.mark.parametrize("until", [0, -1, 1, 1e-13, float("nan"), float("inf")])
def test_an_error_bound_that_cannot_be_reached_is_refused(until: float, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--until"):
        refine(tmp_path / "any.db", until=until)
