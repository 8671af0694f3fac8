"""What the crawl and a render worker say to each other.

Laws: the worker asks for nothing by itself. What its page wants it tells the crawl, which answers.
Each of these values travels as a pickle.

RENDER -> a message, then NEXT -> a message, until the message is `Rendered` or `NotRendered`.
An ANSWER belongs to a `WantedResource`, by its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from minicrawl.crawl.workers.supervisor import PING
from minicrawl.model import ParsedPage, Request, Response
from minicrawl.web.html.page import ParseOptions


class RenderCommand(IntEnum):
    """What a render worker can do: its argument and its result."""

    PING = PING  # nothing: None, at once
    START = 1  # nothing: `Started` or `NotStarted`
    RENDER = 2  # a `PageToRender`: the first message
    NEXT = 3  # nothing: the next message
    ANSWER = 4  # a `Resource`; no reply


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderConfig:
    """The settings of a render worker."""

    browser: str
    folder: Path  # for what it writes
    user_agent: str
    languages: str | None
    max_s: float
    max_requests: int
    max_memory: int
    max_body_bytes: int
    parse_options: ParseOptions
    archive: Path | None = None  # the folder, if rendered pages are kept
    only_text: bool = False


class Started(NamedTuple):
    """The browser runs."""

    version: str


class NotStarted(NamedTuple):
    """It does not."""

    why: str


class PageToRender(NamedTuple):
    """A page that was fetched, as it came."""

    request: Request
    response: Response


class WantedResource(NamedTuple):
    """What a page asks for. `is_document` is what robots.txt is asked about.

    `asker` is the origin of the frame that wants it; empty if that has none.
    """

    number: int
    url: str
    kind: str
    is_document: bool
    asker: str
    headers: tuple[tuple[str, str], ...] = ()


class Resource(NamedTuple):
    """What it gets; status 0 is nothing at all."""

    number: int
    status: int = 0
    content_type: str = ""
    body: bytes = b""


class Rendered(NamedTuple):
    """The page as it is after its scripts, and the processor time that it took."""

    parsed: ParsedPage
    body: bytes  # empty if it leads to another page
    cost_s: float
    record: bytes = b""  # of the body for the archive, if it is kept


class NotRendered(NamedTuple):
    """There is nothing to read. The worker ends, and another one replaces it."""

    why: str
    cost_s: float = 0.0
    may_pass: bool = False


RenderMessage = WantedResource | Rendered | NotRendered
