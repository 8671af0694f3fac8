"""The order by siblings: by factor * worth.

Laws: nothing is kept here; all is made of what the siblings have shown. One by one and many at once
it comes to the same to the bit: the hash of a page is that of the last 16 bits of its number, its
powers are in a table, and a factor is counted in 65,536ths.

worth     of a page: its key * hash^-.03
factor    of a group: ((3 m + S) / ((3 + F) m))^(.2 r) * exp(.1 (novelty of the introducing page -
          .5)); F, S and novelty are those of `shown`, m is S a turn, over all pages, and r is the
          relevance of `rounds`. That of a lone page is 1. A site without a seed has a budget on top
          of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import mul

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.money import PARTS
from minicrawl.opic.siblings.groups import MOST_MEMBERS, NO_GROUP, NOVELTIES, Numbers, Pages
from minicrawl.opic.siblings.shown import Siblings

Floats = NDArray[np.float64]

PRIOR = 3
"""A group begins as if so many of its members had been average."""
REVEALED, NOVELTY, CHANCE = 0.2, 0.1, -0.03
"""The exponents; what is revealed counts that much where it is relevant."""

_HASHED = (1 << 16) - 1


def _lifts() -> Floats:
    """hash^-.03 of all numbers of 16 bits, the same in every run."""
    mixed = np.arange(_HASHED + 1, dtype=np.uint32) * np.uint32(0x9E3779B1)
    mixed ^= mixed >> 16
    mixed *= np.uint32(0x85EBCA6B)
    found: Floats = np.power(((mixed >> 16) + 1.0) / (_HASHED + 1), CHANCE)
    return found


_LIFTS = _lifts()
_LIFT: list[float] = [*_LIFTS.tolist(), *_LIFTS[:MOST_MEMBERS].tolist()]
"""With as many more as a group may have members, so that those of a group are a slice."""
MOST_LIFT = max(_LIFT)
_NOVELTY_FACTORS = np.exp(NOVELTY * (np.arange(NOVELTIES + 1) / NOVELTIES - 0.5))
_NOVELTY_FACTOR: list[float] = _NOVELTY_FACTORS.tolist()


# ---------------------------------------------------------------- worth


def worth(siblings: Siblings, page: PageId) -> float:
    """What one page is worth."""
    return siblings.ledger.key[page] * _LIFT[page & _HASHED]


def best(siblings: Siblings, pages: Sequence[PageId]) -> tuple[float, PageId]:
    """The worth of the best of a few pages, and the page; of equals it is the first."""
    keys, most, found = siblings.ledger.key, -inf, pages[0]
    for page in pages:
        own = keys[page] * _LIFT[page & _HASHED]
        if own > most:
            most, found = own, page
    return most, found


def best_in_a_row(siblings: Siblings, pages: range) -> tuple[float, PageId]:
    """The same of pages that follow each other, at most as many as a group has members."""
    first = pages.start & _HASHED
    found = list(
        map(mul, siblings.ledger.key[pages.start : pages.stop], _LIFT[first : first + len(pages)])
    )
    most = max(found)
    return most, pages.start + found.index(most)


def worths(siblings: Siblings, pages: Pages) -> Floats:
    """What many pages are worth."""
    keys = np.frombuffer(siblings.ledger.key, dtype=np.int64)[pages]
    found: Floats = keys * _LIFTS[pages & _HASHED]
    return found


# ---------------------------------------------------------------- factor


def factor(siblings: Siblings, group: int) -> float:
    """What the siblings of its members have shown, in 65,536ths."""
    of, means = siblings.groups, siblings.means
    weight = of.turns[group] + PRIOR
    found = _NOVELTY_FACTOR[of.novelty[group]]
    if means.mean_revealed:
        found *= ((PRIOR + of.revealed[group] / means.mean_revealed) / weight) ** (
            REVEALED * means.relevance
        )
    return _in_parts(siblings.budgets.hold_back(of.host[group], found))


def factors(siblings: Siblings, groups: Numbers) -> Floats:
    """The same for many groups."""
    of, means = siblings.groups, siblings.means
    weight = np.frombuffer(of.turns, dtype=np.uint32)[groups] + float(PRIOR)
    found = _NOVELTY_FACTORS[np.frombuffer(of.novelty, dtype=np.uint8)[groups]]
    if means.mean_revealed:
        revealed = np.frombuffer(of.revealed, dtype=np.float32)[groups].astype(np.float64)
        found *= ((PRIOR + revealed / means.mean_revealed) / weight) ** (REVEALED * means.relevance)
    hosts = np.frombuffer(of.host, dtype=np.uint32)[groups]
    found = siblings.budgets.hold_back_many(hosts, found)
    parts: Floats = np.rint(found * PARTS)
    return parts


def lone_factor(siblings: Siblings, host: int) -> float:
    """The factor of lone pages of a host."""
    return _in_parts(siblings.budgets.hold_back(host, 1.0))


def lone_factors(siblings: Siblings, hosts: Pages) -> Floats:
    """The same for many hosts."""
    parts: Floats = np.rint(siblings.budgets.hold_back_many(hosts, np.ones(len(hosts))) * PARTS)
    return parts


def _in_parts(factor: float) -> float:
    return float(round(factor * PARTS))


# ---------------------------------------------------------------- both

_SCALE = 2.0**-12
"""A key is counted in 16ths of atoms: factors are in 65,536ths."""
_MOST = 2.0**62


def key_of(factor: float, worth: float) -> int:
    """The key of a page, or of a group by its best member."""
    return int(min(factor * worth * _SCALE, _MOST))


def keys_of(factors: Floats | float, worths: Floats) -> Numbers:
    """The same for many."""
    found: Numbers = np.minimum(factors * worths * _SCALE, _MOST).astype(np.int64)
    return found


def key(siblings: Siblings, page: PageId) -> int:
    """By what the page is ordered: the cash that it is as good as, in 16ths of atoms."""
    group = siblings.group_of(page)
    if group == NO_GROUP:
        return lone_key(siblings, page)
    return key_of(factor(siblings, group), worth(siblings, page))


def lone_key(siblings: Siblings, page: PageId) -> int:
    """The same of a page that is known to be lone."""
    if not siblings.budgets.rounds:  # then all lone pages have the factor 1
        own = siblings.ledger.key[page] * _LIFT[page & _HASHED]
        return int(min(own * (PARTS * _SCALE), _MOST))
    return key_of(lone_factor(siblings, siblings.host_of[page]), worth(siblings, page))


def lone_keys(siblings: Siblings, pages: Pages) -> Numbers:
    """The same for many lone pages."""
    found = worths(siblings, pages)
    if not siblings.budgets.rounds:
        return keys_of(PARTS, found)
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[pages]
    return keys_of(lone_factors(siblings, hosts), found)


def urgency(siblings: Siblings, pages: Pages) -> Floats:
    """The cash that these pages are as good as, in atoms: the one with the most comes first."""
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[pages]
    groups, found = siblings.groups.of(pages, hosts), lone_factors(siblings, hosts)
    (judged,) = (groups != NO_GROUP).nonzero()
    found[judged] = factors(siblings, groups[judged])
    return found * worths(siblings, pages) / PARTS
