"""Killed and resumed crawls of thousands of real pages lose nothing and repeat few requests."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from minicrawl import Settings
from minicrawl.report.integrity.audit import audit
from minicrawl.report.snapshot import snapshot
from tests.proofs import IS_LONG
from tests.real.doc_graph import doc_graph
from tests.real.nginx import SITES, Asked, Nginx, needs_real_parts, serving

KILLS, PAGES = (5, 2500) if IS_LONG else (3, 900)
KILLED = SITES if IS_LONG else {site: SITES[site] for site in ("sqlite", "git")}
IN_FLIGHT = Settings().politeness.concurrency
POLL_S = 0.01
PATIENCE_S = 60

pytestmark = [needs_real_parts, pytest.mark.proof]


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
    """Kill the main process, after a number of requests; those that it started must notice."""
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


def test_a_crawl_that_is_killed_loses_nothing_and_repeats_few_requests(tmp_path: Path) -> None:
    store = tmp_path / "killed.db"
    rng, kills = random.Random(0), list[tuple[int, list[Asked]]]()
    with serving(KILLED, tmp_path) as nginx:
        for _ in range(KILLS):
            # The last run must have something left to crawl.
            kill_at(len(nginx.asked()) + rng.randrange(100, PAGES // KILLS), nginx, store)
            assert audit(store).wrong == []
            kills.append((len(nginx.asked()), records(store)))
        finish(nginx, store)
        asked, origins = nginx.asked(), nginx.origins
    assert audit(store).wrong == []
    oracle = (doc_graph(root, origins[site]).links for site, root in KILLED.items())
    assert pages_read(store) == set().union(*oracle)
    assert len(pages_read(store)) >= PAGES
    final = [record.url for record in records(store)]
    assert len(final) == len(set(final))
    began = 0
    for until, kept in kills:
        settled = {record.url for record in kept}
        assert settled.isdisjoint(one.url for one in asked[until:])
        # Of this run alone: what earlier kills interrupted may still wait for its turn.
        last = max((record.at for record in kept), default=0.0)
        lost = {one.url for one in asked[began:until] if one.at < last} - settled
        # Twice: nginx logs all requests of one turn of its loop with the same time.
        assert len([url for url in lost if not url.endswith("/robots.txt")]) <= 2 * IN_FLIGHT
        began = until
