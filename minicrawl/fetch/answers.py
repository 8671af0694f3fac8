"""What an answer amounts to: from status and headers to a value, reading the body if it counts.

Law: of an answer that is no page, or no page that is wanted, only the headers are read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from http import HTTPStatus

import httpx

from minicrawl.fetch.bodies import Body, read_body
from minicrawl.fetch.decoding import UnknownCoding
from minicrawl.model import (
    Failed,
    FailureKind,
    Fetched,
    Moved,
    Page,
    Refusal,
    Refused,
    Request,
    Unchanged,
    Want,
)
from minicrawl.web.headers import is_html, media_type

_MAX_HEADERS_BYTES = 64 * 1024
_LINE_BYTES = len(": \r\n")

_REDIRECTS: frozenset[int] = frozenset(
    (
        HTTPStatus.MOVED_PERMANENTLY,
        HTTPStatus.FOUND,
        HTTPStatus.SEE_OTHER,
        HTTPStatus.TEMPORARY_REDIRECT,
        HTTPStatus.PERMANENT_REDIRECT,
    )
)
_EMPTY: frozenset[int] = frozenset((HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT))

_FAILURES: dict[int, FailureKind] = {
    HTTPStatus.NOT_FOUND: FailureKind.NOT_FOUND,
    HTTPStatus.GONE: FailureKind.NOT_FOUND,
    HTTPStatus.TOO_MANY_REQUESTS: FailureKind.THROTTLED,
}
_FAILURES_BY_CLASS = {4: FailureKind.CLIENT_ERROR, 5: FailureKind.SERVER_ERROR}


async def read_answer(request: Request, response: httpx.Response) -> Fetched:
    """The caller closes the response."""
    raw = response.headers.raw
    if sum(len(name) + len(value) + _LINE_BYTES for name, value in raw) > _MAX_HEADERS_BYTES:
        return Failed(kind=FailureKind.TOO_LARGE, detail="headers", status=response.status_code)
    headers = joined_headers(raw)
    if response.is_success:
        return await _page(request, response, headers)
    return _no_page(request, response.status_code, headers)


def joined_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """By lower-case name; several of a name joined by commas."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in raw:
        name, value = raw_name.lower().decode("latin-1"), _text(raw_value)
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _no_page(request: Request, status: int, headers: Mapping[str, str]) -> Fetched:
    if status in _REDIRECTS:
        if target := headers.get("location"):
            return Moved(status=status, target=target)
        return Failed(kind=FailureKind.BAD_REDIRECT, detail="no Location", status=status)
    if status == HTTPStatus.NOT_MODIFIED and (request.etag or request.last_modified):
        return Unchanged()
    by_class = _FAILURES_BY_CLASS.get(status // 100, FailureKind.BAD_STATUS)
    kind = _FAILURES.get(status, by_class)
    return Failed(kind=kind, status=status, retry_after=headers.get("retry-after"))


async def _page(request: Request, response: httpx.Response, headers: Mapping[str, str]) -> Fetched:
    status = response.status_code
    if status in _EMPTY:
        return Page(status=status, headers=headers, body=b"")
    body = await _wanted_body(request, response, headers)
    if body is None:
        essence, _ = media_type(headers.get("content-type"))
        return Refused(reason=Refusal.TYPE, detail=essence or "no type", status=status)
    if isinstance(body, Failed):
        return replace(body, status=status)
    return Page(
        status=status,
        headers=headers,
        body=body.content,
        wire_bytes=body.wire_bytes,
        cut=body.cut,
    )


async def _wanted_body(
    request: Request, response: httpx.Response, headers: Mapping[str, str]
) -> Body | Failed | None:
    """None: it is not of a kind that is wanted."""
    content_type = headers.get("content-type")
    if request.want is Want.PAGE and is_html(content_type, b"") is False:
        return None

    def is_wanted(first_bytes: bytes) -> bool:
        return request.want is Want.TEXT or is_html(content_type, first_bytes) is True

    coding = headers.get("content-encoding", "")
    assert isinstance(response.stream, httpx.AsyncByteStream)
    try:
        return await read_body(response.stream, coding, request.max_bytes, is_wanted)
    except UnknownCoding as error:
        return Failed(kind=FailureKind.ENCODING, detail=str(error))
