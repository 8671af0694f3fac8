"""What an answer amounts to: from status and headers to a value, reading the body if it counts.

Laws: of an answer that is no page, or no page that is wanted, only the headers are read. A part
that nobody asked for is never a whole page.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus

from minicrawl.fetch.body.body import Body, BodyLimits, Judge, read_body
from minicrawl.fetch.body.decoding import UnknownCoding, codings
from minicrawl.fetch.connection.heads import DIFFERENT, MOST_CHARACTERS, transfer_codings
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


async def read_answer(
    request: Request, answer: ResponseStream, pace: BodyLimits, max_codings: int
) -> FetchResult:
    """The caller closes the answer."""
    if answer.status // 100 == _SUCCESS:
        return await _page(request, answer, pace, max_codings)
    return _no_page(request, answer.status, answer.headers)


def _no_page(request: Request, status: int, headers: Mapping[str, str]) -> FetchResult:
    if status in _REDIRECTS:
        return _redirect(status, headers.get("location", ""))
    if status == HTTPStatus.NOT_MODIFIED and (request.etag or request.last_modified):
        return Unchanged()
    by_class = _FAILURES_BY_CLASS.get(status // 100, FailureKind.BAD_STATUS)
    kind = _FAILURES.get(status, by_class)
    return Failed(kind=kind, status=status, retry_after=headers.get("retry-after"))


def _redirect(status: int, target: str) -> Moved | Failed:
    if target and len(target) <= MOST_CHARACTERS and DIFFERENT not in target:
        return Moved(status=status, target=target)
    detail = "no Location"
    if DIFFERENT in target:
        detail = "Locations that differ"
    elif target:
        detail = f"a Location of more than {MOST_CHARACTERS:,} characters"
    return Failed(kind=FailureKind.BAD_REDIRECT, detail=detail, status=status)


async def _page(
    request: Request, answer: ResponseStream, pace: BodyLimits, max_codings: int
) -> FetchResult:
    status, headers = answer.status, answer.headers
    if status in _EMPTY:
        return Response(status=status, headers=headers, body=b"")
    if status == HTTPStatus.PARTIAL_CONTENT and (begin := _begin(headers)):
        told = f"a part from byte {begin} on, though the whole was asked for"
        return Failed(kind=FailureKind.PROTOCOL, detail=told, status=status)
    match await _wanted_body(request, answer, pace, max_codings):
        case Refused() as refused:
            essence, _ = parse_content_type(headers.get("content-type"))
            return refused._replace(detail=essence or "no type", status=status)
        case Failed() as failed:
            return failed._replace(status=status)
        case body:
            return _page_of(status, headers, body)


def _page_of(status: int, headers: Mapping[str, str], body: Body) -> Response:
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


def _begin(headers: Mapping[str, str]) -> int:
    """Where a part begins."""
    found = _RANGE.match(headers.get("content-range", ""))
    return int(found[1]) if found else 0


async def _wanted_body(
    request: Request, answer: ResponseStream, pace: BodyLimits, max_codings: int
) -> Body | Failed | Refused:
    judge = _judge(request.want, answer.headers.get("content-type"))
    if judge is False:
        return Refused(reason=Refusal.TYPE)
    names = codings(answer.headers.get("content-encoding", "")) + transfer_codings(answer.headers)
    if len(names) > max_codings:
        told = f"{len(names)} codings, one over another (--max-codings)"
        return Failed(kind=FailureKind.ENCODING, detail=told)
    try:
        return await read_body(answer.body, names, request.max_bytes, judge, pace)
    except UnknownCoding as error:
        return Failed(kind=FailureKind.ENCODING, detail=str(error))


def _judge(want: Want, content_type: str | None) -> Judge | bool:
    """Whether a body is wanted; or where its type does not tell, who tells it."""
    if want is not Want.PAGE:
        return True
    verdict = is_html(content_type, b"")
    if verdict is not None:
        return verdict
    return lambda first_bytes: is_html(content_type, first_bytes) is True
