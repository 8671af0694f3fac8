"""Metrics are the numbers of `status`, in the format of Prometheus and in few series."""

import re
from functools import partial
from pathlib import Path
from typing import Any

from minicrawl.dashboard.access import METRICS
from minicrawl.dashboard.metrics import METRICS_TYPE, metrics_text
from minicrawl.dashboard.views import Views
from tests.dashboard.asking import ACCESS, asked
from tests.stores import filled_store

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


def test_metrics_need_a_readable_store(tmp_path: Path) -> None:
    store = filled_store(tmp_path / "crawl.db")
    request = partial(asked, Views(store), "GET", METRICS, headers=BEARER)
    answer = request()
    assert (answer.status_code, answer.headers["content-type"]) == (200, METRICS_TYPE)
    assert samples(answer.text)
    store.write_bytes(b"no store")
    assert request().status_code == 503
