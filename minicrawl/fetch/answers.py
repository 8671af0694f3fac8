"""What an answer amounts to: from status and headers to a value, reading the body if it counts.

Law: of an answer that is no page, or no page that is wanted, only the headers are read.
"""

from collections.abc import Mapping
from http import HTTPStatus

from minicrawl.fetch.bodies import Body, Judge, read_body
from minicrawl.fetch.decoding import UnknownCoding, codings
from minicrawl.fetch.pace import Pace
from minicrawl.fetch.transport import Answer
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
_FAILURES_BY_CLASS = {4: FailureKind.CLIENT_ERROR, 5: FailureKind.SERVER_ERROR}


async def read_answer(request: Request, answer: Answer, pace: Pace, max_codings: int) -> Fetched:
    """The caller closes the answer."""
    if answer.status // 100 == _SUCCESS:
        return await _page(request, answer, pace, max_codings)
    return _no_page(request, answer.status, answer.headers)


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


async def _page(request: Request, answer: Answer, pace: Pace, max_codings: int) -> Fetched:
    status, headers = answer.status, answer.headers
    if status in _EMPTY:
        return Page(status=status, headers=headers, body=b"")
    body = await _wanted_body(request, answer, pace, max_codings)
    if body is None:
        essence, _ = media_type(headers.get("content-type"))
        return Refused(reason=Refusal.TYPE, detail=essence or "no type", status=status)
    if isinstance(body, Failed):
        return body._replace(status=status)
    return Page(
        status=status,
        headers=headers,
        body=body.content,
        wire_bytes=body.wire_bytes,
        cut=body.cut,
    )


async def _wanted_body(
    request: Request, answer: Answer, pace: Pace, max_codings: int
) -> Body | Failed | None:
    """None: it is not of a kind that is wanted."""
    judge = _judge(request.want, answer.headers.get("content-type"))
    if judge is False:
        return None
    names = codings(answer.headers.get("content-encoding", ""))
    if len(names) > max_codings:
        told = f"{len(names)} codings, one over another (--max-codings)"
        return Failed(kind=FailureKind.ENCODING, detail=told)
    try:
        return await read_body(answer.body, names, request.max_bytes, judge, pace)
    except UnknownCoding as error:
        return Failed(kind=FailureKind.ENCODING, detail=str(error))


def _judge(want: Want, content_type: str | None) -> Judge | bool:
    """Whether a body is wanted; or where its type does not tell, who tells it."""
    if want is Want.TEXT:
        return True
    verdict = is_html(content_type, b"")
    if verdict is not None:
        return verdict
    return lambda first_bytes: is_html(content_type, first_bytes) is True
