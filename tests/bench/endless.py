"""Endless web, whose pages are made on demand from their URL and random numbers.

Its only state is the number of linked pages of each host, so a hundred million pages cost the
benchmark nothing. A page has `LINKS` links, in about the proportions of real pages:

home     15 to the first pages of its host, as in a menu
near     15 to known pages of its host, most of them old
new       8 to new pages of its host
far       2 to new pages of any host
abroad   all others, to known pages, most of them of a few hosts
"""

from array import array
from collections.abc import Iterable, Iterator
from itertools import starmap

import numpy as np

LINKS = 50
HOME, NEAR, NEW, FAR = 15, 15, 8, 2
_DRAWS = 1 << 16
_SECTIONS = [
    f"{a}/{b}" for a in ("news", "docs", "wiki", "shop", "blog") for b in range(2016, 2026)
]
_SLUGS = [
    f"{a}-{b}-{c}"
    for a in ("the", "how", "why", "what")
    for b in ("river", "engine", "harbour", "library")
    for c in ("works", "began", "was-built", "may-end")
]


class EndlessWeb:
    """Endless web of numbered hosts with numbered pages."""

    def __init__(self, hosts: int, seed: int = 0) -> None:
        self._hosts = hosts
        self._pages = array("I", bytes(4 * hosts))
        self._rng = np.random.default_rng(seed)
        self._drawn: Iterator[float] = iter(())

    def seeds(self, count: int) -> list[str]:
        """Return the front pages of the first `count` hosts."""
        return [self._url(host, self._another(host)) for host in range(count)]

    def go_on(self, origins: Iterable[str], pages: Iterable[int]) -> None:
        """Set the number of linked pages of these hosts."""
        for origin, count in zip(origins, pages, strict=True):
            self._pages[_host(origin)] = count

    def links(self, url: str) -> list[str]:
        """Return the links of a page."""
        host = _host(url)
        known = self._pages[host]
        draw = self._draw
        pages = dict.fromkeys((host, page) for page in range(min(HOME, known)))
        pages |= dict.fromkeys((host, int(known * draw() ** 2)) for _ in range(NEAR))
        pages |= dict.fromkeys((host, self._another(host)) for _ in range(NEW))
        for _ in range(FAR):
            other = int(self._hosts * draw())
            pages[other, self._another(other)] = None
        while len(pages) < LINKS:
            other = int(self._hosts * draw() ** 4)
            known = self._pages[other] or self._another(other) + 1
            pages[other, int(known * draw() ** 3)] = None
        return list(starmap(self._url, pages))

    def _another(self, host: int) -> int:
        page = self._pages[host]
        self._pages[host] = page + 1
        return page

    def _url(self, host: int, page: int) -> str:
        return origin(host) + path_of(page)

    def _draw(self) -> float:
        for number in self._drawn:
            return number
        self._drawn = iter(self._rng.random(_DRAWS).tolist())
        return self._draw()


def origin(host: int) -> str:
    return f"http://site{host}.example"


def path_of(page: int) -> str:
    """Return the path of a page by its number."""
    if not page:
        return "/"
    section, slug = _SECTIONS[page % len(_SECTIONS)], _SLUGS[page % len(_SLUGS)]
    return f"/{section}/{slug}-{page}.html"


def _host(url: str) -> int:
    return int(url[len("http://site") : url.index(".")])
