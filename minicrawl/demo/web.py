"""A small web, generated on demand: hosts, pages and responses.

Laws: a response depends only on the seed, the URL, the validators of the request and the number of
earlier requests for the URL. The order of requests does not matter, so an interrupted crawl finds
the same web when it resumes. Only the list of hosts is stored. An annex is not part of the link
graph.

site         an ordinary host; all sites together have the requested number of pages
hub          a host that leads to many others (`special_hosts`)
annex        response of a site for a path that is none of its pages: robots.txt, files, closed
             sections. Pages of the attic are only in the sitemap. Pages for members are linked, but
             must not be requested where robots.txt forbids them.
curiosity    a difficult host: redirects, loops, traps, strange encodings (`special_hosts`)
"""

import re
from collections.abc import Mapping
from email.utils import formatdate
from random import Random
from typing import Final

from minicrawl.demo.pages import (
    MISSING,
    Anchor,
    Author,
    DemoResponse,
    Sheet,
    document,
    has_search,
    page,
    refused,
    text,
)
from minicrawl.demo.sites import FRONT, Atlas, Quirk, Site
from minicrawl.demo.special_hosts import PORTAL, special_hosts, ways_in

CRAWL_DELAY_S: Final = 0.1
_ATTIC: Final = 5  # pages that are only in the sitemap
_SITEMAP_EVERY: Final = 4
_NUMBERED: Final = re.compile(r"(/(?:attic|download|picture)/|/members/letter-)([0-9]{1,9})")


def annex(site: Site, path: str) -> DemoResponse:
    """Return the response for a path that is none of the site's pages."""
    if path == "/robots.txt":
        return _robots(site)
    if path == "/sitemap.xml" and attic(site):
        entries = "".join(f"<url><loc>{url}</loc></url>\n" for url in (site.url, *attic(site)))
        return document(
            "application/xml",
            b'<?xml version="1.0" encoding="UTF-8"?>\n'
            b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
            b"%b</urlset>\n" % entries.encode(),
        )
    if path == "/search" and has_search(site):
        words = "Type a word above; most people look for the way back."
        robots = '<meta name="robots" content="noindex, follow">\n'
        return _note(site, "Search", words, robots)
    numbered = _NUMBERED.fullmatch(path)
    return MISSING if numbered is None else _of_series(site, numbered[1], int(numbered[2]))


def _of_series(site: Site, series: str, number: int) -> DemoResponse:
    match series:
        case "/attic/" if number in range(1, len(attic(site)) + 1):
            title = f"Box {number} from the attic"
            return _note(site, title, "Nobody has linked to this for years.")
        case "/download/":
            report = f"%PDF-1.4\n% {site.name}, report {number}\n%%EOF\n"
            return document("application/pdf", report.encode())
        case "/picture/":
            picture = b"\x89PNG\r\n\x1a\n%b %d" % (site.host.encode(), number)
            return document("image/png", picture)
        case "/members/letter-":
            title = f"Letter {number} to the members"
            return _note(site, title, "Please do not pass this on.")
    return MISSING


def attic(site: Site) -> tuple[str, ...]:
    """Return the URLs of the pages that only the sitemap names; none if the site has no sitemap."""
    if site.number % _SITEMAP_EVERY:
        return ()
    return tuple(f"{site.url}attic/{number}" for number in range(1, _ATTIC + 1))


def _robots(site: Site) -> DemoResponse:
    if site.quirk is Quirk.SHUT:
        return refused(503, "Closed for winter.")
    lines = ["Disallow: /members/"] if site.number % 2 == 0 else []
    if site.quirk is Quirk.PATIENT:
        lines.append(f"Crawl-delay: {CRAWL_DELAY_S}")
    if attic(site):
        lines.append(f"Sitemap: {site.url}sitemap.xml")
    return text("\n".join(["User-agent: *", *lines, ""])) if lines else MISSING


def _note(site: Site, title: str, words: str, head: str = "") -> DemoResponse:
    home = (Anchor("/", site.name),)
    return page(Sheet(site=site.name, title=title, menu=home, prose=(words,), head=head))


SLOW_S: Final = 0.5
RETRY_AFTER_S: Final = 1
_SEED_SITES: Final = slice(1, 8)  # links must be followed to find the largest host
_MOVED: Final = 0  # number of the site that has an old name as well
_MIRRORED: Final = 7  # number of the site that has a mirror
_VISITS_PER_FAILURE: Final = 5  # a flaky page fails at its first visit, and again after this many
_PUBLISHED: Final = 1_053_388_800  # 20 May 2003
_DAY_S: Final = 86_400


class DemoWeb:
    """A small web of `pages` ordinary pages, with special hosts beside them."""

    def __init__(self, pages: int, seed: int = 2003) -> None:
        rng = Random(seed)
        atlas = Atlas(pages, rng)
        moved_site, mirrored = atlas.sites[_MOVED], atlas.sites[_MIRRORED]
        mirror = f"mirror.{mirrored.host.partition('.')[2]}"
        curiosities = [
            *ways_in(moved_site),
            Anchor(f"http://{mirror}/", f"{mirrored.name}, a copy"),
        ]
        self._author = Author(atlas, rng)
        self._sites = atlas.sites
        self._site_of_host = {**{site.host: site for site in atlas.sites}, mirror: mirrored}
        self._special = special_hosts(atlas, moved_site, curiosities)

    @property
    def hosts(self) -> tuple[str, ...]:
        return (*self._site_of_host, *self._special)

    @property
    def seeds(self) -> tuple[str, ...]:
        """URLs from which every page of the link graph can be reached."""
        return (PORTAL, *(site.url for site in self._sites[_SEED_SITES]))

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int
    ) -> DemoResponse:
        """Answer a GET by a visitor who comes after `visits` others; header names in lower case."""
        path, _, query = target.partition("?")
        return _unless_known(self._answer(host, path, query, visits), headers)

    def _answer(self, host: str, path: str, query: str, visits: int) -> DemoResponse:
        if special := self._special.get(host):
            return special(path, visits)
        if (site := self._site_of_host.get(host)) is None:
            return refused(421, "This host is not served here.")
        place = FRONT if path == "/index.html" else site.place(path)
        if place is None:
            answer = annex(site, path)
        elif site.quirk is not Quirk.FLAKY or visits % _VISITS_PER_FAILURE:
            answer = self._page(site, place, query, visits)
        elif place % 2:
            answer = refused(500, "Something crackled.")
        else:
            answer = refused(503, "One moment, please.", Retry_After=str(RETRY_AFTER_S))
        return answer._replace(delay_s=SLOW_S) if site.quirk is Quirk.SLOW else answer

    def _page(self, site: Site, place: int, query: str, visits: int) -> DemoResponse:
        canonical = f"http://{site.host}{site.path(place)}"
        head = f'<link rel="canonical" href="{canonical}">\n' if query == "print" else ""
        version = self._author.version(site, place, visits)
        sheet = self._author.sheet(site, place, version, head)
        # The first version is as old as OPIC's paper, others follow daily.
        date = formatdate(_PUBLISHED + version * _DAY_S, usegmt=True)
        return page(sheet, {"Last-Modified": date})


def _unless_known(answer: DemoResponse, headers: Mapping[str, str]) -> DemoResponse:
    """Return a 304 for a page that the visitor has; an ETag takes precedence over a date."""
    etag = answer.headers.get("ETag")
    if etag is None:
        return answer
    if known_tags := headers.get("if-none-match"):
        is_known = etag in (tag.strip().removeprefix("W/") for tag in known_tags.split(","))
    else:
        date = answer.headers.get("Last-Modified")
        is_known = date is not None and date == headers.get("if-modified-since")
    return answer._replace(status=304, body=b"") if is_known else answer
