"""A crawl of healthy hosts beside strange ones, in simulated time.

The loop, its slots, delays and queues are the real ones, and so is the store. Only the web and the
clock are simulated: a run of 15 s takes one, and says the same on a busy machine.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from minicrawl.model import Failed, FetchResult, Refused, Request
from minicrawl.states import State
from minicrawl.web.urls import host, origin
from tests.crawl.fakes import FakeWeb, crawl, text
from tests.crawl.jumping_clock import work_takes_no_time
from tests.proofs.starve.behaviours import (
    BEHAVIOURS,
    QUICK_S,
    SILENT_FROM_THE_START,
    SLOW_ROBOTS,
    World,
    page,
)

HEALTHY, SEEDED = "healthy", "seeded"
HEALTHY_HOSTS, SECONDS = 40, 15.0
HOSTS = [f"http://{HEALTHY}{n}.test/" for n in range(HEALTHY_HOSTS)]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The strange hosts beside the healthy ones."""

    behaviours: Sequence[str] = ()
    seeds: int = 0
    led_to: int = 0
    """Strange hosts that the first page of each strange seed links to."""
    addresses: int = 1
    random_seed: int = 0
    healthy_s: float = QUICK_S
    """Time that a healthy host takes to answer."""
    are_new: bool = False
    """Whether a healthy seed leads to the healthy hosts, instead of all being seeds."""


class StrangeWeb(FakeWeb):
    """Healthy hosts that answer at once, and strange ones that behave as the neighbours say.

    With several behaviours, a third of the strange hosts shows the first one, a third the second
    one, and so on; the rest takes another one for each request.
    """

    def __init__(self, neighbours: Neighbours) -> None:
        super().__init__({})
        self._neighbours = neighbours
        random = Random(neighbours.random_seed)
        self._world = World(random)
        self._habits: dict[str, str | None] = {}
        self._healthy_pages = 0
        self.requests = Counter[str]()
        """Requests for pages within the time, by host name."""

    async def locate(self, url: str) -> str | Refused | Failed:
        name = host(url)
        if name.startswith(HEALTHY):
            return f"127.5.1.{int(name[len(HEALTHY) :].partition('.')[0]) + 1}"
        return f"127.5.9.{hash_of(name) % self._neighbours.addresses + 1}"

    async def fetch(self, request: Request) -> FetchResult:
        name, is_robots = host(request.url), request.url.endswith("/robots.txt")
        if not is_robots and asyncio.get_running_loop().time() < 1000.0 + SECONDS:
            self.requests[name] += 1
        if name.startswith(HEALTHY):
            await asyncio.sleep(self._neighbours.healthy_s)
            return Failed(kind=State.NOT_FOUND) if is_robots else self._healthy(request)
        behaviour = self._habit(name) or self._world.random.choice(self._neighbours.behaviours)
        if is_robots and behaviour not in SILENT_FROM_THE_START:
            await asyncio.sleep(SLOW_ROBOTS.get(behaviour, QUICK_S))
            return text("User-agent: *\nAllow: /")
        if name.startswith(SEEDED) and self._neighbours.led_to and not is_robots:
            behaviour = "new hosts"
            if self.requests[name] == 1:
                await asyncio.sleep(QUICK_S)
                return page(self._world.new_hosts(self._neighbours.led_to), title=name)
        return await BEHAVIOURS[behaviour](request, self._world)

    def _healthy(self, request: Request) -> FetchResult:
        self._healthy_pages += 2
        base, number = origin(request.url), self._healthy_pages
        links = [f"{base}/{number}", f"{base}/{number + 1}"]
        if self._neighbours.are_new and base == origin(HOSTS[0]):
            links += HOSTS[1:]
        return page(links, title=request.url)._replace(elapsed_s=self._neighbours.healthy_s)

    def _habit(self, name: str) -> str | None:
        """Return the behaviour of a host, or None for another one each time."""
        if name not in self._habits:
            names = self._neighbours.behaviours
            several = [*names, None] if len(names) > 1 else [*names]
            self._habits[name] = self._world.random.choice(several)
        return self._habits[name]


def hash_of(name: str) -> int:
    """Return a number for a name, the same in each process."""
    return sum(name.encode()) * 31 + len(name)


def healthy_requests(neighbours: Neighbours) -> int:
    """Return how many pages of healthy hosts a crawl requests beside these neighbours."""
    web = StrangeWeb(neighbours)
    seeds = HOSTS[:1] if neighbours.are_new else [*HOSTS]
    seeds += [f"http://{SEEDED}{n}.test/" for n in range(neighbours.seeds)]
    Random(neighbours.random_seed).shuffle(seeds)
    with TemporaryDirectory() as folder, work_takes_no_time():
        crawl(
            web,
            Path(folder, "crawl.db"),
            *seeds,
            delay=1,
            address_delay=0.1,
            for_=SECONDS,
            site_pages=None,
            barren_pages=None,
        )
    return sum(count for name, count in web.requests.items() if name.startswith(HEALTHY))
