"""Backlinks are complete and current, however old their index is."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from minicrawl.errors import UsageError
from minicrawl.report.graph.flows import flows
from minicrawl.report.links.backlinks import Linked, LinkedPage, backlinks, links
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.states import State
from minicrawl.store.derived.backlinks import backlinks_step
from minicrawl.store.derived.file import beside, reading_beside
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store, read_later

Ask = Callable[[Snapshot, str], Linked]


def urls(found: Linked) -> set[str]:
    assert found.count == len(found.pages)
    return {page.url for page in found.pages}


def back(path: Path, url: str) -> set[str]:
    with snapshot(path) as seen:
        return urls(backlinks(seen, url))


def indexed(path: Path) -> int | None:
    with reading(path) as connection, reading_beside(path, connection) as derived:
        return backlinks_step(derived)


@pytest.mark.parametrize(
    ("ask", "url", "stands_for", "wanted"),
    [
        (backlinks, A, None, {B, MOVED}),
        (backlinks, B, None, {A}),
        (backlinks, C, None, {B}),
        (backlinks, MOVED, A, {B, MOVED}),
        (links, A, None, {B, DEEP}),
        (links, B, None, {A, C, GONE}),
        (links, MOVED, A, {A}),
        (links, GONE, None, set()),
    ],
)
def test_links_are_followed_through_redirects_both_ways(
    seen: Snapshot, ask: Ask, url: str, stands_for: str | None, wanted: set[str]
) -> None:
    found = ask(seen, url)
    assert (found.url, found.stands_for, urls(found)) == (url, stands_for, wanted)


def test_the_most_important_page_comes_first_and_all_are_counted(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B, C])
        crawl.seeds([DEEP], endowment=10)
        for page in (A, B, DEEP):
            crawl.read(page, [C])
    with snapshot(crawl.path) as seen:
        found = backlinks(seen, C, 2)
        share = float(seen.importance[crawl.page(DEEP)])
        assert backlinks(seen, A) == Linked(url=A, stands_for=None, count=0, pages=[])
    assert (found.count, len(found.pages)) == (3, 2)
    assert found.pages[0] == LinkedPage(DEEP, share, "fetched")


def test_the_index_is_built_once_with_progress(store: Path) -> None:
    told: list[float] = []
    with snapshot(store) as seen:
        last = seen.frontier.last_seq
        backlinks(seen, A, progress=told.append)
    assert (told[-1], indexed(store)) == (1, last)
    told.clear()
    with snapshot(store) as seen:
        assert urls(backlinks(seen, A, progress=told.append)) == {B, MOVED}
    assert told == []


def test_backlinks_need_no_index_if_it_cannot_be_saved(store: Path) -> None:
    beside(store).mkdir()
    assert back(store, A) == {B, MOVED}
    assert indexed(store) is None


def test_backlinks_need_no_index_in_a_folder_that_is_read_only(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write to any folder
    assert back(store, A) == {B, MOVED}
    assert not beside(store).exists()


@pytest.mark.parametrize("ask", [backlinks, links])
def test_a_store_without_links_is_refused(tmp_path: Path, ask: Ask) -> None:
    path = filled_store(tmp_path / "crawl.db", StoreTerms(links=False))
    with snapshot(path) as seen, pytest.raises(UsageError, match="--no-links"):
        ask(seen, A)


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


@pytest.mark.slow
def test_an_old_index_is_completed_from_the_log(path: Path) -> None:
    first = None
    for crawl in _rounds(path, 12):
        wanted = _givers_by_page(crawl.path)
        with snapshot(crawl.path) as seen:
            for url, givers in wanted.items():
                assert urls(backlinks(seen, url)) == givers, url
        first = first or indexed(crawl.path)
        assert indexed(crawl.path) == first


def test_a_very_old_index_is_rebuilt(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minicrawl.report.links.backlinks.FEW_STEPS", 0)
    steps = []
    for crawl in _rounds(path, 20):
        url = "http://h0.example/0"
        with snapshot(crawl.path) as seen:
            found = backlinks(seen, url)
        assert urls(found) == _givers_by_page(crawl.path)[url]
        steps.append(indexed(crawl.path))
    assert 2 < len(set(steps)) < 20


def test_a_snapshot_ignores_an_index_newer_than_itself(store: Path) -> None:
    with snapshot(store) as seen:
        read_later(store, C, [A, "http://new.example/"])
        assert back(store, A) == {B, C, MOVED}
        assert urls(backlinks(seen, A)) == {B, MOVED}
