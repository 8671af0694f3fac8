"""Novelty: where a host repeats itself, with pages that say the same under ever new URLs.

Laws: a page counts against others only if its body came and said nothing new, or if it was one of
too many redirects in a row; where one page in five says something new, none is put aside. A host is
forgotten when too many others were met since, and by the next run: it reaches the limit once more,
which costs as many requests as the limit.

copy       a page with the text of another page of its host
barren     a page with the same text as another but for numbers; each copy is barren
group      the pages of one shape on one host: when enough were copies, the others are put aside
suspect    a page that only barren pages link to: when enough were barren, the others are put aside
patience   what is left of the limit: a page that says nothing new takes one, another one adds four
suspicious a title that two pages of a host had, but for numbers: from then on pages with it are
           compared by their text, which costs too much to be done for all pages. The first ones,
           for which there is nothing to compare them with, count as barren for their links
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from minicrawl.model import PageId, ParsedPage
from minicrawl.web.traps import shape, title_bit, title_hash
from minicrawl.web.urls import split

MOST_HOSTS = 1 << 14
MOST_GROUPS = 1 << 7
"""Of a host."""
MOST_SUSPECTS = 1 << 18
_WORTH = 4
_SEEN_BITS = 18
_SUSPECTS = ""  # a shape that no URL has

Patience = dict[str, int]


class Novelty(NamedTuple):
    """What is new in a page."""

    copy_of: int | None
    is_new: bool
    """Certainly no page of the host has said this before."""
    is_barren: bool
    """It says nothing new, or cannot be compared yet."""


_NEW = Novelty(None, True, False)


@dataclass(slots=True)
class Watched:
    """What is known of a host that has repeated something."""

    patience: Patience = field(default_factory=dict)
    titles: int = 0
    """The suspicious ones, as bits."""


class NoveltyTracker:
    """Counts the pages of each host that say nothing new."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._hosts: OrderedDict[int, Watched] = OrderedDict()
        self._seen = Seen()
        self._young: set[int] = set()
        self._old: set[int] = set()

    def refusal(self, page: PageId, host: int, url: str) -> str | None:
        """Why this page need not be asked for, if so."""
        watched = self._hosts.get(host)
        if not watched or not (patience := watched.patience):
            return None
        if not patience.get(_SUSPECTS, 1) and self._is_suspect(page):
            return self._explain("only pages that say nothing new link to it")
        form = shape(split(url)[1])
        return (
            None
            if patience.get(form, 1)
            else self._explain(f"pages like it, {form}, repeat themselves")
        )

    def suspicious(self, host: int) -> int:
        """The suspicious titles, as bits: pages with them are compared by their text."""
        watched = self._hosts.get(host)
        return watched.titles if watched else 0

    def read(
        self, page: PageId, host: int, url: str, parsed: ParsedPage, first: int | None
    ) -> Novelty:
        """Learn from a page, and judge it; `first` is one with the same body."""
        if self._limit is None:
            return Novelty(first, first is None, False)
        title = title_hash(parsed.title)
        had_title = self._seen.first(host, "title", title, page) is not None
        if had_title:
            self._watch(host).titles |= title_bit(parsed.title)
        elif host not in self._hosts and first is None:
            return _NEW
        is_incomparable = had_title and (
            not parsed.text or self._seen.first(host, "compared", title, page) is None
        )
        same = self._seen.first(host, "text", parsed.text, page)
        alike = self._seen.first(host, "gist", parsed.gist, page)
        copy_of = same if first is None else first
        is_barren = copy_of is not None or alike is not None
        if not is_incomparable or is_barren:
            self._count(page, host, url, is_copy=copy_of is not None, is_barren=is_barren)
        is_new = copy_of is None and not is_incomparable
        return Novelty(copy_of, is_new, is_barren or is_incomparable)

    def led_on(self, page: PageId, host: int, url: str) -> None:
        """The page is one of too many redirects in a row."""
        if self._limit is not None:
            self._count(page, host, url, is_copy=True, is_barren=True)

    def found(self, pages: Sequence[int], new: Iterable[int], *, is_barren: bool) -> None:
        """Learn from the links of a page; no page linked to the `new` ones before."""
        if is_barren:
            self._young.update(new)
            if len(self._young) >= MOST_SUSPECTS:
                self._young, self._old = set(), self._young
        elif self._young or self._old:
            self._young.difference_update(pages)
            self._old.difference_update(pages)

    def _is_suspect(self, page: PageId) -> bool:
        return page in self._young or page in self._old

    def _count(self, page: PageId, host: int, url: str, *, is_copy: bool, is_barren: bool) -> None:
        """Count the page in its group; nothing is kept of hosts without barren pages."""
        watched = self._hosts.get(host)
        if is_barren or (watched and watched.patience):
            patience = self._watch(host).patience
            self._take(patience, shape(split(url)[1]), is_copy)
            if self._is_suspect(page):
                self._take(patience, _SUSPECTS, is_barren)

    def _take(self, patience: Patience, group: str, is_nothing_new: bool) -> None:
        """Take or give patience. A group without any stays so; one that is not listed has all."""
        limit = self._limit or 0
        left = patience.get(group, limit)
        if left and is_nothing_new:
            patience[group] = left - 1
        elif left and left + _WORTH < limit:
            patience[group] = left + _WORTH
        elif left:
            patience.pop(group, None)
        if len(patience) > MOST_GROUPS:
            del patience[next(filter(None, patience))]

    def _watch(self, host: int) -> Watched:
        watched = self._hosts.setdefault(host, Watched())
        self._hosts.move_to_end(host)
        if len(self._hosts) > MOST_HOSTS:
            self._hosts.popitem(last=False)
        return watched

    def _explain(self, why: str) -> str:
        return f"{why}: --barren-pages {self._limit}"


class Seen:
    """Which page had a text or a title before: a table of a fixed size, for recent pages."""

    def __init__(self, bits: int = _SEEN_BITS) -> None:
        self._mask = (1 << bits) - 1
        # Of zeros only what is used takes room.
        self._codes = np.zeros(1 << bits, dtype=np.int64).data
        self._pages = np.zeros(1 << bits, dtype=np.uint32).data

    def first(self, host: int, kind: str, code: int, page: PageId) -> int | None:
        """The page of the host that had this code before; if none had, this one is entered.

        The code 0 stands for nothing, which is never repeated.
        """
        if not code:
            return None
        mixed = hash((host, kind, code))
        place = mixed & self._mask
        if self._codes[place] == mixed:
            return self._pages[place]
        self._codes[place], self._pages[place] = mixed, page
        return None
