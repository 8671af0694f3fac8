"""POST on the wire: body, length, a connection of its own, and the archived request."""

import asyncio
import re
from dataclasses import dataclass, field

from minicrawl.config import Politeness
from minicrawl.model import Request
from minicrawl.web.urls import posted
from tests.fetch.results import http_fetcher, page_of
from tests.fetch.wire import Wire, serving

BODY = b"q=harbour\r\n\r\nGET / HTTP/1.1\r\n\r\n"
HEADERS = (("content-type", "text/plain"), ("x-key", "hunter2"))
_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n")


@dataclass
class Server(Wire):
    heard: list[list[tuple[bytes, bytes]]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard: list[tuple[bytes, bytes]] = []
        self.heard.append(heard)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                heard.append((head, await reader.readexactly(int(length[1]) if length else 0)))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")
                writer.write(b"Content-Length: 2\r\n\r\nin")
        except asyncio.IncompleteReadError:
            pass  # the client left
        finally:
            writer.close()


def post(url: str) -> Request:
    return Request(url=posted(url, BODY), method="POST", headers=HEADERS, body=BODY)


async def test_a_body_is_sent_with_its_length_on_a_connection_of_its_own() -> None:
    async with (
        serving(server := Server(())),
        http_fetcher(politeness=Politeness(delay_s=0)) as fetcher,
    ):
        url = server.url("/search")
        requests = (Request(url=url), post(url), Request(url=url), post(f"{url}?a=1"))
        found = [await fetcher.fetch(one) for one in requests]
    firsts = [[(head.split(b"\r\n")[0], body) for head, body in heard] for heard in server.heard]
    plain, posting = (b"GET /search HTTP/1.1", b""), (b"POST /search HTTP/1.1", BODY)
    assert firsts[0][0] == plain
    assert [heard[0] for heard in firsts[1:]] == [posting, (b"POST /search?a=1 HTTP/1.1", BODY)]
    assert sum(len(heard) for heard in firsts) == 4
    answer = page_of(found[1])
    assert answer.wire
    assert answer.wire.request.startswith(b"POST /search HTTP/1.1\r\nHost: 127.0.0.1:")
    assert answer.wire.request.endswith(b"\r\n\r\n")
    assert b"harbour" not in answer.wire.request
    assert b"hunter2" not in answer.wire.request
