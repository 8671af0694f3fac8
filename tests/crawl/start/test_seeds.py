from pathlib import Path

import pytest

from minicrawl.crawl.settle.recorder import SeedPages
from minicrawl.crawl.start import opening
from minicrawl.crawl.start.opening import plant
from minicrawl.model import State
from minicrawl.opic.money import UNIT
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from minicrawl.web.urls import ResolvedUrl
from tests.crawl.fakes import (
    FakeWeb,
    books_balance,
    crawl,
    frontier_of,
    in_time,
    keeping,
    moved,
    web_of,
)

A, B = "http://a.example", "http://b.example"


def planted(path: Path, *seeds: str, endowment: int = 1000, terms: StoreTerms | None = None) -> int:
    """Add seeds to a store, and return how many of them are new."""

    async def work() -> int:
        with keeping(path, terms) as recorder:
            new = await plant(recorder, map(ResolvedUrl, seeds), endowment)
            assert books_balance(recorder.frontier)
            return new

    return in_time(work())


def cash_of(path: Path) -> list[float]:
    return [float(atoms) / UNIT for atoms in frontier_of(path).ledger.key]


def seeds_of(path: Path) -> list[str]:
    with keeping(path) as recorder:
        return list(recorder.seeds.urls())


def test_seeds_become_known_and_share_the_endowment(path: Path) -> None:
    assert planted(path, f"{A}/", f"{A}/1", f"{B}/", f"{A}/1", endowment=6) == 3
    assert cash_of(path) == [3, 3, 3]
    assert seeds_of(path) == [f"{A}/", f"{A}/1", f"{B}/"]


def test_seeds_are_endowed_once(path: Path) -> None:
    planted(path, f"{A}/", endowment=5)
    assert planted(path, f"{A}/", endowment=5) == 0
    assert cash_of(path) == [6]


def test_a_later_run_needs_no_seeds(path: Path) -> None:
    planted(path, f"{A}/")
    assert planted(path) == 0
    assert seeds_of(path) == [f"{A}/"]


def test_later_seeds_get_as_much_as_the_first_ones_however_often_some_are_added(path: Path) -> None:
    planted(path, f"{A}/0", f"{A}/1", endowment=10)
    planted(path, f"{A}/1", f"{A}/2", endowment=10)
    planted(path, *(f"{A}/{n}" for n in range(3, 9)), endowment=10)
    assert cash_of(path) == [6] * 9


def test_later_seeds_get_no_less_than_the_first_ones(path: Path) -> None:
    planted(path, *(f"{A}/{n}" for n in range(3)), endowment=10)
    planted(path, f"{B}/", endowment=10)
    assert cash_of(path)[3] >= cash_of(path)[0]


def test_without_an_endowment_seeds_are_pages_like_others(path: Path) -> None:
    for _ in range(2):
        planted(path, f"{A}/", endowment=0)
    assert cash_of(path) == [1]
    assert seeds_of(path) == [f"{A}/"]


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_SEEDS_AT_ONCE", 2)


@pytest.mark.usefixtures("_small_blocks")
def test_seeds_in_several_blocks_get_equal_shares(path: Path) -> None:
    planted(path, *(f"{A}/{n % 5}" for n in range(12)), endowment=10)
    assert cash_of(path) == [3] * 5


@pytest.mark.usefixtures("_small_blocks")
def test_the_next_run_completes_an_endowment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    class Cut(Exception):
        pass

    def cut(*_: object) -> None:
        raise Cut

    with monkeypatch.context() as patched:
        patched.setattr(SeedPages, "endowed_by", cut)
        with pytest.raises(Cut):
            planted(path, *(f"{A}/{n}" for n in range(4)), endowment=8)
    assert cash_of(path) == [1] * 4
    assert planted(path, *(f"{A}/{n}" for n in range(4)), endowment=8) == 4
    assert cash_of(path) == [3] * 4


def test_a_page_found_by_links_may_become_a_seed_once(path: Path) -> None:
    web = web_of({f"{A}/": ["/1"], f"{A}/1": []})
    crawl(web, path, f"{A}/", endowment=10)
    assert planted(path, f"{A}/", f"{A}/1", endowment=10) == 1
    minted = frontier_of(path).ledger.minted
    assert planted(path, f"{A}/", f"{A}/1", endowment=10) == 0
    assert frontier_of(path).ledger.minted == minted == 22 * UNIT
    assert seeds_of(path) == [f"{A}/", f"{A}/1"]


def test_a_page_that_became_a_seed_has_depth_0(path: Path) -> None:
    web = web_of({f"{A}/{n}": [f"/{n + 1}"] for n in range(5)})
    crawl(web, path, f"{A}/0", pages=2, max_depth=1)
    for _ in range(2):
        run = crawl(web, path, f"{A}/2", max_depth=1)
    assert run.states[f"{A}/3"] is State.FETCHED


def test_the_target_of_a_seed_that_redirects_is_no_seed(path: Path) -> None:
    """Otherwise the scope would grow from run to run."""
    web = FakeWeb({f"{A}/": moved(f"{B}/")})
    crawl(web, path, f"{A}/", scope="host")
    assert seeds_of(path) == [f"{A}/"]


def test_a_store_without_links_endows_no_seed_twice(path: Path) -> None:
    terms = StoreTerms(links=False)
    web = web_of({f"{A}/": ["/1"], f"{A}/1": []})
    crawl(web, path, f"{A}/", endowment=10, links=False)
    assert planted(path, f"{A}/", endowment=10, terms=terms) == 0


def test_the_original_of_a_seed_with_marks_is_kept(path: Path) -> None:
    marked = f"{A}/?gclid=1"

    async def work() -> None:
        with keeping(path) as recorder:
            await plant(recorder, [ResolvedUrl(f"{A}/", marked), ResolvedUrl(f"{A}/1")], 0)

    in_time(work())
    with reading(path) as connection:
        assert [tables.original(connection, page) for page in range(2)] == [marked, None]
