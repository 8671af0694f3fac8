"""The frontier is a fold over the steps, and is loaded as it was."""

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from minicrawl.frontier.changes import TurnedPages
from minicrawl.frontier.checkpoints import cut_checkpoint
from minicrawl.frontier.loading import contradictions, verify
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.ledger.books import Spending
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.report.snapshot import inlinks as links_known, last_spent
from minicrawl.states import STANDS_FOR_ANOTHER, State
from minicrawl.store import tables
from minicrawl.store.records import StoreTerms
from tests.frontier.same import assert_same
from tests.stores import MOVED, A, B, C, HandCrawl

SITES = [f"http://{host}.example/{path}" for host in "abc" for path in "12345"]


def inlinks(crawl: HandCrawl) -> list[int]:
    return list(map(int, links_known(crawl.store.connection, crawl.frontier)))


def test_a_page_that_moved_stands_for_its_target_until_it_is_read(crawl: HandCrawl) -> None:
    crawl.seeds([A, MOVED])
    crawl.moved(MOVED, A)
    assert crawl.frontier.books.stands_for(1) == 0
    crawl.checkpoint()
    assert crawl.loaded().books.stands_for(1) == 0
    crawl.read(MOVED, [A])
    assert crawl.frontier.books.stands_for(1) == 1
    assert inlinks(crawl) == [1, 0]  # the link in place of the redirect
    assert crawl.frontier.importance().sum() == pytest.approx(1)


def test_a_redirect_that_is_reopened_is_no_link(crawl: HandCrawl) -> None:
    crawl.seeds([A, MOVED])
    crawl.moved(MOVED, A)
    crawl.reopen([1])
    assert crawl.frontier.spendings.of(1).links == ()
    assert inlinks(crawl) == [0, 0]


def test_the_last_spending_of_a_page_may_be_newer_than_the_checkpoint(crawl: HandCrawl) -> None:
    crawl.seeds([A, B])
    crawl.read(A, [B])
    crawl.checkpoint()
    crawl.read(A, [B])
    spent = last_spent(crawl.store.connection, crawl.frontier)
    assert spent.tolist() == [crawl.frontier.last_seq, 0]


def test_a_checkpoint_has_the_cash_that_a_replay_spent_by_weight(crawl: HandCrawl) -> None:
    crawl.seeds([A, B, C], endowment=5)
    crawl.read(A, [B, C], weights=[1, 2])
    crawl.read(B, [A])
    crawl.checkpoint()
    crawl.replay([0])
    crawl.checkpoint()
    assert_same(crawl.loaded(), crawl.frontier, [A, B, C])


@pytest.mark.parametrize("damage", ["DELETE FROM steps", "UPDATE steps SET spending = NULL"])
def test_a_store_that_lacks_the_target_of_a_moved_page_is_refused(
    crawl: HandCrawl, damage: str
) -> None:
    crawl.seeds([A, MOVED])
    crawl.moved(MOVED, A)
    crawl.checkpoint()
    crawl.store.connection.execute(damage)
    with pytest.raises(ValueError, match="1 of 1 pages lack their steps"):
        crawl.loaded()


def test_a_store_without_links_keeps_only_targets_of_redirects(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(links=False))) as crawl:
        crawl.seeds([A, MOVED])
        crawl.read(A, [B, MOVED])
        crawl.moved(MOVED, B)
        assert inlinks(crawl) == [0, 0, 0]
        assert crawl.frontier.spendings.of(0).links == ()
        assert crawl.frontier.spendings.of(1).links == [2]


def test_a_checkpoint_has_exactly_the_rows_that_changed(crawl: HandCrawl) -> None:
    crawl.seeds([A, B, C])
    crawl.checkpoint()
    assert crawl.frontier.changes == 0
    crawl.read(B, [A, C])
    crawl.read(A, [C, MOVED])
    keys = crawl.frontier.ledger.key[:]
    saved = cut_checkpoint(crawl.frontier)
    crawl.read(C, [A, B])
    assert [(row.id, row.inlinks) for row in saved.born] == [(3, 1)]
    assert [(row.id, row.state, row.inlinks) for row in saved.turned] == [
        (0, State.FETCHED, 1),
        (1, State.FETCHED, 0),
    ]
    assert list(saved.paid) == [(keys[2], 2, 2)]


def test_the_past_after_the_last_of_several_turns_counts() -> None:
    turns = TurnedPages()
    for page, past in ((7, (10, 1, b"a")), (3, (20, 2, None)), (7, (30, 4, None))):
        turns.note(page, past)
    assert turns.before(7).tolist() == [3]
    assert [column.tolist() for column in turns.latest] == [[3, 7], [20, 30], [2, 4]]
    assert turns.measures == {}


def test_each_kind_of_change_brings_the_next_checkpoint_nearer(crawl: HandCrawl) -> None:
    for change in (
        lambda: crawl.seeds([A, B]),
        lambda: crawl.read(A, [B, C, MOVED]),
        lambda: crawl.read(B),
        lambda: crawl.replay([0]),  # pays three pages
        lambda: crawl.moved(A, B),  # three pages lose a link
    ):
        assert crawl.frontier.changes == 0
        change()
        assert crawl.frontier.changes > 0
        crawl.checkpoint()


def test_a_checkpoint_of_a_store_without_links_has_the_keys_of_paid_pages(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(links=False))) as crawl:
        crawl.seeds([A, B, C])
        crawl.checkpoint()
        crawl.read(A, [C])
        saved = cut_checkpoint(crawl.frontier)
        assert list(saved.paid) == [(crawl.frontier.ledger.key[2], 0, 2)]


def test_rows_of_a_checkpoint_may_be_read_twice_and_in_blocks_of_any_size(tmp_path: Path) -> None:
    def rows(at_once: int) -> list[list[object]]:
        with closing(HandCrawl(tmp_path / f"{at_once}.db")) as crawl:
            crawl.seeds(SITES[:4])
            crawl.checkpoint()
            crawl.read(SITES[0], [SITES[1], *SITES[5:9]])
            crawl.read(SITES[6], [SITES[7]])
            saved = cut_checkpoint(crawl.frontier, at_once)
            crawl.read(SITES[1], SITES[9:12])
            parts: list[Iterable[object]] = [saved.born, saved.turned, saved.paid]
            whole = list(map(list, parts))
            assert whole == list(map(list, parts))
            return whole

    assert rows(1) == rows(3) == (whole := rows(1000))
    assert len(whole[0]) == 4


def test_a_loaded_page_is_found_without_pending_insertions(
    crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl.seeds([A, B])
    crawl.commit()
    loaded = crawl.loaded()
    monkeypatch.delattr("minicrawl.compact_map._SmallMap.insert_pending")
    assert (loaded.urls.find(B), loaded.urls.find(C)) == (1, None)


@pytest.mark.parametrize("measures", [None, 2])
@pytest.mark.parametrize("window", [*WINDOWS, "variable:2", "fixed:0.5"])
def test_every_window_is_loaded_as_it_was(
    tmp_path: Path, window: str, measures: int | None
) -> None:
    terms = StoreTerms(window=window, width=3, measures=measures)
    with closing(HandCrawl(tmp_path / "crawl.db", terms)) as crawl:
        crawl.seeds(SITES[:3], endowment=10)
        for turn, url in enumerate(SITES[:3] * 3):
            crawl.read(url, [SITES[(turn + 1) % 5], SITES[(turn * 2) % 9]])
            if turn == 4:
                crawl.checkpoint()
        crawl.commit()
        assert_same(crawl.loaded(), crawl.frontier, SITES)
        crawl.checkpoint()
        assert_same(crawl.loaded(), crawl.frontier, SITES)


def test_a_size_takes_the_place_of_the_width() -> None:
    windows = [
        Frontier(terms, lambda _: Spending(())).window
        for terms in (StoreTerms(window="variable:16"), StoreTerms(window="variable", width=16))
    ]
    assert [vars(window) for window in windows] == [vars(windows[0])] * 2


PLACES = st.sampled_from(SITES)
TERMS = st.builds(
    StoreTerms, window=st.sampled_from(sorted(WINDOWS)), width=st.just(2.0), links=st.booleans()
)


def read_by_weight(crawl: HandCrawl, url: str, others: list[str]) -> None:
    targets = {*others} - {url}
    crawl.read(url, targets, weights=range(len(targets)))


def move(crawl: HandCrawl, url: str, others: list[str], amount: int = 0) -> None:
    target = crawl.frontier.urls.find(others[0])
    if others[0] == url:  # a cycle of redirects is a dead end
        return
    if target is None or crawl.frontier.books.stands_for(target) != crawl.page(url):
        crawl.moved(url, others[0], amount=amount)


def hand_over(crawl: HandCrawl, url: str, others: list[str]) -> None:
    if crawl.frontier.ledger.is_read(crawl.page(url)):
        move(crawl, url, others, amount=1)


def replay_all(crawl: HandCrawl, _url: str, _others: list[str]) -> None:
    ledger = crawl.frontier.ledger
    crawl.replay([page for page in range(len(crawl.frontier)) if ledger.is_read(page)])


def reopen(crawl: HandCrawl, url: str, _others: list[str]) -> None:
    page = crawl.page(url)
    if crawl.frontier.state[page] in STANDS_FOR_ANOTHER:
        crawl.reopen([page])


HAPPENINGS: dict[str, Callable[[HandCrawl, str, list[str]], object]] = {
    "read": HandCrawl.read,
    "read by weight": read_by_weight,
    "moved": move,
    "failed": lambda crawl, url, _others: crawl.ended(url, State.DNS),
    "replayed": replay_all,
    "reopened": reopen,
    "handed over": hand_over,
    "committed": lambda crawl, _url, _others: crawl.commit(),
    "saved": lambda crawl, _url, _others: crawl.checkpoint(),
}
EVENTS = st.tuples(
    st.sampled_from(sorted(HAPPENINGS)), PLACES, st.lists(PLACES, min_size=1, max_size=6)
)


def counted_inlinks(crawl: HandCrawl) -> list[int]:
    pages = range(len(crawl.frontier))
    if not crawl.terms.links:
        return [0 for _ in pages]
    found = Counter(link for page in pages for link in crawl.frontier.spendings.of(page).links)
    return [found[page] for page in pages]


@settings(max_examples=20)
@given(TERMS, st.lists(EVENTS, max_size=25))
def test_any_history_is_loaded_as_it_was(
    terms: StoreTerms, events: list[tuple[str, str, list[str]]]
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(HandCrawl(Path(folder, "crawl.db"), terms)) as crawl,
    ):
        crawl.seeds(SITES[:2], endowment=5)
        for event, url, others in events:
            if crawl.frontier.urls.find(url) is not None:
                HAPPENINGS[event](crawl, url, others)
            assert crawl.frontier.ledger.missing() == 0
            assert inlinks(crawl) == counted_inlinks(crawl)
        crawl.commit()
        assert_same(crawl.loaded(), crawl.frontier, SITES)
        assert_same(crawl.loaded(index=False), crawl.frontier)
        crawl.checkpoint()
        assert_same(crawl.loaded(), crawl.frontier, SITES)


def test_a_committed_store_is_consistent(crawl: HandCrawl) -> None:
    crawl.seeds([A])
    crawl.read(A, [B])
    crawl.batch.counters[tables.FETCHES] = 1
    crawl.commit()
    verify(crawl.loaded(), crawl.store.connection)


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("DELETE FROM fetches WHERE id = 2", "fetches: 1, but 2"),
        ("INSERT INTO steps VALUES (4, 7, 0, 0, 0, 0, NULL)", "steps: 4, but 3"),
        ("DELETE FROM steps WHERE seq = 3", "states: "),
        ("UPDATE frontier SET state = 9 WHERE id = 0", "states: "),
        ("UPDATE meta SET value = 7 WHERE name = 'recorded'", "recorded: "),
        ("UPDATE hosts SET id = 7 WHERE id = 1", "hosts are known, but 2 have"),
        ("DELETE FROM urls WHERE id = 1", "1 URLs are known, but 2 pages were born"),
    ],
)
def test_tables_older_or_newer_than_the_rest_are_found(
    crawl: HandCrawl, statement: str, wrong: str
) -> None:
    crawl.seeds([A])
    crawl.read(A, [B])
    crawl.checkpoint()
    crawl.read(B, [A])
    crawl.batch.counters[tables.FETCHES] = 2
    crawl.commit()
    crawl.store.connection.execute(statement)
    with pytest.raises(ValueError, match=wrong):
        verify(crawl.loaded(), crawl.store.connection)


def test_a_store_of_an_older_version_without_counters_is_accepted(crawl: HandCrawl) -> None:
    crawl.seeds([A])
    crawl.commit()
    crawl.store.connection.execute("UPDATE meta SET value = '{}' WHERE name = 'counters'")
    verify(crawl.loaded(), crawl.store.connection)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("SELECT 1", []),
        ("DELETE FROM documents WHERE page = 0", ["1 pages were read"]),
        ("UPDATE fetches SET page = 1 WHERE page = 0", ["1 documents"]),
    ],
)
def test_pages_and_fetches_that_contradict_each_other_are_found(
    crawl: HandCrawl, statement: str, named: list[str]
) -> None:
    crawl.seeds([A])
    crawl.read(A, [B])
    crawl.checkpoint()
    crawl.store.connection.execute(statement)
    wrong = contradictions(crawl.loaded(), crawl.store.connection)
    assert all(what in line for what, line in zip(named, wrong, strict=True))


def test_a_fetch_that_the_index_by_page_lacks_is_found(path: Path) -> None:
    index = "name = 'fetches_of_page'"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.read(A)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        row = connection.execute(f"SELECT * FROM sqlite_master WHERE {index}").fetchone()
        connection.execute(f"DELETE FROM sqlite_master WHERE {index}")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO fetches SELECT NULL, 0, 0, '', 200, 0, 0, '', NULL FROM urls"
        )
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
    with closing(HandCrawl(path)) as crawl:
        # SQLite's own check compares the entries of an index as well, in newer versions.
        wrong, *_ = contradictions(crawl.loaded(), crawl.store.connection)
    assert "2 fetches" in wrong
    assert "index" in wrong
