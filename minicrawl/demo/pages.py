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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

from minicrawl.demo.sites import DOMAIN, FRONT, Atlas, Site
from minicrawl.demo.words import TOPICS, sentences


class Anchor(NamedTuple):
    """A link: its target and its text."""

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

    def anchors(self) -> Iterator[Anchor]:
        """Yield every link of the page, in order."""
        yield from self.menu
        for _, anchors in self.lists:
            yield from anchors
        yield from self.footer


class DemoResponse(NamedTuple):
    """A server's response to one request, and its delay."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    delay_s: float = 0.0


def html(sheet: Sheet) -> str:
    """Return the page as HTML; words of the demo need no escaping."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="{sheet.charset}">\n'
        f"<title>{sheet.title} – {sheet.site}</title>\n{sheet.head}</head>\n<body>\n"
        f"<header>{' | '.join(map(_a, sheet.menu))}</header>\n<main>\n<h1>{sheet.title}</h1>\n"
        f"{''.join([f'<p>{paragraph}</p>{chr(10)}' for paragraph in sheet.prose])}"
        f"{''.join([_section(heading, anchors) for heading, anchors in sheet.lists if anchors])}"
        f"</main>\n<footer>{' | '.join(map(_a, sheet.footer))}</footer>\n</body>\n</html>\n"
    )


def _section(heading: str, anchors: Sequence[Anchor]) -> str:
    items = "</li>\n<li>".join(map(_a, anchors))
    return f"<h2>{heading}</h2>\n<ul>\n<li>{items}</li>\n</ul>\n"


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
    """Return a redirect."""
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


class _Oddment(NamedTuple):
    """A special link on one article in `every`; {place} and {path} are the article's."""

    every: int
    href: str
    words: str
    nofollow: bool = False


_ODDMENTS: Final = (
    _Oddment(7, "/members/letter-{place}", "Letters, for members"),
    _Oddment(9, f"{SPAM}best-offers", "Best offers", nofollow=True),
    _Oddment(11, "/index.html", "To the front page"),
    _Oddment(14, "{path}?print", "For printing"),
    _Oddment(16, "/lost/page-{place}", "An earlier account"),
    _Oddment(19, "/download/{place}", "The full report"),
    _Oddment(23, "/picture/{place}", "The photograph"),
    _Oddment(41, "{path}?from=related", "This page again"),
)


class _Community(NamedTuple):
    """Hosts to link to; a host is drawn by its weight."""

    sites: Sequence[Site]
    weights: Sequence[int]  # running totals of the sizes

    def draw(self, rng: Random) -> Site:
        return rng.choices(self.sites, cum_weights=self.weights)[0]


class Author:
    """Writer of the ordinary pages of an atlas."""

    __slots__ = ("_communities", "_everybody", "_said", "_seed")

    def __init__(self, atlas: Atlas, rng: Random) -> None:
        self._seed = rng.getrandbits(64)
        self._said = {topic.name: sentences(topic, _SENTENCES_PER_TOPIC, rng) for topic in TOPICS}
        self._everybody = _community(atlas.sites)
        self._communities = {
            topic.name: _community([site for site in atlas.sites if site.topic is topic])
            for topic in TOPICS
        }

    def version(self, site: Site, place: int, visits: int) -> int:
        """Return the version for a visitor who comes after `visits` others."""
        visits_per_version = VISITS_PER_VERSION.get((site.kind, _level(site, place)))
        return visits // visits_per_version if visits_per_version else 0

    def sheet(self, site: Site, place: int, version: int = 0, head: str = "") -> Sheet:
        """Return one version of a page; `head` is additional markup for its head."""
        rng = Random(self._seed + site.first + place)
        if _is_dead_end(site, place):
            return Sheet(
                site=site.name, title=site.title(place), prose=self._prose(site, rng), head=head
            )
        edition = (f"This is edition {version + 1} of this page.",) if version else ()
        return Sheet(
            site=site.name,
            title=site.title(place),
            menu=_menu(site, place),
            prose=edition + self._prose(site, rng, _ARTICLE if place else _LEAD),
            lists=(
                *_inside(site, place, version),
                ("Elsewhere", self._elsewhere(site, rng)),
                ("More", _oddments(site, place)),
            ),
            footer=_footer(site, place),
            head=head,
        )

    def _prose(self, site: Site, rng: Random, count: int = _LEAD) -> tuple[str, ...]:
        said = rng.sample(self._said[site.topic.name], count)
        return tuple(
            " ".join(said[start : start + _PARAGRAPH]) for start in range(0, count, _PARAGRAPH)
        )

    def _elsewhere(self, site: Site, rng: Random) -> list[Anchor]:
        count = min(int(rng.expovariate(1 / _OUTWARD)), _MOST_OUTWARD)
        drawn = dict.fromkeys(self._draw(site, rng) for _ in range(count))
        return [anchor for anchor in drawn if anchor is not None]

    def _draw(self, source: Site, rng: Random) -> Anchor | None:
        is_near = rng.random() < _IN_COMMUNITY
        site = (self._communities[source.topic.name] if is_near else self._everybody).draw(rng)
        if site is source:
            return None
        # The cube prefers low places: sections, and articles near their top.
        place = FRONT if rng.random() < _TO_FRONT else int(site.size * rng.random() ** 3)
        if rng.random() < _BY_SHORT_LINK:
            return Anchor(f"{SHORT}{site.first + place}", site.title(place))
        return Anchor(f"http://{site.host}{site.path(place)}", site.title(place))


def forbids_members(site: Site) -> bool:
    """Return whether robots.txt forbids the members' section."""
    return site.number % 2 == 0


def has_search(site: Site) -> bool:
    """Return whether the site has a page that asks not to be indexed."""
    return site.kind == "wiki"


def _community(sites: Sequence[Site]) -> _Community:
    return _Community(sites, list(accumulate(site.size for site in sites)))


def _level(site: Site, place: int) -> str:
    if place == FRONT:
        return "front"
    return "section" if place <= site.sections else "article"


def _menu(site: Site, place: int) -> list[Anchor]:
    """Return links to all sections, or from an article to its own section."""
    is_article = _is_article(site, place)
    sections = (site.shelf(place)[0],) if is_article else range(1, site.sections + 1)
    search = [Anchor("/search", "Search")] if has_search(site) and not is_article else []
    return [Anchor("/", site.name), *_anchors(site, sections), *search]


def _inside(site: Site, place: int, version: int) -> list[tuple[str, list[Anchor]]]:
    if place == FRONT:
        return [("Latest", _anchors(site, _latest(site, version)))]
    if place <= site.sections:
        return [("In this section", _anchors(site, site.on_show(place)))]
    related = [near for near in (place - site.sections, place + 1) if _is_article(site, near)]
    return [("Related", _anchors(site, [*related, *site.below(place)]))]


def _latest(site: Site, version: int) -> list[int]:
    """Return the articles of the front page: each version brings three new ones."""
    articles = site.size - site.sections - 1
    return [
        site.sections + 1 + (version * 3 + offset) % articles
        for offset in range(min(_LATEST, articles))
    ]


def _is_article(site: Site, place: int) -> bool:
    return site.sections < place < site.size


def _is_dead_end(site: Site, place: int) -> bool:
    return (
        place % _DEAD_END_EVERY == _DEAD_END_EVERY - 1
        and _is_article(site, place)
        and not site.below(place)
    )


def _anchors(site: Site, places: Sequence[int]) -> list[Anchor]:
    return [Anchor(site.path(place), site.title(place)) for place in places]


def _oddments(site: Site, place: int) -> list[Anchor]:
    if not _is_article(site, place):
        return []
    return [
        Anchor(
            oddment.href.format(place=place, path=site.path(place)), oddment.words, oddment.nofollow
        )
        for oddment in _ODDMENTS
        if place % oddment.every == 0
    ]


def _footer(site: Site, place: int) -> list[Anchor]:
    page = site.first + place
    licence = [LICENCE] if page % _LICENCE_EXCEPT_EVERY else []
    directory = [] if page % _DIRECTORY_EVERY else [Anchor(DIRECTORY, "Lantern Directory")]
    return licence + directory
