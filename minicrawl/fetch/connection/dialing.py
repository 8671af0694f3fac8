"""Connects to the first address of a host that answers: Happy Eyeballs, RFC 8305.

Laws: an address that is silent delays the next one by a quarter of a second, one that refuses
delays it by nothing. A host is asked at one address: what the race has opened beside it is closed.
A connection is tried at few addresses, and those that did not let us connect lately come last.

begin   what is done on a new connection before it can be used, such as the handshake of TLS. While
        there are other addresses to try, an address that is silent meanwhile is given up.
"""

import asyncio
import socket
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from itertools import count
from typing import TypeVar

from minicrawl.fetch.transport import Fault
from minicrawl.fetch.where.targets import ConnectTarget
from minicrawl.model import FailureKind

T = TypeVar("T")

_HEAD_START_S = 0.25  # of one address before the next, as RFC 8305 recommends
_BEGIN_S = 3.0  # for one address, while there are others to try
_MOST_PLACES = 4  # of one host, for one request: the next one tries others
_MOST_DEAD = 1000


class Connector:
    """Opens connections for requests that have `timeout_s`; `bind` are addresses of our own."""

    def __init__(self, timeout_s: float, bind: Iterable[str] = ()) -> None:
        self._timeout_s = timeout_s
        self._own = {_family(address): address for address in bind}
        # The number of the last failure of each.
        self._dead: OrderedDict[ConnectTarget, int] = OrderedDict()
        self._failures = count(1)

    async def connect(
        self, places: Iterable[ConnectTarget], begin: Callable[[socket.socket], Awaitable[T]]
    ) -> tuple[ConnectTarget, T]:
        """A connection to the first place that answers, begun; a TLS error is the same at all."""
        left = sorted(places, key=lambda place: self._dead.get(place, 0))[:_MOST_PLACES]
        while True:
            place, opened = await self._first_open(left)
            left = [it for it in left if it != place]
            try:
                async with asyncio.timeout(self._begin_s(len(left)) if left else None):
                    begun = await begin(opened)
            except ssl.SSLError:
                raise
            except TimeoutError:
                failed = Fault(FailureKind.CONNECT, f"{place.address} is silent")
            except OSError as error:
                why = str(error) or f"{place.address} hung up in the handshake of TLS"
                failed = Fault(FailureKind.CONNECT, why)
            except asyncio.CancelledError:  # perhaps by the deadline, which the last one let pass
                self._remember_dead(place)
                raise
            else:
                self._dead.pop(place, None)
                return place, begun
            self._remember_dead(place)
            if not left:
                raise failed

    def _begin_s(self, others: int) -> float:
        """All but the last one take no more than half of the time together."""
        return min(_BEGIN_S, self._timeout_s / 2 / others)

    async def _first_open(
        self, places: Sequence[ConnectTarget]
    ) -> tuple[ConnectTarget, socket.socket]:
        if len(places) == 1:
            return places[0], await self._open(places[0])
        waiting = list(places)
        racing: dict[asyncio.Task[socket.socket], ConnectTarget] = {}
        failed: BaseException | None = None
        try:
            while waiting or racing:
                if waiting:
                    place = waiting.pop(0)
                    racing[asyncio.create_task(self._open(place))] = place
                ended, _ = await asyncio.wait(
                    racing,
                    timeout=_HEAD_START_S if waiting else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for task in ended:
                    if (failed := task.exception()) is None:
                        return racing.pop(task), task.result()
                    del racing[task]
            assert failed, "a request names at least one address"
            raise failed
        finally:
            await _end(racing)

    async def _open(self, place: ConnectTarget) -> socket.socket:
        """A connection to this place."""
        family = _family(place.address)
        opened = socket.socket(family, socket.SOCK_STREAM)
        try:
            opened.setblocking(False)
            self._bind(opened, family)
            await asyncio.get_running_loop().sock_connect(opened, tuple(place))
        except BaseException as error:
            opened.close()
            self._remember_dead(place)
            if isinstance(error, OSError):
                raise Fault(FailureKind.CONNECT, str(error)) from error
            raise
        return opened

    def _bind(self, opened: socket.socket, family: socket.AddressFamily) -> None:
        if own := self._own.get(family):
            opened.bind((own, 0))
        elif self._own:
            raise OSError("an address of another family than --bind-address")

    def _remember_dead(self, place: ConnectTarget) -> None:
        """Try this address after all others next time."""
        self._dead[place] = next(self._failures)
        self._dead.move_to_end(place)
        if len(self._dead) > _MOST_DEAD:
            self._dead.popitem(last=False)


async def _end(racing: Collection[asyncio.Task[socket.socket]]) -> None:
    """Give up the attempts that are still under way, and what they have opened by now."""
    for task in racing:
        task.cancel()
    if racing:
        await asyncio.wait(racing)
    for task in racing:
        if not task.cancelled() and task.exception() is None:
            task.result().close()


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
