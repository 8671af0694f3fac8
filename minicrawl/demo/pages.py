"""Content and links of the ordinary pages.

Law: a page is a function of the seed, its number and its version only, not of earlier requests.
Text and outward links belong to the number. A new version says that it is one and, on front pages,
moves other articles to the top.

Within a host, the front page leads to the sections, a section to its first articles, and these to
the rest, so that every page can be reached. Outwards, most links stay within the community, large
hosts get more links than small ones, and front pages get more than other pages.

sheet      content of a page: title, prose and links, in page order
anchor     a link as the page writes it: root-relative within a host, absolute beyond
answer     a server's response to one request
"""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

from minicrawl.demo.sites import DOMAIN, FRONT, TOPICS, Atlas, Quirk, Site, sentences


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
        visits_per_version = VISITS_PER_VERSION.get((site.kind, _sort(site, place)))
        return visits // visits_per_version if visits_per_version else 0

    def sheet(self, site: Site, place: int, version: int = 0, head: str = "") -> Sheet:
        """Return one version of a page; `head` is additional markup for its head."""
        rng = Random(self._seed + site.first + place)
        if _is_dead_end(site, place):
            return Sheet(
                site=site.name, title=site.title(place), prose=self._prose(site, rng), head=head
            )
        return Sheet(
            site=site.name,
            title=site.title(place),
            menu=_menu(site, place),
            prose=_told(version) + self._prose(site, rng, _ARTICLE if place else _LEAD),
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


def _sort(site: Site, place: int) -> str:
    if place == FRONT:
        return "front"
    return "section" if place <= site.sections else "article"


def _told(version: int) -> tuple[str, ...]:
    return (f"This is edition {version + 1} of this page.",) if version else ()


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


# ================================================================ special hosts
#
# Hubs, and hosts that are difficult for crawlers.
#
# The hubs are a directory of all hosts, a portal, and the licence that all pages refer to. Law:
# only the `paths` of a hub exist, and `sheet` gives the page of each. The portal has new headlines
# at each visit; the other hubs never change.
#
# The difficult hosts have short links, redirect loops, an endless calendar and unusual encodings.
# Law: such a host is a function from path to response, and its pages are not in the link graph.

PORTAL: Final = f"http://www.daybreak-portal{DOMAIN}/"
INDEXED: Final = 2_000  # links on the longest page of the directory
_HEADLINES: Final = 15
_FEATURED: Final = 12


class Hub(NamedTuple):
    """A host with few pages: its paths, and the page of each for a visitor."""

    paths: Sequence[str]
    sheet: Callable[[str, int], Sheet]


def hubs(atlas: Atlas, curiosities: Sequence[Anchor]) -> dict[str, Hub]:
    """Return the hubs by host; the portal leads to the curiosities, the directory to all sites."""
    topics = [f"/{topic.name}/" for topic in TOPICS]
    return {
        _host(DIRECTORY): Hub(
            ["/", "/everything", *topics], lambda path, _visits: _directory(atlas, path)
        ),
        _host(PORTAL): Hub(["/"], lambda _path, visits: _portal(atlas, curiosities, visits)),
        _host(COMMONS): Hub(["/", "/licence"], lambda path, _visits: _commons(atlas, path)),
    }


def _host(url: str) -> str:
    return url.split("/")[2]


def _directory(atlas: Atlas, path: str) -> Sheet:
    shelves = [Anchor(f"/{topic.name}/", topic.name.title()) for topic in TOPICS]
    everything = Anchor("/everything", "Everything")
    if path == "/":
        words, found = "A lantern for every harbour, garden and shed.", _fronts(atlas.sites[:10])
    elif path == everything.href:
        words, found = "The longest page we have.", _everything(atlas)
    else:
        words = "All that is known to us on this subject."
        found = _fronts(site for site in atlas.sites if path == f"/{site.topic.name}/")
    return Sheet(
        site="Lantern Directory",
        title=path.strip("/").title() or "Lantern Directory",
        menu=[Anchor("/", "Lantern Directory"), *shelves, everything],
        prose=(words,),
        lists=[("Entries", found)],
        footer=(LICENCE,),
    )


def _everything(atlas: Atlas) -> list[Anchor]:
    step = max(1, atlas.pages // INDEXED)
    found = [atlas.find(page) for page in range(0, atlas.pages, step)[:INDEXED]]
    return [
        Anchor(f"http://{site.host}{site.path(place)}", site.title(place)) for site, place in found
    ]


def _portal(atlas: Atlas, curiosities: Sequence[Anchor], visits: int) -> Sheet:
    open_sites = [site for site in atlas.sites if site.quirk is not Quirk.SHUT]
    return Sheet(
        site="Daybreak",
        title="Daybreak Portal",
        menu=[Anchor(DIRECTORY, "Directory"), Anchor(COMMONS, "The commons")],
        prose=("Good morning. This is what the little web talks about today.",),
        lists=[
            ("Featured", _fronts(open_sites[:_FEATURED])),
            ("Headlines", [_headline(atlas, _HEADLINES * visits + i) for i in range(_HEADLINES)]),
            ("Curiosities", curiosities),
        ],
        footer=(LICENCE,),
    )


def _headline(atlas: Atlas, number: int) -> Anchor:
    """Return a headline. Headlines rotate over the hosts, with another article in each round."""
    rounds, turn = divmod(number, len(atlas.sites))
    site = atlas.sites[turn]
    place = site.sections + 1 + rounds % (site.size - site.sections - 1)
    return Anchor(f"http://{site.host}{site.path(place)}", site.title(place))


def _commons(atlas: Atlas, path: str) -> Sheet:
    return Sheet(
        site="The Open Commons",
        title="Free to copy" if path == "/licence" else "The Open Commons",
        menu=(Anchor("/", "The Open Commons"), Anchor("/licence", "The licence")),
        prose=("Copy it, mend it, pass it on, and say where you have it from.",),
        lists=[("Who does so", _fronts(atlas.sites[:_FEATURED]))],
    )


def _fronts(sites: Iterable[Site]) -> list[Anchor]:
    return [Anchor(site.url, site.title(FRONT)) for site in sites]


CALENDAR: Final = f"http://calendar.town-hall{DOMAIN}/"
LETTERS: Final = f"http://www.old-letters{DOMAIN}/"
_MONTHS: Final = 12
_DAYS: Final = 28
_MONTH: Final = re.compile(r"/([0-9]{1,9})/([0-9]{1,2})(?:/([0-9]{1,2}))?")

Curiosity = Callable[[str], DemoResponse]


def curiosities(atlas: Atlas, moved_site: Site) -> dict[str, Curiosity]:
    """Return the difficult hosts by name."""
    return {
        old_host(moved_site): lambda path: moved(301, f"{moved_site.url}{path[1:]}"),
        f"go.short-links{DOMAIN}": lambda path: _short_link(atlas, path),
        f"calendar.town-hall{DOMAIN}": _town_hall,
        f"www.old-letters{DOMAIN}": _letters,
        f"www.cheap-anchors{DOMAIN}": _spam,
    }


def old_host(site: Site) -> str:
    """Return the host name of a site before it moved."""
    return f"old.{site.host.partition('.')[2]}"


def ways_in(moved_site: Site) -> list[Anchor]:
    """Return links to all curiosities but the spam host, whose links are nofollow."""
    return [
        Anchor(f"http://{old_host(moved_site)}/", f"{moved_site.name}, at its old address"),
        Anchor(f"{SHORT}chain/1", "Three doors, one room"),
        Anchor(f"{SHORT}round", "Round and round"),
        Anchor(CALENDAR, "What is on at the town hall"),
        Anchor(LETTERS, "Old letters"),
    ]


_DOORS: Final = {
    "/chain/1": (301, f"{SHORT}chain/2"),
    "/chain/2": (302, "/chain/3"),
    "/chain/3": (301, DIRECTORY),
    "/round": (302, "/and-round"),
    "/and-round": (302, "/round"),
}


def _short_link(atlas: Atlas, path: str) -> DemoResponse:
    if path in _DOORS:
        return moved(*_DOORS[path])
    number = path[1:]
    if number.isascii() and number.isdigit() and len(number) <= len(str(atlas.pages)):
        return moved(302, atlas.url(int(number))) if int(number) < atlas.pages else MISSING
    return MISSING


def _town_hall(path: str) -> DemoResponse:
    if path == "/":
        links = [Anchor("/2003/5", "Calendar"), Anchor("/rooms/hall", "Rooms")]
        return _room("Town Hall", "Open on weekdays.", links)
    if path.startswith("/rooms/"):
        doors = [Anchor(f"{path}/{way}", way.title()) for way in ("east", "west", "upstairs")]
        return _room(path.rpartition("/")[2].title(), "It looks like the room before.", doors)
    return _calendar(path)


def _calendar(path: str) -> DemoResponse:
    parts = _MONTH.fullmatch(path)
    if parts is None or not 1 <= int(parts[2]) <= _MONTHS:
        return MISSING
    month = _MONTHS * int(parts[1]) + int(parts[2]) - 1
    ways = [Anchor(_month_path(month + 1), "Next month"), Anchor("/", "Town Hall")]
    if month:
        ways.append(Anchor(_month_path(month - 1), "The month before"))
    if parts[3] is None:
        ways += [Anchor(f"{path}/{day}", f"Day {day}") for day in range(1, _DAYS + 1)]
    return _room(f"Calendar {path[1:]}", "Nothing is on.", ways)


def _month_path(month: int) -> str:
    year, before = divmod(month, _MONTHS)
    return f"/{year}/{before + 1}"


def _room(title: str, words: str, ways: list[Anchor]) -> DemoResponse:
    return page(Sheet(site="Town Hall", title=title, prose=(words,), lists=[("Ways", ways)]))


def _letters(path: str) -> DemoResponse:
    if path == "/":
        links = [
            Anchor("/latin", "A letter from the café"),
            Anchor("/wide", "A letter in wide ink"),
        ]
        return page(_letter("Old Letters", "Kept as they were written.", links))
    if path == "/latin":
        sheet = _letter("Déjà vu", "Le garçon a oublié la crème brûlée.", [], "iso-8859-1")
        return document("text/html", html(sheet).replace("–", "-").encode("latin-1"))
    if path == "/wide":
        links = [Anchor("/wide/answer", "The answer")]
        wide = html(_letter("Wide ink", "Two bytes for every sign.", links, "utf-16"))
        return document("text/html", wide.encode("utf-16"))
    if path == "/wide/answer":
        return page(_letter("The answer", "Whoever reads this has read the wide ink.", []))
    return MISSING


def _letter(title: str, words: str, links: list[Anchor], charset: str = "utf-8") -> Sheet:
    return Sheet(
        site="Old Letters", title=title, prose=(words,), lists=[("", links)], charset=charset
    )


def _spam(path: str) -> DemoResponse:
    offers = [Anchor(f"{SPAM}offer-{number}", "An offer") for number in range(1, 30)]
    return page(Sheet(site="Cheap Anchors", title=path[1:].title(), lists=[("Offers", offers)]))
