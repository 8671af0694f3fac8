"""Server of healthy and hostile hosts, in a process of its own so that it costs the crawl nothing.

`python -m tests.proofs.starve.server ATTACK` prints its port. When stdin ends, it prints the times
of all requests to each healthy host as JSON, in seconds of the monotonic clock.
"""

import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import count

from tests.proofs.starve.attacks import ATTACKS, NOT_FOUND, Attack, page

HEALTHY, WARM = "healthy", "warm"
_END_OF_HEAD = b"\r\n\r\n"


class Hosts(asyncio.Protocol):
    """Connection to all hosts; the Host header tells which host a request is for."""

    def __init__(
        self, attack: Attack, asked: dict[str, list[float]], numbers: Iterator[int]
    ) -> None:
        self._attack, self._asked, self._numbers = attack, asked, numbers
        self._held = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        while _END_OF_HEAD in self._held:
            head, _, self._held = self._held.partition(_END_OF_HEAD)
            lines = head.decode("latin-1").split("\r\n")
            host = next(line[6:] for line in lines if line.startswith("Host: "))
            answer = self._answer(host, lines[0].split()[1])
            if answer is not None and self._transport is not None:
                self._transport.write(answer)

    def _answer(self, host: str, path: str) -> bytes | None:
        number = next(self._numbers)
        if host.startswith((HEALTHY, WARM)):
            if path == "/robots.txt":
                return NOT_FOUND
            if host.startswith(HEALTHY):
                self._asked[host].append(time.monotonic())
            return page(number)
        if path == "/robots.txt":
            return self._attack.robots(host)
        return self._attack.pages(path, number)


async def _serve(attack: Attack) -> None:
    loop, numbers = asyncio.get_running_loop(), count()
    asked: defaultdict[str, list[float]] = defaultdict(list)
    server = await loop.create_server(lambda: Hosts(attack, asked, numbers), "127.0.0.1", 0)
    attack.pages("/", 0)  # fills the caches of expensive bodies
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    sys.stdout.write(json.dumps(asked))


if __name__ == "__main__":
    asyncio.run(_serve(ATTACKS[sys.argv[1]]))
