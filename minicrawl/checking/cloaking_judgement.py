"""Judges whether the answers to a crawler and to a browser differ in what they say.

name    User-Agent of a request: the crawler's or a browser's; each gets two answers at least
parts   compared parts of an answer: the shingles of its text, and its links
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minicrawl.model import ParsedPage
from minicrawl.web.signatures import ALIKE, shingles
from minicrawl.web.sites import site
from minicrawl.web.urls import host
from minicrawl.web.words import words_of
from minicrawl.wording import counted

_LEAST_STEADINESS = 0.5
"""Least likeness of two texts for one name; below it, texts are not compared."""
_FEWEST_LINKS = 5
_LINES_SHOWN = 3

Parts = Collection[object]


class PageAnswer(NamedTuple):
    """One response, at the end of its redirects."""

    status: int | None
    url: str
    why: str = ""
    """Reason why there is no page; empty if there is one."""
    page: ParsedPage = ParsedPage()
    text: str = ""
    varies: bool = False
    """True if the server's Vary header names the User-Agent."""

    @property
    def link_parts(self) -> Parts:
        return frozenset(self.page.links)

    @property
    def text_parts(self) -> Parts:
        """Shingles of the text, or its words if it is too short to have any."""
        return frozenset(shingles(self.text).tolist()) or frozenset(words_of(self.text))


class Difference(NamedTuple):
    what: str
    crawler: str
    browser: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloaking:
    url: str
    crawler: Sequence[PageAnswer]
    browser: Sequence[PageAnswer]
    differences: Sequence[Difference]
    likeness: float
    """Likeness of the text."""
    steadiness: float
    """Least likeness of two responses to one name."""
    links: float
    """Likeness of the links."""

    @property
    def is_cloaked(self) -> bool:
        return bool(self.differences)

    @property
    def is_unsteady(self) -> bool:
        """True if the text changes too much by itself to be judged."""
        return self.steadiness < _LEAST_STEADINESS

    def only_for(self, *, crawler: bool) -> list[str]:
        """Return some lines of the text that only the crawler gets, or only the browser."""
        ours, theirs = self.crawler, self.browser
        if not crawler:
            ours, theirs = theirs, ours
        known = {line for answer in theirs for line in answer.text.split("\n")}
        lines = [line for line in ours[0].text.split("\n") if line not in known]
        # Both responses to this name must have a line: a line that only one of them has, such as an
        # advertisement, says nothing about the other name.
        always = set(ours[-1].text.split("\n"))
        return [line for line in lines if line in always][:_LINES_SHOWN]

    def to_json(self) -> dict[str, object]:
        return {
            "url": self.url,
            "cloaked": self.is_cloaked,
            "differences": self.differences,
            "likeness": self.likeness,
            "steadiness": self.steadiness,
            "links_likeness": self.links,
            "crawler": _document(self.crawler[0]),
            "browser": _document(self.browser[0]),
            "only_for_crawler": self.only_for(crawler=True),
            "only_for_browser": self.only_for(crawler=False),
        }


def _document(answer: PageAnswer) -> dict[str, object]:
    return {
        "status": answer.status,
        "url": answer.url,
        "why": answer.why,
        "title": answer.page.title,
        "links": len(answer.page.links),
        "vary": answer.varies,
    }


def judged(url: str, crawler: Sequence[PageAnswer], browser: Sequence[PageAnswer]) -> Cloaking:
    """Compare the answers to both names; without a page on either side, only values."""
    texts = _Sides(
        [answer.text_parts for answer in crawler], [answer.text_parts for answer in browser]
    )
    links = _Sides(
        [answer.link_parts for answer in crawler], [answer.link_parts for answer in browser]
    )
    differences = list(_value_differences(crawler, browser))
    if not any(answer.why for answer in (*crawler, *browser)):
        if texts.likeness < ALIKE and texts.steadiness >= _LEAST_STEADINESS:
            differences.append(_difference("text", texts, "shingle"))
        if links.is_apart(url):
            differences.append(_difference("links", links, "link"))
    return Cloaking(
        url=url,
        crawler=crawler,
        browser=browser,
        differences=differences,
        likeness=texts.likeness,
        steadiness=texts.steadiness,
        links=links.likeness,
    )


def _value_differences(
    crawler: Sequence[PageAnswer], browser: Sequence[PageAnswer]
) -> Iterator[Difference]:
    """Yield values that are the same in all responses to a name, and differ between the names."""
    sides = [list(map(_values, side)) for side in (crawler, browser)]
    for field in sides[0][0]:
        ours, theirs = ({values[field] for values in side} for side in sides)
        # A value that differs between two responses to one name does not depend on the name.
        if len(ours) == len(theirs) == 1 and ours != theirs:
            yield Difference(field, ours.pop(), theirs.pop())
            if field == "answer":
                return  # no page to compare


def _values(answer: PageAnswer) -> dict[str, str]:
    return {
        "answer": answer.why or f"{answer.status}, a page",
        "final URL": answer.url,
        "title": answer.page.title,
        "canonical": answer.page.canonical or "none",
        "robots": "noindex" if answer.page.noindex else "may be indexed",
    }


def _difference(field: str, sides: "_Sides", noun: str) -> Difference:
    ours, theirs = (f"{counted(len(own), noun)} of its own" for own in sides.own)
    return Difference(field, ours, theirs)


class _Sides(NamedTuple):
    """Parts of each response to the crawler and to the browser."""

    crawler: Sequence[Parts]
    browser: Sequence[Parts]

    @property
    def own(self) -> tuple[set[object], set[object]]:
        """Parts in both responses to one name and in no response to the other."""
        ours, theirs = self
        return _always(ours) - _ever(theirs), _always(theirs) - _ever(ours)

    @property
    def likeness(self) -> float:
        """Share of stable content served to both User-Agents."""
        every = len(_always(self.crawler) | _always(self.browser))
        return 1 - sum(map(len, self.own)) / every if every else 1.0

    @property
    def steadiness(self) -> float:
        """Least likeness of the responses to one name."""
        shares = (len(_always(side)) / max(len(_ever(side)), 1) for side in self if _ever(side))
        return min(shares, default=1.0)

    def is_apart(self, url: str) -> bool:
        """Return whether links differ: most of them, or several that lead the crawler off-site."""
        ours, theirs = self.own
        if max(len(ours), len(theirs)) < _FEWEST_LINKS:
            return False
        own_site = site(host(url))
        foreign = sum(site(host(str(link))) != own_site for link in ours)
        return self.likeness < ALIKE or foreign >= _FEWEST_LINKS


def _always(parts: Sequence[Parts]) -> set[object]:
    return set.intersection(*map(set, parts))


def _ever(parts: Sequence[Parts]) -> set[object]:
    return set().union(*parts)
