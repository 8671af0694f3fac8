"""Requests to the demo web without a network."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import urljoin, urlsplit

from minicrawl.demo.pages import COMMONS, DIRECTORY, DemoResponse
from minicrawl.demo.special_hosts import PORTAL
from minicrawl.demo.web import DemoWeb

WEB: Final = DemoWeb(500)
HUBS: Final = (DIRECTORY, PORTAL, COMMONS)
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
    """Return the pages that a polite crawl of the seeds reads at their own URLs, with their links.

    Links are those of a first visit, each once, without nofollow. Annexes, special hosts, copies
    and redirects are left out.
    """
    found: dict[str, list[str]] = {}
    waiting = list(web.seeds)
    while waiting:
        if (url := waiting.pop()) not in found:
            answer = ask(url, visits=int("crackle" in url), web=web)  # that host fails at first
            robots = ask(urljoin(url, "/robots.txt"), web=web)
            if _is_page(url, answer) and robots.status != HTTPStatus.SERVICE_UNAVAILABLE:
                waiting += found.setdefault(url, links(url, answer))
    return {
        url: [link for link in dict.fromkeys(targets) if link in found and link != url]
        for url, targets in found.items()
    }


def _is_page(url: str, answer: DemoResponse) -> bool:
    if url.startswith(HUBS):
        return answer.status == HTTPStatus.OK
    is_copy = "?" in url or url.endswith("/index.html") or url.startswith("http://mirror.")
    return "Last-Modified" in answer.headers and not is_copy
