"""Ordinary hosts of the demo web: their sizes, and the places and contents of their pages.

Law: a page is a number. Host, path and title follow from the number, and the number from host and
path, by arithmetic. So a web of any size costs only the list of its hosts.

site       a host with a topic; its pages have consecutive numbers, the front page first
place      number of a page within its site: 0 is the front page, then sections, then articles
rank       number of an article within its section
"""

import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate
from math import prod
from random import Random
from typing import Final, NamedTuple

from minicrawl.config.parts import FEWEST_DEMO_PAGES
from minicrawl.errors import UsageError

# ================================================================ words
#
# Words of the demo web: names of hosts, topics and sentences.
#
# Law: no word has a character that HTML or a URL must escape, so pages are assembled without
# escaping; every noun forms its plural with `s`.


class Topic(NamedTuple):
    """Topic of a community of hosts. `hosts` are names without the domain."""

    name: str
    hosts: tuple[str, ...]
    sections: tuple[str, ...]
    nouns: tuple[str, ...]
    remarks: tuple[str, ...]


def _these(words: str) -> tuple[str, ...]:
    return tuple(words.split(", "))


TOPICS: Final = (
    Topic(
        name="sea",
        hosts=_these(
            "www.harbour-museum, news.northshore, wiki.tidepool, www.lighthouse-keepers, "
            "blog.saltmarsh-diary, forum.small-boats"
        ),
        sections=_these("Boats, Harbours, Lights, Tides, Ropes, People"),
        nouns=_these(
            "skiff, lantern, breakwater, anchor, slipway, tide table, foghorn, ferryboat, sail "
            "locker, buoy, rope walk, pilot boat, crab pot, chart, pier, mast"
        ),
        remarks=(
            "At low water the old moorings show, black and furred with weed.",
            "A lamp that is trimmed every evening asks for no other kindness.",
            "The ferry is late whenever the wind is in the east, and nobody minds.",
            "Tar, hemp and patience are what the shed has always smelled of.",
        ),
    ),
    Topic(
        name="gardens",
        hosts=_these(
            "wiki.kitchen-garden, www.rose-society, news.allotment-gazette, blog.muddy-boots, "
            "www.seed-exchange, forum.compost-corner"
        ),
        sections=_these("Vegetables, Roses, Soil, Tools, Seasons, Pests"),
        nouns=_these(
            "hedge, cold frame, orchard, seed tray, wheelbarrow, arbour, bean row, rain barrel, "
            "beehive, greenhouse, spade, quince, marrow, border, pond, compost heap"
        ),
        remarks=(
            "Sow thinly, water in the evening, and expect the slugs.",
            "The best soil on the slope lies where the hens used to be.",
            "A rose that sulks for two years may still flower in the third.",
            "Nothing teaches the weather like a row of early peas.",
        ),
    ),
    Topic(
        name="railways",
        hosts=_these(
            "news.branch-line, www.narrow-gauge, wiki.signal-box, blog.slow-train, www.engine-"
            "shed, forum.timetable-club"
        ),
        sections=_these("Engines, Stations, Signals, Lines, Timetables, Models"),
        nouns=_these(
            "signal, tank engine, viaduct, turntable, goods van, platform, tunnel, footbridge, "
            "water tower, timetable, carriage, siding, lamp room, boiler, level crossing, ticket "
            "hall"
        ),
        remarks=(
            "The last train of the day has carried more cheese than passengers.",
            "Every lever in the box has its own colour and its own temper.",
            "Steam is raised at five, long before the first visitor arrives.",
            "Where the line ends, a buffer stop stands among the foxgloves.",
        ),
    ),
    Topic(
        name="stars",
        hosts=_these(
            "www.hilltop-observatory, wiki.night-sky, blog.backyard-telescope, news.meteor-watch, "
            "www.planetarium-trust, forum.dark-skies"
        ),
        sections=_these("Planets, Comets, Telescopes, Charts, Meteors, Nights"),
        nouns=_these(
            "telescope, comet, star chart, dome, mirror, eyepiece, sundial, planet, meteor, "
            "crater, nebula map, tripod, moonrise, cluster, astrolabe, finder"
        ),
        remarks=(
            "Give the eyes twenty minutes in the dark before judging the sky.",
            "The dome turns by hand, and complains at the same place each night.",
            "Clouds came at nine, as they do whenever the public is invited.",
            "A cheap mirror, well looked after, shows more than a dear one in its box.",
        ),
    ),
    Topic(
        name="bread",
        hosts=_these(
            "www.village-bakery, wiki.sourdough, news.millers-journal, blog.flour-on-the-floor, "
            "www.oven-works, forum.rye-and-barley"
        ),
        sections=_these("Loaves, Flour, Ovens, Mills, Recipes, Markets"),
        nouns=_these(
            "loaf, millstone, starter jar, oven door, rye field, proving basket, bun, flour sack, "
            "cake tin, windmill, rolling pin, market stall, crust, scone, brick oven, dough "
            "trough"
        ),
        remarks=(
            "A starter that is fed on time forgives nearly everything else.",
            "The crust should sing a little when it leaves the oven.",
            "Good flour smells of the field, not of the sack.",
            "On Fridays the queue reaches the fountain before it is light.",
        ),
    ),
    Topic(
        name="birds",
        hosts=_these(
            "wiki.field-guide, www.wetland-reserve, news.migration-desk, blog.morning-chorus, "
            "www.nestbox-trust, forum.binoculars"
        ),
        sections=_these("Waders, Songbirds, Owls, Hides, Counts, Migration"),
        nouns=_these(
            "heron, curlew, nest, reed bed, barn owl, hide, wren, feather, swift, dawn count, "
            "lapwing, kestrel, field notebook, flock, rook, warbler"
        ),
        remarks=(
            "The hide is warm, dry, and pointed the wrong way until noon.",
            "One curlew makes more evening than any clock.",
            "Count twice, write once, and never round up a flock.",
            "Swifts are back on the church, a day earlier than last year.",
        ),
    ),
    Topic(
        name="music",
        hosts=_these(
            "www.fiddle-makers, wiki.folk-tunes, blog.second-violin, news.bandstand, www.organ-"
            "archive, forum.ceilidh"
        ),
        sections=_these("Tunes, Fiddles, Organs, Bands, Scores, Concerts"),
        nouns=_these(
            "fiddle, reel, organ pipe, songbook, bow, concertina, hornpipe, choir loft, drum, "
            "polka, bandstand, tuning fork, cello, manuscript, whistle, dance"
        ),
        remarks=(
            "Play it slowly until it is dull, then slowly again.",
            "The second part is older than the first, and better.",
            "No two organists agree about the swell box, nor should they.",
            "A dance without a pause for tea has not been planned at all.",
        ),
    ),
    Topic(
        name="maps",
        hosts=_these(
            "wiki.footpaths, www.old-maps, news.survey-office, blog.lost-villages, www.county-"
            "archive, forum.compass-rose"
        ),
        sections=_these("Maps, Paths, Villages, Surveys, Boundaries, Archives"),
        nouns=_these(
            "footpath, boundary stone, survey, milestone, ford, parish map, theodolite, plumb "
            "line, bridleway, stile, globe, hill fort, drove road, gazetteer, field name, "
            "packhorse bridge"
        ),
        remarks=(
            "The path on the sheet and the path on the ground met once, in 1911.",
            "A hedge that bends for no reason is worth an afternoon in the archive.",
            "Names of fields outlive the fields, and often the farms.",
            "Surveyors drew what they saw, and on wet days what they remembered.",
        ),
    ),
)

PLACES: Final = _these(
    "Northshore, Ashford, Brackwater, Coldharbour, Dunmere, Eastwick, Fernhill, Greywater, "
    "Hollin, Inchmoor, Kettleby, Larkrise, Marshgate, Netherby, Oldcastle, Penrose, Quarrybank, "
    "Ravenscar, Saltby, Thornley, Underhill, Whitfield, Yarrow, Westering"
)
_ADJECTIVES: Final = _these(
    "old, little, forgotten, painted, crooked, patient, borrowed, last, winter, quiet, stubborn, "
    "famous"
)
_PEOPLE: Final = _these(
    "Ada Quill, Tom Harrow, Miriam Voss, Old Peter, Nell Fairweather, Josef Lind, the two sisters "
    "Amory, a retired postman, Ines Calder, the schoolmaster"
)
_SEASONS: Final = _these("spring, summer, autumn, winter")

_TITLES: Final = (
    "The {adjective} {noun} of {place}",
    "How {place} kept its {noun}",
    "Notes on the {noun} at {place}",
    "Who looks after the {adjective} {noun}",
    "{place} and its {noun}s",
    "One {season} with the {noun}s of {place}",
    "Mending the {adjective} {noun}",
    "What we know about the {noun} at {place}",
    "The {noun} that went to {place}",
)
_SENTENCES: Final = (
    "The {adjective} {noun} at {place} was mended in the {season}, and {person} wrote it down.",
    "Nobody in {place} remembers when the {noun} was new.",
    "Visitors ask for the {noun} first and for the {other} only on the way out.",
    "{person} paid for the {adjective} {noun} with money meant for a {other}.",
    "There are {number} {noun}s in the register, of which {place} claims the oldest.",
    "Between the {noun} and the {other} lies about an hour's walk, less in dry weather.",
    "In {year} the {noun} was moved to {place}, where it still stands.",
    "We have compared {number} descriptions of the {noun}, and no two agree on its size.",
    "A photograph of {year} shows the {adjective} {noun} beside what may be a {other}.",
    "The {noun} was thought lost until {person} found it behind a {other}.",
    "It takes {number} days to restore a {noun}, and one careless {season} to lose it.",
    "Anyone who owns a {adjective} {noun} is asked to write to the secretary in {place}.",
    "The {other} came later; before that, the {noun} had to do for everything.",
    "For {number} years {person} has opened the {noun} to the public, rain or shine.",
    "What the catalogue calls a {other} is in truth a {noun}, only smaller.",
    "This {season} the {noun} drew more people to {place} than the fair did.",
    "The committee met in {place} and decided, after {number} votes, to keep the {noun}.",
    "Of the {adjective} {noun} only a drawing survives, signed by {person}.",
)


_VARIETY: Final = prod(map(len, (_TITLES, TOPICS[0].nouns, PLACES, _ADJECTIVES, _SEASONS)))
_STRIDE: Final = 2_654_435_761  # a large prime, so that neighbours have little in common


def title(topic: Topic, number: int) -> str:
    """Return the title of an article; neighbours have unlike titles."""
    rest, pattern = divmod(number * _STRIDE % _VARIETY, len(_TITLES))
    rest, noun = divmod(rest, len(topic.nouns))
    rest, place = divmod(rest, len(PLACES))
    season, adjective = divmod(rest, len(_ADJECTIVES))
    words = _TITLES[pattern].format(
        noun=topic.nouns[noun],
        place=PLACES[place],
        adjective=_ADJECTIVES[adjective],
        season=_SEASONS[season],
    )
    return words[0].upper() + words[1:]


def sentences(topic: Topic, count: int, rng: Random) -> tuple[str, ...]:
    """Return `count` different sentences about a topic; its remarks come first."""
    said = dict.fromkeys(topic.remarks)
    while len(said) < count:
        said[_sentence(topic, rng)] = None
    return tuple(said)


def _sentence(topic: Topic, rng: Random) -> str:
    noun, other = rng.sample(topic.nouns, 2)
    sentence = rng.choice(_SENTENCES).format(
        noun=noun,
        other=other,
        place=rng.choice(PLACES),
        adjective=rng.choice(_ADJECTIVES),
        person=rng.choice(_PEOPLE),
        season=rng.choice(_SEASONS),
        number=rng.randrange(3, 60),
        year=rng.randrange(1840, 1990),
    )
    return sentence[0].upper() + sentence[1:]


# ================================================================ sites

DOMAIN: Final = ".example"
FRONT: Final = 0
ON_SHOW: Final = 40  # articles on the page of a section; the others are below these
_BRANCHES: Final = 3  # further articles that an article leads to
_PAGES_PER_SECTION: Final = 8
_STEEPNESS: Final = 1.3  # exponent of the fall in size over the hosts


class Quirk(Enum):
    """Peculiarity of a whole host."""

    NONE = auto()
    SLOW = auto()  # answers late
    PATIENT = auto()  # asks for a Crawl-delay
    SHUT = auto()  # has an unavailable robots.txt
    FLAKY = auto()  # fails, and succeeds when asked again


class _SitePlan(NamedTuple):
    name: str
    topic: Topic
    quirk: Quirk
    size: int


_PECULIAR: Final = (
    _SitePlan("www.sleepy-ferry", TOPICS[0], Quirk.SLOW, 6),
    _SitePlan("library.quiet-reading", TOPICS[7], Quirk.PATIENT, 12),
    _SitePlan("www.closed-for-winter", TOPICS[1], Quirk.SHUT, 6),
    _SitePlan("radio.crackle-fm", TOPICS[6], Quirk.FLAKY, 9),
)
_KINDS: Final = ("www", "news", "wiki", "blog", "forum", "archive")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A host and its pages."""

    number: int
    host: str
    name: str
    topic: Topic
    first: int
    size: int
    sections: int
    quirk: Quirk = Quirk.NONE

    @property
    def kind(self) -> str:
        """First label of the host name: www, news, wiki, ..."""
        return self.host.partition(".")[0]

    @property
    def url(self) -> str:
        """URL of the front page."""
        return f"http://{self.host}/"

    def path(self, place: int) -> str:
        """Return the path of a page."""
        if place == FRONT:
            return "/"
        if place <= self.sections:
            return f"/{self.topic.sections[place - 1].lower()}/"
        section, _ = self.shelf(place)
        return f"{self.path(section)}{_slug(self.title(place))}-{place}"

    def place(self, path: str) -> int | None:
        """Return the page at a path, or None."""
        digits = path.rpartition("-")[2]
        if len(digits) < len(str(self.size)) + 1 and digits.isascii() and digits.isdigit():
            places: Sequence[int] = (int(digits),)
        else:
            places = range(self.sections + 1)
        return next((at for at in places if at < self.size and self.path(at) == path), None)

    def title(self, place: int) -> str:
        if place == FRONT:
            return self.name
        if place <= self.sections:
            return self.topic.sections[place - 1]
        return title(self.topic, self.first + place)

    def shelf(self, place: int) -> tuple[int, int]:
        """Return the section of an article, and its rank there."""
        rank, section = divmod(place - self.sections - 1, self.sections)
        return section + 1, rank

    def on_show(self, section: int) -> list[int]:
        """Return the articles that the section's page lists."""
        return self._articles(section, range(ON_SHOW))

    def below(self, place: int) -> list[int]:
        """Return the articles that only this one leads to."""
        section, rank = self.shelf(place)
        first = ON_SHOW + _BRANCHES * rank
        return self._articles(section, range(first, first + _BRANCHES))

    def _articles(self, section: int, ranks: range) -> list[int]:
        places = (self.sections * (rank + 1) + section for rank in ranks)
        return [place for place in places if place < self.size]


class Atlas:
    """The sites of a web, the largest first and the peculiar ones last."""

    __slots__ = ("_firsts", "pages", "sites")

    def __init__(self, pages: int, rng: Random) -> None:
        if pages < FEWEST_DEMO_PAGES:
            raise UsageError(f"a demo web has at least {FEWEST_DEMO_PAGES} pages, not {pages}")
        self.pages = pages
        self.sites: tuple[Site, ...] = tuple(_sites(pages, rng))
        self._firsts = [site.first for site in self.sites]

    def find(self, page: int) -> tuple[Site, int]:
        """Return the site of a page, and its place there."""
        site = self.sites[bisect_right(self._firsts, page) - 1]
        return site, page - site.first

    def url(self, page: int) -> str:
        site, place = self.find(page)
        return f"http://{site.host}{site.path(place)}"


def _sites(pages: int, rng: Random) -> Iterator[Site]:
    left = pages - sum(plan.size for plan in _PECULIAR)
    names = _names(rng)
    ordinary = min(max(len(TOPICS), round(0.9 * pages**0.5) - len(_PECULIAR)), len(names))
    first = 0
    for number, size in enumerate(_sizes(left, ordinary)):
        topic = TOPICS[number % len(TOPICS)]
        yield _site(number, first, _SitePlan(names[number], topic, Quirk.NONE, size))
        first += size
    for number, plan in enumerate(_PECULIAR, start=ordinary):
        yield _site(number, first, plan)
        first += plan.size


def _site(number: int, first: int, plan: _SitePlan) -> Site:
    return Site(
        number=number,
        host=plan.name + DOMAIN,
        name=plan.name.partition(".")[2].replace("-", " ").title(),
        topic=plan.topic,
        first=first,
        size=plan.size,
        sections=min(len(plan.topic.sections), max(1, plan.size // _PAGES_PER_SECTION)),
        quirk=plan.quirk,
    )


def _sizes(pages: int, hosts: int) -> list[int]:
    """Return sizes of hosts: few large, many small, with the sum `pages`."""
    least = 3
    weights = [(number + 2) ** -_STEEPNESS for number in range(hosts)]
    spare = (pages - least * hosts) / sum(weights)
    sizes = [least + int(spare * weight) for weight in weights]
    return [sizes[0] + pages - sum(sizes), *sizes[1:]]


def _names(rng: Random) -> list[str]:
    """Return names of hosts, topic after topic: given names first, then made-up ones."""
    own = [topic.hosts[number] for number in range(len(TOPICS[0].hosts)) for topic in TOPICS]
    made_up = [
        [
            f"{rng.choice(_KINDS)}.{place.lower()}-{_slug(noun)}"
            for place in PLACES
            for noun in nouns
        ]
        for nouns in (topic.nouns for topic in TOPICS)
    ]
    for names in made_up:
        rng.shuffle(names)
    return own + [name for one_each in zip(*made_up, strict=True) for name in one_each]


def _slug(words: str) -> str:
    return words.lower().replace(" ", "-")


# ================================================================ pages
#
# Law: a page is a function of the seed, its number and its version only, not of earlier requests.
# Text and outward links belong to the number. A new version says that it is one and, on front
# pages, moves other articles to the top.
#
# Within a host, the front page leads to the sections, a section to its first articles, and these to
# the rest, so that every page can be reached. Outwards, most links stay within the community, large
# hosts get more links than small ones, and front pages get more than other pages.
#
# sheet      content of a page: title, prose and links, in page order
# anchor     a link as the page writes it: root-relative within a host, absolute beyond
# answer     a server's response to one request


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
