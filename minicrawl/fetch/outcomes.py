"""Turns a response into a fetch result: from status and headers, and the body if it is wanted.

Laws: of a response that is no page, or not a page that is wanted, only the head is read. A part of
a page that nobody asked for is never taken for the whole page.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Literal, NamedTuple

from minicrawl.fetch.body.body import Body, BodyLimits, Judge, read_body
from minicrawl.fetch.body.decoding import UnknownCoding, codings
from minicrawl.fetch.connection.heads import CONFLICT, MOST_CHARACTERS, transfer_codings
from minicrawl.fetch.transport import ResponseStream
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    Moved,
    Refusal,
    Refused,
    Request,
    Response,
    Unchanged,
    Want,
)
from minicrawl.web.headers import is_html, parse_content_type

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
_SUCCESS = 2  # hundred
_RANGE = re.compile(r"bytes[\t ]*=?[\t ]*([0-9]{1,18})-")
_FAILURES_BY_CLASS = {4: FailureKind.CLIENT_ERROR, 5: FailureKind.SERVER_ERROR}


async def read_response(
    request: Request, stream: ResponseStream, limits: BodyLimits, max_codings: int
) -> FetchResult:
    """What came of a request whose response is this stream, which is closed."""
    try:
        wanted = _wanted(request, stream, max_codings)
        if not isinstance(wanted, WantedBody):
            return wanted
        try:
            names, judge = wanted
            body = await read_body(stream.body, names, request.max_bytes, judge, limits)
        except UnknownCoding as error:
            body = Failed(kind=FailureKind.ENCODING, detail=str(error))
        return _result(stream, body)
    finally:
        await stream.aclose()


class WantedBody(NamedTuple):
    """A body is to be read: what it is packed in, and what judges it."""

    codings: list[str]
    judge: Judge | Literal[True]


def _wanted(request: Request, stream: ResponseStream, max_codings: int) -> WantedBody | FetchResult:
    """What the head says alone, or which body is wanted."""
    status, headers = stream.status, stream.headers
    if status // 100 != _SUCCESS:
        return _other_result(request, status, headers)
    if status in _EMPTY:
        return Response(status=status, headers=headers, body=b"")
    if status == HTTPStatus.PARTIAL_CONTENT and (first := _first_byte(headers)):
        detail = f"a part from byte {first} on, though the whole was asked for"
        return Failed(kind=FailureKind.PROTOCOL, detail=detail, status=status)
    judge = _judge(request.want, headers.get("content-type"))
    if judge is False:
        return _result(stream, Refused(reason=Refusal.TYPE))
    names = codings(headers.get("content-encoding", "")) + transfer_codings(headers)
    if len(names) > max_codings:
        detail = f"{len(names)} codings, one over another (--max-codings)"
        return Failed(kind=FailureKind.ENCODING, detail=detail, status=status)
    return WantedBody(names, judge)


def _other_result(request: Request, status: int, headers: Mapping[str, str]) -> FetchResult:
    if status in _REDIRECTS:
        return _redirect(status, headers.get("location", ""))
    if status == HTTPStatus.NOT_MODIFIED and (request.etag or request.last_modified):
        return Unchanged()
    by_class = _FAILURES_BY_CLASS.get(status // 100, FailureKind.BAD_STATUS)
    kind = _FAILURES.get(status, by_class)
    return Failed(kind=kind, status=status, retry_after=headers.get("retry-after"))


def _redirect(status: int, target: str) -> Moved | Failed:
    if target and len(target) <= MOST_CHARACTERS and CONFLICT not in target:
        return Moved(status=status, target=target)
    detail = "no Location"
    if CONFLICT in target:
        detail = "Locations that differ"
    elif target:
        detail = f"a Location of more than {MOST_CHARACTERS:,} characters"
    return Failed(kind=FailureKind.BAD_REDIRECT, detail=detail, status=status)


def _result(stream: ResponseStream, body: Body | Failed | Refused) -> FetchResult:
    status, headers = stream.status, stream.headers
    if isinstance(body, Refused):
        essence, _ = parse_content_type(headers.get("content-type"))
        return body._replace(detail=essence or "no type", status=status)
    if isinstance(body, Failed):
        return body._replace(status=status)
    cut, cut_detail = body.cut, body.cut_detail
    if status == HTTPStatus.PARTIAL_CONTENT and cut in (None, FailureKind.TOO_LARGE):
        cut, cut_detail = FailureKind.PROTOCOL, "a part, though the whole was asked for"
    return Response(
        status=status,
        headers=headers,
        body=body.content,
        wire_bytes=body.wire_bytes,
        cut=cut,
        cut_detail=cut_detail,
        cost_s=body.cost_s,
    )


def _first_byte(headers: Mapping[str, str]) -> int:
    """Where a partial response begins."""
    found = _RANGE.match(headers.get("content-range", ""))
    return int(found[1]) if found else 0


def _judge(want: Want, content_type: str | None) -> Judge | bool:
    """Whether a body is wanted; a function of its first bytes where its type does not tell."""
    if want is not Want.PAGE:
        return True
    is_page = is_html(content_type, b"")
    if is_page is not None:
        return is_page
    return lambda first_bytes: is_html(content_type, first_bytes) is True
