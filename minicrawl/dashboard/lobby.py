"""Connections that have not sent a whole head of a request: each costs a socket and its bytes.

A connection of the server proper costs ten times the processor time to open and to close. So a
flood of half requests and of empty connections leaves time for clients that send whole ones.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

LONGEST_HEAD = 16 * 1024
_END_OF_HEAD = re.compile(rb"\n\r?\n")


class _Newcomer(NamedTuple):
    address: str
    since: float
    head: bytearray


Owing = tuple[str, float, Callable[[], None]]
"""Address of a connection, since when its client owes something, and a function that closes it."""


class Lobby:
    """Newcomers in the order of their arrival.

    `admit` gets the socket, address and first bytes of each one whose head is whole, or too long;
    `forget` gets the address of each one that is closed.
    """

    def __init__(
        self, admit: Callable[[socket.socket, str, bytes], None], forget: Callable[[str], None]
    ) -> None:
        self._admit, self._forget = admit, forget
        self._newcomers = dict[socket.socket, _Newcomer]()

    def add(self, accepted: socket.socket, address: str) -> None:
        """Wait for the head of a new connection."""
        loop = asyncio.get_running_loop()
        accepted.setblocking(False)
        self._newcomers[accepted] = _Newcomer(address, loop.time(), bytearray())
        loop.add_reader(accepted, self._read, accepted)

    def owing(self) -> Iterator[Owing]:
        """Return all newcomers."""
        for accepted, newcomer in self._newcomers.items():
            yield newcomer.address, newcomer.since, partial(self._close, accepted)

    def close_older(self, since: float) -> None:
        """Close the newcomers that came before this time."""
        for _, came_at, close in tuple(self.owing()):
            if came_at > since:
                return
            close()

    def _read(self, accepted: socket.socket) -> None:
        newcomer = self._newcomers[accepted]
        try:
            piece = accepted.recv(LONGEST_HEAD)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            piece = b""
        if not piece:
            self._close(accepted)
            return
        newcomer.head.extend(piece)
        if len(newcomer.head) > LONGEST_HEAD or _END_OF_HEAD.search(newcomer.head):
            self._leave(accepted)
            self._admit(accepted, newcomer.address, bytes(newcomer.head))

    def _leave(self, accepted: socket.socket) -> _Newcomer:
        asyncio.get_running_loop().remove_reader(accepted)
        return self._newcomers.pop(accepted)

    def _close(self, accepted: socket.socket) -> None:
        newcomer = self._leave(accepted)
        accepted.close()
        self._forget(newcomer.address)
