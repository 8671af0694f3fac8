"""Content and links of the pages of ordinary hosts.

Law: a page is a function of the seed, its number and its version only, not of earlier requests.
Text and outward links belong to the number. A new version says that it is one and, on front
pages, moves other articles to the top.

Within a host, the front page leads to the sections, a section to its first articles, and these to
the rest, so that every page can be reached. Outwards, most links stay within the community, large
hosts get more links than small ones, and front pages get more than other pages.

sheet      content of a page: title, prose and links, in page order
anchor     a link as the page writes it: root-relative within a host, absolute beyond
answer     a server's response to one request
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

from minicrawl.demo.sites import DOMAIN, FRONT, ON_SHOW, Atlas, Site
from minicrawl.demo.words import TOPICS, Topic, sentences


class Anchor(NamedTuple):
    href: str
    words: str
    nofollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Content of a page. `lists` has headings, each with its links."""

    site: str
    title: str
    menu: Sequence[Anchor] = ()
    prose: Sequence[str] = ()
    lists: Sequence[tuple[str, Sequence[Anchor]]] = ()
    footer: Sequence[Anchor] = ()
    head: str = ""
    charset: str = "utf-8"


class DemoResponse(NamedTuple):
    """A server's response to one request, and its delay."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    delay_s: float = 0.0


def html(sheet: Sheet) -> str:
    """Return the page as HTML; words of the demo need no escaping."""
    paragraphs = "".join([f"<p>{paragraph}</p>\n" for paragraph in sheet.prose])
    lists = [
        f"<h2>{heading}</h2>\n<ul>\n<li>" + "</li>\n<li>".join(map(_a, anchors)) + "</li>\n</ul>\n"
        for heading, anchors in sheet.lists
        if anchors
    ]
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="{sheet.charset}">\n'
        f"<title>{sheet.title} – {sheet.site}</title>\n{sheet.head}</head>\n<body>\n"
        f"<header>{' | '.join(map(_a, sheet.menu))}</header>\n<main>\n<h1>{sheet.title}</h1>\n"
        f"{paragraphs}{''.join(lists)}"
        f"</main>\n<footer>{' | '.join(map(_a, sheet.footer))}</footer>\n</body>\n</html>\n"
    )


def _a(anchor: Anchor) -> str:
    rel = ' rel="nofollow"' if anchor.nofollow else ""
    return f'<a href="{anchor.href}"{rel}>{anchor.words}</a>'


def page(sheet: Sheet, headers: Mapping[str, str] | None = None) -> DemoResponse:
    """Return a page as a response in UTF-8, with an ETag that changes whenever the page does."""
    body = html(sheet).encode()
    etag = f'"{zlib.crc32(body):08x}"'
    return DemoResponse(
        200, {"Content-Type": "text/html; charset=utf-8", "ETag": etag, **(headers or {})}, body
    )


def document(content_type: str, body: bytes) -> DemoResponse:
    """Return a response that is not made from a sheet."""
    return DemoResponse(200, {"Content-Type": content_type}, body)


def text(words: str) -> DemoResponse:
    """Return a text such as robots.txt."""
    return document("text/plain; charset=utf-8", words.encode())


def moved(status: int, target: str) -> DemoResponse:
    return DemoResponse(status, {"Location": target})


def refused(status: int, words: str, **headers: str) -> DemoResponse:
    """Return an error with a body; an underscore in the name of a header stands for a hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return DemoResponse(status, {"Content-Type": "text/plain", **named}, words.encode())


MISSING = refused(404, "There is no such page.")

COMMONS: Final = f"http://www.open-commons{DOMAIN}/"
DIRECTORY: Final = f"http://www.lantern-directory{DOMAIN}/"
SHORT: Final = f"http://go.short-links{DOMAIN}/"
SPAM: Final = f"http://www.cheap-anchors{DOMAIN}/"
LICENCE: Final = Anchor(f"{COMMONS}licence", "Free to copy")

VISITS_PER_VERSION: Final = {
    ("news", "front"): 1,
    ("forum", "front"): 2,
    ("blog", "front"): 4,
    ("news", "section"): 3,
    ("wiki", "article"): 5,
}
"""Number of visits after which a page changes. Pages not in the table never change."""

_SENTENCES_PER_TOPIC: Final = 160
_PARAGRAPH: Final = 5
_ARTICLE: Final = 6 * _PARAGRAPH
_LEAD: Final = 2 * _PARAGRAPH
_LATEST: Final = 12
_OUTWARD: Final = 4.0  # links to other hosts, on average
_MOST_OUTWARD: Final = 12
_TO_FRONT: Final = 0.65
_BY_SHORT_LINK: Final = 0.04
_IN_COMMUNITY: Final = 0.7
_DEAD_END_EVERY: Final = 13
_LICENCE_EXCEPT_EVERY: Final = 3
_DIRECTORY_EVERY: Final = 4

_ODDMENTS: Final = (
    (7, "/members/letter-{place}", "Letters, for members"),
    (9, f"{SPAM}best-offers", "Best offers"),
    (11, "/index.html", "To the front page"),
    (14, "{path}?print", "For printing"),
    (16, "/lost/page-{place}", "An earlier account"),
    (19, "/download/{place}", "The full report"),
    (23, "/picture/{place}", "The photograph"),
    (41, "{path}?from=related", "This page again"),
)
"""Special links, each on one article in so many; {place} and {path} are the article's."""


class Author:
    def __init__(self, atlas: Atlas, rng: Random) -> None:
        self._seed = rng.getrandbits(64)
        self._said = {topic.name: sentences(topic, _SENTENCES_PER_TOPIC, rng) for topic in TOPICS}
        # Hosts to link to, by topic (None: all), with running totals of their sizes.
        self._communities: dict[Topic | None, tuple[Sequence[Site], Sequence[int]]] = {}
        for topic in (None, *TOPICS):
            sites = [site for site in atlas.sites if topic in (None, site.topic)]
            self._communities[topic] = sites, list(accumulate(site.size for site in sites))

    def version(self, site: Site, place: int, visits: int) -> int:
        """Return the version for a visitor who comes after `visits` others."""
        level = "front" if place == FRONT else "section" if place <= site.sections else "article"
        visits_per_version = VISITS_PER_VERSION.get((site.kind, level))
        return visits // visits_per_version if visits_per_version else 0

    def sheet(self, site: Site, place: int, version: int = 0, head: str = "") -> Sheet:
        """Return one version of a page; `head` is additional markup for its head."""
        rng = Random(self._seed + site.first + place)
        title, home = site.title(place), Anchor("/", site.name)
        sections, search, oddments = list(range(1, site.sections + 1)), [], []
        if has_search(site):
            search = [Anchor("/search", "Search")]
        if place == FRONT:
            # Each version brings three new articles.
            articles = site.size - site.sections - 1
            latest = range(version * 3, version * 3 + min(_LATEST, articles))
            inside = "Latest", [site.sections + 1 + number % articles for number in latest]
        elif place <= site.sections:
            inside = "In this section", site.articles(place, range(ON_SHOW))
        else:
            below = site.below(place)
            if place % _DEAD_END_EVERY == _DEAD_END_EVERY - 1 and not below:
                return Sheet(site=site.name, title=title, prose=self._prose(site, rng), head=head)
            sections, search = [site.shelf(place)[0]], []
            beside = (place - site.sections, place + 1)
            related = [other for other in beside if site.sections < other < site.size]
            inside = "Related", [*related, *below]
            path = site.path(place)
            oddments = [
                Anchor(href.format(place=place, path=path), words, href.startswith(SPAM))
                for every, href, words in _ODDMENTS
                if place % every == 0
            ]
        edition = (f"This is edition {version + 1} of this page.",) if version else ()
        prose = edition + self._prose(site, rng, _ARTICLE if place else _LEAD)
        page = site.first + place
        licence = [LICENCE] if page % _LICENCE_EXCEPT_EVERY else []
        directory = [] if page % _DIRECTORY_EVERY else [Anchor(DIRECTORY, "Lantern Directory")]
        heading, places = inside
        return Sheet(
            site=site.name,
            title=title,
            menu=[home, *_anchors(site, sections), *search],
            prose=prose,
            lists=(
                (heading, _anchors(site, places)),
                ("Elsewhere", self._elsewhere(site, rng)),
                ("More", oddments),
            ),
            footer=licence + directory,
            head=head,
        )

    def _prose(self, site: Site, rng: Random, count: int = _LEAD) -> tuple[str, ...]:
        said = rng.sample(self._said[site.topic.name], count)
        return tuple(
            " ".join(said[start : start + _PARAGRAPH]) for start in range(0, count, _PARAGRAPH)
        )

    def _elsewhere(self, source: Site, rng: Random) -> list[Anchor]:
        """Return links to other hosts, each once; draws of the page's own host are left out."""
        links: dict[Anchor, None] = {}
        for _ in range(min(int(rng.expovariate(1 / _OUTWARD)), _MOST_OUTWARD)):
            is_near = rng.random() < _IN_COMMUNITY
            sites, weights = self._communities[source.topic if is_near else None]
            site = rng.choices(sites, cum_weights=weights)[0]
            if site is source:
                continue
            # The cube prefers low places: sections, and articles near their top.
            place = FRONT if rng.random() < _TO_FRONT else int(site.size * rng.random() ** 3)
            href = f"http://{site.host}{site.path(place)}"
            if rng.random() < _BY_SHORT_LINK:
                href = f"{SHORT}{site.first + place}"
            links[Anchor(href, site.title(place))] = None
        return list(links)


def has_search(site: Site) -> bool:
    """Return whether the site has a page that asks not to be indexed."""
    return site.kind == "wiki"


def _anchors(site: Site, places: Sequence[int]) -> list[Anchor]:
    return [Anchor(site.path(place), site.title(place)) for place in places]
