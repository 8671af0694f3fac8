"""A cluster is as polite as one machine, also while shards move and nodes die."""

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

import pytest

from minicrawl.cluster import steering
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.demo.pages import DemoResponse, refused
from minicrawl.opic.ledger.channels import shard_of
from tests.cluster.engines import needs_server
from tests.cluster.logged_web import SITES, LoggedWeb, begun, settings
from tests.cluster.node_process import (
    PATIENCE_S,
    NodeProcess,
    nodes,
    shards_of,
    until,
    until_ended,
    until_taken_over,
)

pytestmark = [needs_server, pytest.mark.proof, pytest.mark.anyio]

SHARDS = 4
ADDRESS_DELAY_S = 0.1
SHARING = partial(settings, per_address=8, address_delay=ADDRESS_DELAY_S)
MOVED, LOST = ("s0.example", "s1.example"), ("s2.example",)
"""Sites of a shard that moves, and of a shard whose node is killed."""
PAUSES = {"s0.example": (503, 8), "s1.example": (429, 12), "s2.example": (503, 14)}
COMMITS = 3
"""Number of commits after which a pause that a shard has just learnt is surely in its log."""


class PoliteWeb(LoggedWeb):
    """Sites with rules in robots.txt, some of which ask for a pause."""

    def __init__(self) -> None:
        super().__init__()
        self.to_pause: set[str] = set()
        self.paused: dict[str, float] = {}

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int
    ) -> DemoResponse:
        page = super().answer(host, target, headers, visits)
        if target == "/robots.txt":
            text = b"User-agent: *\nDisallow: /secret"
            return DemoResponse(200, {"Content-Type": "text/plain"}, text)
        if host in self.to_pause:
            self.to_pause.remove(host)
            self.paused[host] = self.times(host)[-1]
            status, pause_s = PAUSES[host]
            return refused(status, "later", Retry_After=str(pause_s))
        return page._replace(body=page.body + b'<a href="/secret%s">' % target.encode())

    def times(self, host: str) -> list[float]:
        return [at for at, _ in self.asked[host]]


async def test_a_cluster_keeps_delays_pauses_and_robots_txt_as_one_machine_does(
    tmp_path: Path,
) -> None:
    web = PoliteWeb()
    with web.watched():
        async with (
            begun(tmp_path, web, SHARING, SHARDS) as (servers, engine, loaded),
            nodes(dict.fromkeys("abc", servers.url), tmp_path, loaded) as started,
        ):
            await upset(engine, started, web)
            web.end()
            await until_ended(engine)
    web.check_delays()
    for host in web.asked:
        check_host(web, host)
    check_address(sorted(at for host in web.asked for at in web.times(host)), web.slack_s)


def check_host(web: PoliteWeb, host: str) -> None:
    targets = [target for _, target in web.asked[host]]
    assert targets[0] == "/robots.txt"
    assert targets.count("/robots.txt") == 1, host
    assert not [target for target in targets if target.startswith("/secret")]
    if (paused := web.paused.get(host)) is not None:
        again = min(at for at in web.times(host) if at > paused)
        assert again - paused >= PAUSES[host][1] - web.slack_s


def check_address(times: list[float], slack_s: float) -> None:
    """Check that no span has more requests than the pace allows, plus one for each shard."""
    for first, since in enumerate(times):
        for last in range(first + 1, len(times)):
            most = (times[last] - since + slack_s) / ADDRESS_DELAY_S + SHARDS
            assert last - first <= most, (first, last)


async def upset(engine: ClusterEngine, started: dict[str, NodeProcess], web: PoliteWeb) -> None:
    """Let sites ask for a pause and drain their node; let another ask, and kill its node."""
    await until(
        engine,
        lambda now: (
            all(shards_of(now, name) for name in started)
            and all(len(web.times(f"s{site}.example")) > 3 for site in range(SITES))
        ),
        "nodes do not begin",
    )
    moved, killed = shard_of(MOVED[0], SHARDS), shard_of(LOST[0], SHARDS)
    assert {shard_of(host, SHARDS) for host in MOVED} == {moved}
    await pause(web, MOVED)
    await steering.drain(engine, name := await holder_of(engine, moved))
    await until_taken_over(engine, name)
    await pause(web, LOST)
    last = (await engine.log_span(killed)).last
    while (await engine.log_span(killed)).last < last + COMMITS:
        await asyncio.sleep(0.05)
    started[lost := await holder_of(engine, killed)].kill()
    await until_taken_over(engine, lost)
    async with asyncio.timeout(PATIENCE_S):
        while any(max(web.times(host)) == web.paused[host] for host in PAUSES):
            await asyncio.sleep(0.1)


async def pause(web: PoliteWeb, hosts: Collection[str]) -> None:
    """Let the next response of each of these hosts ask for a pause, and wait for it."""
    web.to_pause.update(hosts)
    async with asyncio.timeout(PATIENCE_S):
        while not web.paused.keys() >= set(hosts):
            await asyncio.sleep(0.05)


async def holder_of(engine: ClusterEngine, shard: int) -> str:
    found = await until(engine, lambda now: not now.unheld, "a shard is held by nobody")
    return next(row.name for row in found.nodes if shard in row.shards)
