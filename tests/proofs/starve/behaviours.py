"""Behaviours of strange hosts in simulated time: how long a request takes, and what it returns.

Only what a host does to slots, delays and queues is simulated: a request to a host that drips takes
until its timeout, a bomb is refused after the time that it took to unpack. Processor time is not;
`attacks` measures it with real bytes.

A behaviour is an asynchronous function of a request and the world of its host.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random

from minicrawl.model import Failed, FetchResult, Moved, Refused, Request, Response
from minicrawl.states import State
from minicrawl.web.urls import origin

TIMEOUT_S = 10.0
QUICK_S = 0.005
_NEW_HOSTS = 50
"""Hosts that a page of "new hosts" links to: with thousands, only the store would work."""


@dataclass
class World:
    """The strange hosts of one run."""

    random: Random
    numbers: "count[int]" = field(default_factory=count)

    def new_hosts(self, most: int) -> list[str]:
        """Return the front pages of new hosts, each of a domain of its own."""
        return [f"http://s{next(self.numbers)}.strange{n % 97}.test/" for n in range(most)]

    def own(self, request: Request, most: int) -> list[str]:
        """Return new pages of the host."""
        return [f"{origin(request.url)}/{next(self.numbers)}" for _ in range(most)]


Behaviour = Callable[[Request, World], Awaitable[FetchResult]]


def page(links: list[str], *, cut: State | None = None, title: str = "") -> Response:
    """Return a page with these links."""
    anchors = "".join(f"<a href={link}>x</a>" for link in links)
    body = f"<title>{title}</title><p>{title} {' '.join(links[:3])}</p>{anchors}".encode()
    return Response(
        status=200, headers={"content-type": "text/html"}, body=body, wire_bytes=9, cut=cut
    )


def _fails(kind: State, after_s: float) -> Behaviour:
    async def behave(_request: Request, _world: World) -> FetchResult:
        await asyncio.sleep(after_s)
        return Failed(kind=kind, elapsed_s=after_s)

    return behave


def _links(most: int, after_s: float, *, is_cut: bool = False) -> Behaviour:
    async def behave(request: Request, world: World) -> FetchResult:
        await asyncio.sleep(after_s)
        cut = State.TIMEOUT if is_cut else None
        found = page(world.own(request, most), cut=cut, title=str(next(world.numbers)))
        return found._replace(elapsed_s=after_s)

    return behave


async def _redirects(request: Request, world: World) -> FetchResult:
    await asyncio.sleep(QUICK_S)
    return Moved(status=302, target=world.own(request, 1)[0], elapsed_s=QUICK_S)


async def _leads_on(_request: Request, world: World) -> FetchResult:
    await asyncio.sleep(QUICK_S)
    return page(world.new_hosts(_NEW_HOSTS), title=str(next(world.numbers)))


async def _long_file(_request: Request, _world: World) -> FetchResult:
    await asyncio.sleep(TIMEOUT_S)
    return Refused(reason=State.TYPE, elapsed_s=TIMEOUT_S)


BEHAVIOURS: dict[str, Behaviour] = {
    "heads that drip": _fails(State.TIMEOUT, TIMEOUT_S),
    "bodies that drip": _links(30, TIMEOUT_S, is_cut=True),
    "files that drip": _long_file,
    "silence": _fails(State.TIMEOUT, TIMEOUT_S),
    "interim responses": _fails(State.PROTOCOL, 0.3),
    "resets": _fails(State.RESET, 0.01),
    "long heads": _fails(State.PROTOCOL, 0.02),
    "small chunks": _links(0, 0.5),
    "bombs": _fails(State.TOO_LARGE, 0.3),
    "bombs of brotli": _fails(State.TOO_LARGE, 0.1),
    "deep markup": _links(30, 0.2),
    "many links": _links(200, 0.05),
    "endless redirects": _redirects,
    "cookies": _links(30, QUICK_S),
    "feeds": _links(2, 0.1),
    "long robots.txt": _links(30, QUICK_S),
    "new hosts": _leads_on,
}
SILENT_FROM_THE_START = frozenset({"silence"})
"""Behaviours of hosts whose robots.txt is no better than their pages."""
SLOW_ROBOTS = {"long robots.txt": 0.3}
"""Time until robots.txt is answered, where that takes a while."""
