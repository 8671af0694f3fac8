"""Requests to the demo web without a network."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final
from urllib.parse import urljoin, urlsplit

from minicrawl.demo.small_web import DemoResponse, Quirk, Sheet
from minicrawl.demo.web import DemoWeb

WEB: Final = DemoWeb(500)
NOTHING: Final[Mapping[str, str]] = {}
_LINK: Final = re.compile(r'<a href="([^"]*)"( rel="nofollow")?>')


def ask(
    url: str, *, visits: int = 0, headers: Mapping[str, str] = NOTHING, web: DemoWeb = WEB
) -> DemoResponse:
    parts = urlsplit(url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return web.answer(parts.netloc, target, headers, visits)


def links(url: str, answer: DemoResponse) -> list[str]:
    """Return the links of a page without nofollow, read from its HTML."""
    return [
        urljoin(url, href) for href, nofollow in _LINK.findall(answer.body.decode()) if not nofollow
    ]


def nofollow_links(answer: DemoResponse) -> list[str]:
    return [href for href, nofollow in _LINK.findall(answer.body.decode()) if nofollow]


def link_graph(web: DemoWeb) -> dict[str, list[str]]:
    """Return the pages that a polite crawl can read at their own URLs, with their links.

    Links are those of a first visit, each once, without nofollow. Annexes, special hosts, copies
    and redirects are left out.
    """
    sheets = dict(chain(_site_sheets(web), _hub_sheets(web)))
    return {url: list(_targets(url, sheet, sheets)) for url, sheet in sheets.items()}


def _site_sheets(web: DemoWeb) -> Iterator[tuple[str, Sheet]]:
    for site in web._sites:
        if site.quirk is not Quirk.SHUT:
            for place in range(site.size):
                yield f"http://{site.host}{site.path(place)}", web._author.sheet(site, place)


def _hub_sheets(web: DemoWeb) -> Iterator[tuple[str, Sheet]]:
    for host, hub in web._hubs.items():
        for path in hub.paths:
            yield f"http://{host}{path}", hub.sheet(path, 0)


def _targets(url: str, sheet: Sheet, known: Mapping[str, Sheet]) -> Iterator[str]:
    origin = "/".join(url.split("/")[:3])
    links = (
        origin + anchor.href if anchor.href.startswith("/") else anchor.href
        for anchor in sheet.anchors()
        if not anchor.nofollow
    )
    return (link for link in dict.fromkeys(links) if link in known and link != url)
