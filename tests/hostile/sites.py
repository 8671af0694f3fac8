"""The catalogue served: each fault at a host and a port of its own, and healthy hosts beside them.

It runs in a thread of its own; the crawl is another process. Rules lead the crawl to the ports, and
where a fault is one of names, the crawl's process is told what a resolver would answer.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from tests.fetch.wire import Answer, Wire, answer, deaf, reset, wire
from tests.hostile.certificates import Certificates
from tests.hostile.fault import Fault
from tests.hostile.thread import beside

HEALTHY_HOSTS, HEALTHY_PAGES = 5, 20
_MANY, _TOO_MANY = 10, 30  # of which one question tries four, and three questions are asked
_DEAF = "127.0.0.2"


class Sites:
    """What a crawl has to be told, and what the servers heard."""

    def __init__(self, catalogue: Mapping[str, Fault], authority: Path) -> None:
        self.authority = authority
        self.seeds: dict[str, str] = {}
        self.healthy: list[str] = []
        self.warm = ""
        self.rules: list[str] = []
        self.names: dict[str, list[str]] = {"inside.example": ["10.0.0.1"]}
        self.wires: dict[str, Wire] = {}
        self._catalogue, self._certificates = catalogue, Certificates()
        self._certificates.authority.cert_pem.write_to_path(str(authority))

    async def open(self, leaving: AsyncExitStack) -> None:
        """Until `leaving` is left."""
        for name, fault in self._catalogue.items():
            await self._open_fault(leaving, name, fault)
        for number in range(HEALTHY_HOSTS):
            self.healthy.append(await self._open_healthy(leaving, f"healthy{number}.example"))
        self.warm = await self._open_healthy(leaving, "warm.example")

    async def _open_fault(self, leaving: AsyncExitStack, name: str, fault: Fault) -> None:
        # Where no rule leads, only what is called localhost may be private.
        top = "localhost" if fault.names else "example"
        host = f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}.{top}"
        port = await self._port(leaving, name, host, fault)
        if fault.names:
            self.seeds[name] = f"http://{host}:{port}/"
            self.names[host] = _addresses(fault.names)
            if fault.names == "deaf first":
                leaving.enter_context(deaf(_DEAF, port))
        else:
            self.seeds[name] = f"{'https' if fault.tls else 'http'}://{host}/"
            self.rules.append(f"{host}=127.0.0.1:{port}")

    async def _port(self, leaving: AsyncExitStack, name: str, host: str, fault: Fault) -> int:
        match fault.scene:
            case "closed":
                return leaving.enter_context(_nobody())
            case "deaf":
                return leaving.enter_context(deaf())
            case "slammed":
                return await leaving.enter_async_context(_slammed())
        kind = fault.tls if fault.tls != "none" else ""
        tls = self._certificates.shown(kind, host) if kind else None
        self.wires[name] = one = await leaving.enter_async_context(wire(*fault.answers(), tls=tls))
        return one.port

    async def _open_healthy(self, leaving: AsyncExitStack, host: str) -> str:
        one = await leaving.enter_async_context(wire(*_healthy_pages(host)))
        self.rules.append(f"{host}=127.0.0.1:{one.port}")
        return f"http://{host}/"


def _addresses(kind: str) -> list[str]:
    match kind:
        case "none" | "hangs" | "changing":
            return [kind]
        case "many" | "too many":
            dead = _MANY if kind == "many" else _TOO_MANY
            return [f"127.0.1.{number}" for number in range(1, dead)] + ["127.0.0.1"]
        case "deaf first":
            return [_DEAF, "127.0.0.1"]
    return []


def _healthy_pages(host: str) -> Iterator[Answer]:
    """Whichever is asked for first links to all of them."""
    links = "".join(f"<a href=/{number}>x</a>" for number in range(1, HEALTHY_PAGES))
    for number in range(HEALTHY_PAGES):
        yield answer(f"<html><title>{host} {number}</title>{links}".encode())


@contextmanager
def _nobody() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@asynccontextmanager
async def _slammed() -> AsyncIterator[int]:
    async def slam(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reset(writer)

    async with await asyncio.start_server(slam, "127.0.0.1") as server:
        yield server.sockets[0].getsockname()[1]


@contextmanager
def serving(catalogue: Mapping[str, Fault], folder: Path) -> Iterator[Sites]:
    """All of it, in a thread."""
    sites = Sites(catalogue, folder / "authority.pem")
    with beside(sites.open):
        yield sites
