"""Soft 404s: pages that say "not found" with status 200.

A URL that nobody can have made shows what "not found" looks like in a folder. Of its text only the
lines count that honest pages of the host do not have, so that a template makes no page alike:

    honest pages      Shop, Contact, Imprint
    missing page      Shop, Contact, Nothing here, Imprint      own: Nothing here
    soft 404          Shop, Nothing here, Contact, Imprint      has all of it, and nothing else
    real page         Shop, Nothing here is as soft as ...      has no such line

Lists of popular articles stand on missing pages, on the home page, and on pages of their own. So
the first line that is the missing page's own, its heading as a rule, must be there. A home page
that is shown for everything that is missing tells nothing: its copies are duplicates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b

_MOST_OTHER_WORDS = 12
"""Words that a soft 404 may have of its own, such as a title that repeats its URL."""
_SHARE = 0.8
_FEWEST_WORDS = 2
_NAME = "no-such-page-"
_DIGITS = re.compile("[0-9]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts that put no spaces between words, of which a word has about two."""


def missing_sibling(folder: str) -> str:
    """Return a URL in this folder that nobody has made, the same in every run."""
    return f"{folder}{_NAME}{blake2b(folder.encode(), digest_size=6).hexdigest()}"


def is_missing_sibling(url: str) -> bool:
    """Return True for a URL of `missing_sibling`, to which no page links."""
    return _NAME in url


class MissingPage:
    """What the missing page of a folder says, apart from what other pages of its host say."""

    def __init__(self, text: str, home: str, others: Iterable[str]) -> None:
        """`home` is the text of the home page, `others` of some pages, most of them honest."""
        pages = [_lines(other) for other in others]
        self._known = _usual_lines(pages) | set(_lines(home))
        self._own = self._without_known(_lines(text))
        # A page that looks like the missing one may be a soft 404 itself.
        self._known.update(*(page for page in pages if not self._is_alike(page)))
        self._own = self._without_known(self._own)

    def is_like(self, text: str) -> bool:
        """Return True if a page says the same, and hardly anything else."""
        return self._is_alike(_lines(text))

    def _without_known(self, lines: Iterable[str]) -> list[str]:
        return [line for line in lines if line not in self._known and _NAME not in line]

    def _is_alike(self, lines: Sequence[str]) -> bool:
        own = set(self._own)
        if _words(own) < _FEWEST_WORDS:
            return False
        told = set(lines) - self._known
        is_said = self._own[0] in told and len(own & told) >= _SHARE * len(own)
        return is_said and _words(told - own) <= _MOST_OTHER_WORDS


def _usual_lines(pages: Sequence[Iterable[str]]) -> set[str]:
    """Return the lines that more than half of these pages have."""
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update(set(page))
    return {line for line, count in counts.items() if 2 * count > len(pages)}


def _lines(text: str) -> list[str]:
    """Return the lines of a text, without case, spacing and numbers, such as those of a clock."""
    plain = _DIGITS.sub("0", text.lower())
    return [" ".join(line.split()) for line in plain.split("\n") if line.strip()]


def _words(lines: Iterable[str]) -> int:
    return sum(len(line.split()) + len(_UNSPACED.findall(line)) // 2 for line in lines)
