"""Reads long bodies of checked URLs in a process that can be killed."""

from collections.abc import Callable
from io import BytesIO
from typing import TypeVar

from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess
from minicrawl.crawl.workers.visitor import MOST_READING_S
from minicrawl.model import Response
from minicrawl.web.urls import host

T = TypeVar("T")

_SHORT_BYTES = 32_768
"""Size of a body up to which reading it, in linear time, takes milliseconds."""


class BodyReader:
    """Reads long bodies in a child process, so that requests to other hosts go on meanwhile."""

    def __init__(self, emit: Listener) -> None:
        self._process, self._tell = ParserProcess(MOST_READING_S), emit

    async def read(self, read: Callable[[bytes], T], response: Response, url: str) -> T | None:
        """Return what `read` finds in the body; None if it was killed for taking too long."""
        if len(response.body) <= _SHORT_BYTES:  # most: starting a process takes longer
            return read(response.body)
        try:
            return (await self._process.run(read, BytesIO(response.body), host(url))).value
        except ParserLost as lost:
            self._tell(Noted(text=f"{url} is not read: {lost}"))
            return None

    async def close(self) -> None:
        await self._process.close()
