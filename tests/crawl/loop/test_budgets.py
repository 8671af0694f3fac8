"""Budgets of pages, importance, time and bytes, and the limit of depth."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minicrawl import Reason
from minicrawl.model import Failed, Refused
from minicrawl.report.progress.crawl_status import status
from minicrawl.states import READ_STATES, State
from tests.crawl.fakes import Answer, FakeWeb, crawl, html, web_of
from tests.crawl.loop.webs import A, B, star, stars, tangle


@pytest.mark.parametrize("pages", [1, 7])
def test_a_crawl_reads_exactly_its_budget_of_pages(pages: int, path: Path) -> None:
    web = FakeWeb(stars(5, 9), takes_s=0.5)
    seeds = [f"http://h{n}.example/" for n in range(5)]
    run = crawl(web, path, f"{A}/gone", *seeds, pages=pages)
    assert run.reason is Reason.BUDGET
    assert list(run.states.values()).count(State.FETCHED) == pages


@pytest.mark.parametrize(
    "runs",
    [
        [(4, {"pages": 4}), (4, {"pages": 4}), (6, {"pages": 6})],
        [(3, {"new_pages": 3}), (6, {"new_pages": 3}), (7, {"new_pages": 3, "pages": 7})],
        [(3, {"per_host_pages": 4, "pages": 3}), (4, {"per_host_pages": 4})],
    ],
)
def test_budgets_count_all_runs_and_that_of_new_pages_each_run_alone(
    runs: list[tuple[int, dict[str, Any]]], path: Path
) -> None:
    web = FakeWeb(star(A, 9))
    for asked, budget in runs:
        crawl(web, path, f"{A}/", **budget)
        assert len(web.asked) == asked


@pytest.mark.parametrize("per_host", [1, 3])
def test_no_more_pages_of_a_host_are_read_than_its_budget(per_host: int, path: Path) -> None:
    answers = star(A, 9) | {f"{A}/": html("/0", "/gone", *(f"/{n}" for n in range(9)), f"{B}/")}
    web = FakeWeb(answers | star(B, 2), takes_s=1)
    run = crawl(web, path, f"{A}/", per_host_pages=4, per_host=per_host)
    read = [url for url, state in run.states.items() if state is State.FETCHED]
    assert sum(url.startswith(A) for url in read) == 4
    assert sum(url.startswith(B) for url in read) == 3
    assert State.HOST_BUDGET in run.states.values()


RING = {f"{A}/{n}": [f"{A}/{(n + by) % 100}" for by in (1, 2, 3)] for n in range(100)}


@pytest.mark.parametrize(
    ("web", "seed", "least"), [(star(A, 250), f"{A}/", 0.9), (web_of(RING), f"{A}/0", 0.94)]
)
def test_a_crawl_ends_when_enough_of_the_importance_is_gathered(
    web: dict[str, Answer], seed: str, least: float, path: Path
) -> None:
    """All of a star is known after its first page, so no importance of unknown pages is added.

    Each page of the ring reveals one more, whose importance is added before it is known.
    """
    run = crawl(FakeWeb(web, takes_s=50 / len(web)), path, seed, until="90%", concurrency=1)
    assert run.reason is Reason.GATHERED
    frontier = run.recorder.frontier
    flowed = frontier.importance_of(None, 0, len(frontier))
    read = np.isin(frontier.states(), READ_STATES)
    assert least <= float(flowed[read].sum() / flowed.sum()) < least + 0.04


def test_a_crawl_that_has_gathered_enough_requests_nothing_when_resumed(path: Path) -> None:
    web = FakeWeb(star(A, 150), takes_s=0.2)
    crawl(web, path, f"{A}/", until=0.9, concurrency=1)
    asked = len(web.asked)
    assert crawl(web, path, f"{A}/", until=0.9).reason is Reason.GATHERED
    assert len(web.asked) == asked
    further = status(path).goes_on_until
    assert further == "96%"
    assert crawl(web, path, f"{A}/", until=further, concurrency=1).reason is Reason.GATHERED
    assert asked < len(web.asked) < 151


def test_a_time_limit_ends_a_crawl_and_lets_requests_under_way_finish(path: Path) -> None:
    web = FakeWeb(star(A, 20), takes_s=3)
    run = crawl(web, path, f"{A}/", for_=31, delay=1)
    assert run.reason is Reason.BUDGET
    start = web.visits[0].began
    assert max(visit.began for visit in web.visits) - start < 31
    assert max(visit.ended for visit in web.visits) - start < 34 + 1
    assert list(run.states.values()).count(State.FETCHED) == len(web.asked)


@pytest.mark.parametrize(("budget", "end"), [({"for_": 5}, 1005), ({"pages": 2}, 1002)])
def test_the_end_does_not_wait_for_name_lookups(
    budget: dict[str, Any], end: float, path: Path
) -> None:
    class Hanging(FakeWeb):
        async def locate(self, url: str) -> str | Refused | Failed:
            if url.startswith(B):
                await asyncio.sleep(1000)
            return await super().locate(url)

    run = crawl(Hanging(star(A, 20)), path, f"{A}/", f"{B}/", delay=1, **budget)
    assert (run.reason, run.ended_at) == (Reason.BUDGET, end)


def test_a_limit_of_bytes_ends_a_crawl(path: Path) -> None:
    page = html(body="x" * 950)
    web = FakeWeb({f"{A}/{n}": page for n in range(9)})
    run = crawl(web, path, *web.answers, bytes=2500)
    assert run.reason is Reason.BUDGET
    assert len(web.asked) == 3


def test_a_page_found_by_a_long_path_first_is_read_if_there_is_a_short_one(path: Path) -> None:
    """Pages on the long path 0 - 1 - 2 - target have more cash than those on 0 - poor - target."""
    web = web_of(
        {
            f"{A}/0": ["/gives", "/1", "/poor"],
            f"{A}/gives": ["/1"],
            f"{A}/1": ["/2"],
            f"{A}/2": ["/target"],
            f"{A}/poor": ["/target"],
            f"{A}/target": ["/beyond"],
        }
    )
    run = crawl(web, path, f"{A}/0", max_depth=2, strategy="greedy")
    assert run.asked.index(f"{A}/2") < run.asked.index(f"{A}/poor")
    assert run.states[f"{A}/target"] is State.FETCHED
    assert run.states[f"{A}/beyond"] is State.DEPTH


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), limit=st.integers(0, 4))
def test_the_depth_of_a_page_is_that_of_its_shortest_path(
    tmp_path_factory: pytest.TempPathFactory, seed: int, limit: int
) -> None:
    links = tangle(16, hosts=2, links=4, seed=seed)
    depths: dict[str, int] = {}
    layer = [next(iter(links))]
    for depth in range(limit + 1):
        depths |= dict.fromkeys(layer, depth)
        layer = [end for url in layer for end in links[url] if end not in depths]
    path = tmp_path_factory.mktemp("depth") / "crawl.db"
    run = crawl(web_of(links), path, next(iter(links)), max_depth=limit)
    assert set(run.asked) == set(depths)
