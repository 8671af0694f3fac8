"""Crawls of thousands of real pages, killed and resumed: nothing is lost, and little done twice.

Each manual is served at two addresses, as a site and its mirror.

mark     the number of requests in the server's log at which a crawl is killed
record   a fetch that is in the store
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
PAGES = 5000
MIRRORED = ", mirrored"
UNDER_WAY = Settings().politeness.concurrency
POLL_S = 0.01
PATIENCE_S = 60

pytestmark = [needs_real_parts, pytest.mark.proof]


class Killed(NamedTuple):
    """What there was after a kill."""

    until: int  # requests
    records: list[Asked]
    wrong: list[str]


class Crawls(NamedTuple):
    """A crawl that was killed and resumed until it was done, and one that was left in peace."""

    kills: list[Killed]
    asked: list[Asked]
    killed: Path
    whole: Path


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    mirrors = {site + MIRRORED: root for site, root in SITES.items()}
    with serving(SITES | mirrors, tmp_path_factory.mktemp("nginx")) as nginx:
        yield nginx


@pytest.fixture(scope="module")
def crawls(nginx: Nginx, tmp_path_factory: pytest.TempPathFactory) -> Crawls:
    folder = tmp_path_factory.mktemp("kills")
    crawls = Crawls([], [], folder / "killed.db", folder / "whole.db")
    rng = random.Random(0)
    for _ in range(KILLS):
        # Never so far that nothing is left for the crawl that ends.
        mark = len(nginx.asked()) + rng.randrange(100, PAGES // KILLS)
        kill_at(mark, nginx, crawls.killed)
        wrong = audit(crawls.killed).wrong
        crawls.kills.append(Killed(len(nginx.asked()), records(crawls.killed), wrong))
    finish(nginx, crawls.killed)
    crawls.asked.extend(nginx.asked())
    finish(nginx, crawls.whole)
    return crawls


@contextmanager
def crawling(nginx: Nginx, store: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A crawl in a session of its own; nothing of it is left in the end."""
    # Each manual stands on two hosts: once that was noticed, half of the pages would not be asked.
    mirrors = ["--barren-pages", "none"]
    flags = ["--quiet", "--scope", "host", "--delay", "0", *mirrors, "--store", str(store)]
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
    """Kill the crawl, but not the processes that it started: these must notice by themselves."""
    with crawling(nginx, store) as process:
        while len(nginx.asked()) < mark:
            with suppress(subprocess.TimeoutExpired):
                output, _ = process.communicate(timeout=POLL_S)
                raise AssertionError(f"it ended by itself: {output.decode()}")
        process.kill()
        process.communicate(timeout=PATIENCE_S)  # until nobody is left who could write


def finish(nginx: Nginx, store: Path) -> None:
    with crawling(nginx, store) as process:
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, output.decode()) == (0, "")


def records(store: Path) -> list[Asked]:
    """Every fetch that the store knows of; robots.txt is none."""
    with snapshot(store) as found:
        rows = found.connection.execute(
            "SELECT at, origin || path FROM fetches JOIN urls ON urls.id = page "
            "JOIN hosts ON hosts.id = host"
        )
        return list(map(Asked._make, rows))


def pages_read(store: Path) -> set[str]:
    with snapshot(store) as found:
        return set(map(found.url, found.was_read.nonzero()[0].tolist()))


def test_a_killed_crawl_ends_where_one_left_in_peace_ends(crawls: Crawls, nginx: Nginx) -> None:
    whole = pages_read(crawls.whole)
    assert pages_read(crawls.killed) == whole
    assert whole == set(pages_there_are(nginx))
    assert len(whole) >= PAGES


def pages_there_are(nginx: Nginx) -> Iterator[str]:
    for site, root in SITES.items():
        origin, mirror = nginx.origins[site], nginx.origins[site + MIRRORED]
        for url in doc_graph(root, origin).links:
            yield url
            yield url.replace(origin, mirror)


def test_the_audit_passes_after_each_kill(crawls: Crawls) -> None:
    assert [killed.wrong for killed in crawls.kills] == [[]] * KILLS
    assert audit(crawls.killed).wrong == audit(crawls.whole).wrong == []


def test_what_is_in_the_store_is_not_fetched_again(crawls: Crawls) -> None:
    """What was under way at a kill, or not committed, is not in the store."""
    for killed in crawls.kills:
        later = {asked.url for asked in crawls.asked[killed.until :]}
        assert later.isdisjoint(record.url for record in killed.records)
    final = [record.url for record in records(crawls.killed)]
    assert len(final) == len(set(final))


def test_only_the_last_fetches_are_lost(crawls: Crawls) -> None:
    """Of those that were answered before the last one in the store, only what was under way."""
    for killed in crawls.kills:
        kept = {record.url for record in killed.records}
        last = max((record.at for record in killed.records), default=0.0)
        answered = crawls.asked[: killed.until]
        lost = {asked.url for asked in answered if asked.at < last} - kept
        # Twice: what is logged in one round of the server's loop has the time of its beginning.
        assert len([url for url in lost if not url.endswith("/robots.txt")]) <= 2 * UNDER_WAY
