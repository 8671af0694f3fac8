"""The socket beside a store, on the side of its crawl.

Laws: only the user who runs the crawl can connect: the socket has the mode 0600 before anybody
can reach it. A crawl, which holds the lock of the store, may replace a socket that another crawl
has left. It removes the socket when it ends, unless another crawl has replaced it. A line that is
too long, or does not arrive, ends its connection; it costs the crawl nothing. A crawl that cannot
have a socket runs without one, and says so.
"""

import asyncio
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from minicrawl.control import (
    LONGEST_LINE,
    ControlRequest,
    Reply,
    as_line,
    request_of,
    short_name,
    socket_path,
)
from minicrawl.errors import MinicrawlError

MOST_CONNECTIONS = 16
SILENCE_S = 30.0
"""Time without a request after which a connection is closed."""

Handle = Callable[[ControlRequest], Awaitable[Reply]]


@asynccontextmanager
async def listening(
    store: Path, handle: Handle, warn: Callable[[str], None]
) -> AsyncIterator[None]:
    """Serve requests beside a store whose lock this process holds."""
    path = socket_path(store)
    try:
        listener = _bound(path)
    except OSError as error:
        warn(f"the crawl cannot be steered: {path}: {error.strerror or error}")
        yield
        return
    # The inode tells at the end whether another crawl has replaced the socket.
    mine = path.stat().st_ino
    connections = set[asyncio.Task[None]]()

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(connections) >= MOST_CONNECTIONS:
            writer.write(as_line({"error": "too many connections to the crawl"}))
            writer.close()
            return
        task = asyncio.create_task(_serve(handle, reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_unix_server(serve, sock=listener, limit=LONGEST_LINE)
    try:
        yield
    finally:
        server.close()
        open_now = tuple(connections)
        for task in open_now:
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)
        with suppress(OSError):
            if path.stat().st_ino == mine:
                path.unlink()


def _bound(path: Path) -> socket.socket:
    """Return a socket that does not listen yet, so that nobody connects before it has its mode."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short_name(path) as name:
            listener.bind(name)
        path.chmod(0o600)
    except OSError:
        listener.close()
        raise
    return listener


async def _serve(
    handle: Handle, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        with suppress(TimeoutError, ValueError, OSError):
            while True:
                async with asyncio.timeout(SILENCE_S):
                    line = await reader.readline()
                if not line.endswith(b"\n"):
                    return
                try:
                    reply = await handle(request_of(line))
                except MinicrawlError as error:
                    reply = {"error": str(error)}
                writer.write(as_line(reply))
                async with asyncio.timeout(SILENCE_S):
                    await writer.drain()
    finally:
        writer.close()
