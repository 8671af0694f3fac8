"""Turns a response into a fetch result: from status and headers, and the body if it is wanted.

Laws: of a response that is no page, or not a page that is wanted, only the head is read. A part of
a page that nobody asked for is never taken for the whole page.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus

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
        if stream.status // 100 == _SUCCESS:
            return await _page(request, stream, limits, max_codings)
        return _other_result(request, stream.status, stream.headers)
    finally:
        await stream.aclose()


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


async def _page(
    request: Request, stream: ResponseStream, limits: BodyLimits, max_codings: int
) -> FetchResult:
    status, headers = stream.status, stream.headers
    if status in _EMPTY:
        return Response(status=status, headers=headers, body=b"")
    if status == HTTPStatus.PARTIAL_CONTENT and (first := _first_byte(headers)):
        detail = f"a part from byte {first} on, though the whole was asked for"
        return Failed(kind=FailureKind.PROTOCOL, detail=detail, status=status)
    match await _wanted_body(request, stream, limits, max_codings):
        case Refused() as refused:
            essence, _ = parse_content_type(headers.get("content-type"))
            return refused._replace(detail=essence or "no type", status=status)
        case Failed() as failed:
            return failed._replace(status=status)
        case body:
            return _response(status, headers, body)


def _response(status: int, headers: Mapping[str, str], body: Body) -> Response:
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


async def _wanted_body(
    request: Request, stream: ResponseStream, limits: BodyLimits, max_codings: int
) -> Body | Failed | Refused:
    judge = _judge(request.want, stream.headers.get("content-type"))
    if judge is False:
        return Refused(reason=Refusal.TYPE)
    names = codings(stream.headers.get("content-encoding", "")) + transfer_codings(stream.headers)
    if len(names) > max_codings:
        detail = f"{len(names)} codings, one over another (--max-codings)"
        return Failed(kind=FailureKind.ENCODING, detail=detail)
    try:
        return await read_body(stream.body, names, request.max_bytes, judge, limits)
    except UnknownCoding as error:
        return Failed(kind=FailureKind.ENCODING, detail=str(error))


def _judge(want: Want, content_type: str | None) -> Judge | bool:
    """Whether a body is wanted; a function of its first bytes where its type does not tell."""
    if want is not Want.PAGE:
        return True
    is_page = is_html(content_type, b"")
    if is_page is not None:
        return is_page
    return lambda first_bytes: is_html(content_type, first_bytes) is True
