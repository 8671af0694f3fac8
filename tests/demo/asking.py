"""Asking the demo web without a network."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin, urlsplit

from minicrawl.demo.sheet import DemoResponse
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
    """The links one may follow, read from the page as it is written."""
    return [
        urljoin(url, href) for href, nofollow in _LINK.findall(answer.body.decode()) if not nofollow
    ]


def nofollow_links(answer: DemoResponse) -> list[str]:
    return [href for href, nofollow in _LINK.findall(answer.body.decode()) if nofollow]
