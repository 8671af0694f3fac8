"""Finds where a host repeats itself, with pages that say the same under ever new URLs.

Laws: a page counts against others only if its body arrived and said nothing new, or if it was one
of too many consecutive redirects; where one page in five says something new, none is skipped. A
page with numbers of its own is new, even if all its words are those of another page. A host is
forgotten when too many others were met since, and at the end of the run. It then reaches the limit
once more, which costs as many requests as the limit.

copy       page with the text of another page of its host
barren     page with the words of another one, and no numbers but those that its URL, the clock or
           a count of visits explains (`web.html.page_numbers`); each copy is barren
group      pages of one shape on one host: when enough were copies, the others are skipped
suspect    page that only barren pages link to: when enough were barren, the others are skipped
patience   remainder of the limit: a page that says nothing new takes one, another page adds four
suspicious title that two pages of a host had, but for numbers: from then on pages with it are
           compared by their text, which is too expensive for all pages. The first such pages have
           nothing to be compared with, and count as barren for their links
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from minicrawl.model import PageId, ParsedPage
from minicrawl.web.html.hashes import title_bit, title_hash
from minicrawl.web.html.page_numbers import NumberHistory
from minicrawl.web.url_shapes import shape
from minicrawl.web.urls import split

MOST_HOSTS = 1 << 14
MOST_GROUPS = 1 << 7
"""Limit of groups per host."""
MOST_SUSPECTS = 1 << 18
MOST_TEMPLATES = 1 << 11
"""Limit of texts, but for their numbers, whose numbers are compared."""
_WORTH = 4
_SEEN_BITS = 18
_SUSPECTS = ""  # no URL has this shape
_TITLE, _COMPARED, _TEXT, _TEMPLATE = range(4)
"""Kinds of codes in `Seen`: numbers, since the hash of a string differs between processes."""

Patience = dict[str, int]


class Novelty(NamedTuple):
    """Judgement of a page: copy, new or barren."""

    copy_of: int | None
    is_new: bool
    """True if no page of the host has said this before, as far as `Seen` remembers."""
    is_barren: bool
    """True if the page says nothing new, or cannot be compared yet."""


@dataclass(slots=True)
class Watched:
    """State of a host that has repeated something."""

    patience: Patience = field(default_factory=dict)
    titles: int = 0
    """Suspicious titles, as bits."""
    pages: int = 0
    """Pages read since."""


class NoveltyTracker:
    """Counts the pages of each host that say nothing new."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._hosts: OrderedDict[int, Watched] = OrderedDict()
        self._seen = Seen()
        self._numbers: OrderedDict[tuple[int, int], NumberHistory] = OrderedDict()
        self._young: set[int] = set()
        self._old: set[int] = set()

    def refusal(self, page: PageId, host: int, url: str) -> str | None:
        """Return why the page need not be requested, or None."""
        watched = self._hosts.get(host)
        if not watched or not (patience := watched.patience):
            return None
        if not patience.get(_SUSPECTS, 1) and self._is_suspect(page):
            why = "only pages that say nothing new link to it"
        elif not patience.get(form := shape(split(url)[1]), 1):
            why = f"pages like it, {form}, repeat themselves"
        else:
            return None
        return f"{why}: --barren-pages {self._limit}"

    def suspicious(self, host: int) -> int:
        """Return the suspicious titles, as bits: pages with them are compared by their text."""
        watched = self._hosts.get(host)
        return watched.titles if watched else 0

    def read(
        self, page: PageId, host: int, url: str, parsed: ParsedPage, first: int | None
    ) -> Novelty:
        """Learn from a page, and judge it; `first` is a page with the same body."""
        if self._limit is None:
            return Novelty(first, first is None, False)
        title = title_hash(parsed.title)
        had_title = self._seen.first(host, _TITLE, title, page) is not None
        if had_title:
            self._watch(host).titles |= title_bit(parsed.title)
        elif host not in self._hosts and first is None:
            return Novelty(None, is_new=True, is_barren=False)
        is_incomparable = had_title and (
            not parsed.text or self._seen.first(host, _COMPARED, title, page) is None
        )
        same = self._seen.first(host, _TEXT, parsed.text, page)
        alike = self._seen.first(host, _TEMPLATE, parsed.template, page)
        copy_of = same if first is None else first
        has_news = self._judge_numbers(host, url, parsed)
        is_barren = copy_of is not None or (alike is not None and has_news is False)
        is_incomparable |= alike is not None and has_news is None
        if not is_incomparable or is_barren:
            self._count(page, host, url, is_copy=copy_of is not None, is_barren=is_barren)
        is_new = copy_of is None and not is_incomparable
        return Novelty(copy_of, is_new, is_barren or is_incomparable)

    def _judge_numbers(self, host: int, url: str, parsed: ParsedPage) -> bool | None:
        """Return whether the numbers of a page are news; None if it is too early to tell."""
        watched = self._watch(host)
        watched.pages += 1
        if not parsed.template:
            return None
        history = self._numbers.setdefault((host, parsed.template), NumberHistory())
        self._numbers.move_to_end((host, parsed.template))
        if len(self._numbers) > MOST_TEMPLATES:
            self._numbers.popitem(last=False)
        return history.judge(parsed.numbers, url, watched.pages)

    def led_on(self, page: PageId, host: int, url: str) -> None:
        """Count a page that is one of too many consecutive redirects."""
        if self._limit is not None:
            self._count(page, host, url, is_copy=True, is_barren=True)

    def found(self, pages: Sequence[int], new: Iterable[int], *, is_barren: bool) -> None:
        """Learn from the links of a page; no page linked to the `new` ones before."""
        if is_barren:
            self._young.update(new)
            if len(self._young) >= MOST_SUSPECTS:
                # Two generations bound the memory without an order of insertion for each page. A
                # suspect that is forgotten costs one request.
                self._young, self._old = set(), self._young
        elif self._young or self._old:
            self._young.difference_update(pages)
            self._old.difference_update(pages)

    def _is_suspect(self, page: PageId) -> bool:
        return page in self._young or page in self._old

    def _count(self, page: PageId, host: int, url: str, *, is_copy: bool, is_barren: bool) -> None:
        """Count the page in its group. Hosts without barren pages are not kept."""
        watched = self._hosts.get(host)
        if is_barren or (watched and watched.patience):
            patience = self._watch(host).patience
            self._take(patience, shape(split(url)[1]), is_copy)
            if self._is_suspect(page):
                self._take(patience, _SUSPECTS, is_barren)

    def _take(self, patience: Patience, group: str, is_nothing_new: bool) -> None:
        """Take or add patience. An unlisted group has all of it; a group without any keeps none."""
        limit = self._limit or 0
        left = patience.get(group, limit)
        if left and is_nothing_new:
            patience[group] = left - 1
        elif left and left + _WORTH < limit:
            patience[group] = left + _WORTH
        elif left:
            patience.pop(group, None)
        if len(patience) > MOST_GROUPS:
            # The oldest group goes, but not the suspects, whose name is empty: they are the only
            # count that does not depend on the shape of URLs, which a trap can vary at will.
            del patience[next(filter(None, patience))]

    def _watch(self, host: int) -> Watched:
        watched = self._hosts.setdefault(host, Watched())
        self._hosts.move_to_end(host)
        if len(self._hosts) > MOST_HOSTS:
            self._hosts.popitem(last=False)
        return watched


class Seen:
    """Table of a fixed size: the page that had a text or a title first, among recent pages."""

    def __init__(self) -> None:
        # Unused zeros take no memory.
        self._codes = np.zeros(1 << _SEEN_BITS, dtype=np.int64).data
        self._pages = np.zeros(1 << _SEEN_BITS, dtype=np.uint32).data

    def first(self, host: int, kind: int, code: int, page: PageId) -> int | None:
        """Return the page of the host that had this code before, or enter this one. 0 is none."""
        if not code:
            return None
        # The host is in the code: pages of different hosts with one text are copies, which
        # `UrlEquivalence` and `Duplicates` judge, and are no sign of a trap.
        mixed = hash((host, kind, code))
        place = mixed % (1 << _SEEN_BITS)
        if self._codes[place] == mixed:
            return self._pages[place]
        self._codes[place], self._pages[place] = mixed, page
        return None
