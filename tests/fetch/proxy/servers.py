"""HTTP proxy and SOCKS5 proxy on loopback."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.fetch.wire import listening

LOGIN = b"Basic " + b64encode(b"me:s:cret")
_NO_LOGIN, _BY_LOGIN, _NONE = 0, 2, 255
_NAME, _IPV4 = 3, 1


@dataclass
class ProxyServer:
    """Running proxy, and the targets that were requested. Every name is on loopback."""

    wants_login: bool = False
    reply: int = 0  # SOCKS reply or HTTP status to send instead of connecting
    asked: list[str] = field(default_factory=list)
    port: int = 0

    async def serve_http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = line.decode().split()
            self.asked.append(f"{method} {target}")
            if self.wants_login and b"Proxy-Authorization: " + LOGIN not in head:
                writer.write(b"HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n")
            elif self.reply:
                writer.write(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % self.reply)
            elif method == "CONNECT":
                host, _, port = target.rpartition(":")
                await self._pipe(reader, writer, host, int(port), b"HTTP/1.1 200 OK\r\n\r\n")
                return
            else:
                origin, _, path = target.removeprefix("http://").partition("/")
                if origin.endswith(".invalid"):
                    writer.write(b"HTTP/1.1 502 Nowhere\r\nContent-Length: 0\r\n\r\n")
                    continue
                host, _, port = origin.rpartition(":")
                first = f"{method} /{path} HTTP/1.1\r\n".encode() + head
                await self._pipe(reader, writer, host, int(port), b"", first)
                return

    async def serve_socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        methods = await reader.readexactly((await reader.readexactly(2))[1])
        method = _BY_LOGIN if self.wants_login else _NO_LOGIN
        writer.write(bytes([5, method if method in methods else _NONE]))
        if method == _BY_LOGIN and method in methods:
            user = await reader.readexactly((await reader.readexactly(2))[1])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            is_right = (user, password) == (b"me", b"s:cret")
            writer.write(bytes([1, 0 if is_right else 1]))
        kind = (await reader.readexactly(4))[3]
        if kind == _NAME:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = ".".join(map(str, await reader.readexactly(4))) if kind == _IPV4 else "::1"
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(f"{host}:{port}")
        answer = bytes([5, self.reply, 0, 1, 0, 0, 0, 0, 0, 0])
        if self.reply:
            writer.write(answer)
            return
        await self._pipe(reader, writer, host, port, answer)

    async def _pipe(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        host: str,
        port: int,
        answer: bytes,
        first: bytes = b"",
    ) -> None:
        there = host if host[0].isdigit() else "127.0.0.1"
        far_reader, far_writer = await asyncio.open_connection(there, port)
        writer.write(answer)
        far_writer.write(first)
        try:
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        finally:
            far_writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def proxy_server(scheme: str, served: ProxyServer) -> AsyncIterator[ProxyServer]:
    serve = served.serve_http if scheme == "http" else served.serve_socks
    async with listening(serve) as served.port:
        yield served
