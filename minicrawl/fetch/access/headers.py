"""Headers that say who asks and what is accepted. They are encoded once, not for each request."""

from collections.abc import Sequence

from minicrawl import __version__
from minicrawl.config import Access, Politeness
from minicrawl.config.values.access import HEADER
from minicrawl.fetch.body.decoding import ACCEPTED
from minicrawl.model import Request, Want
from minicrawl.web.urls import host

Headers = tuple[tuple[bytes, bytes], ...]

_ACCEPT_TEXT = b"text/plain,application/xml,text/xml,*/*;q=0.1"
_ACCEPT = {
    Want.PAGE: b"text/html,application/xhtml+xml,application/xml;q=0.5,*/*;q=0.1",
    Want.TEXT: _ACCEPT_TEXT,
    Want.SITEMAP: _ACCEPT_TEXT,
}
"""Accept by kind of request; others accept anything."""


class RequestHeaders:
    """Prepared request headers, by kind of request."""

    def __init__(self, politeness: Politeness, access: Access) -> None:
        self._politeness, self._access = politeness, access
        given = header_fields(access.headers)
        names = {name.lower() for name, _ in given}
        own = (
            (b"User-Agent", user_agent(politeness, access)),
            (b"Accept-Encoding", ACCEPTED.encode()),
            *_languages(access.languages),
            *given,
        )
        self._by_want: dict[Want, Headers] = {
            want: own if b"accept" in names else (*own, (b"Accept", _ACCEPT.get(want, b"*/*")))
            for want in Want
        }

    def of(self, request: Request) -> Sequence[tuple[bytes, bytes]]:
        headers = self._by_want[request.want]
        if self._politeness.host_settings and request.url:
            agent = user_agent(self._politeness.of_host(host(request.url)), self._access)
            headers = ((b"User-Agent", agent), *headers[1:])
        if request.headers:
            # They replace others of the same name.
            given = [(name.title().encode(), value.encode()) for name, value in request.headers]
            names = {name.lower() for name, _ in given}
            headers = (*(header for header in headers if header[0].lower() not in names), *given)
        if not (request.cookies or request.etag or request.last_modified):
            return headers
        added = [(b"Cookie", request.cookies.encode())] if request.cookies else []
        if request.etag and request.etag.isprintable():
            added.append((b"If-None-Match", request.etag.encode()))
        if request.last_modified and request.last_modified.isprintable():
            added.append((b"If-Modified-Since", request.last_modified.encode()))
        return (*headers, *added)


def header_fields(texts: Sequence[str], host_name: str | None = None) -> Headers:
    """Return the headers that are configured for this host, or for all hosts if None."""
    matches = (HEADER.fullmatch(text) for text in texts)
    return tuple(
        (match["name"].encode(), match["value"].strip().encode())
        for match in matches
        if match and match["host"] == host_name
    )


def user_agent(politeness: Politeness, access: Access) -> bytes:
    if access.user_agent is not None:
        return access.user_agent.encode()
    agent = f"{politeness.agent}/{__version__}"
    return (f"{agent} (+{politeness.contact})" if politeness.contact else agent).encode()


def _languages(tags: str | None) -> Headers:
    """Return Accept-Language; languages without a quality get descending ones, as in browsers."""
    if tags is None:
        return ()
    if ";q=" not in tags:
        tags = ",".join(
            f"{tag};q=0.{max(10 - place, 1)}" if place else tag
            for place, tag in enumerate(tags.split(","))
        )
    return ((b"Accept-Language", tags.encode()),)
