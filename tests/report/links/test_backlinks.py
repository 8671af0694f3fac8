"""Backlinks are complete and current, however old their index is."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from minicrawl.errors import UsageError
from minicrawl.model import State
from minicrawl.report import page_links as report
from minicrawl.report.page_links import Linked, LinkedPage, backlinks, links
from minicrawl.report.snapshot import snapshot
from minicrawl.report.store_graph import flows
from minicrawl.store.derived import backlinks_step, reading_beside
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


def back(path: Path, url: str, count: int = 0) -> Linked:
    with snapshot(path) as seen:
        return backlinks(seen, url, count)


def forth(path: Path, url: str) -> Linked:
    with snapshot(path) as seen:
        return links(seen, url)


def urls(found: Linked) -> set[str]:
    assert found.count == len(found.pages)
    return {page.url for page in found.pages}


def indexed(path: Path) -> int | None:
    with reading(path) as connection, reading_beside(path, connection) as derived:
        return backlinks_step(derived)


class TestBacklinks:
    def test_backlinks_include_those_of_redirects(self, store: Path) -> None:
        assert urls(back(store, A)) == {B, MOVED}
        assert urls(back(store, B)) == {A}
        assert urls(back(store, C)) == {B}
        found = back(store, MOVED)
        assert (found.url, found.stands_for) == (MOVED, A)
        assert urls(found) == {B, MOVED}

    def test_the_most_important_page_comes_first_and_all_are_counted(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A, B, C])
            crawl.seeds([DEEP], endowment=10)
            for page in (A, B, DEEP):
                crawl.read(page, [C])
        found = back(crawl.path, C, 2)
        assert found.count == 3
        assert len(found.pages) == 2
        with snapshot(crawl.path) as seen:
            share = float(seen.importance[crawl.page(DEEP)])
        assert found.pages[0] == LinkedPage(DEEP, share, "fetched")

    def test_the_index_is_built_once_with_progress(self, store: Path) -> None:
        told: list[float] = []
        with snapshot(store) as seen:
            last = seen.frontier.last_seq
            backlinks(seen, A, tell=told.append)
        assert (told[-1], indexed(store)) == (1, last)
        with snapshot(store) as seen:
            assert urls(backlinks(seen, A, tell=_never)) == {B, MOVED}

    def test_backlinks_need_no_index_if_it_cannot_be_saved(
        self, store: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("minicrawl.store.derived._BACKLINKS", "CREATE TABLE no such thing")
        assert urls(back(store, A)) == {B, MOVED}
        assert indexed(store) is None

    def test_a_page_without_links_to_it_has_none(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "lone.db")) as crawl:
            crawl.seeds([A])
        assert back(crawl.path, A) == Linked(url=A, stands_for=None, count=0, pages=[])


def test_links_are_followed_through_redirects(store: Path) -> None:
    assert urls(forth(store, A)) == {B, DEEP}
    assert urls(forth(store, B)) == {A, C, GONE}
    assert urls(forth(store, MOVED)) == {A}
    assert forth(store, MOVED).stands_for == A
    assert urls(forth(store, GONE)) == set()


@pytest.mark.parametrize("ask", [back, forth])
def test_a_store_without_links_is_refused(tmp_path: Path, ask: type) -> None:
    path = filled_store(tmp_path / "crawl.db", StoreTerms(links=False))
    with pytest.raises(UsageError, match="--no-links"):
        ask(path, A)


# ---------------------------------------------------------------- a crawl that goes on


def _never(_share: float) -> None:
    raise AssertionError("the index should not be rebuilt")


def _givers_by_page(path: Path) -> dict[str, set[str]]:
    """Return the givers of every page, from the flows of the whole store."""
    with snapshot(path) as seen:
        names = [seen.url(page) for page in range(len(seen))]
        found: dict[str, set[str]] = {name: set() for name in names}
        for givers, ends, _ in flows(seen):
            for giver, end in zip(givers.tolist(), ends.tolist(), strict=True):
                found[names[end]].add(names[giver])
        stands_for = seen.frontier.books.stands_for
        return {name: found[names[stands_for(page)]] for page, name in enumerate(names)}


def _rounds(path: Path, rounds: int) -> Iterator[HandCrawl]:
    """Yield a crawl after each of several rounds of random events."""
    dice = Random(1)
    names = [f"http://h{number % 3}.example/{number}" for number in range(30)]
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(names[:12])
        for _ in range(rounds):
            for _ in range(4):
                _random_event(crawl, dice, names)
            crawl.commit()
            yield crawl


def _random_event(crawl: HandCrawl, dice: Random, names: list[str]) -> None:
    known = [name for name in names if crawl.frontier.urls.find(name) is not None]
    page = dice.choice(known)
    match dice.randrange(6):
        case 0:
            target = dice.choice(known)
            if crawl.frontier.books.stands_for(crawl.page(target)) != crawl.page(page):
                crawl.moved(page, target)
        case 1:
            crawl.ended(page, State.NOT_FOUND)
        case 2 if crawl.frontier.state[crawl.page(page)] in (State.FETCHED, State.MOVED):
            crawl.reopen([crawl.page(page)])
        case _:
            crawl.read(page, dice.sample(names, dice.randrange(6)))


def test_an_old_index_is_completed_from_the_log(tmp_path: Path) -> None:
    first = None
    for crawl in _rounds(tmp_path / "crawl.db", 12):
        wanted = _givers_by_page(crawl.path)
        with snapshot(crawl.path) as seen:
            for url, givers in wanted.items():
                assert urls(backlinks(seen, url)) == givers, url
        first = first or indexed(crawl.path)
        assert indexed(crawl.path) == first


def test_a_very_old_index_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_FEW_STEPS", 0)
    steps = []
    for crawl in _rounds(tmp_path / "crawl.db", 20):
        url = "http://h0.example/0"
        assert urls(back(crawl.path, url)) == _givers_by_page(crawl.path)[url]
        steps.append(indexed(crawl.path))
    assert 2 < len(set(steps)) < 20


def test_a_snapshot_ignores_an_index_newer_than_itself(store: Path) -> None:
    with snapshot(store) as seen:
        with closing(HandCrawl(store)) as crawl:
            crawl.frontier = crawl.loaded()
            crawl.read(C, [A, "http://new.example/"])
        assert urls(back(store, A)) == {B, C, MOVED}
        assert urls(backlinks(seen, A)) == {B, MOVED}
