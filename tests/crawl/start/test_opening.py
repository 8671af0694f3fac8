"""Seeds are endowed once, and skipped pages wait again when the reason is gone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Noted
from minicrawl.config import Scope
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.start import opening
from minicrawl.crawl.start.opening import plant
from minicrawl.model import Failed, Refused
from minicrawl.opic.ledger.money import UNIT
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from minicrawl.web.urls import ResolvedUrl
from tests.crawl.fakes import (
    FakeWeb,
    Run,
    books_balance,
    crawl,
    failed,
    frontier_of,
    html,
    in_turn,
    keeping,
    moved,
    text,
    web_of,
)
from tests.crawl.jumping_clock import in_time
from tests.linear_time import expect_linear

A, B = "http://a.example", "http://b.example"


@pytest.fixture(autouse=True)
def two_seeds_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "SEEDS_AT_ONCE", 2)


def planted(path: Path, *seeds: str, endowment: int = 1000, terms: StoreTerms | None = None) -> int:
    """Add seeds to a store, two in a block, and return how many of them are new."""
    with keeping(path, terms) as recorder:
        new = in_time(plant(recorder, map(ResolvedUrl, seeds), endowment))
        assert books_balance(recorder.frontier)
        return new


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
    assert planted(path, f"{A}/", endowment=5) == planted(path) == 0
    assert cash_of(path) == [6]


def test_later_seeds_get_as_much_as_the_first_ones_however_often_some_are_added(path: Path) -> None:
    planted(path, f"{A}/0", f"{A}/1", endowment=10)
    planted(path, f"{A}/1", f"{A}/2", endowment=10)
    planted(path, *(f"{A}/{n}" for n in range(3, 9)), endowment=10)
    assert cash_of(path) == [6] * 9


def test_without_an_endowment_seeds_are_pages_like_others(path: Path) -> None:
    for _ in range(2):
        planted(path, f"{A}/", endowment=0)
    assert cash_of(path) == [1]
    assert seeds_of(path) == [f"{A}/"]


def test_the_next_run_completes_an_endowment(path: Path) -> None:
    seeds = [ResolvedUrl(f"{A}/{n}") for n in range(4)]

    def cut_off() -> Iterator[ResolvedUrl]:
        yield from seeds
        raise EOFError

    with keeping(path) as recorder, pytest.raises(EOFError):
        in_time(plant(recorder, cut_off(), 8))
    assert cash_of(path) == [1] * 4
    assert planted(path, *(seed.url for seed in seeds), endowment=8) == 4
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
    with keeping(path) as recorder:
        in_time(plant(recorder, [ResolvedUrl(f"{A}/", marked), ResolvedUrl(f"{A}/1")], 0))
    with reading(path) as connection:
        assert [tables.original(connection, page) for page in range(2)] == [marked, None]


HOUR_S = 3600.0
DAY_S = 24 * HOUR_S


def chain() -> FakeWeb:
    """Return three pages of one host that link in a chain, which leads to another host."""
    links = {
        f"{A}/0": [f"{A}/1"],
        f"{A}/1": [f"{A}/2", "http://c.example/cat.jpg"],
        f"{A}/2": [f"{B}/"],
    }
    return FakeWeb(web_of(links))


def notes(run: Run) -> list[str]:
    return [event.text for event in run.events if isinstance(event, Noted)]


def test_seeds_that_redirect_to_other_sites_widen_the_scope_in_linear_time() -> None:
    def widen(seeds: int) -> None:
        gate = ScopeGate(Scope(), [])
        for seed in range(seeds):
            gate.widen(f"http://{seed}.example/")

    expect_linear(lambda: widen(100), lambda: widen(400))


def test_a_wider_scope_reopens_pages_that_were_out_of_it(path: Path) -> None:
    web = chain()
    first = crawl(web, path, f"{A}/0", scope="host")
    assert first.states[f"{B}/"] is State.SCOPE
    second = crawl(web, path, scope="any")
    assert second.asked == [f"{B}/"]
    assert second.states["http://c.example/cat.jpg"] is State.SCOPE  # its type still refuses it
    assert notes(second) == ["scope any (was host): 1 page waits again"]


@pytest.mark.parametrize("settings", [{"scope": "host"}, {"max_depth": 1}, {"per_host_pages": 2}])
def test_pages_still_unwanted_are_not_reopened(path: Path, settings: dict[str, Any]) -> None:
    web = chain()
    crawl(web, path, f"{A}/0", **settings)
    assert crawl(web, path, **settings).asked == []


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [({"max_depth": 1}, {"max_depth": 2}), ({"per_host_pages": 2}, {"per_host_pages": 3})],
)
def test_a_raised_limit_reopens_pages_beyond_the_former_one(
    path: Path, narrow: dict[str, Any], wide: dict[str, Any]
) -> None:
    web = chain()
    crawl(web, path, f"{A}/0", deny=["b.example"], **narrow)
    assert crawl(web, path, deny=["b.example"], **wide).asked == [f"{A}/2"]


@pytest.mark.parametrize(
    ("later_s", "asked"), [(HOUR_S, []), (1.1 * DAY_S, [f"{A}/0"]), (-365 * DAY_S, [f"{A}/0"])]
)
def test_forbidden_pages_are_reopened_when_robots_txt_has_expired_or_the_clock_was_turned_back(
    path: Path, later_s: float, asked: list[str]
) -> None:
    forbidding, allowing = text("User-agent: *\nDisallow: /"), text("")
    web = FakeWeb({f"{A}/robots.txt": in_turn(forbidding, allowing), f"{A}/0": html()})
    assert crawl(web, path, f"{A}/0").states[f"{A}/0"] is State.ROBOTS
    assert crawl(web, path, later_s=later_s).asked == asked


def test_forbidden_pages_are_reopened_without_robots(path: Path) -> None:
    web = FakeWeb({f"{A}/robots.txt": text("User-agent: *\nDisallow: /"), f"{A}/0": html()})
    crawl(web, path, f"{A}/0")
    assert crawl(web, path, robots=False).asked == [f"{A}/0"]


@pytest.mark.parametrize(
    ("kind", "later_s", "asked"),
    [
        (State.TIMEOUT, HOUR_S / 2, []),
        (State.TIMEOUT, 2 * HOUR_S, [f"{A}/0"]),
        (State.TIMEOUT, -365 * DAY_S, [f"{A}/0"]),
        (State.TLS, 365 * DAY_S, [f"{A}/0"]),
        (State.TLS, -365 * DAY_S, [f"{A}/0"]),
        (State.NOT_FOUND, DAY_S, []),
    ],
)
def test_temporary_failures_are_retried_later_and_missing_pages_are_not(
    path: Path, kind: State, later_s: float, asked: list[str]
) -> None:
    web = FakeWeb({f"{A}/0": failed(kind)})
    crawl(web, path, f"{A}/0")
    web.answers[f"{A}/0"] = html()
    assert crawl(web, path, later_s=later_s).asked == asked


def test_pages_at_private_addresses_are_reopened_when_these_are_allowed(path: Path) -> None:
    web = FakeWeb({f"{A}/0": html()}, places={A: Refused(reason=State.ADDRESS)})
    for _ in range(2):
        run = crawl(web, path, f"{A}/0")
        assert (run.states[f"{A}/0"], run.asked) == (State.ADDRESS, [])
    web.places.clear()
    run = crawl(web, path, allow_private=True)
    assert run.asked == [f"{A}/0"]
    assert "allow-private on (was none): 1 page waits again" in notes(run)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["siblings", "greedy", "breadth-first", "random"])
@pytest.mark.parametrize(
    "trouble",
    [
        *map(failed, (State.DNS, State.CONNECT, State.PROXY)),
        *map(failed, (State.TLS, State.TIMEOUT)),
        Refused(reason=State.ADDRESS),
    ],
)
@pytest.mark.parametrize("refresh", [0.0, 0.5, 1.0])
def test_a_run_that_reaches_no_host_costs_the_next_run_no_page(
    path: Path, trouble: Failed | Refused, refresh: float, strategy: str
) -> None:
    web = FakeWeb(
        web_of({f"{A}/": [f"/{n}" for n in range(9)]} | {f"{A}/{n}": [] for n in range(9)})
    )
    crawl(web, path, f"{A}/", pages=1, strategy=strategy)
    down = FakeWeb({}, elsewhere=trouble, places={A: trouble})
    if trouble == failed(State.TLS):
        down.places = {}  # the name leads to another server
    crawl(down, path, strategy=strategy, refresh=refresh)
    run = crawl(web, path, strategy=strategy, refresh=refresh)
    assert set(run.states.values()) == {State.FETCHED}
    assert len(web.asked) == 10 + (refresh > 0)


def test_all_changed_settings_are_noted_in_one_line(path: Path) -> None:
    web = FakeWeb(web_of({f"{A}/0": [f"{A}/1", f"{A}/2", f"{A}/3", f"{B}/"]}))
    crawl(web, path, f"{A}/0", scope="host", deny=["/[123]"], contact="me@a.example")
    run = crawl(web, path, scope="host", deny=["/3"], robots=False, max_depth=9)
    assert notes(run) == [
        "deny /3 (was /[123]), max-depth 9 (was none), robots off (was on), "
        "contact none (was me@a.example): 2 pages wait again"
    ]


def test_a_changed_setting_that_reopens_no_page_is_noted_without_a_count(path: Path) -> None:
    crawl(chain(), path, f"{A}/0")
    assert notes(crawl(chain(), path, scope="prefix")) == ["scope prefix (was any)"]


def test_a_first_run_and_one_with_the_same_settings_note_nothing(path: Path) -> None:
    settings: dict[str, Any] = {"scope": "host", "deny": ["/2"], "score": ["url:a"], "delay": 0.5}
    assert notes(crawl(chain(), path, f"{A}/0", **settings)) == []
    assert notes(crawl(chain(), path, **settings)) == []


def test_pages_reopened_because_time_has_passed_are_noted_separately(path: Path) -> None:
    web = FakeWeb({f"{A}/0": html(f"{A}/1", f"{B}/"), f"{A}/1": failed(State.TIMEOUT)})
    crawl(web, path, f"{A}/0", scope="host")
    assert notes(crawl(web, path, scope="any", later_s=DAY_S)) == [
        "scope any (was host): 1 page waits again",
        "1 page put aside earlier waits again",
    ]


def test_limits_of_traps_reopen_trapped_pages_and_other_settings_do_not(path: Path) -> None:
    deep = f"{A}/a/b/c/d"
    web = FakeWeb(web_of({f"{A}/0": [deep], deep: []}))
    assert crawl(web, path, f"{A}/0", max_segments=3).states[deep] is State.TRAP
    other = crawl(web, path, max_segments=3, scope="host", contact="me@a.example")
    assert notes(other) == ["scope host (was any), contact me@a.example (was none)"]
    run = crawl(web, path, barren_pages=30, scope="host", contact="me@a.example")
    assert run.asked == [deep]
    assert notes(run) == ["barren-pages 30 (was 20): 1 page waits again"]


def test_a_store_of_an_earlier_version_notes_how_many_pages_are_reopened(path: Path) -> None:
    web = chain()
    crawl(web, path, f"{A}/0", scope="host")
    with keeping(path) as recorder:
        recorder.counters["wishes"] = {"per_host_pages": None}
        in_time(recorder.committer.commit(checkpoint=True))
    assert notes(crawl(web, path)) == ["1 page put aside earlier waits again"]


def test_pages_whose_use_is_denied_are_reopened_when_another_use_is_obeyed(path: Path) -> None:
    web = chain()
    web.answers[f"{A}/robots.txt"] = text("User-agent: *\nContent-Usage: /1 ai-train=n")
    assert crawl(web, path, f"{A}/0", obey_usage="ai-train").states[f"{A}/1"] is State.ROBOTS
    assert crawl(web, path, obey_usage="ai-train").asked == []
    run = crawl(web, path, obey_usage="search")
    assert f"{A}/1" in run.asked
    assert notes(run)[0] == "obey-usage search (was ai-train): 1 page waits again"
