"""Replay: the response that an archive has for each request of a browser that opens its pages.

Law: what is not in the archive has no response. The last version of each URL is shown.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple

from minicrawl.archive.index import IndexRow
from minicrawl.archive.reader import ArchiveReader, last_page
from minicrawl.archive.record import Answer, RecordKind
from minicrawl.errors import Damaged
from minicrawl.web.urls import PICTURES, canonical, posted

_NOT_SHOWN = frozenset(("content-encoding", "content-length", "transfer-encoding", "set-cookie"))
"""Headers that describe the body as it was sent, or would change the browser."""
_MOST_REDIRECTS = 10
PNG = b"\x89PNG\r\n\x1a\n"
"""Beginning of a picture in PNG."""
_DOM = {"content-type": "text/html; charset=utf-8"}


class ShownFile(NamedTuple):
    """Response to a request of the browser."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class PageToReplay(NamedTuple):
    """Page as the server sent it, and as the crawl recorded it: the DOM after its scripts if it was
    rendered, or else the same.
    """

    url: str
    sent: ShownFile
    recorded: ShownFile
    picture: bytes = b""
    """Picture of its top (PNG) that the crawl drew, if it did."""


class DrawnPage(NamedTuple):
    """A page as drawn: its text, a picture of its top, and the requests without a response."""

    text: str
    picture: bytes
    failed: tuple[str, ...]


class Replayed(NamedTuple):
    """A page as recorded and as replayed, and the share of the pixels that differ."""

    url: str
    recorded: DrawnPage
    replayed: DrawnPage
    difference: float


class ReplayedArchive:
    """The pages of an archive, and the files that a browser requests for them."""

    def __init__(self, archive: ArchiveReader) -> None:
        self._archive = archive

    def page(self, url: str) -> PageToReplay | None:
        """Return the last version of a page; None if the archive has no HTML of it."""
        rows = self._archive.versions(url)
        if not (last := last_page(rows)):
            return None
        with suppress(Damaged):
            recorded = self._archive.answer(rows[last - 1].place)
            sent = recorded
            if recorded.kind is RecordKind.RENDERED:
                sent = self._archive.answer(_last_response(rows[: last - 1]).place)
            if "html" in sent.headers.get("content-type", ""):
                dom = ShownFile(HTTPStatus.OK, _DOM, recorded.body)
                file = _file(sent)
                picture = picture_of(self._archive, PICTURES[0] + url, recorded.at)
                drawn = picture.body if picture and picture.body.startswith(PNG) else b""
                return PageToReplay(url, file, file if recorded is sent else dom, drawn)
        return None

    def file(self, url: str, body: bytes | None) -> ShownFile | None:
        """Return the response to a GET, or to a POST with this body; redirects are followed."""
        target = canonical(url)
        for _ in range(_MOST_REDIRECTS):
            if target is None:
                return None
            rows = self._archive.versions(target if body is None else posted(target, body))
            answers = [row for row in rows if row.kind != RecordKind.RENDERED]
            if not answers:
                return None
            try:
                answer = self._archive.answer(_last_response(answers).place)
            except Damaged:
                return None
            if "location" not in answer.headers:
                return _file(answer)
            target, body = canonical(answer.headers["location"], target), None
        return None


def picture_of(archive: ArchiveReader, name: str, at: float) -> Answer | None:
    """Return the picture with this name that was drawn next to that time; None without one."""
    rows = sorted(archive.versions(name), key=lambda row: abs(row.at - at))
    return archive.answer(rows[0].place) if rows else None


def _last_response(rows: Sequence[IndexRow]) -> IndexRow:
    """Return the last of these responses that is not a failure, if there is one."""
    pages = [row for row in rows if row.kind in (RecordKind.PAGE, RecordKind.REVISIT)]
    return (pages or rows)[-1]


def _file(answer: Answer) -> ShownFile:
    headers = {name: text for name, text in answer.headers.items() if name not in _NOT_SHOWN}
    is_confirmed = answer.status == HTTPStatus.NOT_MODIFIED
    return ShownFile(HTTPStatus.OK if is_confirmed else answer.status, headers, answer.body)
