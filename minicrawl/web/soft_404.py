"""Soft 404s: pages that say "not found" with status 200.

URLs that nobody can have made show what "not found" looks like in a folder. Of their text only the
lines count that honest pages of the host do not have, so that a template makes no page alike:

    honest pages      Shop, Contact, Imprint
    missing page      Shop, Contact, Nothing here, See: lamp, Imprint     own: Nothing here
    another one       Shop, Contact, Nothing here, See: vase, Imprint     varies: 2 words
    soft 404          Shop, Nothing here, See: mug, Contact, Imprint      has all of it, and no more
    real page         Shop, Nothing here is as soft as ...                has no such line

Missing pages name the URL in many ways, as `/shop/no-such-page-1` or `No such page 1`. The name of
a page's own URL is a mark in its lines, so that these are alike, too.

Lists of popular articles stand on missing pages, on the home page, and on pages of their own. So
the first line that is the missing page's own, its heading as a rule, must be there. A home page
that is shown for everything that is missing tells nothing: its copies are duplicates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

SOFT_404 = "soft-404"
"""Kind of a finding that a page is one, and its state in lists of links."""
_MOST_OTHER_WORDS = 12
"""Words that a soft 404 may have of its own, such as a title that repeats its URL."""
_MOST_TEXT = 50_000
"""Characters of a page that are read: texts of hundreds of pages are in memory at once."""
_SHARE = 0.7
"""Least share of the own lines: two missing pages may have the same related article by chance."""
_FEWEST_WORDS = 2
_NAME = "no-such-page-"
_DIGITS = re.compile("[0-9]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts that put no spaces between words, of which a word has about two."""
_WORD, _GAP = re.compile(r"[^\W_]+"), r"[\W_]{1,3}"
_MARK = "\0"
_MARKED = re.compile("[!-~\0]+")
"""Name of a page with all that is around it, such as its path; other scripts need no spaces."""
_MOST_NAME_WORDS = 8
"""Words of a name that are looked for: each may be compared with each word of a text."""


class _Line(NamedTuple):
    """Line of a page without case, spacing and numbers: as it is, and with the name marked."""

    plain: str
    marked: str


def missing_siblings(folder: str) -> list[str]:
    """Return two URLs in this folder that nobody has made, the same in every run."""
    digest = blake2b(folder.encode(), digest_size=12).hexdigest()
    return [f"{folder}{_NAME}{name}" for name in (digest[:12], digest[12:])]


def is_missing_sibling(url: str) -> bool:
    """Return True for a URL of `missing_siblings`, to which no page links."""
    return _NAME in url


class MissingPage:
    """What the missing pages of a folder say, apart from what other pages of their host say."""

    def __init__(
        self, missing: Mapping[str, str], home: str, others: Iterable[Mapping[str, str]]
    ) -> None:
        """Take texts by URL. `home` is the text of the home page, `others` are groups of pages.

        Most pages of a group are honest, or nothing is told: an app or a login may be shown for
        all URLs of a folder.
        """
        groups = [[_lines(url, text) for url, text in group.items()] for group in others]
        self._known = set(chain(*_lines("", home), *map(_usual_lines, groups)))
        said = [[line.marked for line in _lines(url, text)] for url, text in missing.items()]
        always = set(said[0]).intersection(*said)
        self._own = self._without_known(line for line in said[0] if line in always)
        varying = (self._without_known(set(lines) - always) for lines in said)
        self._most_words = _MOST_OTHER_WORDS + max(map(_words, varying))
        # A page that looks like the missing one may be a soft 404 itself.
        self._known.update(*(chain(*page) for page in chain(*groups) if not self._is_alike(page)))
        self._own = self._without_known(self._own)

    def is_like(self, url: str, text: str) -> bool:
        """Return True if a page says the same, and hardly anything else."""
        return self._is_alike(_lines(url, text))

    def _without_known(self, lines: Iterable[str]) -> list[str]:
        return [line for line in lines if line not in self._known and _words([line])]

    def _is_alike(self, lines: Collection[_Line]) -> bool:
        own = set(self._own)
        if _words(own) < _FEWEST_WORDS:
            return False
        told = {line for line in lines if self._known.isdisjoint(line)}
        said = own.intersection(chain(*told))
        more = {line.plain for line in told if own.isdisjoint(line)}
        is_said = self._own[0] in said and len(said) >= _SHARE * len(own)
        return is_said and _words(more) <= self._most_words


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
    return sum(1 + len(_UNSPACED.findall(word)) // 2 for word in words)
