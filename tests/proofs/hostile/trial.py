"""One crawl of all sites in a process of its own, and measurements of that process.

Stdin is a plan, stdout the figures, both JSON. A small crawl goes first, so that modules and caches
that any crawl loads are not measured.

lag      delay with which the loop wakes a sleeping task, less the time that the machine gave to
         other processes
growth   peak memory above the memory at the beginning of the crawl
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from minicrawl import Crawl, Settings
from tests.memory import memory_bytes
from tests.proofs.hostile.fault import DEADLINE_S, MAX_BODY_BYTES
from tests.proofs.hostile.sites import Sites

_TICK_S = 0.01
_HANGS_S = 3.0
_WHOLE_S = 200.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Seeds, DNS and settings of a crawl."""

    seeds: list[str]
    warm_seed: str
    rules: list[str]
    names: dict[str, list[str]]
    authority: str
    store: str
    settings: dict[str, Any]


def planned(sites: Sites, store: Path, **settings: object) -> Plan:
    """Return the plan of a crawl of all sites."""
    return Plan(
        seeds=[*sites.seeds.values(), *sites.healthy],
        warm_seed=sites.warm,
        rules=sites.rules,
        names=sites.names,
        authority=str(sites.authority),
        store=str(store),
        settings=settings,
    )


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Times and memory of a crawl."""

    seconds: float
    lag_p99_s: float
    lag_most_s: float
    growth_bytes: int
    most_of_others_bytes: int  # workers, and the parser of large bodies
    reason: str


def run(plan: Plan) -> Figures:
    """Run the plan in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.proofs.hostile.trial"],
        input=json.dumps(asdict(plan)),
        capture_output=True,
        text=True,
        check=False,
        timeout=_WHOLE_S,
        env=os.environ | {"SSL_CERT_FILE": plan.authority},
    )
    if done.returncode or done.stderr:
        raise AssertionError(done.stderr)
    return Figures(**json.loads(done.stdout))


async def _measured(plan: Plan) -> Figures:
    await _crawl(plan, [plan.warm_seed], Path(plan.store).with_name("warm.db"))
    probe = Probe()
    probing = asyncio.create_task(probe.watch())
    began = time.monotonic()
    reason = await _crawl(plan, plan.seeds, Path(plan.store))
    seconds = time.monotonic() - began
    probing.cancel()
    lags = sorted(probe.lags_s)
    return Figures(
        seconds=seconds,
        lag_p99_s=lags[len(lags) * 99 // 100],
        lag_most_s=lags[-1],
        growth_bytes=probe.growth_bytes,
        most_of_others_bytes=probe.most_of_others,
        reason=reason,
    )


async def _crawl(plan: Plan, seeds: list[str], store: Path) -> str:
    settings = Settings.of(
        **{
            "delay": 0,
            "per_address": 64,
            "timeout": DEADLINE_S,
            "max_body": MAX_BODY_BYTES,
            "resolve": plan.rules,
            "name_server": "system",  # see `_play_resolver`
            "store": str(store),
            **plan.settings,
        }
    )
    return str(await Crawl(seeds, settings).run_async())


class Probe:
    """Measures the lag and the memory of its own process."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        self.memory_before = memory_bytes("VmRSS")
        self.lags_s: list[float] = []
        self.most_of_others = 0

    @property
    def growth_bytes(self) -> int:
        return memory_bytes("VmHWM") - self.memory_before

    async def watch(self) -> None:
        while True:
            due, queued_s = time.monotonic() + _TICK_S, _queued_s()
            await asyncio.sleep(_TICK_S)
            self.lags_s.append(time.monotonic() - due - (_queued_s() - queued_s))
            if len(self.lags_s) % 10 == 0:
                self.most_of_others = max(
                    self.most_of_others, *(memory_bytes("VmHWM", one) for one in _others()), 0
                )


def _queued_s() -> float:
    """Return how long this process has waited for a processor."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def _others() -> list[int]:
    threads = Path("/proc/self/task").iterdir()
    return [int(pid) for one in threads for pid in (one / "children").read_text().split()]


def _play_resolver(names: dict[str, list[str]]) -> None:
    """Replace the resolver for the names of the plan."""
    ask, asked = socket.getaddrinfo, set[str]()

    def answer(host: Any, *rest: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        found = names.get(name)
        if found is None:
            return ask(host, *rest, **more)
        if found == ["none"]:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if found == ["hangs"]:
            time.sleep(_HANGS_S)
            found = []
        if found == ["changing"]:
            found = ["10.0.0.1" if name in asked else "127.0.0.1"]
        asked.add(name)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 0)) for one in found]

    socket.getaddrinfo = answer


if __name__ == "__main__":
    given = Plan(**json.load(sys.stdin))
    _play_resolver(given.names)
    sys.stdout.write(json.dumps(asdict(asyncio.run(_measured(given)))))
