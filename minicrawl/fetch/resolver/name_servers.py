"""Lookups by name servers, with c-ares.

Laws: an answer carries its TTL. The hosts file takes precedence over name servers. Names are
looked up as they are, without search domains. Names without a dot and names under .local are left
to the system, as name servers do not know them. A name that does not exist is distinguished from
failing servers. Nothing is imported before the first lookup.

A malformed answer, or a closed connection, fails only the lookup of its own name. c-ares cannot
tell which question such an answer belongs to: it drops the socket and every question waiting on
it. So each name whose lookup ended that way, or found no address meanwhile, is looked up again on
a channel of its own, and only that answer counts. Three names at once, of which the name server
of bad.example sends garbage:

    shared channel      a.example  b.example  x.bad.example     the garbage fails all three
    channels of their own
                        a.example -> 192.0.2.1                  innocent
                        b.example -> no such name               the true answer, not garbage
                        x.bad.example -> malformed              DNS failure of this name alone
    from then on        y.bad.example has a channel of its own at once; c.example is shared

There are at most `MOST_APART` separate channels, `MOST_OF_A_SITE` for one site, and a lookup
there takes at most `APART_S`, so no site blocks the names of another: bad.example can occupy 4 of
32 channels for 30 s. Refused: a channel for each name, which takes a thread and four files.

`servers` are addresses, with or without ports; if empty, the system's servers are used.
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
from minicrawl.config.values.kinds import SYSTEM
from minicrawl.fetch.resolver.lookups import LookupAnswer, NoSuchName, SystemLookup
from minicrawl.web.sites import site

if TYPE_CHECKING:
    import pycares

MOST_APART, MOST_OF_A_SITE = 32, 4
"""Maximum separate channels, in all and per site: each takes a thread and four files."""
APART_S = 30.0
_LOCAL = ".local"
_MOST_SITES = 10_000


def lookup_of(network: Network, threads: int) -> SystemLookup | NameServerLookup:
    system = SystemLookup(threads)
    if network.name_server == (SYSTEM,):
        return system
    return NameServerLookup(system, network.name_server)


class NameServerLookup:
    """Lookup by name servers. `system` looks up the names that name servers do not know."""

    def __init__(self, system: SystemLookup, servers: Sequence[str] = ()) -> None:
        self._system, self._servers = system, tuple(servers)
        self._given_up = 0  # lookups that a dropped socket ended
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
        # Another name's bad answer may have used up the attempts of this lookup.
        if reply.error is not None and self._given_up > before:
            reply = await self._ask_apart(host, site(name))
        return _answer(reply)

    async def _ask_apart(self, host: str, of: str) -> _Reply:
        """Look up a name on a channel that no other name uses."""
        free_of_site = self._free_of_site.setdefault(of, asyncio.Semaphore(MOST_OF_A_SITE))
        try:
            async with asyncio.timeout(APART_S), free_of_site, self._free:
                with self._new_channel() as channel:
                    reply = await _ask(channel, host)
        except TimeoutError as error:
            raise OSError("the name servers do not answer") from error
        if reply.is_malformed:
            # The site is remembered, not the name: its name server can send garbage for any number
            # of names below it.
            self._sites[of] = None
            self._sites.move_to_end(of)
            if len(self._sites) > _MOST_SITES:
                self._sites.popitem(last=False)
        return reply

    def close(self) -> None:
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
        return self._opened()

    def _opened(self) -> pycares.Channel:
        import pycares

        flags = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS
        return pycares.Channel(flags=flags, servers=self._servers or None)


class _Reply(NamedTuple):
    """Addresses of a name, or the error code of c-ares."""

    result: pycares.AddrInfoResult | None
    error: int | None

    @property
    def is_malformed(self) -> bool:
        from pycares import errno

        return bool(self.error == errno.ARES_EBADRESP)

    @property
    def is_given_up(self) -> bool:
        """True if the socket was dropped: by a malformed answer to any name, or by the server."""
        from pycares import errno

        return self.is_malformed or self.error == errno.ARES_ECONNREFUSED


async def _ask(channel: pycares.Channel, host: str) -> _Reply:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_Reply] = loop.create_future()

    def settle(reply: _Reply) -> None:
        if not answer.done():  # otherwise the caller gave up
            answer.set_result(reply)

    def deliver(result: pycares.AddrInfoResult | None, error: int | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, _Reply(result, error))

    channel.getaddrinfo(host, None, type=socket.SOCK_STREAM, callback=deliver)
    return await answer


def _answer(reply: _Reply) -> LookupAnswer:
    """Return the addresses, with the smallest TTL in the answer. Raises OSError."""
    result = reply.result
    if result is None or reply.error is not None:
        from pycares import errno

        match reply.error:
            case errno.ARES_ENOTFOUND:
                raise NoSuchName("no such name")
            case errno.ARES_ENODATA:
                raise NoSuchName("the name has no address")
            case errno.ARES_ETIMEOUT:
                raise OSError("the name servers do not answer")
            case errno.ARES_ECONNREFUSED:
                raise OSError("no name server can be reached")
            case None:
                raise OSError("the name servers fail: no answer")
        raise OSError(f"the name servers fail: {_text(errno.strerror(reply.error))}")
    ttls = [*(record.ttl for record in result.cnames), *(record.ttl for record in result.nodes)]
    return LookupAnswer([_text(node.addr[0]) for node in result.nodes], min(ttls, default=None))


def _text(said: bytes | str) -> str:
    return said.decode("ascii") if isinstance(said, bytes) else said
