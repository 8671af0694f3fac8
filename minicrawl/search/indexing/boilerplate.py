"""Boilerplate: lines that a host repeats on its pages, such as menus and notices.

Laws: whether a line is boilerplate depends only on a sample of the pages of its host. Boilerplate
can be found, but has little weight.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, repeat
from operator import not_
from zlib import crc32

SAMPLE = 400
"""Pages sampled per host."""
SHARE = 0.05
FEWEST = 4
"""A line is boilerplate if it is on `SHARE` of the pages, and on at least `FEWEST`."""
SHARE_OF_TITLES = 0.2
"""Share of the pages from which on a part of a title is repeated."""
_BETWEEN_PIECES = re.compile(r"\s+[-–—|·•»«:/]+\s+|\s+(?=[(\[])|\s*[|·•»]\s*|::")


class HostLines:
    """Line counts over a sample of a host's pages."""

    def __init__(self, pages: int = 0, counts: Iterable[tuple[int, int]] = ()) -> None:
        self.pages = pages
        self.is_new = False
        """True if a page was added since loading."""
        self.counts: Counter[int] = Counter(dict(counts))

    @property
    def takes_more(self) -> bool:
        """True if the sample is not full."""
        return self.pages < SAMPLE

    def add(self, title: str, codes: Iterable[int]) -> None:
        """Add a page to the sample, by its title and the codes of its lines."""
        self.pages += 1
        self.is_new = True
        self.counts.update({*codes, *codes_of(_pieces(title))})

    def part(self, lines: Sequence[str], codes: Sequence[int]) -> tuple[list[str], list[str]]:
        """Split the lines of a page into its own and boilerplate."""
        least = max(FEWEST, SHARE * self.pages)
        counts = map(self.counts.get, codes, repeat(0))
        is_own = [count < least for count in counts]
        return list(compress(lines, is_own)), list(compress(lines, map(not_, is_own)))

    def own_title(self, title: str) -> str:
        """Return the title without the parts that the host repeats, unless nothing is left."""
        pieces = _pieces(title)
        least = max(FEWEST, SHARE_OF_TITLES * self.pages)
        own = [
            piece
            for piece, code in zip(pieces, codes_of(pieces), strict=True)
            if self.counts.get(code, 0) < least
        ]
        return " ".join(piece.strip() for piece in own) or title

    def remembered(self) -> Iterator[tuple[int, int]]:
        """Yield the counts to store; of a full sample, only lines seen more than once."""
        least = 1 if self.takes_more else 2
        return ((code, pages) for code, pages in self.counts.items() if pages >= least)


def _pieces(title: str) -> list[str]:
    """Return the parts of a title. A leading space distinguishes them from lines."""
    return [f" {piece}" for piece in _BETWEEN_PIECES.split(title) if piece]


def codes_of(lines: Iterable[str]) -> list[int]:
    return [crc32(line.encode("utf-8", "replace")) for line in lines]
