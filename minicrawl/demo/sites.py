"""Ordinary hosts of the demo web: their sizes and the places of their pages.

Law: a page is a number. Host, path and title follow from the number, and the number from host and
path, by arithmetic. So a web of any size costs only the list of its hosts.

site       a host with a topic; its pages have consecutive numbers, the front page first
place      number of a page within its site: 0 is the front page, then sections, then articles
rank       number of an article within its section
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from random import Random
from typing import Final

from minicrawl.config.parts.storage import FEWEST_DEMO_PAGES
from minicrawl.demo.words import PLACES, TOPICS, Topic, title
from minicrawl.errors import UsageError

DOMAIN: Final = ".example"
FRONT: Final = 0
ON_SHOW: Final = 40  # articles on the page of a section; the others are below these
_BRANCHES: Final = 3  # further articles that an article leads to
_PAGES_PER_SECTION: Final = 8
_STEEPNESS: Final = 1.3  # exponent of the fall in size over the hosts


class Quirk(Enum):
    NONE = auto()
    SLOW = auto()  # answers late
    PATIENT = auto()  # asks for a Crawl-delay
    SHUT = auto()  # has an unavailable robots.txt
    FLAKY = auto()  # fails, and succeeds when asked again


_PECULIAR: Final = (
    ("www.sleepy-ferry", TOPICS[0], Quirk.SLOW, 6),
    ("library.quiet-reading", TOPICS[7], Quirk.PATIENT, 12),
    ("www.closed-for-winter", TOPICS[1], Quirk.SHUT, 6),
    ("radio.crackle-fm", TOPICS[6], Quirk.FLAKY, 9),
)
"""Hosts beside the ordinary ones: name, topic, peculiarity, number of pages."""
_KINDS: Final = ("www", "news", "wiki", "blog", "forum", "archive")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
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
        return f"http://{self.host}/"

    def path(self, place: int) -> str:
        if place == FRONT:
            return "/"
        if place <= self.sections:
            return f"/{self.topic.sections[place - 1].lower()}/"
        section, _ = self.shelf(place)
        return f"{self.path(section)}{_slug(self.title(place))}-{place}"

    def place(self, path: str) -> int | None:
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

    def below(self, place: int) -> list[int]:
        """Return the articles that only this one leads to."""
        section, rank = self.shelf(place)
        first = ON_SHOW + _BRANCHES * rank
        return self.articles(section, range(first, first + _BRANCHES))

    def articles(self, section: int, ranks: range) -> list[int]:
        """Return the articles of a section that have these ranks, where they exist."""
        places = (self.sections * (rank + 1) + section for rank in ranks)
        return [place for place in places if place < self.size]


class Atlas:
    """The sites of a web, the largest first and the peculiar ones last."""

    def __init__(self, pages: int, rng: Random) -> None:
        if pages < FEWEST_DEMO_PAGES:
            raise UsageError(f"a demo web has at least {FEWEST_DEMO_PAGES} pages, not {pages}")
        self.pages = pages
        self.sites: tuple[Site, ...] = tuple(_sites(pages, rng))
        self._firsts = [site.first for site in self.sites]

    def find(self, page: int) -> tuple[Site, int]:
        site = self.sites[bisect_right(self._firsts, page) - 1]
        return site, page - site.first

    def url(self, page: int) -> str:
        site, place = self.find(page)
        return f"http://{site.host}{site.path(place)}"


def _sites(pages: int, rng: Random) -> Iterator[Site]:
    names = _names(rng)
    ordinary = min(max(len(TOPICS), round(0.9 * pages**0.5) - len(_PECULIAR)), len(names))
    sizes = _sizes(pages - sum(size for *_, size in _PECULIAR), ordinary)
    plans = [
        (names[number], TOPICS[number % len(TOPICS)], Quirk.NONE, size)
        for number, size in enumerate(sizes)
    ]
    first = 0
    for number, (name, topic, quirk, size) in enumerate((*plans, *_PECULIAR)):
        yield Site(
            number=number,
            host=name + DOMAIN,
            name=name.partition(".")[2].replace("-", " ").title(),
            topic=topic,
            first=first,
            size=size,
            sections=min(len(topic.sections), max(1, size // _PAGES_PER_SECTION)),
            quirk=quirk,
        )
        first += size


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
