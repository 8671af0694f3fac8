"""Servers of the catalogue, each fault on a host and a port of its own, and of healthy hosts.

They run in a thread; the crawl is another process. `--resolve` rules lead the crawl to the ports.
For faults of DNS, the process of the crawl plays a resolver instead.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from tests.fetch.wire import Answer, Wire, answer, deaf, reset, wire
from tests.proofs.hostile.certificates import Certificates
from tests.proofs.hostile.fault import Fault
from tests.proofs.hostile.thread import beside

HEALTHY_HOSTS, HEALTHY_PAGES = 5, 20
_MANY, _TOO_MANY = 10, 30  # addresses; a request tries four of them, and there are three requests
_DEAF = "127.0.0.2"


class Sites:
    """Servers, with the seeds and rules that a crawl needs."""

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
        """Open all servers until `leaving` is closed."""
        for name, fault in self._catalogue.items():
            await self._open_fault(leaving, name, fault)
        for number in range(HEALTHY_HOSTS):
            self.healthy.append(await self._open_healthy(leaving, f"healthy{number}.example"))
        self.warm = await self._open_healthy(leaving, "warm.example")

    async def _open_fault(self, leaving: AsyncExitStack, name: str, fault: Fault) -> None:
        # Without a rule, only names below localhost may have a private address.
        top = "localhost" if fault.names else "example"
        host = f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}.{top}"
        port = await self._port(leaving, name, host, fault)
        while fault.names == "deaf first":
            try:
                leaving.enter_context(deaf(_DEAF, port))
                break
            except OSError:  # another program has this port at that address
                port = await self._port(leaving, name, host, fault)
        if fault.names:
            self.seeds[name] = f"http://{host}:{port}/"
            self.names[host] = _addresses(fault.names)
        else:
            self.seeds[name] = f"{'https' if fault.tls else 'http'}://{host}/"
            self.rules.append(f"{host}=127.0.0.1:{port}")

    async def _port(self, leaving: AsyncExitStack, name: str, host: str, fault: Fault) -> int:
        match fault.scene:
            case "closed":
                return leaving.enter_context(_closed())
            case "deaf":
                return leaving.enter_context(deaf())
            case "slammed":
                return await leaving.enter_async_context(_slammed())
        kind = fault.tls if fault.tls != "none" else ""
        tls = self._certificates.context(kind, host) if kind else None
        self.wires[name] = server = await leaving.enter_async_context(
            wire(*fault.answers(), tls=tls)
        )
        return server.port

    async def _open_healthy(self, leaving: AsyncExitStack, host: str) -> str:
        server = await leaving.enter_async_context(wire(*_healthy_pages(host)))
        self.rules.append(f"{host}=127.0.0.1:{server.port}")
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
    """Yield pages that link to all pages, so that it does not matter which is read first."""
    links = "".join(f"<a href=/{number}>x</a>" for number in range(1, HEALTHY_PAGES))
    for number in range(HEALTHY_PAGES):
        yield answer(f"<html><title>{host} {number}</title>{links}".encode())


@contextmanager
def _closed() -> Iterator[int]:
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
    """Serve the catalogue in a thread."""
    sites = Sites(catalogue, folder / "authority.pem")
    with beside(sites.open):
        yield sites
