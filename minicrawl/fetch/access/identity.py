"""The headers that say who asks and what we read. They are made once, and not for each request."""

from collections.abc import Sequence

from minicrawl.config import Access, Politeness
from minicrawl.config.values.by_host import HEADER
from minicrawl.fetch.body.decoding import ACCEPTED
from minicrawl.model import Request, Want
from minicrawl.version import __version__

Headers = tuple[tuple[bytes, bytes], ...]

_ACCEPT_TEXT = b"text/plain,application/xml,text/xml,*/*;q=0.1"
_ACCEPT = {
    Want.PAGE: b"text/html,application/xhtml+xml,application/xml;q=0.5,*/*;q=0.1",
    Want.TEXT: _ACCEPT_TEXT,
    Want.SITEMAP: _ACCEPT_TEXT,
    Want.HEAD: b"*/*",
    Want.STATUS: b"*/*",
    Want.RESOURCE: b"*/*",
    Want.PREFLIGHT: b"*/*",
}
_FIRST_QUALITY, _QUALITY_STEP, _LEAST_QUALITY = 10, 1, 1  # tenths


class RequestHeaders:
    """The headers of requests, by what is wanted."""

    def __init__(self, politeness: Politeness, access: Access) -> None:
        given = header_fields(access.headers)
        names = {name.lower() for name, _ in given}
        own = (
            (b"User-Agent", _user_agent(politeness, access)),
            (b"Accept-Encoding", ACCEPTED.encode()),
            *_languages(access.languages),
            *given,
        )
        self._by_want: dict[Want, Headers] = {
            want: own if b"accept" in names else (*own, (b"Accept", accepted))
            for want, accepted in _ACCEPT.items()
        }

    def of(self, request: Request) -> Sequence[tuple[bytes, bytes]]:
        """The headers of this request."""
        headers = self._by_want[request.want]
        if request.headers:
            headers = _with(headers, request.headers)
        if not (request.cookies or request.etag or request.last_modified):
            return headers
        added = [(b"Cookie", request.cookies.encode())] if request.cookies else []
        if request.etag and request.etag.isprintable():
            added.append((b"If-None-Match", request.etag.encode()))
        if request.last_modified and request.last_modified.isprintable():
            added.append((b"If-Modified-Since", request.last_modified.encode()))
        return (*headers, *added)


def _with(headers: Headers, given: Sequence[tuple[str, str]]) -> Headers:
    """Those that a page sends take the place of ours."""
    found = tuple((name.title().encode(), value.encode()) for name, value in given)
    names = {name.lower() for name, _ in found}
    return (*(one for one in headers if one[0].lower() not in names), *found)


def header_fields(texts: Sequence[str], host: str | None = None) -> Headers:
    """Those of the headers that are for this host, as it is written; None for all hosts."""
    found = (HEADER.fullmatch(text) for text in texts)
    return tuple(
        (one["name"].encode(), one["value"].strip().encode())
        for one in found
        if one and one["host"] == host
    )


def _user_agent(politeness: Politeness, access: Access) -> bytes:
    if access.user_agent is not None:
        return access.user_agent.encode()
    agent = f"{politeness.agent}/{__version__}"
    return (f"{agent} (+{politeness.contact})" if politeness.contact else agent).encode()


def _languages(tags: str | None) -> Headers:
    """Languages without a quality get falling ones, as browsers send them."""
    if tags is None:
        return ()
    if ";q=" not in tags:
        tags = ",".join(
            tag if not place else f"{tag};q={_quality(place)}"
            for place, tag in enumerate(tags.split(","))
        )
    return ((b"Accept-Language", tags.encode()),)


def _quality(place: int) -> str:
    return f"0.{max(_FIRST_QUALITY - place * _QUALITY_STEP, _LEAST_QUALITY)}"
