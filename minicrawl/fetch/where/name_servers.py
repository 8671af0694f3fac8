"""Asks name servers for the addresses of names, by c-ares.

Laws: an answer says for how long it holds. The file of hosts goes before all servers. A name is
asked for as it is: no search domain is put behind it. A name without a dot, and one of the local
network (.local), is left to the system, as name servers do not know these. That there is no such
name is told apart from servers that fail. Nothing is imported before the first name is looked up.

`servers` are addresses, with ports or without; if there are none, those of the system are asked.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from minicrawl.config import Network
from minicrawl.config.parts import SYSTEM
from minicrawl.fetch.where.lookups import LookupAnswer, NoSuchName, SystemLookup

if TYPE_CHECKING:
    import pycares

_LOCAL = ".local"


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

    async def __call__(self, host: str) -> LookupAnswer:
        name = host.rstrip(".")
        if "." not in name or name.endswith(_LOCAL):
            return await self._system(host)
        loop = asyncio.get_running_loop()
        found: asyncio.Future[LookupAnswer] = loop.create_future()

        def deliver(result: pycares.AddrInfoResult | None, error: int | None) -> None:
            with suppress(RuntimeError):  # the loop has been closed: nobody waits
                loop.call_soon_threadsafe(_settle, found, result, error)

        self._channel.getaddrinfo(host, None, type=socket.SOCK_STREAM, callback=deliver)
        return await found

    def close(self) -> None:
        """Give up what is under way."""
        self._system.close()
        if "_channel" in self.__dict__:
            self._channel.close()

    @cached_property
    def _channel(self) -> pycares.Channel:
        import pycares

        flags = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS
        return pycares.Channel(flags=flags, servers=self._servers or None)


def _settle(
    found: asyncio.Future[LookupAnswer],
    result: pycares.AddrInfoResult | None,
    error: int | None,
) -> None:
    if found.done():  # nobody waits any more
        return
    if result is None or error is not None:
        found.set_exception(_failure(error))
    else:
        found.set_result(_answer(result))


def _answer(result: pycares.AddrInfoResult) -> LookupAnswer:
    """It holds for as long as each part of it does."""
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
