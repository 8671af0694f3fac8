"""Crawls of the manuals, one after the other, until all kills, cuts and moves are done.

In adverse conditions, each packet takes 100 ms and one of 20 is lost, and the clock of one node is
an hour wrong.

Laws: after each upset and at the end of each crawl, `minicrawl check --cluster` finds nothing wrong
in shards that are gathered from the logs alone. A crawl fetches exactly its budget of pages. The
first crawl with a fault is the last one. Servers that do not sync may lose what they acknowledged;
then the loss must be named, and the crawl stops there.
"""

import asyncio
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from minicrawl.cluster.access import ClusterAccess, opened
from minicrawl.cluster.terms import start_or_join
from minicrawl.opic.ledger.channels import ShardPlace
from minicrawl.web.sites import site
from tests.cluster.node_process import NodeProcess, nodes, until
from tests.cluster.proof.disks import LoopDisk, loop_disks
from tests.cluster.proof.judging import Judgement, Pauses, Upset, judge, pauses
from tests.cluster.proof.servers import ALWAYS, RelayedServers, relayed_servers
from tests.cluster.proof.shelves import Asked, Shelves
from tests.cluster.proof.upsets import (
    ADDRESSES,
    CUTS,
    KILLS,
    MOVES,
    POWER,
    UPGRADES,
    Upsettable,
    Work,
    named,
    upset,
)
from tests.cluster.relay import CALM, Weather

SERVERS, SHARDS = 3, 8
_LONGEST_S = 5.0
"""Longest random time between two upsets, in which the crawl goes on undisturbed."""
_CHECKS = 3
"""Most tries of a check, which fails during an election of the servers."""
_END_S = 3600.0
_LOOKS_EVERY_S = 1.0
_LAST_LINES = 20
_ADVERSE = Weather(delay_s=0.1, lost=0.05)
_LAZY = 'sync_interval: "2m"'
_LOSS = re.compile("[^\n]*(?:lost some|lost entries|of cash|is damaged|were posted)[^\n]*")
"""A line that names a loss."""


class ProofPlan(NamedTuple):
    """Numbers of upsets, and the crawls that they disturb."""

    kills: int
    cuts: int
    moves: int
    pages: int
    delay_s: float
    seed: int
    apart_s: float = 0.0
    """Least time between two upsets."""
    of: tuple[str, ...] = ()
    """Kinds of upsets; empty for all kinds."""
    adverse: bool = False
    """In adverse conditions?"""
    newer: str | None = None
    """Program of a newer server: the servers are upgraded to it, one by one."""
    power: int = 0
    """Power failures of servers and nodes."""
    lazy: bool = False
    """Do servers sync every two minutes only?"""

    def among(self, works: tuple[Work, ...]) -> tuple[Work, ...]:
        return tuple(one for one in works if not self.of or named(one) in self.of)


@dataclass
class Proof:
    """Findings of all crawls so far."""

    crawls: int = 0
    checks: int = 0
    seconds: float = 0.0
    pauses: dict[str, list[Pauses]] = field(default_factory=lambda: defaultdict(list))
    judgements: list[Judgement] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    """Lines that named a loss of servers that do not sync."""

    def count(self, works: tuple[Work, ...]) -> int:
        return sum(len(self.pauses[named(work)]) for work in works)


Tell = Callable[[str], None]


def _last_words(node: NodeProcess) -> str:
    ended = node.process.poll()
    state = "runs" if ended is None else f"has ended with {ended}"
    return "\n  ".join([f"node {node.name} {state}:", *node.said.splitlines()[-_LAST_LINES:]])


def _owner(host: str) -> int:
    return ShardPlace(0, SHARDS).owner(site(host))


def _hour_wrong() -> dict[str, str]:
    """Return the environment in which a process reads a clock that is an hour ahead."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    return {"LD_PRELOAD": str(library), "FAKETIME": "+1h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


class Prover:
    """Runs the crawls, upsets and checks of a plan."""

    def __init__(self, web: Shelves, folder: Path, plan: ProofPlan, tell: Tell) -> None:
        self._web, self._folder, self._plan, self._tell = web, folder, plan, tell
        self._chance = Random(plan.seed)
        self._todo = self._shuffled()
        self.proof = Proof()

    def _shuffled(self) -> list[Work]:
        plan, chance = self._plan, self._chance
        kills, cuts = plan.among(KILLS), plan.among(CUTS)
        todo = [chance.choice(kills) for _ in range(plan.kills if kills else 0)]
        todo += [cuts[number % len(cuts)] for number in range(plan.cuts if cuts else 0)]
        todo += [MOVES[number % len(MOVES)] for number in range(plan.moves)]
        power = plan.among(POWER)
        todo += [power[number % len(power)] for number in range(plan.power if power else 0)]
        todo += UPGRADES * SERVERS if plan.newer else ()
        chance.shuffle(todo)
        return todo

    async def prove(self) -> None:
        began = time.monotonic()
        weather = _ADVERSE if self._plan.adverse else CALM
        place, sync = self._folder / "servers", _LAZY if self._plan.lazy else ALWAYS
        with ExitStack() as stack:
            disks: dict[str, LoopDisk] = {}
            if self._plan.power:
                folders = [place / f"server-{number}" for number in range(SERVERS)]
                disks = stack.enter_context(loop_disks(self._folder / "images", folders))
            async with relayed_servers(place, SERVERS, ADDRESSES, weather, sync) as servers:
                while self._todo and not self.proof.wrong:
                    self.proof.crawls += 1
                    await self._crawl(servers, f"proof-{self.proof.crawls}", disks)
        self.proof.seconds = time.monotonic() - began

    async def _crawl(self, servers: RelayedServers, name: str, disks: dict[str, LoopDisk]) -> None:
        since, place = time.time(), self._folder / name
        place.mkdir()
        upsets: list[Upset] = []
        async with AsyncExitStack() as stack:
            if self._plan.power:
                folders = [place / node for node in ADDRESSES]
                own_disks = stack.enter_context(loop_disks(place / "images", folders))
                disks = {**disks, **own_disks}
            engine = await stack.enter_async_context(opened(ClusterAccess(servers.url, name)))
            loaded = self._web.settings(self._plan.pages, self._plan.delay_s)
            await start_or_join(engine, loaded, self._web.seeds, SHARDS)
            urls = {node: f"{servers.url_of(node)}/{name}" for node in ADDRESSES}
            own = {node: ("--bind-address", address) for node, address in ADDRESSES.items()}
            clocks = {min(ADDRESSES): _hour_wrong()} if self._plan.adverse else {}
            started = await stack.enter_async_context(nodes(urls, place, loaded, own, clocks))
            cluster = Upsettable(engine, servers, started, self._plan.newer, disks)
            try:
                await self._upset_until_the_end(cluster, name, upsets)
            except AssertionError as error:
                words = list(map(_last_words, started.values()))
                self._note(f"{name}: {error}", *words)
            await self._check(servers, name, "the end")
        self._judge([one for one in self._web.asked() if one.at >= since], upsets)

    async def _upset_until_the_end(
        self, cluster: Upsettable, name: str, upsets: list[Upset]
    ) -> None:
        await until(cluster.engine, lambda now: now.fetched > 0, "the crawl does not begin")
        losses = len(self.proof.losses)
        while self._todo and not self.proof.wrong:
            await asyncio.sleep(self._plan.apart_s + self._chance.uniform(0, _LONGEST_S))
            work = self._todo.pop()
            done = await upset(cluster, work, self._chance)
            upsets.append(done)
            self._tell(f"{name}: {done.kind}, over after {done.ended - done.began:.1f} s")
            if not self._plan.of:
                await self._check(cluster.servers, name, done.kind)
            if len(self.proof.losses) > losses:
                return
            if await self._has_ended(cluster, wait_s=0):
                return
        if self._plan.of:  # only the length of the pauses is wanted
            await asyncio.sleep(_LONGEST_S)
        elif not self.proof.wrong:
            assert await self._has_ended(cluster, wait_s=_END_S), "the crawl does not end"

    async def _has_ended(self, cluster: Upsettable, wait_s: float) -> bool:
        """Return True once the crawl has ended; note a fault if it has not fetched its budget."""
        ends_at = time.monotonic() + wait_s
        while True:
            now = await until(cluster.engine, lambda _: True, "the cluster does not answer")
            if now.doing == "ended":
                if now.fetched != self._plan.pages:
                    self.proof.wrong.append(f"{now.fetched:,} pages were fetched: {now.reason}")
                return True
            if time.monotonic() >= ends_at:
                return False
            await asyncio.sleep(_LOOKS_EVERY_S)

    async def _check(self, servers: RelayedServers, name: str, after: str) -> None:
        """Gather all shards from the logs and check them, with the command of a user."""
        said = ""
        for _ in range(_CHECKS):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "minicrawl", "check", "--cluster", f"{servers.url}/{name}"),
                env={**os.environ, "XDG_CACHE_HOME": str(self._folder / "cache")},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            output, _ = await process.communicate()
            said = output.decode(errors="replace")
            if process.returncode == 0:
                self.proof.checks += 1
                return
        self._note(f"{name}, check after {after}: {said}")

    def _note(self, *said: str) -> None:
        """Note a fault, or a loss if servers do not sync and somebody names it."""
        losses = [match[0] for text in said if (match := _LOSS.search(text))]
        if self._plan.lazy and losses:
            self._tell(losses[0])
            self.proof.losses.append(losses[0])
        else:
            self.proof.wrong += said

    def _judge(self, asked: list[Asked], upsets: list[Upset]) -> None:
        found = judge(asked, upsets, self._plan.delay_s)
        self.proof.judgements.append(found)
        self.proof.wrong += found.wrong
        for one in upsets:
            self.proof.pauses[one.kind].append(pauses(asked, one, _owner))
