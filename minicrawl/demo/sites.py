"""The ordinary hosts of the demo web: how large each is, and where each of its pages stands.

Law: a page is a number. Its host, its path and its title follow from that number and back by
arithmetic alone, so that a web of any size costs no more than the list of its hosts.

site       a host with a topic; its pages have numbers in a row, the first being the front page
place      the number of a page inside its site: 0 the front page, then the sections, then articles
rank       the number of an article inside its section
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from random import Random
from typing import Final, NamedTuple

from minicrawl.demo.words import PLACES, TOPICS, Topic, title
from minicrawl.errors import UsageError

DOMAIN: Final = ".example"
SMALLEST: Final = 100  # pages; with fewer the odd hosts would outnumber the ordinary ones
FRONT: Final = 0
ON_SHOW: Final = 40  # articles that the page of a section lists; the others hang below these
_BRANCHES: Final = 3  # further articles that an article leads to
_PAGES_PER_SECTION: Final = 8
_STEEPNESS: Final = 1.3  # of the fall in size from the largest host to the smallest


class Quirk(Enum):
    """What is unusual about a whole host."""

    NONE = auto()
    SLOW = auto()  # takes its time over every answer
    PATIENT = auto()  # asks for a Crawl-delay
    SHUT = auto()  # has a robots.txt that cannot be had
    FLAKY = auto()  # fails, and is well again when asked once more


class _Oddity(NamedTuple):
    name: str
    topic: Topic
    quirk: Quirk
    size: int


_ODDITIES: Final = (
    _Oddity("www.sleepy-ferry", TOPICS[0], Quirk.SLOW, 6),
    _Oddity("library.quiet-reading", TOPICS[7], Quirk.PATIENT, 12),
    _Oddity("www.closed-for-winter", TOPICS[1], Quirk.SHUT, 6),
    _Oddity("radio.crackle-fm", TOPICS[6], Quirk.FLAKY, 9),
)
_KINDS: Final = ("www", "news", "wiki", "blog", "forum", "archive")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A host and the pages it has."""

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
        """The first label of the name: www, news, wiki, ..."""
        return self.host.partition(".")[0]

    @property
    def url(self) -> str:
        """The front page."""
        return f"http://{self.host}/"

    def path(self, place: int) -> str:
        """Where a page stands."""
        if place == FRONT:
            return "/"
        if place <= self.sections:
            return f"/{self.topic.sections[place - 1].lower()}/"
        section, _ = self.shelf(place)
        return f"{self.path(section)}{_slug(self.title(place))}-{place}"

    def place(self, path: str) -> int | None:
        """The page that stands at a path, if one does."""
        digits = path.rpartition("-")[2]
        if len(digits) < len(str(self.size)) + 1 and digits.isascii() and digits.isdigit():
            places: Sequence[int] = (int(digits),)
        else:
            places = range(self.sections + 1)
        return next((at for at in places if at < self.size and self.path(at) == path), None)

    def title(self, place: int) -> str:
        """What a page is called."""
        if place == FRONT:
            return self.name
        if place <= self.sections:
            return self.topic.sections[place - 1]
        return title(self.topic, self.first + place)

    def shelf(self, place: int) -> tuple[int, int]:
        """The section an article belongs to and its rank there."""
        rank, section = divmod(place - self.sections - 1, self.sections)
        return section + 1, rank

    def on_show(self, section: int) -> list[int]:
        """The articles that a section lists on its page."""
        return self._articles(section, range(ON_SHOW))

    def below(self, place: int) -> list[int]:
        """The articles that are found by way of this one only."""
        section, rank = self.shelf(place)
        first = ON_SHOW + _BRANCHES * rank
        return self._articles(section, range(first, first + _BRANCHES))

    def _articles(self, section: int, ranks: range) -> list[int]:
        places = (self.sections * (rank + 1) + section for rank in ranks)
        return [place for place in places if place < self.size]


class Atlas:
    """All sites, the largest first and the odd ones last."""

    __slots__ = ("_firsts", "pages", "sites")

    def __init__(self, pages: int, rng: Random) -> None:
        if pages < SMALLEST:
            raise UsageError(f"a demo web has at least {SMALLEST} pages, not {pages}")
        self.pages = pages
        self.sites: tuple[Site, ...] = tuple(_sites(pages, rng))
        self._firsts = [site.first for site in self.sites]

    def find(self, page: int) -> tuple[Site, int]:
        """The site of a page and its place there."""
        site = self.sites[bisect_right(self._firsts, page) - 1]
        return site, page - site.first

    def url(self, page: int) -> str:
        """Where a page stands, in full."""
        site, place = self.find(page)
        return f"http://{site.host}{site.path(place)}"


def _sites(pages: int, rng: Random) -> Iterator[Site]:
    left = pages - sum(oddity.size for oddity in _ODDITIES)
    names = _names(rng)
    ordinary = min(max(len(TOPICS), round(0.9 * pages**0.5) - len(_ODDITIES)), len(names))
    first = 0
    for number, size in enumerate(_sizes(left, ordinary)):
        topic = TOPICS[number % len(TOPICS)]
        yield _site(number, first, _Oddity(names[number], topic, Quirk.NONE, size))
        first += size
    for number, oddity in enumerate(_ODDITIES, start=ordinary):
        yield _site(number, first, oddity)
        first += oddity.size


def _site(number: int, first: int, plan: _Oddity) -> Site:
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
    """Few large, many small; every host has a page of each sort, and the sum is `pages`."""
    least = 3
    weights = [(number + 2) ** -_STEEPNESS for number in range(hosts)]
    spare = (pages - least * hosts) / sum(weights)
    sizes = [least + int(spare * weight) for weight in weights]
    return [sizes[0] + pages - sum(sizes), *sizes[1:]]


def _names(rng: Random) -> list[str]:
    """Names for hosts, one topic after the other: those of their own, then made-up ones."""
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
