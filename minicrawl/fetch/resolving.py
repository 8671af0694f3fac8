"""From host to addresses, through a guard: no connection goes where it may not go.

place     an address and a port: where a connection goes
trusted   a host that the user named; it may be wherever it likes

Laws: what is connected to is what was judged, because a name is resolved once and the answer
is kept. An address may be connected to if it is public, if a rule leads to it, if its host is
trusted, or if the user allows all. Hosts come as URLs spell them, but IPv6 without brackets.
"""

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Any, NamedTuple

from minicrawl.fetch.addresses import is_public
from minicrawl.fetch.rules import Place, ResolveRules
from minicrawl.model import Failed, FailureKind, Refusal, Refused

Lookup = Callable[[str], Awaitable[Iterable[str]]]
"""From a name to its addresses; raises OSError where there are none."""

_KEPT_S = 300.0
_FAILURE_KEPT_S = 30.0
_MOST_HOSTS = 20_000

_Answer = tuple[str, ...] | Refused | Failed


class SystemLookup:
    """The system's resolver, in threads of its own: a lookup that hangs holds one.

    With as many threads as there are requests under way it holds up nobody else. A process that
    ends does not wait for them: nothing ends a lookup, and some take minutes.
    """

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._threads = 0
        self._idle = Semaphore(0)  # threads that have nothing to do
        self._wanted = SimpleQueue[_Wanted | None]()

    async def __call__(self, host: str) -> Iterable[str]:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[str]] = loop.create_future()
        self._wanted.put(_Wanted(host, loop, found))
        if not self._idle.acquire(blocking=False) and self._threads < self._most:
            self._threads += 1
            Thread(target=self._work, name=f"lookup-{self._threads}", daemon=True).start()
        return await found

    def close(self) -> None:
        """Nobody waits for what is under way."""
        for _ in range(self._threads):
            self._wanted.put(None)

    def _work(self) -> None:
        """Look up what is wanted, one name after the other."""
        while (wanted := self._wanted.get()) is not None:
            wanted.look_up()
            self._idle.release()


class _Wanted(NamedTuple):
    """A name, and who waits for its addresses in which loop."""

    host: str
    loop: asyncio.AbstractEventLoop
    found: asyncio.Future[list[str]]

    def look_up(self) -> None:
        if self.found.cancelled():
            return
        try:
            tell = partial(self._tell, self.found.set_result, _look_up(self.host))
        except Exception as error:
            tell = partial(self._tell, self.found.set_exception, error)
        with suppress(RuntimeError):  # the loop has been closed: nobody waits
            self.loop.call_soon_threadsafe(tell)

    def _tell(self, hear: Callable[[Any], None], what: object) -> None:
        if not self.found.done():
            hear(what)


def _look_up(host: str) -> list[str]:
    # Bytes, because a str would be judged once more by a codec older than today's names.
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


class Resolver:
    """Answers where a host may be connected to."""

    def __init__(
        self,
        lookup: Lookup,
        *,
        rules: ResolveRules,
        trusted_hosts: Collection[str] = (),
        allow_private: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lookup = lookup
        self._rules = rules
        self._trusted = frozenset(trusted_hosts)
        self._allow_private = allow_private
        self._clock = clock
        self._answers: OrderedDict[str, tuple[float, _Answer]] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[_Answer]] = {}

    async def locate(self, host: str, port: int) -> tuple[Place, ...] | Refused | Failed:
        """All places to try for a host; or why there are none."""
        if place := self._rules.place(host, port):
            return (place,)
        answer = self._kept(host) or await self._asked(host)
        if isinstance(answer, Refused | Failed):
            return answer
        return tuple(Place(address, port) for address in answer)

    def close(self) -> None:
        for task in self._under_way.values():
            task.cancel()

    def _kept(self, host: str) -> _Answer | None:
        until, answer = self._answers.get(host, (0.0, None))
        if answer is None or until < self._clock():
            return None
        self._answers.move_to_end(host)
        return answer

    async def _asked(self, host: str) -> _Answer:
        """One lookup for all who wait; who stops waiting does not stop it for the others."""
        task = self._under_way.get(host)
        if task is None:
            task = self._under_way[host] = asyncio.create_task(self._ask(host))
            task.add_done_callback(lambda _: self._under_way.pop(host))
        return await asyncio.shield(task)

    async def _ask(self, host: str) -> _Answer:
        try:
            addresses = [host] if _is_address(host) else await self._lookup(host)
        except OSError as error:
            answer: _Answer = Failed(kind=FailureKind.DNS, detail=f"{host}: {error}")
        else:
            answer = self._judge(host, tuple(dict.fromkeys(addresses)))
        self._keep(host, answer)
        return answer

    def _judge(self, host: str, addresses: tuple[str, ...]) -> _Answer:
        if not addresses:
            return Failed(kind=FailureKind.DNS, detail=f"{host}: no address")
        if self._allow_private or host in self._trusted:
            return addresses
        allowed = tuple(address for address in addresses if is_public(ip_address(address)))
        if not allowed:
            return Refused(reason=Refusal.ADDRESS, detail=f"{host} is at {addresses[0]}")
        return allowed

    def _keep(self, host: str, answer: _Answer) -> None:
        kept_s = _FAILURE_KEPT_S if isinstance(answer, Failed) else _KEPT_S
        self._answers[host] = (self._clock() + kept_s, answer)
        self._answers.move_to_end(host)
        if len(self._answers) > _MOST_HOSTS:
            self._answers.popitem(last=False)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
