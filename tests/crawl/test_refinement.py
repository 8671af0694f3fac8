"""A store is restated at once and to the atom, or goes on where it was broken off."""

import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from minicrawl.crawl import refinement
from minicrawl.crawl.refinement import refine
from minicrawl.errors import StoreError, UsageError
from minicrawl.model import READ_STATES, State
from minicrawl.opic.estimate import shares
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.opic.money import in_parts
from minicrawl.opic.windows import WINDOWS
from minicrawl.report.snapshot import inlinks
from minicrawl.report.status import status
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch, StepRow, StoreTerms
from minicrawl.store.writer import Store
from tests.crawl.refined_stores import a_store, frontier_of, load, take

TIGHT = 1e-11

Floats = NDArray[np.float64]


class Broken(Exception):
    """The run is broken off here."""


# ---------------------------------------------------------------- stores by hand


def inlinks_of(path: Path) -> list[int]:
    with reading(path) as connection:
        return list(map(int, inlinks(connection, load(connection))))


def spendings_of(path: Path) -> list[Spending]:
    with reading(path) as connection:
        return [*map(load(connection).spendings.of, range(80))]


def last_step(path: Path) -> int:
    with reading(path) as connection:
        return tables.last_step(connection)


def pagerank(path: Path) -> Floats:
    """Of the pages that are no redirects, and then what these are worth: a dividend each."""
    frontier = frontier_of(path)
    edge = in_parts(frontier.terms.small_edge) / 65_536
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
    # What flows from the virtual page to each page, redirects included, that was in one share.
    given = _dividend(importance, graph, edge) / len(frontier)
    importance[list(frontier.books.forwards)] = given
    return shares(importance)


def _dividend(importance: Floats, graph: "nx.DiGraph[int]", edge: float) -> float:
    """All that the virtual page hands on while all pages hand on once."""
    links = np.array([graph.out_degree(page) for page in range(len(importance))])
    return float(importance[links == 0].sum() + edge * importance[links > 0].sum())


def all_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


# ---------------------------------------------------------------- ranks


@pytest.mark.parametrize("window", WINDOWS)
def test_a_refined_store_says_the_ranks_of_its_links(window: str, tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db", StoreTerms(window=window))
    before, links, spendings = frontier_of(path), inlinks_of(path), spendings_of(path)
    expected = pagerank(path)
    refined = refine(path, until=TIGHT)
    after = frontier_of(path)
    assert after.importance() == pytest.approx(expected, abs=1e-9)
    assert refined.pages == len(after) == 80
    assert refined.error_bound <= TIGHT
    assert refined.moved == pytest.approx(np.abs(expected - before.importance()).sum(), abs=1e-9)
    assert after.ledger.missing() == 0
    assert after.ledger.recorded == before.ledger.recorded
    assert after.state == before.state
    assert spendings_of(path) == spendings
    assert inlinks_of(path) == links


def test_unread_pages_wait_in_the_order_of_their_importance(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db")
    refine(path)
    frontier = frontier_of(path)
    unread = np.flatnonzero(frontier.states() == State.UNREAD)
    keys, importance = np.array(frontier.ledger.key)[unread], frontier.importance()[unread]
    assert len(unread) == 20
    assert (np.argsort(keys, kind="stable") == np.argsort(importance, kind="stable")).all()


def test_steps_behind_the_last_checkpoint_count(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db")
    last = StepRow(last_step(path) + 1, State.FETCHED, Step(StepKind.VISIT, 70, 0, Spending((75,))))
    with closing(Store.open(path)) as store:
        store.commit(Batch(steps=[last]))
    expected = pagerank(path)
    refine(path, until=TIGHT)
    assert frontier_of(path).importance() == pytest.approx(expected, abs=1e-9)


def test_status_tells_of_the_importance_as_it_was_restated(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db")
    refine(path, until=TIGHT)
    frontier = frontier_of(path)
    read = np.isin(frontier.states(), READ_STATES)
    expected = float(frontier.importance()[read].sum())
    assert status(path).importance_gathered == pytest.approx(expected)


def test_a_store_in_which_nothing_was_read_holds_all_pages_alike(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db", fetched=0)
    refined = refine(path)
    assert (refined.links, refined.rounds, refined.error_bound) == (0, 0, 0)
    assert frontier_of(path).importance() == pytest.approx([1 / 80] * 80)


def test_a_crawl_goes_on_from_there(tmp_path: Path) -> None:
    """What restating could not deal is handed on by the first step."""
    path = a_store(tmp_path / "crawl.db")
    refine(path)
    assert frontier_of(path).ledger.virtual_page.remainder > 0
    with closing(Store.open(path)) as store:
        take(store, (Step(StepKind.VISIT, 79, 1, Spending((0, 80))), State.FETCHED))
    frontier = frontier_of(path)
    assert frontier.ledger.missing() == 0
    assert 0 <= frontier.ledger.virtual_page.remainder < 81


def test_the_store_notes_from_which_step_on_its_books_were_restated(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db")
    last = last_step(path)
    refine(path)
    with reading(path) as connection:
        assert tables.meta(connection, "restated") == str(last)
        assert tables.refinement(connection) is None


# ---------------------------------------------------------------- broken off


def broken_off(path: Path, rounds: int, to: Path | None = None) -> None:
    """Refine, saving after every round, and stop in the midst of one."""
    told = count()

    def tell(share: float) -> None:
        assert 0 <= share <= 1
        if next(told) == rounds:
            raise Broken

    seconds = count(step=refinement.SAVE_EVERY_S)
    with pytest.raises(Broken):
        refine(path, to=to, tell=tell, now=lambda: float(next(seconds)))


def test_what_was_broken_off_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, broken = (a_store(tmp_path / name) for name in ("whole.db", "broken.db"))
    books = frontier_of(broken).ledger
    broken_off(broken, rounds=5)
    assert frontier_of(broken).ledger.totals == books.totals
    with reading(broken) as connection:
        row = tables.refinement(connection)
    assert row is not None
    assert row.rounds == 4
    tells: list[float] = []
    assert refine(broken, tell=tells.append).rounds == refine(whole).rounds == 4 + len(tells)
    assert all_of(broken) == all_of(whole)


def test_what_was_saved_before_the_crawl_went_on_counts_no_more(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db")
    broken_off(path, rounds=5)
    with closing(Store.open(path)) as store:
        take(store, (Step(StepKind.VISIT, 79, 0, Spending((1, 2))), State.FETCHED))
    expected = pagerank(path)
    broken_off(path, rounds=2)
    refine(path, until=TIGHT)
    assert frontier_of(path).importance() == pytest.approx(expected, abs=1e-9)


def test_a_store_that_needs_no_more_is_restated_from_what_was_saved(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db")
    broken_off(path, rounds=8)
    assert refine(path, until=0.1).rounds == 7


# ---------------------------------------------------------------- copies


def test_a_copy_is_refined_and_the_store_left_alone(tmp_path: Path) -> None:
    path, to = a_store(tmp_path / "crawl.db"), tmp_path / "new" / "refined.db"
    before = all_of(path)
    assert refine(path, to=to).store == to
    assert all_of(path) == before
    refine(path)
    assert all_of(to) == all_of(path)
    assert [file.name for file in to.parent.iterdir()] == ["refined.db"]


def test_a_copy_that_was_broken_off_goes_on_and_bears_its_name_when_it_is_done(
    tmp_path: Path,
) -> None:
    path, to = a_store(tmp_path / "crawl.db"), tmp_path / "refined.db"
    broken_off(path, rounds=5, to=to)
    assert not to.exists()
    tells: list[float] = []
    assert refine(path, to=to, tell=tells.append).rounds == 4 + len(tells)


def test_a_copy_is_made_anew_if_the_crawl_has_gone_on(tmp_path: Path) -> None:
    path, to = a_store(tmp_path / "crawl.db"), tmp_path / "refined.db"
    broken_off(path, rounds=5, to=to)
    with closing(Store.open(path)) as store:
        take(store, (Step(StepKind.VISIT, 79, 0, Spending((1, 2))), State.FETCHED))
        refine(path, to=to)
    refine(path)
    assert all_of(to) == all_of(path)


# ---------------------------------------------------------------- refusals


def test_a_store_that_a_crawl_has_open_is_refused_but_can_be_copied(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db")
    with closing(Store.open(path)):
        with pytest.raises(StoreError, match="in use by another crawl"):
            refine(path)
        assert refine(path, to=tmp_path / "refined.db").pages == 80


def test_a_store_without_links_is_refused(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db", StoreTerms(links=False))
    with pytest.raises(UsageError, match="--no-links: there is nothing to replay"):
        refine(path)


def test_a_new_store_and_none_at_all_are_refused_and_none_is_made(tmp_path: Path) -> None:
    absent, new = tmp_path / "absent.db", tmp_path / "new.db"
    Store.open(new).close()
    with pytest.raises(UsageError, match="no store at"):
        refine(absent)
    with pytest.raises(UsageError, match="knows no page yet"):
        refine(new)
    assert not absent.exists()


def test_a_copy_overwrites_nothing(tmp_path: Path) -> None:
    path = a_store(tmp_path / "crawl.db")
    with pytest.raises(UsageError, match="overwrites none"):
        refine(path, to=path)


@pytest.mark.parametrize("until", [0, -1, 1, 1e-13, float("nan"), float("inf")])
def test_an_error_that_cannot_be_reached_is_refused(until: float, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--until"):
        refine(tmp_path / "any.db", until=until)
