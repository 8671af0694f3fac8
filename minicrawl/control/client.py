"""Ask the crawl of a store, by the socket beside the store.

Laws: whoever has no crawl to ask is told so in one line. Nobody waits for a reply for ever. Where
the path of a socket would be too long for its address, a shorter name leads to it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from minicrawl.control.requests import LONGEST_LINE, ControlRequest, Reply, message_of
from minicrawl.errors import NoCrawlError, StoreError
from minicrawl.store.reader import real_path

SUFFIX = "-control"
PATIENCE_S = 10.0
_LONGEST_PATH = 100  # of the 108 bytes that Linux has for the path of a socket
_LONGEST_NAME = 80
_DESCRIPTORS = Path("/proc/self/fd")


def socket_path(store: Path) -> Path:
    """Where the socket of a store is. A name that is too long for a socket is hashed."""
    place = real_path(store)
    name = f"{place.name}{SUFFIX}"
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = f"{sha256(os.fsencode(place.name)).hexdigest()[:16]}{SUFFIX}"
    return place.with_name(name)


@contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name for the path that fits into the address of a socket."""
    if len(os.fsencode(path)) <= _LONGEST_PATH or not _DESCRIPTORS.is_dir():
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"{_DESCRIPTORS}/{folder}/{path.name}"
    finally:
        os.close(folder)


def ask(store: Path, request: ControlRequest, patience_s: float = PATIENCE_S) -> Reply:
    """The reply of the crawl of this store; raises `NoCrawlError` if there is none."""
    path = socket_path(store)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(patience_s)
        try:
            with short_name(path) as name:
                connection.connect(name)
            with suppress(BrokenPipeError):  # who is refused at once may still read why
                connection.sendall(request.as_line())
            with connection.makefile("rb") as replies:
                line = replies.readline(16 * LONGEST_LINE)
        except OSError as error:
            raise _without_reply(store, error) from error
    if not line.endswith(b"\n"):
        raise NoCrawlError(f"the crawl of {store} has just ended")
    reply = message_of(line)
    if "error" in reply:
        raise StoreError(str(reply["error"]))
    return reply


def _without_reply(store: Path, error: OSError) -> StoreError:
    match error:
        case FileNotFoundError() | ConnectionError() | NotADirectoryError():
            return NoCrawlError(f"no crawl of {store} is running: start one with `minicrawl crawl`")
        case PermissionError():
            return StoreError(f"the crawl of {store} is another user's: only that user steers it")
        case TimeoutError():
            return StoreError(f"the crawl of {store} does not answer: try again in a moment")
    return StoreError(f"the crawl of {store} cannot be reached: {error.strerror or error}")
