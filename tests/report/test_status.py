"""The status of a crawl, and hosts that mirror others."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from minicrawl.cli.larger_budget import with_larger_budget
from minicrawl.crawl.refinement.converged_ranks import refine
from minicrawl.report.links.problems import duplicates
from minicrawl.report.progress.crawl_status import status
from minicrawl.report.progress.mirrors import Mirror, mirrors
from minicrawl.report.saved_ranks import convergence_of
from minicrawl.report.snapshot import snapshot
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.disk.files import move
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from tests.stores import A, B, C, HandCrawl, filled_store


def test_pages_are_counted_by_state_and_requests_by_the_crawl(tmp_path: Path) -> None:
    path = filled_store(tmp_path / "crawl.db")
    found = status(path)
    assert (found.pages_known, found.pages_fetched, found.pages_unread) == (6, 2, 2)
    assert found.standing_for_others == {"moved": 1}
    assert (found.failures, found.refusals) == ({"not-found": 1}, {})
    assert (found.hosts, found.found_per_fetch) == (3, 3)
    assert (found.bytes, found.requests, found.running_s) == (4000, 4, 2.0)
    assert found.fetches_per_second == 2.0
    with reading(path) as connection:
        assert found.importance_gathered == tables.counters(connection)[tables.GATHERED]


def test_the_command_to_resume_works_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, other = tmp_path / "a b", tmp_path / "other"
    begun.mkdir()
    other.mkdir()
    monkeypatch.chdir(begun)
    given = "minicrawl crawl seeds.txt --store old.db --pages 9"
    with closing(HandCrawl(Path("crawl.db"))) as crawl:
        crawl.seeds(["http://a.example/"])
        place = {"begun_in": str(begun), "begun_as": str(begun / "crawl.db")}
        crawl.batch.counters = {"command": given, **place}
    assert status(Path("crawl.db")).command == given
    monkeypatch.chdir(other)
    store = begun / "crawl.db"
    here = f"minicrawl crawl seeds.txt --pages 9 --store '{store}'"
    assert status(Path("../a b/crawl.db")).command == f"cd '{begun}' && {here}"
    monkeypatch.chdir(begun)
    move(Path("crawl.db"), Path("new.db"))
    moved = "minicrawl crawl seeds.txt --pages 9 --store new.db"
    assert status(Path("new.db")).command == moved


@pytest.mark.parametrize(
    ("given", "goes_on", "again"),
    [
        ("--pages 9", None, "--pages 9"),
        ("--until 50% --pages 9", "90%", "--until 90% --pages 9"),
        ("--until=50%", "none", "--until none"),
        ("--until '60% guaranteed' -q", "80% guaranteed", "--until '80% guaranteed' -q"),
        ("'--until=60% guaranteed'", "80% guaranteed", "--until '80% guaranteed'"),
        ("a.txt", "90%", "a.txt --until 90%"),  # the rule stood in a file of settings
    ],
)
def test_after_its_stop_rule_a_crawl_goes_on_with_another(
    path: Path, given: str, goes_on: str | None, again: str
) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        counters: dict[str, object] = {"command": f"minicrawl crawl {given}"}
        crawl.batch.counters = counters | ({"goes_on_until": goes_on} if goes_on else {})
    found = status(path)
    assert found.command == f"minicrawl crawl {given}"
    assert with_larger_budget(found.command, found) == f"minicrawl crawl {again}"


def test_the_error_factor_is_all_cash_divided_by_the_cash_that_flowed(path: Path) -> None:
    """Three pages and an endowment of 5 have 8 units of cash; 3.5 of them have flowed."""
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B], endowment=5)
        crawl.commit()
        before = status(crawl.path)
        crawl.read(A, [C])
    found = status(crawl.path)
    assert (before.g, before.error_factor) == (0, None)
    assert found.g == 3.5
    assert found.error_factor == pytest.approx(8 / 3.5)


def test_with_a_short_log_status_has_the_converged_ranks_of_other_reports(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B])
        crawl.read(A, [B, C])
    estimated = status(crawl.path).convergence
    with closing(HandCrawl(crawl.path)) as again:
        again.frontier = again.loaded()
        again.batch.counters[tables.CONVERGES] = True
    found = status(crawl.path)
    with snapshot(crawl.path) as seen:
        (read, *others), reported = seen.importance.tolist(), convergence_of(seen)
    assert estimated is None
    assert found.convergence
    assert reported
    assert replace(found.convergence, age_s=reported.age_s) == reported
    assert found.importance_gathered == pytest.approx(read / (read + sum(others)))


def test_with_a_long_log_guaranteed_importance_is_known_while_the_seeds_stay_the_same(
    path: Path, long_log: Callable[[], None]
) -> None:
    """A links to B and C, B to A; C is unread. Computed by hand as in `opic.estimate`, e = 1/4.

    When half of the jumps go to an unread page, half of the flow is left.
    """
    long_log()
    with closing(HandCrawl(path, StoreTerms(small_edge=0.25))) as crawl:
        crawl.seeds([A], endowment=5)
        crawl.read(A, [B, C])
        crawl.read(B, [A])
        crawl.commit()
        assert status(crawl.path).importance_guaranteed is None  # no ranks have converged
        refine(crawl.path)
        before = status(crawl.path).importance_guaranteed
        crawl.ended(C, State.ROBOTS)
        crawl.commit()
        later = status(crawl.path).importance_guaranteed
        crawl.seeds([f"{A}new"], endowment=5)
        crawl.commit()
        assert status(crawl.path).importance_guaranteed is None
        refine(crawl.path)
    assert before == later == pytest.approx(44 / 92, abs=1e-3)
    assert status(crawl.path).importance_guaranteed == pytest.approx(22 / (22 + 46), abs=1e-3)


def test_with_a_short_log_guaranteed_importance_is_as_new_as_the_ranks(path: Path) -> None:
    with closing(HandCrawl(path, StoreTerms(small_edge=0.25))) as crawl:
        crawl.seeds([A], endowment=5)
        crawl.batch.counters[tables.CONVERGES] = True
        for page, links, share in ((A, [B, C], 1 / 4), (B, [A], 44 / 92), (C, [], 1)):
            crawl.read(page, links)
            crawl.commit()
            assert status(crawl.path).importance_guaranteed == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize("terms", [StoreTerms(links=False), StoreTerms()])
def test_without_seeds_or_links_nothing_is_guaranteed(terms: StoreTerms, path: Path) -> None:
    with closing(HandCrawl(path, terms)) as crawl:
        crawl.seeds([A], endowment=0 if terms.links else 5)
        crawl.batch.counters[tables.CONVERGES] = True
        crawl.read(A, [B])
    assert status(crawl.path).importance_guaranteed is None


def test_a_refusal_is_counted_under_its_reason(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        found = status(crawl.path)
        assert (found.pages_known, found.found_per_fetch) == (0, None)
        crawl.seeds([A])
        crawl.ended(A, State.HOST_BUDGET)
    assert status(crawl.path).refusals == {"host-budget": 1}


@pytest.mark.parametrize(
    ("alike", "pages", "is_mirror"), [(8, 10, True), (7, 10, False), (4, 4, False)]
)
def test_a_host_whose_pages_mostly_repeat_another_host_is_a_mirror(
    path: Path, alike: int, pages: int, *, is_mirror: bool
) -> None:
    with closing(HandCrawl(path)) as crawl:
        originals = [f"http://a.example/{number}" for number in range(pages + 1)]
        twins = [f"http://twin.example/{number}" for number in range(pages)]
        crawl.seeds([*originals, *twins])
        for page in [*originals, *twins]:
            crawl.read(page)
        # Either copy may be read first.
        crawl.batch.mirrors += [(1, 0)] * 3 + [(0, 1)] * (alike - 3)
    expected = [Mirror("http://twin.example", "http://a.example", alike)] if is_mirror else []
    assert mirrors(crawl.path) == expected


@pytest.mark.parametrize("copy", ["a", "b"])
@pytest.mark.parametrize("larger", ["a", "b"])
def test_the_mirror_is_the_host_with_the_duplicates_whichever_is_older_or_larger(
    path: Path, copy: str, larger: str
) -> None:
    original = "b" if copy == "a" else "a"
    with closing(HandCrawl(path)) as crawl:
        names = range(10)
        crawl.seeds([f"http://{host}.example/{name}" for host in "ab" for name in names])
        crawl.seeds([f"http://{larger}.example/more"])
        for host in "ab":
            for name in names:
                crawl.read(f"http://{host}.example/{name}")
        crawl.read(f"http://{larger}.example/more")
        for name in names:
            url, of = (f"http://{host}.example/{name}" for host in (copy, original))
            crawl.moved(url, of, State.ALIAS)
        crawl.batch.mirrors += [(0, 1)] * 10
        crawl.checkpoint()
    assert mirrors(crawl.path) == [
        Mirror(f"http://{copy}.example", f"http://{original}.example", 10)
    ]
    with snapshot(crawl.path) as seen:
        found = {(row.url[:16], row.original[:16]) for row in duplicates(seen)}
    assert found == {(f"http://{copy}.example", f"http://{original}.example")}
