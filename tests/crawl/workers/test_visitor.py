"""Visitors of pages."""

from minicrawl.config import Settings
from minicrawl.crawl.workers.worker import WorkerConfig, visiting
from minicrawl.model import Request
from tests.crawl.coroutines import in_loop
from tests.fetch.wire import answer, wire


@in_loop
async def test_a_visitor_reaches_only_public_and_trusted_addresses() -> None:
    async with wire(answer(b"<title>A</title>")) as server:
        here = ("127.0.0.1", server.port)
        for trusted, wanted in ((), "Refused"), ((here,), "Response"):
            async with visiting(WorkerConfig.of(Settings(), trusted)) as visitor:
                visit = await visitor.visit(Request(url=server.url()))
                assert type(visit.fetched).__name__ == wanted
