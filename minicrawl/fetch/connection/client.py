"""Asks by HTTP/1.1 over connections of our own, some of which are kept.

Laws: no connection goes but to a place that the question names. At most so many questions are
under way. A question is asked once; once more only where a kept connection ended before one byte
of an answer came, and after a pause, as the server may have heard it. Whatever ends a question
early, a cancellation too, hangs up. A question tries few places, those that let nobody in lately
last; all but the last one take half of its time at most.

Connections that wait to be asked again.

line   origin and place: what a connection must share with a question to carry it

Laws: a connection waits `keep_s` and no longer, and of more than the limit the one that has
waited longest goes. The one that has waited least is asked first: it is the likeliest to live.
"""

import asyncio
import ssl
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from functools import cached_property
from itertools import count
from typing import Self, TypedDict

from minicrawl.fetch.connection.connection import ROOM_BYTES, Connection
from minicrawl.fetch.connection.heads import Head
from minicrawl.fetch.connection.http1 import question as as_bytes
from minicrawl.fetch.failures import EXPECTED, Fault
from minicrawl.fetch.transport import TransportRequest
from minicrawl.fetch.where.resolve_rules import ConnectTarget
from minicrawl.fetch.where.targets import Origin
from minicrawl.model import FailureKind

Line = tuple[Origin, ConnectTarget]


class IdleConnections:
    """All that wait, by their line and in the order in which they began to."""

    def __init__(self, limit: int, keep_s: float) -> None:
        self._limit = limit
        self._keep_s = keep_s
        self._waiting: dict[Connection, tuple[Line, float]] = {}
        self._by_line: defaultdict[Line, list[Connection]] = defaultdict(list)
        self._alarm: asyncio.TimerHandle | None = None

    def put(self, line: Line, connection: Connection) -> None:
        """It waits from now on."""
        until = asyncio.get_running_loop().time() + self._keep_s
        self._waiting[connection] = line, until
        self._by_line[line].append(connection)
        if len(self._waiting) > self._limit:
            self._hang_up_first()
        self._set_alarm()

    def take(self, line: Line) -> Connection | None:
        """One that waits on this line, if any does."""
        if line not in self._by_line:
            return None
        connection = self._by_line[line][-1]
        self.forget(connection)
        return connection

    def forget(self, connection: Connection) -> None:
        """It waits no longer, if it did."""
        line, _ = self._waiting.pop(connection, (None, 0.0))
        if line is None:
            return
        self._by_line[line].remove(connection)
        if not self._by_line[line]:
            del self._by_line[line]

    def close(self) -> None:
        """Hang up on all."""
        while self._waiting:
            self._hang_up_first()
        if self._alarm:
            self._alarm.cancel()

    def _hang_up_first(self) -> None:
        connection = next(iter(self._waiting))
        self.forget(connection)
        connection.hang_up()

    def _set_alarm(self) -> None:
        """One for all: the first that began to wait is the first that has waited enough."""
        if self._alarm is None and self._waiting:
            _, until = next(iter(self._waiting.values()))
            self._alarm = asyncio.get_running_loop().call_at(until, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now = asyncio.get_running_loop().time()
        while self._waiting and next(iter(self._waiting.values()))[1] <= now:
            self._hang_up_first()
        self._set_alarm()


_PATIENCE_S = 3.0  # with one place, while there are others to try
_MOST_PLACES = 4  # of a name, for one question: another one tries others
_MOST_DEAD = 1000


class _Tls(TypedDict, total=False):
    """What asyncio is to know of it; nothing where there is none."""

    ssl: ssl.SSLContext
    server_hostname: str


class HttpClient:
    """A transport. `tls` is called once, before the first question that needs it.

    A question has `timeout_s`, and is asked once more after `pause_s`.
    """

    def __init__(
        self,
        *,
        tls: Callable[[], ssl.SSLContext],
        connections: int,
        keep_s: float,
        timeout_s: float,
        max_head_bytes: int,
        pause_s: float = 0.0,
    ) -> None:
        self._make_tls = tls
        self._timeout_s, self._pause_s = timeout_s, pause_s
        self._max_head_bytes = max_head_bytes
        self._dead: OrderedDict[ConnectTarget, int] = OrderedDict()  # since when, in deaths
        self._deaths = count(1)
        self._turns = asyncio.Semaphore(connections)
        self._idle = IdleConnections(connections, keep_s)
        self._open: set[Connection] = set()
        self._room = memoryview(bytearray(ROOM_BYTES))

    async def ask(self, question: TransportRequest) -> "HttpResponseStream":
        await self._turns.acquire()
        try:
            return await self._ask(question)
        except BaseException:
            self._turns.release()
            raise

    async def aclose(self) -> None:
        self._idle.close()
        for connection in self._open:
            connection.hang_up()
        while self._open:  # each is told by the loop that it is no more
            await asyncio.sleep(0)

    async def _ask(self, question: TransportRequest) -> "HttpResponseStream":
        origin, path, _ = question.target
        asked = as_bytes(origin.name, path, question.headers)
        if kept := self._kept(question):
            line, connection = kept
            try:
                return await self._answer(line, connection, asked)
            except EXPECTED:
                if not connection.is_unheard:
                    raise
            await asyncio.sleep(self._pause_s)
        line, connection = await self._connect(origin, question.places)
        return await self._answer(line, connection, asked)

    async def _answer(
        self, line: Line, connection: Connection, asked: bytes
    ) -> "HttpResponseStream":
        try:
            head = await connection.ask(asked)
        except BaseException:
            connection.hang_up()
            raise
        return HttpResponseStream(head, connection, lambda: self._done(line, connection))

    def _done(self, line: Line, connection: Connection) -> None:
        self._turns.release()
        if connection.may_be_asked:
            connection.rest()
            self._idle.put(line, connection)
        else:
            connection.hang_up()

    # ------------------------------------------------------------ connections

    def _kept(self, question: TransportRequest) -> tuple[Line, Connection] | None:
        for place in question.places:
            line = question.target.origin, place
            if connection := self._idle.take(line):
                return line, connection
        return None

    async def _connect(
        self, origin: Origin, places: tuple[ConnectTarget, ...]
    ) -> tuple[Line, Connection]:
        """To the first place that lets us; a certificate that is wrong is wrong everywhere."""
        tls = _tls_of(self._tls, origin.host.rstrip(".")) if origin.is_tls else {}
        refused: Fault | None = None
        tried = sorted(places, key=lambda place: self._dead.get(place, 0))[:_MOST_PLACES]
        for place in tried:
            patience_s = None if place is tried[-1] else self._patience_s(len(tried))
            try:
                async with asyncio.timeout(patience_s):
                    connection = await self._connect_to(place, tls)
            except ssl.SSLError:
                raise
            except asyncio.CancelledError:  # the last one kept us until the deadline
                self._remember_dead(place)
                raise
            except TimeoutError:
                refused = Fault(FailureKind.CONNECT, f"{place.address} is silent")
            except OSError as error:
                refused = Fault(FailureKind.CONNECT, str(error))
            else:
                self._dead.pop(place, None)
                return (origin, place), connection
            self._remember_dead(place)
        assert refused, "a question names at least one place"
        raise refused

    def _patience_s(self, places: int) -> float:
        return min(_PATIENCE_S, self._timeout_s / 2 / (places - 1))

    def _remember_dead(self, place: ConnectTarget) -> None:
        """It is asked after those that may speak."""
        self._dead[place] = next(self._deaths)
        self._dead.move_to_end(place)
        if len(self._dead) > _MOST_DEAD:
            self._dead.popitem(last=False)

    async def _connect_to(self, place: ConnectTarget, tls: _Tls) -> Connection:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(self._open.add, self._lost, self._max_head_bytes, self._room),
            place.address,
            place.port,
            **tls,
        )
        return connection

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._make_tls()

    def _lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._idle.forget(connection)


def _tls_of(context: ssl.SSLContext, name: str) -> _Tls:
    try:
        # asyncio meets a name that TLS cannot carry too late, and leaves its socket open.
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=name)
    except ValueError as error:
        raise Fault(FailureKind.TLS, str(error)) from error
    return {"ssl": context, "server_hostname": name}


class HttpResponseStream:
    """An answer, and its body as it comes."""

    def __init__(self, head: Head, connection: Connection, done: Callable[[], None]) -> None:
        self.status = head.status
        self.headers = head.headers
        self._connection = connection
        self._done = done

    @property
    def body(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if piece := await self._connection.read():
            return piece
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self._done()
