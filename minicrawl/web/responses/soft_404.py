"""Soft 404s: pages that say "not found" with status 200.

The check requests two URLs of a folder that cannot exist, to see what "not found" looks like
there. Only lines that real pages of the host do not have count, so that a shared template proves
nothing:

    real pages        Shop, Contact, Imprint
    missing page      Shop, Contact, Nothing here, See: lamp, Imprint     own: Nothing here
    another one       Shop, Contact, Nothing here, See: vase, Imprint     varies: 2 words
    soft 404          Shop, Nothing here, See: mug, Contact, Imprint      the own line, no more
    real page         Shop, Nothing here is as soft as ...                lacks it

Missing pages name the URL in many ways, as `/shop/no-such-page-1` or `No such page 1`. In the
lines of every page the name from its own URL is replaced by a mark, so that these lines become
equal.

Lists of popular articles stand on missing pages, on the home page, and on pages of their own. So
a soft 404 must have the first of the missing page's own lines, which is its heading as a rule. If
the home page is shown for all missing pages, nothing is found here: the copies are duplicates. A
login in place of a missing page proves nothing either, unless most pages have one: the pages for
members look like it, too.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

SOFT_404 = "soft-404"
"""Kind of the finding for a soft 404, and state of such a page in lists of links."""
_MOST_OTHER_WORDS = 12
"""Words that a soft 404 may have of its own, such as a title that repeats its URL."""
_MOST_TEXT = 50_000
"""Most characters of a page that are read: hundreds of texts are in memory at once."""
_SHARE = 0.7
"""Least share of the own lines that a soft 404 has; the others may be there by chance."""
_FEWEST_WORDS = 2
_NAME = "no-such-page-"
_PASSWORD = re.compile(r"""type\s*+=\s*+["']?password\b""", re.IGNORECASE)
_DIGITS = re.compile("[0-9]+")
_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]"
"""Pattern of letters of scripts that put no spaces between words, of which a word has about two. It
is compiled on demand, as that takes 4 ms and no crawl needs it.
"""
_WORD, _GAP = re.compile(r"[^\W_]+"), r"[\W_]{1,3}"
_MARK = "\0"
_MARKED = re.compile("[!-~\0]+")
"""Run of printable ASCII, to widen a marked name by its path; non-Latin text ends the run."""
_MOST_NAME_WORDS = 8
"""Most words of a name in its pattern: each may be compared with each word of a text."""


class _Line(NamedTuple):
    """Line of a page, in lower case without numbers: plain, and with the page's name as a mark."""

    plain: str
    marked: str


def missing_siblings(folder: str) -> list[str]:
    """Return two URLs in this folder that surely do not exist, the same in every run."""
    digest = blake2b(folder.encode(), digest_size=12).hexdigest()
    return [f"{folder}{_NAME}{name}" for name in (digest[:12], digest[12:])]


def is_missing_sibling(url: str) -> bool:
    """Return True for a URL of `missing_siblings`, to which no page links."""
    return _NAME in url


def asks_for_password(markup: str) -> bool:
    return _PASSWORD.search(markup) is not None


class MissingPage:
    """Text of the missing pages of a folder that other pages of their host do not have."""

    def __init__(
        self, missing: Mapping[str, str], home: str, folders: Iterable[Mapping[str, str]]
    ) -> None:
        """Compare texts by URL. `home` is the text of the home page, `folders` are groups of pages.

        A line on most pages of a group is no sign of a soft 404. So nothing is found in a folder
        that shows an app or a login for all URLs.
        """
        groups = [[_lines(url, text) for url, text in group.items()] for group in folders]
        self._known = set(chain(*_lines("", home), *map(_usual_lines, groups)))
        pages = [[line.marked for line in _lines(url, text)] for url, text in missing.items()]
        always = set(pages[0]).intersection(*pages)
        self._own = self._without_known(line for line in pages[0] if line in always)
        varying = (self._without_known(set(lines) - always) for lines in pages)
        self._most_words = _MOST_OTHER_WORDS + max(map(_words, varying))
        # All lines of other pages are known, unless the page looks like a missing one: it may be a
        # soft 404 itself.
        self._known.update(*(chain(*page) for page in chain(*groups) if not self._is_alike(page)))
        self._own = self._without_known(self._own)

    def is_like(self, url: str, text: str) -> bool:
        """Return True if a page has the missing pages' own lines, and hardly any other text."""
        return self._is_alike(_lines(url, text))

    def _without_known(self, lines: Iterable[str]) -> list[str]:
        return [line for line in lines if line not in self._known and _words([line])]

    def _is_alike(self, lines: Collection[_Line]) -> bool:
        own = set(self._own)
        if _words(own) < _FEWEST_WORDS:
            return False
        own_lines = {line for line in lines if self._known.isdisjoint(line)}
        present = own.intersection(chain(*own_lines))
        more = {line.plain for line in own_lines if own.isdisjoint(line)}
        is_there = self._own[0] in present and len(present) >= _SHARE * len(own)
        return is_there and _words(more) <= self._most_words


def _usual_lines(pages: Sequence[Iterable[_Line]]) -> set[str]:
    """Return the lines that more than half of these pages have."""
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update(set(chain(*page)))
    return {line for line, count in counts.items() if 2 * count > len(pages)}


@lru_cache(maxsize=1)  # a page is compared with the missing pages of all folders that it is in
def _lines(url: str, text: str) -> list[_Line]:
    words = _WORD.findall(unquote(url.rpartition("/")[2]).lower().partition(".")[0])
    first, name = words[0] if words else "\n", re.compile(_GAP.join(words[:_MOST_NAME_WORDS]))
    lines = [line for line in text[:_MOST_TEXT].lower().split("\n") if line.strip()]
    return [
        _Line(plain := _plain(line), _plain(_marked(name, line)) if first in line else plain)
        for line in lines
    ]


def _marked(name: re.Pattern[str], line: str) -> str:
    return _MARKED.sub(lambda run: _MARK if _MARK in run[0] else run[0], name.sub(_MARK, line))


def _plain(line: str) -> str:
    return " ".join(_DIGITS.sub("0", line).split())


def _words(lines: Iterable[str]) -> int:
    """Return the number of words that are neither a mark nor a number."""
    words = (word for line in lines for word in line.split() if word not in (_MARK, "0"))
    return sum(1 + len(re.findall(_UNSPACED, word)) // 2 for word in words)
