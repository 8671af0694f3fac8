"""Child of a parser: runs one task at a time on large bodies.

Law: the child imports what its tasks need, and next to nothing else, as the first large body of a
crawl waits for it to start.
"""

import socket
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from time import process_time, thread_time
from typing import Any

from minicrawl.crawl.workers.messages import connection_at_stdin, receive_message, send_message
from minicrawl.memory.allocator import LARGER_THAN_BODIES, mmap_large_arrays
from minicrawl.memory.limits import limit_memory, limit_processor_time


class ParserCommand(IntEnum):
    BODY = 1  # keep a piece of the next body; no reply
    PARSE = 2  # call a function with the body: its result and cost


def serve(connection: socket.socket) -> None:
    with suppress(OSError):
        body: list[bytes] = []
        while (message := receive_message(connection)) is not None:
            number, command, argument = message
            if command == ParserCommand.BODY:
                body.append(argument)
            elif command == ParserCommand.PARSE:
                send_message(connection, (number, _run(argument, body), process_time()))
            del message, argument  # keep no body while waiting


def _run(argument: tuple[Callable[[bytes], Any], float], pieces: list[bytes]) -> tuple[Any, float]:
    """Return the result of a task with a limit, and the processor time in seconds that it cost."""
    task, limit_s = argument
    body = b"".join(pieces)
    pieces.clear()
    began = thread_time()  # with a limit, the time of the process has steps of 1 ms
    limit_processor_time(limit_s)
    result = task(body)
    limit_processor_time(None)
    return result, thread_time() - began


def main() -> None:
    mmap_large_arrays(LARGER_THAN_BODIES)
    limit_memory()
    with connection_at_stdin() as connection:
        serve(connection)
