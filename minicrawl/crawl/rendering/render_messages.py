"""Messages between the crawl and a render worker.

Laws: the worker sends no requests itself. It passes the requests of its page to the crawl, which
answers them. Each message is sent as a pickle.

The crawl sends RENDER, and then NEXT after each message, until that is `Rendered` or `NotRendered`.
An ANSWER has the number of the `ResourceRequest` that it answers.
"""

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from minicrawl.crawl.workers.supervisor import PING
from minicrawl.model import ParsedPage, Request, Response
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.urls import posted


class RenderCommand(IntEnum):
    """Commands of a render worker: argument and result."""

    PING = PING  # nothing: None, at once
    START = 1  # nothing: why the browser did not start, or nothing
    RENDER = 2  # a `PageToRender`: the first message
    NEXT = 3  # nothing: the next message
    ANSWER = 4  # a `Resource`; no reply


_DRAWN_TIMES = 4
"""Pages have about as many more images, styles and fonts than scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderConfig:
    """Settings of a render worker."""

    browser: str
    folder: Path  # for its files
    user_agent: str
    languages: str | None
    max_s: float
    max_requests: int
    max_memory: int
    max_body_bytes: int
    parse_options: ParseOptions
    replays: bool = False  # whether the archive is to replay the pages
    draws: bool = False  # whether pictures of the pages are kept
    archive: Path | None = None  # the folder, if rendered pages are kept
    only_text: bool = False

    @property
    def patience(self) -> int:
        """Factor of the usual requests that a page may send and wait for."""
        return _DRAWN_TIMES if self.draws else 1


class PageToRender(NamedTuple):
    """Page to render, as it was fetched."""

    request: Request
    response: Response


class ResourceRequest(NamedTuple):
    """Request of a page. `is_document` decides whether robots.txt applies.

    `asker` is the origin of the requesting frame, or empty if that has none. With a `body`, the
    request is a POST.
    """

    number: int
    url: str
    kind: str
    is_document: bool
    asker: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    @property
    def name(self) -> str:
        """URL under which the response is kept; for a POST it has a digest of the body."""
        url = self.url.partition("#")[0]
        return url if self.body is None else posted(url, self.body)


class Resource(NamedTuple):
    """Response to the request of a page with this number; status 0 means none."""

    number: int = 0
    status: int = 0
    content_type: str = ""
    body: bytes = b""


class Rendered(NamedTuple):
    """Page after its scripts have run, and the processor time in seconds."""

    parsed: ParsedPage
    body: bytes  # empty if the page leads to another one
    cost_s: float
    record: bytes = b""  # record of the body for the archive, if kept
    fetches: bool = False  # whether scripts requested what the markup does not name
    pictures: tuple[tuple[str, bytes], ...] = ()  # names and records for the archive


class NotRendered(NamedTuple):
    """The page could not be rendered. The worker ends, and another one replaces it."""

    why: str
    cost_s: float = 0.0
    may_pass: bool = False


RenderMessage = ResourceRequest | Rendered | NotRendered
