"""Crawls of a little web, killed at random moments and resumed until they are done.

Laws, after each kill: `check` finds nothing wrong; the store holds what one of the last two commits
said; every URL that was in it is in it, by the same number; the archive and the WARC files have
every answer that the store knows of, each once. A page whose turn had ended in the store is never
asked for again, nor a picture that is kept; and of those that were asked for before the last fetch
in the store, no more than were under way are not in it.
"""

import json
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from minicrawl.config import Settings
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.model import State
from minicrawl.report.audit import audit
from minicrawl.report.snapshot import snapshot
from minicrawl.store.reader import reading
from tests.crash.child import Amounts, Plan, amounts, start
from tests.crash.kept import KeptJudge
from tests.crash.web import PICTURES, Server, Town

PAGES, HOSTS = 1200, 10
UNDER_WAY = Settings().politeness.concurrency
LONGEST_S = 0.6
MOST_INSTRUCTIONS = 40_000
"""Hundreds of them: about as many as a whole crawl of the town takes."""
PATIENCE_S = 120.0
KEEPS = ("pages", "pages", "links", "none")
"""`--keep` of a crawl; it writes WARC files in any case."""
_OTHERS = re.compile(f"/robots\\.txt$|{PICTURES}")
NOTHING = Amounts(0, 0, 0, 0)


class Found(NamedTuple):
    """What is in a store."""

    amounts: Amounts
    urls: list[str]
    settled: set[str]
    fetched: set[str]
    last_at: float


EMPTY = Found(NOTHING, [], set(), set(), 0.0)


@dataclass
class Report:
    """What came of it."""

    kills: int = 0
    amid_pictures: int = 0
    """Kills while pictures were fetched."""
    ended: int = 0
    lost: list[int] = field(default_factory=list)
    """Answers that were not in the store, after each kill."""
    wrong: list[str] = field(default_factory=list)

    @property
    def mean_lost(self) -> float:
        return sum(self.lost) / max(len(self.lost), 1)

    def __str__(self) -> str:
        most = max(self.lost, default=0)
        return (
            f"{self.kills:,} kills, {self.ended:,} crawls came to their end between them, "
            f"asked for again after a kill: {self.mean_lost:.1f} pages, {most} at most"
        )


class Crawls:
    """One crawl after the other in a folder; each is killed until it is done."""

    def __init__(self, server: Server, folder: Path, seed: int, *, pages: int = PAGES) -> None:
        self._server, self._folder, self._pages = server, folder, pages
        self._rng = Random(seed)
        self._number = 0
        self.report = Report()
        self._begin()

    def _begin(self) -> None:
        """Another town, and a new store."""
        for left in self._folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        self._number += 1
        self._server.town = Town(self._pages, HOSTS, self._number)
        self._server.asked.clear()
        self.store = self._folder / f"{self._number}.db"
        self.commits = self._folder / f"{self._number}.commits"
        self._before = EMPTY
        self._kept = KeptJudge()
        self._keep = self._rng.choice(KEEPS)

    def kill_once(self) -> None:
        """Begin or go on, and kill it; a crawl that ends before is judged, and does not count."""
        since = len(self._server.asked)
        plan = self.plan(dies_at=self._instructions())
        child = start(plan)
        child.join(PATIENCE_S if plan.dies_at else self._rng.uniform(0, LONGEST_S))
        child.kill()
        child.join()
        if child.exitcode == 0:
            self._judge(self._the_end())
            self.report.ended += 1
            self._begin()
        elif child.exitcode == -9:
            self.report.kills += 1
            self._judge(self._after_a_kill(since))
        else:
            self._judge([f"exit code {child.exitcode}: {plan.stderr.read_text('utf-8')}"])

    def plan(self, **how: int) -> Plan:
        """A crawl of the town as it is now, into the store as it is now."""
        workers = self._rng.choice("0000000001")
        flags = ("--quiet", "--delay", "0", "--workers", workers, "--allow-private")
        keeping = ["--keep", self._keep, "--warc", str(self._folder / "warcs"), "--raw-bodies"]
        if self._keep == "pages":
            keeping.append("--requisites")
        places = ("--resolve", f"*={self._server.address}", "--per-address", str(UNDER_WAY))
        numbers = ("--barren-pages", "none")  # the pages of the town differ in nothing else
        return Plan(
            (
                *flags,
                *places,
                *numbers,
                *keeping,
                "--store",
                str(self.store),
                self._server.town.first,
            ),
            self.commits,
            self._folder / "stderr",
            fold_every=self._rng.choice((10, 1000)),
            **how,
        )

    def _instructions(self) -> int:
        """For every second kill, few of them as often as many."""
        if self._rng.random() < 0.5:
            return 0
        return int(MOST_INSTRUCTIONS ** self._rng.random())

    def _judge(self, complaints: Iterable[str]) -> None:
        try:
            found = list(complaints)
        except MinicrawlError as error:
            found = [str(error)]
        self.report.wrong += [f"{self.store}, kill {self.report.kills}: {c}" for c in found]

    # ------------------------------------------------------------ what is looked at

    def _after_a_kill(self, since: int) -> Iterator[str]:
        kept = self._kept.pictures
        yield from self._wrong()
        found, before, asked = self._look(), self._before, self._server.asked[since:]
        self._before = found
        expected = [*said(self.commits)[-2:], before.amounts]
        if found.amounts not in expected:
            yield f"the store holds {found.amounts}, the last commits said {expected}"
        if found.urls[: len(before.urls)] != before.urls:
            yield "URLs were lost"
        pages = [page for page in asked if not _OTHERS.search(page.url)]
        has_some = 0 < len(self._kept.pictures) < len(self._server.town.pictures)
        self.report.amid_pictures += has_some
        if again := kept.intersection(page.url for page in asked):
            yield f"pictures were asked for again: {again}"
        if again := before.settled.intersection(page.url for page in pages):
            yield f"asked for again, though their turn had ended: {again}"
        late = {page.url for page in pages if page.at < found.last_at} - found.fetched
        # Twice: the server may read what a killed crawl has sent when the next one has begun.
        if len(late) > 2 * UNDER_WAY:
            yield f"{len(late)} pages were fetched before the last one, and are not in the store"
        self.report.lost.append(len({page.url for page in pages} - found.settled))

    def _the_end(self) -> Iterator[str]:
        yield from self._wrong()
        yield from self._kept.ended(self.store)
        found, states = self._look(), self._server.town.states
        if set(found.urls) != set(states) or found.settled != set(states):
            yield f"{len(found.urls)} of {len(states)} URLs are known, {len(found.settled)} settled"
        if self._keep == "pages" and self._kept.pictures != self._server.town.pictures:
            missing = self._server.town.pictures - self._kept.pictures
            yield f"{len(missing)} pictures are missing"
        fetched = {url for url, state in states.items() if state is not State.ROBOTS}
        if found.fetched != fetched:
            yield f"{len(found.fetched)} of {len(fetched)} pages were fetched"

    def _wrong(self) -> Iterator[str]:
        if self._has_begun():
            yield from audit(self.store).wrong
            yield from self._kept.judge(self.store)

    def _look(self) -> Found:
        if not self._has_begun():
            return EMPTY
        with snapshot(self.store) as seen:
            urls = list(map(seen.url, range(len(seen))))
            rows = seen.connection.execute("SELECT page, at FROM fetches").fetchall()
            return Found(
                amounts(seen.connection),
                urls,
                {url for url, state in zip(urls, seen.states, strict=True) if state},
                {urls[page] for page, _ in rows},
                max((at for _, at in rows), default=0.0),
            )

    def _has_begun(self) -> bool:
        """Whether anything was said to be committed; a store that is only half made has nothing."""
        try:
            with reading(self.store):
                return True
        except UsageError:
            if said(self.commits)[1:]:
                raise
            return False


def said(commits: Path) -> list[Amounts]:
    """What the crawl said, before each commit, that there will be."""
    lines = commits.read_text("utf-8").splitlines(keepends=True) if commits.exists() else []
    return [Amounts(*json.loads(line)) for line in lines if line.endswith("\n")]


def kill_often(server: Server, folder: Path, kills: int, seed: int) -> Report:
    """So many kills; stops where something is wrong."""
    crawls = Crawls(server, folder, seed)
    began = time.monotonic()
    while crawls.report.kills < kills and not crawls.report.wrong:
        crawls.kill_once()
        assert time.monotonic() - began < PATIENCE_S * kills
    return crawls.report
