"""Outcomes of fetches: the result that a response is for its request.

It depends on status, headers and, if it is wanted, the body. Of redirects, of unwanted types and
of failures that are not kept, only the head is read; of redirects also the body, if all bytes are
kept. Partial content that was not requested is never taken for the whole page.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus

from minicrawl.config.values.networks import without_login
from minicrawl.fetch.body.decoding import CHUNKS, codings
from minicrawl.fetch.body.reading import Body, BodyLimits, BodyVerdict, Judge, read_body
from minicrawl.fetch.http import heads
from minicrawl.fetch.http.messages import ResponseStream
from minicrawl.model import (
    Failed,
    FetchResult,
    Moved,
    Refused,
    Request,
    Response,
    Unchanged,
    Want,
    Wire,
)
from minicrawl.states import State
from minicrawl.web.responses.challenges import BLOCKS, COOKIE_WALL, challenge, leads_to_cookie_wall
from minicrawl.web.responses.headers import max_age_s, parse_content_type
from minicrawl.web.responses.types import HTML_TYPES, NO_TYPE, DocumentType, is_wanted, type_of
from minicrawl.web.urls import canonical


def with_wire(fetched: FetchResult, wire: Wire) -> FetchResult:
    """Return the result with the heads of its exchange, if it may be archived."""
    match fetched:
        case Response() | Moved():
            return fetched._replace(wire=_with_body_of(fetched.wire, wire))
        case Unchanged():
            return fetched._replace(wire=wire)
        case Failed(answer=Response() as answer) | Refused(answer=Response() as answer):
            answer = answer._replace(wire=_with_body_of(answer.wire, wire))
            return fetched._replace(answer=answer)
    return fetched


def with_cut_head(wire: Wire, why: str) -> Response:
    """Return the response of which only the beginning of the head was read."""
    status = heads.read_head(wire.response.partition(b"\n")[0]).status
    return Response(status, {}, b"", cut=State.TOO_LARGE, cut_detail=why, wire=wire)


def _with_body_of(known: Wire | None, wire: Wire) -> Wire:
    return wire if known is None else wire._replace(body=known.body)


_OF_LINKS = (Want.PAGE, Want.HEAD, Want.STATUS)
_HEAD_ALONE = (Want.HEAD, Want.STATUS, Want.PREFLIGHT)
_REDIRECTS = (
    HTTPStatus.MOVED_PERMANENTLY,
    HTTPStatus.FOUND,
    HTTPStatus.SEE_OTHER,
    HTTPStatus.TEMPORARY_REDIRECT,
    HTTPStatus.PERMANENT_REDIRECT,
)
_EMPTY: frozenset[int] = frozenset((HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT))

_FAILURES: dict[int, State] = {
    HTTPStatus.NOT_FOUND: State.NOT_FOUND,
    HTTPStatus.GONE: State.NOT_FOUND,
    HTTPStatus.TOO_MANY_REQUESTS: State.THROTTLED,
}
_SUCCESS = 2  # hundreds: the class of a status
_MOST_OF_A_FAILURE = 1 << 16
"""Maximum bytes to read of a failure's body: an error message is at most a page of text."""
_RANGE = re.compile(r"bytes[\t ]*=?[\t ]*([0-9]{1,18})-")
_FAILURES_BY_CLASS = {4: State.CLIENT_ERROR, 5: State.SERVER_ERROR}


async def read_response(
    request: Request, stream: ResponseStream, limits: BodyLimits, max_codings: int
) -> FetchResult:
    """Return the outcome of a request with this response, and close the response."""
    try:
        is_raw = stream.wire is not None and stream.wire.interim is not None
        limits = limits._replace(keeps_coded=limits.keeps_coded and is_raw)
        names = _codings(stream.headers)
        verdict = _verdict(request, stream.headers.get("content-type"))
        of_head = _result_of_head(request, stream, verdict, len(names), max_codings)
        if of_head is None:
            body = await _read(stream, names, request.max_bytes, verdict, limits)
            result = _result(stream, body)
            if isinstance(result, Failed) and not request.keeps_failures:
                result = result._replace(answer=None)
            # A response is a file even if its body could not be read.
            is_file = body.is_file if isinstance(body, Body) else verdict is BodyVerdict.FILE
            if is_file and request.want is Want.PAGE:
                answer = result if isinstance(result, Response) else None
                refused = Refused(reason=State.TYPE, cost_s=body.cost_s, answer=answer)
                return _result(stream, refused)
            return _unless_challenge(request, stream, result)
        if request.keeps_failures and isinstance(of_head, Failed):
            answer = await _answer(request, stream, limits, max_codings)
            of_head = of_head._replace(answer=answer, cost_s=answer.cost_s)
        if limits.keeps_coded and isinstance(of_head, Moved):
            answer = await _answer(request, stream, limits, max_codings)
            of_head = of_head._replace(answer=answer, wire=answer.wire)
        return _unless_challenge(request, stream, of_head)
    finally:
        await stream.aclose()


def _unless_challenge(request: Request, stream: ResponseStream, result: FetchResult) -> FetchResult:
    """Return the result, or for a bot challenge a failure that names the service.

    A challenge with a status of success is not a page: it is neither parsed nor archived as one.
    """
    if isinstance(result, Failed):
        body = b"" if result.answer is None else result.answer.body
        service = challenge(stream.status, stream.headers, body)
        return result._replace(detail=f"{BLOCKS}{service}") if service else result
    if request.want not in _OF_LINKS:
        return result
    # Does the redirect only serve to set a cookie that this crawl does not take?
    if isinstance(result, Moved) and (
        leads_to_cookie_wall(request.url, result.target)
        or ("set-cookie" in stream.headers and canonical(result.target, request.url) == request.url)
    ):
        return Failed(kind=State.CLIENT_ERROR, detail=COOKIE_WALL, status=result.status)
    if not isinstance(result, Response) or result.spooled:
        return result
    service = challenge(result.status, result.headers, result.body)
    if not service:
        return result
    return Failed(
        kind=State.CLIENT_ERROR,
        detail=f"{BLOCKS}{service}",
        status=result.status,
        cost_s=result.cost_s,
        answer=result if request.keeps_failures else None,
    )


async def _answer(
    request: Request, stream: ResponseStream, limits: BodyLimits, max_codings: int
) -> Response:
    """Return a failure as a response to archive, without a body if it cannot be decoded."""
    names = _codings(stream.headers)
    most = min(request.max_bytes, _MOST_OF_A_FAILURE)
    if limits.keeps_coded:
        most, names = request.max_bytes, names if len(names) <= max_codings else []
    if len(names) <= max_codings and (stream.status not in _EMPTY or limits.keeps_coded):
        result = _result(stream, await _read(stream, names, most, BodyVerdict.WANTED, limits))
        if isinstance(result, Failed) and result.answer is not None:
            result = result.answer
        if isinstance(result, Response):
            return result
    return Response(status=stream.status, headers=stream.headers, body=b"")


async def _read(
    stream: ResponseStream,
    names: list[str],
    most: int,
    verdict: Judge | BodyVerdict,
    limits: BodyLimits,
) -> Body | Failed | Refused:
    """Read a body; the framing of one that is kept as sent is a coding over all others."""
    whole = stream.take_whole()
    if limits.keeps_coded and heads.has_word(stream.headers, "transfer-encoding", "chunked"):
        names = [*names, CHUNKS]
    return await read_body(stream.body if whole is None else whole, names, most, verdict, limits)


def _codings(headers: Mapping[str, str]) -> list[str]:
    named = headers.get("content-encoding")
    names = map(str.strip, headers.get("transfer-encoding", "").lower().split(","))
    framed = [name for name in names if name not in ("", "chunked", "identity")]
    return (codings(named) if named else []) + framed


def _result_of_head(
    request: Request,
    stream: ResponseStream,
    verdict: Judge | BodyVerdict,
    depth: int,
    max_codings: int,
) -> FetchResult | None:
    """Return the outcome if the head determines it; `depth` is the number of codings."""
    status, headers = stream.status, stream.headers
    if status // 100 != _SUCCESS:
        return _other_result(request, status, headers)
    if status in _EMPTY or request.want in _HEAD_ALONE:
        return Response(status=status, headers=headers, body=b"")
    if status == HTTPStatus.PARTIAL_CONTENT:
        part = _RANGE.match(headers.get("content-range", ""))
        if part and (first := int(part[1])):
            detail = f"a part from byte {first} on, though the whole was asked for"
            return Failed(kind=State.PROTOCOL, detail=detail, status=status)
    is_too_deep = depth > max_codings
    is_other = verdict is BodyVerdict.FILE and request.want is Want.PAGE
    if verdict is BodyVerdict.UNWANTED or (is_too_deep and is_other):
        return _result(stream, Refused(reason=State.TYPE))
    if is_too_deep:
        detail = f"{depth} codings, one over another"
        return Failed(kind=State.ENCODING, detail=detail, status=status)
    return None


def _other_result(request: Request, status: int, headers: Mapping[str, str]) -> FetchResult:
    if status in _REDIRECTS:
        target = headers.get("location", "")
        if target and len(target) <= heads.MOST_CHARACTERS and heads.CONFLICT not in target:
            is_absolute = target.lower().startswith(("http", "//"))
            return Moved(status=status, target=without_login(target) if is_absolute else target)
        detail = "no Location"
        if heads.CONFLICT in target:
            detail = "Locations that differ"
        elif target:
            detail = heads.TOO_LONG
        return Failed(kind=State.BAD_REDIRECT, detail=detail, status=status)
    if status == HTTPStatus.NOT_MODIFIED and (request.etag or request.last_modified):
        return Unchanged(fresh_s=max_age_s(headers))
    by_class = _FAILURES_BY_CLASS.get(status // 100, State.BAD_STATUS)
    kind = _FAILURES.get(status, by_class)
    return Failed(kind=kind, status=status, retry_after=headers.get("retry-after"))


def _result(stream: ResponseStream, body: Body | Failed | Refused) -> FetchResult:
    status, headers = stream.status, stream.headers
    if isinstance(body, Refused):
        essence, _ = parse_content_type(headers.get("content-type"))
        return body._replace(detail=essence or NO_TYPE, status=status)
    if isinstance(body, Failed):
        answer = body.answer and body.answer._replace(status=status, headers=headers)
        return body._replace(status=status, answer=answer)
    cut, cut_detail = body.cut, body.cut_detail
    if status == HTTPStatus.PARTIAL_CONTENT and cut in (None, State.TOO_LARGE):
        cut, cut_detail = State.PROTOCOL, "a part, though the whole was asked for"
    return Response(
        status=status,
        headers=headers,
        body=body.content,
        wire_bytes=body.wire_bytes,
        cut=cut,
        cut_detail=cut_detail,
        cost_s=body.cost_s,
        spooled=body.spooled,
        wire=Wire(b"", b"", body=body.coded) if any(body.coded) else None,
    )


def _verdict(request: Request, content_type: str | None) -> Judge | BodyVerdict:
    """Return the verdict on a body, or a function of its first bytes if its type is not enough."""
    if request.want is not Want.PAGE:
        return _VERDICTS.get(request.want, BodyVerdict.WANTED)
    url, types = request.url, request.types
    is_page, other = is_wanted(content_type, url, types), BodyVerdict.UNWANTED
    if request.file_bytes:
        other = BodyVerdict.FILE
    document = BodyVerdict.WANTED
    if request.file_bytes > request.max_bytes:
        # The first part of a page is of use; that of a PDF cannot be read at all.
        document = BodyVerdict.DOCUMENT
    if is_page is False:
        return other
    if is_page:
        if document is not BodyVerdict.WANTED and parse_content_type(content_type)[0] in HTML_TYPES:
            return BodyVerdict.WANTED
        return document
    verdicts = {
        None: other,
        DocumentType.HTML: BodyVerdict.WANTED,
        DocumentType.SITEMAP: BodyVerdict.LIST,
    }
    return lambda first_bytes: verdicts.get(
        type_of(content_type, url, first_bytes, types), document
    )


_VERDICTS = {Want.SITEMAP: BodyVerdict.LIST, Want.FILE: BodyVerdict.FILE}
