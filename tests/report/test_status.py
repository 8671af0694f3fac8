import json
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.model import State
from minicrawl.report.snapshot import snapshot
from minicrawl.report.status import Mirror, Status, status
from tests.stores import A, HandCrawl, filled_store


def status_of(path: Path) -> Status:
    with snapshot(path) as seen:
        return status(seen)


def test_pages_are_counted_by_what_became_of_them(tmp_path: Path) -> None:
    found = status_of(filled_store(tmp_path / "crawl.db"))
    assert (found.pages_known, found.pages_fetched, found.pages_unread) == (6, 2, 2)
    assert found.standing_for_others == {"moved": 1}
    assert found.failures == {"not-found": 1}
    assert found.refusals == {}
    assert found.hosts == 3
    assert found.found_per_fetch == 3


def test_what_the_crawl_counted_is_used(tmp_path: Path) -> None:
    found = status_of(filled_store(tmp_path / "crawl.db"))
    assert (found.bytes, found.requests, found.running_s) == (4000, 4, 2.0)
    assert found.fetches_per_second == 2.0


def test_a_store_that_counted_nothing_is_looked_through(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.read(A)
    found = status_of(crawl.path)
    assert found.bytes == 1000
    assert (found.requests, found.running_s, found.fetches_per_second) == (None, None, None)


def test_g_counts_the_cash_that_flowed(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A], endowment=3)
        crawl.commit()
        before = status_of(crawl.path)
        crawl.read(A)
    after = status_of(crawl.path)
    assert (before.g, before.error_factor) == (0, None)
    assert (after.g, after.error_factor) == (4, 0.25)
    assert before.cash_exact
    assert after.cash_exact


def test_importance_gathered_is_that_of_the_pages_read(tmp_path: Path) -> None:
    with snapshot(filled_store(tmp_path / "crawl.db")) as seen:
        assert status(seen).importance_gathered == pytest.approx(float(seen.importance[:2].sum()))


def test_a_store_without_pages_has_a_status(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        pass
    found = status_of(crawl.path)
    assert (found.pages_known, found.found_per_fetch, found.importance_gathered) == (0, None, 0)


def test_a_refusal_is_counted_under_its_reason(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.ended(A, State.HOST_BUDGET)
    assert status_of(crawl.path).refusals == {"host-budget": 1}


@pytest.mark.parametrize(("alike", "pages", "is_mirror"), [(8, 10, True), (7, 10, False)])
def test_a_host_of_which_most_pages_repeat_another_is_a_mirror(
    tmp_path: Path, alike: int, pages: int, *, is_mirror: bool
) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        originals = [f"http://a.example/{number}" for number in range(pages + 1)]
        twins = [f"http://twin.example/{number}" for number in range(pages)]
        crawl.seeds([*originals, *twins])
        for page in [*originals, *twins]:
            crawl.read(page)
        crawl.batch.mirrors += [(1, 0)] * 3 + [(0, 1)] * (alike - 3)  # whichever was read first
    expected = [Mirror("http://twin.example", "http://a.example", alike)] if is_mirror else []
    assert status_of(crawl.path).mirrors == expected


def test_a_few_pages_alike_make_no_mirror(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.batch.mirrors += [(0, 1)] * 4
    assert status_of(crawl.path).mirrors == []


def test_json_says_all_of_it(tmp_path: Path) -> None:
    found = status_of(filled_store(tmp_path / "crawl.db"))
    assert set(json.loads(json.dumps(found.as_json()))) == set(Status.__dataclass_fields__)
