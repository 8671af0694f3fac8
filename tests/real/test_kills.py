"""Killed and resumed crawls of thousands of real pages lose nothing and repeat few requests.

mark     number of requests in the server's log at which a crawl is killed
record   a fetch in the store
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from minicrawl.config import Settings
from minicrawl.report.audit import audit
from minicrawl.report.snapshot import snapshot
from tests.real.doc_graph import doc_graph
from tests.real.nginx import SITES, Asked, Nginx, needs_real_parts, serving

KILLS = 5
PAGES = 2500
IN_FLIGHT = Settings().politeness.concurrency
POLL_S = 0.01
PATIENCE_S = 60

pytestmark = [needs_real_parts, pytest.mark.proof]


class Killed(NamedTuple):
    """State after a kill."""

    until: int  # number of requests
    records: list[Asked]
    wrong: list[str]


class Crawls(NamedTuple):
    """A crawl that was killed and resumed until it finished, and one that never was."""

    kills: list[Killed]
    asked: list[Asked]
    killed: Path
    whole: Path


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    with serving(SITES, tmp_path_factory.mktemp("nginx")) as nginx:
        yield nginx


@pytest.fixture(scope="module")
def crawls(nginx: Nginx, tmp_path_factory: pytest.TempPathFactory) -> Crawls:
    folder = tmp_path_factory.mktemp("kills")
    crawls = Crawls([], [], folder / "killed.db", folder / "whole.db")
    rng = random.Random(0)
    for _ in range(KILLS):
        # The last run must have something left to crawl.
        mark = len(nginx.asked()) + rng.randrange(100, PAGES // KILLS)
        kill_at(mark, nginx, crawls.killed)
        wrong = audit(crawls.killed).wrong
        crawls.kills.append(Killed(len(nginx.asked()), records(crawls.killed), wrong))
    finish(nginx, crawls.killed)
    crawls.asked.extend(nginx.asked())
    finish(nginx, crawls.whole)
    return crawls


@contextmanager
def crawling(nginx: Nginx, store: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a crawl in a session of its own, and kill all its processes when the block ends."""
    flags = ["--quiet", "--scope", "host", "--delay", "0", "--store", str(store)]
    command = [sys.executable, "-m", "minicrawl", "crawl", *flags, *nginx.origins.values()]
    with subprocess.Popen(
        command,
        cwd=store.parent,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def kill_at(mark: int, nginx: Nginx, store: Path) -> None:
    """Kill only the main process of the crawl; the processes that it started must notice."""
    with crawling(nginx, store) as process:
        while len(nginx.asked()) < mark:
            with suppress(subprocess.TimeoutExpired):
                output, _ = process.communicate(timeout=POLL_S)
                raise AssertionError(f"the crawl ended: {output.decode()}")
        process.kill()
        process.communicate(timeout=PATIENCE_S)  # until no process could write any more


def finish(nginx: Nginx, store: Path) -> None:
    with crawling(nginx, store) as process:
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, output.decode()) == (0, "")


def records(store: Path) -> list[Asked]:
    """Return all fetches of pages in the store."""
    with snapshot(store) as found:
        rows = found.connection.execute(
            "SELECT at, origin || path FROM fetches JOIN urls ON urls.id = page "
            "JOIN hosts ON hosts.id = host"
        )
        return list(map(Asked._make, rows))


def pages_read(store: Path) -> set[str]:
    with snapshot(store) as found:
        return set(map(found.url, found.was_read.nonzero()[0].tolist()))


def test_a_killed_crawl_reads_the_same_pages_as_an_undisturbed_one(
    crawls: Crawls, nginx: Nginx
) -> None:
    whole = pages_read(crawls.whole)
    assert pages_read(crawls.killed) == whole
    assert whole == {
        url for site, root in SITES.items() for url in doc_graph(root, nginx.origins[site]).links
    }
    assert len(whole) >= PAGES


def test_the_audit_passes_after_each_kill(crawls: Crawls) -> None:
    assert [killed.wrong for killed in crawls.kills] == [[]] * KILLS
    assert audit(crawls.killed).wrong == audit(crawls.whole).wrong == []


def test_no_record_is_fetched_again_after_a_kill(crawls: Crawls) -> None:
    for killed in crawls.kills:
        later = {asked.url for asked in crawls.asked[killed.until :]}
        assert later.isdisjoint(record.url for record in killed.records)
    final = [record.url for record in records(crawls.killed)]
    assert len(final) == len(set(final))


def test_a_kill_loses_no_fetch_from_before_the_last_record_but_those_in_flight(
    crawls: Crawls,
) -> None:
    began = 0
    for killed in crawls.kills:
        kept = {record.url for record in killed.records}
        last = max((record.at for record in killed.records), default=0.0)
        # Of this run alone: what earlier kills interrupted may still wait for its turn.
        answered = crawls.asked[began : killed.until]
        lost = {asked.url for asked in answered if asked.at < last} - kept
        # Twice: nginx logs all requests of one turn of its loop with the same time.
        assert len([url for url in lost if not url.endswith("/robots.txt")]) <= 2 * IN_FLIGHT
        began = killed.until
