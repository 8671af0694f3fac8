"""Dialing: connects to the first address of a host that answers (Happy Eyeballs, RFC 8305).

Laws: an unresponsive address delays the next by a quarter of a second; a refused connection does
not delay it. Only one connection to a host is used; others that the race opened are closed. Few
addresses are tried, and addresses that failed recently come last.

begin   setup of a new connection, such as the TLS handshake. While there are other addresses to
        try, it has a time limit.
"""

import asyncio
import socket
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import count
from typing import TypeVar

from minicrawl.fetch.http.faults import Fault, described
from minicrawl.fetch.http.http1 import request_bytes
from minicrawl.fetch.http.messages import TransportRequest
from minicrawl.fetch.http.targets import ConnectTarget, Origin
from minicrawl.fetch.tls.layer import TlsOpener, TlsServer
from minicrawl.states import State

T = TypeVar("T")
P = TypeVar("P", bound=asyncio.BaseProtocol)

_HEAD_START_S = 0.25  # as RFC 8305 recommends
_BEGIN_S = 3.0  # per address, while there are others to try
_MOST_PLACES = 4  # per request; the next request tries other addresses
_MOST_DEAD = 1000


class Connector:
    """Opens connections, from the local addresses `bind`; a request has `timeout_s` in all."""

    def __init__(
        self, timeout_s: float, bind: Iterable[str] = (), head_start_s: float = _HEAD_START_S
    ) -> None:
        self._timeout_s, self._head_start_s = timeout_s, head_start_s
        self._own = {_family(address): address for address in bind}
        # Sequence number of the last failure, by address; oldest failure first.
        self._dead: OrderedDict[ConnectTarget, int] = OrderedDict()
        self._failures = count(1)

    async def connect(
        self, places: Iterable[ConnectTarget], begin: Callable[[socket.socket], Awaitable[T]]
    ) -> tuple[ConnectTarget, T]:
        """Return the first place that answers, with its connection after `begin`.

        A TLS error is not retried: it would be the same at the other addresses.
        """
        # Stable: addresses that never failed keep the order of the resolver, and the one that
        # failed longest ago is retried before the others that failed.
        left = sorted(places, key=lambda place: self._dead.get(place, 0))[:_MOST_PLACES]
        while True:
            place, opened = await self._first_open(left)
            left = [other for other in left if other != place]
            try:
                # Time is left for the others still to try.
                limit_s = min(_BEGIN_S, self._timeout_s / 2 / len(left)) if left else None
                async with asyncio.timeout(limit_s):
                    begun = await begin(opened)
            except ssl.SSLError:
                raise
            except TimeoutError:
                failed = Fault(State.CONNECT, f"{place.address} is silent")
            except OSError as error:
                why = described(error) or f"{place.address} hung up in the handshake of TLS"
                failed = Fault(State.CONNECT, why)
            # Perhaps the request's deadline passed while this address was silent. The address must
            # come last at the next request, or each try would spend its time there.
            except asyncio.CancelledError:
                self._remember_dead(place)
                raise
            else:
                self._dead.pop(place, None)
                return place, begun
            self._remember_dead(place)
            if not left:
                raise failed

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
                    timeout=self._head_start_s if waiting else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for task in ended:
                    if (failed := task.exception()) is None:
                        return racing.pop(task), task.result()
                    del racing[task]
            assert failed, "a request names at least one address"
            raise failed
        finally:
            for task in racing:
                task.cancel()
            if racing:
                await asyncio.wait(racing)
            for task in racing:  # it may have opened its socket meanwhile
                if not task.cancelled() and task.exception() is None:
                    task.result().close()

    async def _open(self, place: ConnectTarget) -> socket.socket:
        family = _family(place.address)
        opened = socket.socket(family, socket.SOCK_STREAM)
        try:
            opened.setblocking(False)
            if own := self._own.get(family):
                opened.bind((own, 0))
            elif self._own:
                raise OSError("an address of another family than --bind-address")
            await asyncio.get_running_loop().sock_connect(opened, tuple(place))
        except BaseException as error:
            opened.close()
            self._remember_dead(place)
            if isinstance(error, OSError):
                raise Fault(State.CONNECT, f"{place.address}: {described(error)}") from error
            raise
        return opened

    def _remember_dead(self, place: ConnectTarget) -> None:
        self._dead[place] = next(self._failures)
        self._dead.move_to_end(place)
        if len(self._dead) > _MOST_DEAD:
            self._dead.popitem(last=False)


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


Way = Hashable
"""Route to a host: one of its addresses, or a proxy with the host. Only dialers look inside."""


def address_of(way: Way) -> str:
    """Return the address that the connection goes to; empty if it goes through a proxy."""
    return way.address if isinstance(way, ConnectTarget) else ""


TlsFor = Callable[[str], ssl.SSLContext]
"""Function from a host to its TLS context."""


class Dialer:
    """Opener of the connections of a client, to the addresses that requests name."""

    def __init__(self, connector: Connector, tls_for: TlsFor) -> None:
        self.connector, self.tls_for, self.opener = connector, tls_for, TlsOpener()

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        return request.places

    async def dial(self, request: TransportRequest, make: Callable[[], P]) -> tuple[Way, P]:
        """Open a connection for the protocol that `make` returns by the first way that works."""
        begin = partial(self.begin, self.server_of(request.target.origin), make)
        return await self.connector.connect(request.places, begin)

    def server_of(self, origin: Origin) -> TlsServer | None:
        """Return the server for the TLS handshake, or None for plain HTTP."""
        if not origin.is_tls:
            return None
        name = origin.host.rstrip(".")
        return TlsServer(self.tls_for(name), name, origin.port)

    async def begin(
        self, server: TlsServer | None, make: Callable[[], P], opened: socket.socket
    ) -> P:
        """Attach a protocol to an open socket, under TLS if there is a server."""
        if server is not None:
            return await self.opener.begin(opened, make, server)
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(make, sock=opened)
        return protocol

    def request_bytes(self, way: Way, request: TransportRequest) -> bytes:
        origin, path, _ = request.target
        return request_bytes(origin.name, path, request.headers, request.method, request.body)

    def check(self, way: Way, status: int) -> None:
        """Raise a Fault if a response with this status does not come from the host."""
