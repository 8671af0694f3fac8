"""Messages of a channel, read and written by a process without an event loop.

Laws: a message is a length in four bytes and a pickle, so the two ends must trust each other.
Processes that must start quickly import this module, so it imports next to nothing.
"""

import os
import pickle
import socket
import sys
from typing import Any

LENGTH_BYTES = 4


def connection_at_stdin() -> socket.socket:
    """Return the child's end of the channel, which is its stdin."""
    return socket.socket(fileno=os.dup(sys.stdin.fileno()))


def receive_message(connection: socket.socket) -> Any:
    """Wait for the next message; None if the other end is gone."""
    length = int.from_bytes(connection.recv(LENGTH_BYTES, socket.MSG_WAITALL), "big")
    packed = connection.recv(length, socket.MSG_WAITALL)
    # A peer that dies while it writes leaves part of a message, which counts as its end.
    return pickle.loads(packed) if length and len(packed) == length else None


def send_message(connection: socket.socket, message: object) -> None:
    """Send a message; raises OSError if the other end is gone."""
    connection.sendall(packed_message(message))


def packed_message(message: object) -> bytes:
    packed = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return len(packed).to_bytes(LENGTH_BYTES, "big") + packed
