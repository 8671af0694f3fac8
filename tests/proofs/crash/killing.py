"""Crawls of a small web, killed at random moments and resumed until they finish.

Laws, after each kill: `check` finds no fault; the store holds exactly the rows of one of the last
two logged commits; every earlier URL is still in the store, by the same number; the archive and the
WARC files have each response of the store once. No page that is settled in the store, and no
picture in the archive, is ever requested again. Of the pages requested before the last fetch in the
store, only those that were in flight may be missing from it.
"""

import json
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from minicrawl import MinicrawlError, Settings, State
from minicrawl.errors import UsageError
from minicrawl.report.integrity.audit import audit
from minicrawl.report.snapshot import snapshot
from minicrawl.store.reader import reading
from tests.proofs.crash.child import Amounts, Plan, amounts, start
from tests.proofs.crash.kept import NOT_IN_FETCHES, KeptJudge
from tests.proofs.crash.web import Server, Town

PAGES, HOSTS = 1200, 10
IN_FLIGHT = Settings().politeness.concurrency
LONGEST_S = 0.6
MOST_INSTRUCTIONS = 40_000
"""Hundreds of SQLite instructions; a whole crawl of the town takes about this many."""
PATIENCE_S = 120.0
KEEPS = ("pages", "pages", "links", "none")
"""Values of `--keep`. Every crawl writes WARC files too, with revisits of an earlier archive."""
NOTHING = Amounts(0, 0, 0, 0)


class Found(NamedTuple):
    """Contents of a store."""

    amounts: Amounts
    urls: list[str]
    settled: set[str]
    fetched: set[str]
    last_at: float


EMPTY = Found(NOTHING, [], set(), set(), 0.0)


@dataclass
class Report:
    """Numbers of kills, and all faults found."""

    kills: int = 0
    amid_pictures: int = 0
    """Kills after which the archive had some pictures of the town, but not all."""
    ended: int = 0
    lost: list[int] = field(default_factory=list)
    """Number of pages requested but not settled in the store, for each kill."""
    wrong: list[str] = field(default_factory=list)

    @property
    def mean_lost(self) -> float:
        return sum(self.lost) / max(len(self.lost), 1)

    def __str__(self) -> str:
        most = max(self.lost, default=0)
        return (
            f"{self.kills:,} kills, {self.ended:,} crawls finished between them, "
            f"pages requested again after a kill: {self.mean_lost:.1f}, at most {most}"
        )


class Crawls:
    """Crawls in a folder, one after the other; each is killed and resumed until it finishes."""

    def __init__(
        self, server: Server, folder: Path, seed: int, *, pages: int = PAGES, keep: str = ""
    ) -> None:
        """`keep` is the value of `--keep`; by default, each crawl has a random one."""
        self._server, self._folder, self._pages = server, folder, pages
        self._keeps = (keep,) if keep else KEEPS
        self._rng = Random(seed)
        self._number = 0
        self.report = Report()
        self._begin()

    def _begin(self) -> None:
        """Make a new town and the path of a new store."""
        for left in self._folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        self._number += 1
        self._server.town = Town(self._pages, HOSTS, self._number)
        self._server.asked.clear()
        self.store = self._folder / f"{self._number}.db"
        self.commits = self._folder / f"{self._number}.commits"
        self._earlier = self._folder / "earlier.cdxj"
        self._earlier.write_text("\n".join(self._server.town.earlier_index()))
        self._before = EMPTY
        self._kept = KeptJudge(self._server.town.in_earlier)
        self._keep = self._rng.choice(self._keeps)

    def kill_once(self) -> None:
        """Run the crawl and kill it. A crawl that finishes first is judged, but is no kill."""
        since = len(self._server.asked)
        plan = self.plan(self._random_instructions())
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

    def judge_anew(self, *, ends: bool) -> None:
        """Judge the files, whatever was there before. `ends`: first, run the crawl to its end."""
        self._before, self._kept = EMPTY, KeptJudge(self._server.town.in_earlier)
        if not ends:
            self._judge(self._wrong())
            return
        child = start(plan := self.plan())
        child.join(PATIENCE_S)
        child.kill()
        child.join()
        said = plan.stderr.read_text("utf-8")
        self._judge(self._the_end() if child.exitcode == 0 else [f"{child.exitcode}: {said}"])

    def plan(self, dies_at: int = 0) -> Plan:
        """Plan a run of the current crawl."""
        workers = self._rng.choice("0001")
        flags = ("--quiet", "--delay", "0", "--workers", workers, "--allow-private")
        warcs = f"town:200kB={self._folder / 'warcs'}"  # small, so that files end in this crawl
        keeping = ["--keep", self._keep, "--warc", warcs, "--raw-bodies"]
        keeping += ["--dedupe-with", str(self._earlier)]
        if self._keep == "pages":
            keeping += ["--requisites", "--types", "html,files"]
        places = ("--resolve", f"*={self._server.address}", "--per-address", str(IN_FLIGHT))
        # Pages of the town hardly differ, so this guard would skip some of them.
        budget = ("--barren-pages", "none")
        target = ("--store", str(self.store), self._server.town.first)
        return Plan(
            (*flags, *places, *budget, *keeping, *target),
            self.commits,
            self._folder / "stderr",
            checkpoint_every=self._rng.choice((10, 1000)),
            dies_at=dies_at,
        )

    def _random_instructions(self) -> int:
        """Return a log-uniform number for half of all kills, and 0 for the others."""
        if self._rng.random() < 0.5:
            return 0
        return int(MOST_INSTRUCTIONS ** self._rng.random())

    def _judge(self, complaints: Iterable[str]) -> None:
        try:
            found = list(complaints)
        except MinicrawlError as error:
            found = [str(error)]
        self.report.wrong += [f"{self.store}, kill {self.report.kills}: {c}" for c in found]

    def _after_a_kill(self, since: int) -> Iterator[str]:
        kept = self._kept.pictures
        yield from self._wrong()
        found, before, asked = self._look(), self._before, self._server.asked[since:]
        self._before = found
        expected = [*logged_commits(self.commits)[-2:], before.amounts]
        if found.amounts not in expected:
            yield f"the store holds {found.amounts}, the last commits were {expected}"
        if found.urls[: len(before.urls)] != before.urls:
            yield "URLs were lost"
        pages = [page for page in asked if not NOT_IN_FETCHES.search(page.url)]
        has_some = 0 < len(self._kept.pictures) < len(self._server.town.pictures)
        self.report.amid_pictures += has_some
        if again := kept.intersection(page.url for page in asked):
            yield f"pictures were requested again: {again}"
        if again := before.settled.intersection(page.url for page in pages):
            yield f"settled pages were requested again: {again}"
        late = {page.url for page in pages if page.at < found.last_at} - found.fetched
        # Twice: the server may read requests of a killed crawl after the next one began.
        if len(late) > 2 * IN_FLIGHT:
            yield f"{len(late)} pages requested before the last fetch are not in the store"
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
        """Return True if the store can be read. It must be readable after its first commit."""
        try:
            with reading(self.store):
                return True
        except UsageError:
            if logged_commits(self.commits)[1:]:
                raise
            return False


def logged_commits(commits: Path) -> list[Amounts]:
    """Return the numbers of rows that the crawl logged before each commit."""
    lines = commits.read_text("utf-8").splitlines(keepends=True) if commits.exists() else []
    return [Amounts(*json.loads(line)) for line in lines if line.endswith("\n")]


def kill_often(server: Server, folder: Path, kills: int, seed: int) -> Report:
    """Kill crawls `kills` times, or until a law is broken."""
    crawls = Crawls(server, folder, seed)
    began = time.monotonic()
    while crawls.report.kills < kills and not crawls.report.wrong:
        crawls.kill_once()
        assert time.monotonic() - began < PATIENCE_S * kills
    return crawls.report
