"""Connections that have not sent a whole head of a request: each costs a socket and its bytes.

A connection of the server proper costs ten times the processor time to open and to close. So a
flood of half requests and of empty connections leaves time for clients that send whole ones.
"""

import asyncio
import re
import socket
from collections.abc import Callable, Iterator
from functools import partial

LONGEST_HEAD = 16 * 1024
_END_OF_HEAD = re.compile(rb"\n\r?\n")


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
        self._newcomers = dict[socket.socket, tuple[str, float, bytearray]]()
        """Address, time of arrival, and first bytes."""

    def add(self, accepted: socket.socket, address: str) -> None:
        """Wait for the head of a new connection."""
        loop = asyncio.get_running_loop()
        accepted.setblocking(False)
        self._newcomers[accepted] = address, loop.time(), bytearray()
        loop.add_reader(accepted, self._read, accepted)

    def owing(self) -> Iterator[Owing]:
        for accepted, (address, since, _) in self._newcomers.items():
            yield address, since, partial(self._close, accepted)

    def close_older(self, since: float) -> None:
        """Close the newcomers that came before this time."""
        for _, came_at, close in tuple(self.owing()):
            if came_at > since:
                return
            close()

    def _read(self, accepted: socket.socket) -> None:
        address, _, head = self._newcomers[accepted]
        try:
            piece = accepted.recv(LONGEST_HEAD)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            piece = b""
        if not piece:
            self._close(accepted)
            return
        head.extend(piece)
        if len(head) > LONGEST_HEAD or _END_OF_HEAD.search(head):
            self._leave(accepted)
            self._admit(accepted, address, bytes(head))

    def _leave(self, accepted: socket.socket) -> str:
        asyncio.get_running_loop().remove_reader(accepted)
        return self._newcomers.pop(accepted)[0]

    def _close(self, accepted: socket.socket) -> None:
        address = self._leave(accepted)
        accepted.close()
        self._forget(address)
