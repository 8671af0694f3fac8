"""Boilerplate: lines that a site repeats on its pages, such as menus and notices.

Law: a line counts as boilerplate by the pages of its own site alone, of which some hundred are
looked at. Boilerplate is found, but counts little.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, repeat
from operator import not_
from typing import NamedTuple
from zlib import crc32

SAMPLE = 400
"""Pages of a site that are looked at."""
SHARE = 0.05
FEWEST = 4
"""A line is boilerplate on this share of the pages, and on so many."""
SHARE_OF_TITLES = 0.2
_BETWEEN_PIECES = re.compile(r"\s+[-–—|·•»«:/]+\s+|\s+(?=[(\[])|\s*[|·•»]\s*|::")


class Parted(NamedTuple):
    """The lines of a page."""

    own: list[str]
    repeated: list[str]


class SiteLines:
    """The lines of some pages of a site."""

    def __init__(self, pages: int = 0, counts: Iterable[tuple[int, int]] = ()) -> None:
        self.pages = pages
        self.is_new = False
        """Whether a page was looked at since."""
        self.counts: Counter[int] = Counter(dict(counts))

    @property
    def takes_more(self) -> bool:
        """Whether more pages are to be looked at."""
        return self.pages < SAMPLE

    def add(self, title: str, codes: Iterable[int]) -> None:
        """Look at a page, by its title and the codes of its lines."""
        self.pages += 1
        self.is_new = True
        self.counts.update({*codes, *codes_of(_pieces(title))})

    def part(self, lines: Sequence[str], codes: Sequence[int]) -> Parted:
        """The lines of a page with these codes, and those that are boilerplate."""
        least = max(FEWEST, SHARE * self.pages)
        counts = map(self.counts.get, codes, repeat(0))
        is_own = [count < least for count in counts]
        return Parted(list(compress(lines, is_own)), list(compress(lines, map(not_, is_own))))

    def own_title(self, title: str) -> str:
        """The title without the pieces that the site puts on every page, if something is left."""
        pieces = _pieces(title)
        least = max(FEWEST, SHARE_OF_TITLES * self.pages)
        own = [
            piece
            for piece, code in zip(pieces, codes_of(pieces), strict=True)
            if self.counts.get(code, 0) < least
        ]
        return " ".join(piece.strip() for piece in own) or title

    def remembered(self) -> Iterator[tuple[int, int]]:
        """What is to be remembered: of a full sample only what was seen again."""
        least = 1 if self.takes_more else 2
        return ((code, pages) for code, pages in self.counts.items() if pages >= least)


def _pieces(title: str) -> list[str]:
    """Pieces are told from lines by the space at their beginning."""
    return [f" {piece}" for piece in _BETWEEN_PIECES.split(title) if piece]


def codes_of(lines: Iterable[str]) -> list[int]:
    """By what lines are told from each other."""
    return [crc32(line.encode("utf-8", "replace")) for line in lines]
