"""One crawl beside hostile hosts, in a process of its own, and its figures."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from minicrawl import Asked, Crawl, Event, Settings
from minicrawl.memory.allocator import LARGER_THAN_LINKS, mmap_large_arrays
from tests.proofs.hostile.trial import Probe
from tests.proofs.starve.attacks import ATTACKS
from tests.proofs.starve.server import HEALTHY, WARM

HEALTHY_HOSTS = 20
DELAY_S = 1.0
_WARM_S = 1.0
_SPARE_S = 60.0
"""Time for a process to start and to end."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Requests to healthy hosts, and resources of the crawl."""

    requests: int
    silence_s: float
    turn_s: float
    growth_bytes: int
    others_bytes: int


def run(attack: str, hostile: int, *, workers: int, seconds: float) -> Figures:
    """Crawl for this time.

    Hostile hosts have a server of their own, because it is so busy that healthy hosts would wait.
    """
    names = [f"{HEALTHY}{n}.test" for n in range(HEALTHY_HOSTS)]
    with (
        _serving(attack) as (server, port),
        _serving(attack) as (_, evil_port),
        TemporaryDirectory() as folder,
    ):
        # Trap detection skips hosts with similar pages, so hostile hosts need many seeds. Healthy
        # hosts have as many: the crawl takes seeds at random, so hosts with few would come last.
        hosts = [*names, *(f"hostile{n}.test" for n in range(hostile))]
        plan = {
            "seeds": [f"http://{name}/{seed or ''}" for name in hosts for seed in range(50)],
            "settings": {
                "resolve": [
                    *(f"{name}=127.0.0.1:{port}" for name in names),
                    f"*=127.0.0.1:{evil_port}",
                ],
                "delay": DELAY_S,
                "address_delay": 0,
                "per_address": 1000,
                "for_": seconds,
                "workers": workers,
                "store": str(Path(folder, "crawl.db")),
                **ATTACKS[attack].settings,
            },
        }
        done = subprocess.run(
            [sys.executable, "-m", "tests.proofs.starve.trial"],
            input=json.dumps(plan),
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds + _SPARE_S,
        )
        if done.returncode or done.stderr:
            raise AssertionError(done.stderr)
        own = json.loads(done.stdout)
        asked, _ = server.communicate(timeout=_SPARE_S)
    times = json.loads(asked)
    return Figures(
        requests=sum(map(len, times.values())),
        silence_s=max(
            _silence_s(times.get(name) or [own["began"]], own["ended"]) for name in names
        ),
        **own["cost"],
    )


def _silence_s(asked: list[float], ended: float) -> float:
    """Return the longest pause between two requests to a host, or after the last one."""
    return max(later - sooner for sooner, later in pairwise([*asked, max(ended, asked[-1])]))


@contextmanager
def _serving(attack: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    command = [sys.executable, "-m", "tests.proofs.starve.server", attack]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as server:  # type: ignore[call-overload]
        try:
            yield server, int(server.stdout.readline())
        finally:
            server.kill()


async def _measured(plan: dict[str, Any]) -> dict[str, Any]:
    """Run the crawl and measure it from its first request on.

    A small crawl goes first, so that modules and caches that any crawl loads are not measured.
    """
    mmap_large_arrays(LARGER_THAN_LINKS)  # as in the command
    settings = plan["settings"]
    warm = settings | {"for_": _WARM_S, "store": settings["store"] + "-warm", "delay": 0}
    await Crawl([f"http://{WARM}.test/"], Settings.of(**warm)).run_async()
    probe, probing = Probe(), list[asyncio.Task[None]]()

    def begin(_: Event) -> None:
        if not probing:
            probing.append(asyncio.create_task(probe.watch()))

    crawl = Crawl(plan["seeds"], Settings.of(**settings))
    crawl.subscribe(begin, [Asked])
    began = time.monotonic()
    ends = began + settings["for_"]
    await crawl.run_async()
    probing[0].cancel()
    cost = Figures(
        requests=0,
        silence_s=0,
        turn_s=max(probe.lags_s),
        growth_bytes=probe.growth_bytes,
        others_bytes=probe.most_of_others,
    )
    own = asdict(cost)
    del own["requests"], own["silence_s"]
    return {"began": began, "ended": min(ends, time.monotonic()), "cost": own}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_measured(json.load(sys.stdin)))))
