"""Asks name servers for the addresses of names, by c-ares.

Laws: an answer says for how long it holds. The file of hosts goes before all servers. A name is
asked for as it is: no search domain is put behind it. A name without a dot, and one of the local
network (.local), is left to the system, as name servers do not know these. That there is no such
name is told apart from servers that fail. Nothing is imported before the first name is looked up.

A malformed answer fails the lookup of its own name alone, and so does a connection that is closed.
c-ares cannot tell to whom such an answer belongs: it gives up the socket, with every question that
waits there. So each name whose lookup ended like this, or without addresses meanwhile, is asked for
again on a channel of its own, and only what is said there counts. The site of a malformed answer is
remembered: its names do not use the shared channel any more. Channels of their own are `MOST_APART`
at most, `MOST_OF_A_SITE` of one site, and a name waits `APART_S` for its answer there, so no site
holds up the names of another one.

`servers` are addresses, with ports or without; if there are none, those of the system are asked.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from minicrawl.config import Network
from minicrawl.config.parts import SYSTEM
from minicrawl.fetch.where.lookups import LookupAnswer, NoSuchName, SystemLookup
from minicrawl.web.sites import site

if TYPE_CHECKING:
    import pycares

MOST_APART, MOST_OF_A_SITE = 32, 4
"""Channels at once: each takes a thread and four files."""
APART_S = 30.0
_LOCAL = ".local"
_MOST_SITES = 10_000


def lookup_of(network: Network, threads: int) -> SystemLookup | NameServerLookup:
    """Who finds the addresses of names, as the settings want it."""
    system = SystemLookup(threads)
    if network.name_server == (SYSTEM,):
        return system
    return NameServerLookup(system, network.name_server)


class NameServerLookup:
    """A lookup; `system` finds the names that no name server knows."""

    def __init__(self, system: SystemLookup, servers: Sequence[str] = ()) -> None:
        self._system, self._servers = system, tuple(servers)
        self._given_up = 0
        self._sites = OrderedDict[str, None]()  # of names with malformed answers
        self._apart: set[pycares.Channel] = set()
        self._free = asyncio.Semaphore(MOST_APART)
        self._free_of_site = WeakValueDictionary[str, asyncio.Semaphore]()

    async def __call__(self, host: str) -> LookupAnswer:
        name = host.rstrip(".")
        if "." not in name or name.endswith(_LOCAL):
            return await self._system(host)
        if self._sites and site(name) in self._sites:
            return _answer(await self._ask_apart(host, site(name)))
        before = self._given_up
        reply = await _ask(self._channel, host)
        self._given_up += reply.is_given_up
        # Who was asked for meanwhile may have spent the tries of one of its questions, or of both.
        if reply.error is not None and self._given_up > before:
            reply = await self._ask_apart(host, site(name))
        return _answer(reply)

    async def _ask_apart(self, host: str, of: str) -> _Reply:
        """Ask on a channel that no other name uses."""
        free_of_site = self._free_of_site.setdefault(of, asyncio.Semaphore(MOST_OF_A_SITE))
        try:
            async with asyncio.timeout(APART_S), free_of_site, self._free:
                with self._new_channel() as channel:
                    reply = await _ask(channel, host)
        except TimeoutError as error:
            raise OSError("the name servers do not answer") from error
        if reply.is_malformed:
            self._sites[of] = None
            self._sites.move_to_end(of)
            if len(self._sites) > _MOST_SITES:
                self._sites.popitem(last=False)
        return reply

    def close(self) -> None:
        """Give up what is under way."""
        self._system.close()
        for channel in self._apart:
            channel.close()
        if "_channel" in self.__dict__:
            self._channel.close()

    @contextmanager
    def _new_channel(self) -> Iterator[pycares.Channel]:
        channel = self._opened()
        self._apart.add(channel)
        try:
            yield channel
        finally:
            self._apart.discard(channel)
            channel.close()

    @cached_property
    def _channel(self) -> pycares.Channel:
        """The channel of all names that nothing is known against."""
        return self._opened()

    def _opened(self) -> pycares.Channel:
        import pycares

        flags = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS
        return pycares.Channel(flags=flags, servers=self._servers or None)


class _Reply(NamedTuple):
    """The addresses of a name, or the error of c-ares."""

    result: pycares.AddrInfoResult | None
    error: int | None

    @property
    def is_malformed(self) -> bool:
        """Whether an answer could not be read."""
        from pycares import errno

        return bool(self.error == errno.ARES_EBADRESP)

    @property
    def is_given_up(self) -> bool:
        """Whether the socket was given up, because of this name or of another one: an answer there
        could not be read, or the server closed a connection.
        """
        from pycares import errno

        return self.is_malformed or self.error == errno.ARES_ECONNREFUSED


async def _ask(channel: pycares.Channel, host: str) -> _Reply:
    loop = asyncio.get_running_loop()
    found: asyncio.Future[_Reply] = loop.create_future()

    def deliver(result: pycares.AddrInfoResult | None, error: int | None) -> None:
        with suppress(RuntimeError):  # the loop has been closed: nobody waits
            loop.call_soon_threadsafe(_settle, found, _Reply(result, error))

    channel.getaddrinfo(host, None, type=socket.SOCK_STREAM, callback=deliver)
    return await found


def _settle(found: asyncio.Future[_Reply], reply: _Reply) -> None:
    if not found.done():  # or nobody waits any more
        found.set_result(reply)


def _answer(reply: _Reply) -> LookupAnswer:
    """Return the addresses, which hold for as long as each part of the answer; raise `OSError`."""
    result = reply.result
    if result is None or reply.error is not None:
        raise _failure(reply.error)
    ttls = [*(one.ttl for one in result.cnames), *(one.ttl for one in result.nodes)]
    return LookupAnswer([_text(node.addr[0]) for node in result.nodes], min(ttls, default=None))


def _text(said: bytes | str) -> str:
    return said.decode("ascii") if isinstance(said, bytes) else said


def _failure(error: int | None) -> OSError:
    """By the codes of c-ares."""
    from pycares import errno

    match error:
        case errno.ARES_ENOTFOUND:
            return NoSuchName("no such name")
        case errno.ARES_ENODATA:
            return NoSuchName("the name has no address")
        case errno.ARES_ETIMEOUT:
            return OSError("the name servers do not answer")
        case errno.ARES_ECONNREFUSED:
            return OSError("no name server can be reached")
    why = "no answer" if error is None else _text(errno.strerror(error))
    return OSError(f"the name servers fail: {why}")
