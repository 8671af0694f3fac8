"""Captures: archived answers as WARC files hold them, with facts about their pages."""

import re
from base64 import b32encode
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha1
from http import HTTPStatus
from typing import NamedTuple

from minicrawl.archive.record import MOST_HEAD_BYTES, Answer, AskedBy, RecordKind
from minicrawl.model import Wire
from minicrawl.web.urls import posted_to

BLANK_LINE = re.compile(rb"\n\r?\n\Z")


class Original(NamedTuple):
    """Response whose record has the body of a revisit."""

    url: str
    date: str


class Capture(NamedTuple):
    """One response, with facts about its page."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    at: float
    is_confirmed: bool  # the server confirmed that the page has not changed
    cut: str
    title: str = ""
    rank: int = 0  # while it is unknown, and for resources that are not pages
    importance: float = 0.0
    hops: int = 0
    wire: Wire | None = None
    length: int | None = None
    """Length of a body that is not in memory."""
    is_rendered: bool = False
    """True for the DOM after the scripts of the response before it."""
    original: Original | None = None
    """Response in another archive that has the body, so that this one becomes a revisit."""
    by: AskedBy | None = None
    """Request of a browser that this response answers, if a browser asked for it."""
    is_as_sent: bool = False
    """True if the body is in the encoded form that the head describes."""

    @property
    def has_page(self) -> bool:
        """True unless a replay would show no body in place of the page.

        This is so for a confirmation (304), and for a response that was cut in its head.
        """
        has_whole_head = self.wire is None or is_whole_head(self.wire.response)
        return not self.is_confirmed and (has_whole_head or bool(self.body or self.length))


def capture_of(answer: Answer) -> Capture:
    """Return the capture of an archived answer, without facts about its page."""
    url = answer.request_url or answer.url
    is_raw = answer.wire is not None and answer.wire.interim is not None
    has_posted = answer.wire is not None and is_posted(answer.wire.request)
    return Capture(
        url=posted_to(url) if has_posted else url,
        status=answer.status,
        headers=answer.headers,
        body=answer.body if answer.coded is None else answer.coded,
        at=answer.at,
        # Nobody asked a server for a 304 that is kept as a failure.
        is_confirmed=answer.status == HTTPStatus.NOT_MODIFIED
        and answer.kind is not RecordKind.FAILURE,
        cut="" if answer.is_undecoded and is_raw else answer.cut,
        wire=answer.wire,
        is_rendered=answer.kind is RecordKind.RENDERED,
        by=answer.by,
        is_as_sent=answer.coded is not None,
    )


def payload_digest(content: bytes) -> str:
    """Return the SHA-1 of `content` in the notation of web archives."""
    return shown_digest(sha1(content, usedforsecurity=False).digest())


def shown_digest(digest: bytes) -> str:
    """Return a SHA-1 digest in the notation of web archives."""
    return f"sha1:{b32encode(digest).decode()}"


def moment(at: float) -> str:
    """Format the time of a record, to the microsecond."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def is_whole_head(head: bytes) -> bool:
    """Return True unless a head was cut; an empty one is unknown."""
    return not head or (len(head) <= MOST_HEAD_BYTES and BLANK_LINE.search(head) is not None)


def truncated(cut: str) -> str:
    """Return why a body is incomplete, as a WARC-Truncated value."""
    if "bytes" in cut or "large" in cut:
        return "length"
    if "crowded" in cut:  # not by the server: the crawl needed the memory
        return "unspecified"
    return "time" if "timeout" in cut else "disconnect"


def is_posted(request: bytes) -> bool:
    """Return True if the request is a POST of which the archive has the body."""
    return request.startswith(b"POST ") and bool(request.partition(b"\r\n\r\n")[2])
