"""Views and metrics of the dashboard are computed from the store."""

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from minicrawl import MinicrawlError, State
from minicrawl.dashboard import views
from minicrawl.dashboard.access import METRICS
from minicrawl.dashboard.metrics import METRICS_TYPE, metrics_text
from minicrawl.dashboard.routes import SharedView
from minicrawl.dashboard.views import MOST_POINTS, GraphFigures, Views
from minicrawl.json_values import to_json
from minicrawl.report.progress.activity import MOST_SPANS, RequestHistory
from minicrawl.report.progress.live_sampler import sampled_now
from minicrawl.report.progress.samples import keep_sample, shown_sample
from minicrawl.store.derived.file import beside
from minicrawl.store.reader import reading
from tests.crawl.jumping_clock import in_time
from tests.dashboard.asking import ACCESS, asked
from tests.stores import HandCrawl, filled_store


@pytest.mark.slow
def test_curves_of_the_graph_read_new_samples_only_and_keep_their_ends_and_few_points(
    filled: Path,
) -> None:
    now = sampled_now(filled)
    assert now is not None
    with reading(filled) as connection:
        keep_sample(filled, connection, replace(now, at=1.0))
        with closing(sqlite3.connect(beside(filled))) as kept, kept:
            kept.executemany(
                "INSERT INTO samples SELECT NULL, ?, json_set(figures, '$.at', ?) FROM samples "
                "WHERE id = 1",
                [(float(at), float(at)) for at in range(2, 5000)],
            )
        figures = GraphFigures()
        figures.read(filled, is_running=False)
        keep_sample(filled, connection, replace(now, at=5000.0))
    figures.read(filled, is_running=False)
    times = [row[0] for row in figures.to_json()["curves"]]
    assert (times[0], times[-1]) == (1, 5000)
    assert times == sorted(set(times))
    assert len(times) <= MOST_POINTS


def test_the_graph_is_that_of_status_with_no_sample_and_with_an_old_one(filled: Path) -> None:
    watched = Views(filled)
    for _ in range(2):  # first without a sample, then with one of an earlier step
        found = watched.graph_figures()["latest"]
        shown = shown_sample(filled, found["graph_of"], is_running=False)
        assert shown is not None
        told = json.loads(json.dumps(to_json(shown)))
        moments = {"at": 0, "distances_at": 0}
        assert json.loads(json.dumps(found)) | moments == told | moments
        with reading(filled) as connection:
            keep_sample(filled, connection, replace(shown, step=shown.step - 1, crawled=1))
    # If it were measured again, its moment would be another one.
    assert watched.graph_figures()["latest"] == found


def test_a_history_has_few_points_and_counts_every_request_once(tmp_path: Path) -> None:
    path, pages = tmp_path / "crawl.db", 2 * MOST_SPANS + 10
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(f"http://a.example/{number}" for number in range(pages))
        for number in range(pages - 1):
            crawl.read(f"http://a.example/{number}")
        crawl.ended(f"http://a.example/{pages - 1}", State.NOT_FOUND)
    history = RequestHistory(path)
    for _ in range(2):
        history.read()
        sums = list(history.sums())
        assert len(sums) <= MOST_SPANS
        assert sums[-1][1:] == (pages, 1, 1000 * pages)
        assert [row[0] for row in sums] == sorted(row[0] for row in sums)


def test_a_view_is_computed_once_for_all_browsers_and_again_when_it_is_old_or_failed() -> None:
    results = iter((1, ValueError("unexpected"), 3, MinicrawlError("the store is gone")))

    def make() -> int:
        result = next(results)
        if isinstance(result, Exception):
            raise result
        return result

    async def look() -> None:
        with ThreadPoolExecutor(1) as thread:
            view, seen = SharedView(make, 10.0, thread), list[str]()
            for _ in range(4):
                found = await asyncio.gather(*(view.text() for _ in range(20)))
                assert {*found, await view.text()} == set(found[:1])
                seen.append(found[0])
                await asyncio.sleep(100.0)  # time of this loop jumps
            assert seen == ["1", "1", "3", '{"error": "the store is gone"}']

    in_time(look())


def test_the_best_hundred_hosts_are_listed_with_their_pages(tmp_path: Path) -> None:
    path = filled_store(tmp_path / "crawl.db")
    found = Views(path).hosts()
    assert found["known"] == 3
    first = found["hosts"][0]
    assert (first["origin"], first["read"], first["known"]) == ("http://a.example", 1, 3)
    assert [host["failed"] for host in found["hosts"]] == [0, 1, 0]
    assert found["hosts"][0]["wait_s"] is None
    with closing(HandCrawl(many := tmp_path / "many.db")) as crawl:
        crawl.seeds([f"http://h{number}.example/" for number in range(200)])
    found = Views(many).hosts()
    assert (found["known"], len(found["hosts"])) == (200, 100)


def test_memory_and_time_of_a_process_tree_include_its_children() -> None:
    code = "held = bytearray(60_000_000); print(len(held), flush=True); input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        alone = views.process_usage(os.getpid(), is_tree=False)
        whole = views.process_usage(os.getpid(), is_tree=True)
        child.communicate(b"\n")
    assert whole["memory"] - alone["memory"] > 50_000_000
    assert whole["cpu_s"] >= alone["cpu_s"]
    assert views.process_usage(None, is_tree=True) == {"cpu_s": None, "memory": None}


BEARER = {"authorization": f"Bearer {ACCESS.token}"}
LIVE = {
    "state": "paused", "in_flight": 3, "workers": 2, "settings": {"pages": None},
    "crawlers": [{"memory": 100, "cpu_s": 1.5}, {"memory": None, "cpu_s": None}],
}  # fmt: skip
SAMPLE = re.compile(r'(minicrawl_[a-z_]+(?:\{[a-z]+="[a-z0-9.-]+"\})?) ([-+.0-9e]+)')


def samples(text: str) -> dict[str, float]:
    """Read the text as Prometheus does. Every line must be a comment or a sample of its own."""
    lines = [line for line in text.splitlines() if not line.startswith(("# HELP ", "# TYPE "))]
    found = [SAMPLE.fullmatch(line) for line in lines]
    assert all(found), text
    series = {one[1]: float(one[2]) for one in found if one}
    assert len(series) == len(lines)
    return series


def test_metrics_are_the_numbers_of_the_status_and_the_processes_of_a_crawl(tmp_path: Path) -> None:
    crawl: dict[str, Any] = Views(filled_store(tmp_path / "crawl.db")).crawl()
    found, status = samples(metrics_text(crawl)), crawl["status"]
    assert found['minicrawl_pages{state="known"}'] == status["pages_known"] == 6
    assert found['minicrawl_disk_bytes{part="store"}'] == status["store_bytes"]
    assert found["minicrawl_crawl_running"] == 0
    assert "minicrawl_workers" not in found
    assert len(found) <= 30
    assert "http" not in metrics_text(crawl)
    crawl = Views(tmp_path / "absent.db").crawl()
    found = samples(metrics_text(crawl | {"live": LIVE}))
    assert found["minicrawl_crawl_running"] == found["minicrawl_crawl_paused"] == 1
    assert (found["minicrawl_memory_bytes"], found["minicrawl_cpu_seconds"]) == (100, 1.5)
    assert "minicrawl_pages_limit" not in found
    unreachable = {"state": "unreachable", "why": "gone"}
    assert samples(metrics_text(crawl | {"live": unreachable}))["minicrawl_crawl_running"] == 1


def test_metrics_need_a_readable_store(filled: Path) -> None:
    request = partial(asked, Views(filled), "GET", METRICS, headers=BEARER)
    answer = request()
    assert (answer.status_code, answer.headers["content-type"]) == (200, METRICS_TYPE)
    assert samples(answer.text)
    filled.write_bytes(b"no store")
    assert request().status_code == 503
