"""The order by siblings: by factor * worth.

Laws: nothing is kept here; all is made of what the siblings have shown. One by one and many at once
it comes to the same to the bit: the hash of a page has 16 bits, whose powers are in a table, and a
factor is counted in 65,536ths.

worth     of a page: its key * hash^-.03
factor    of a group: ((3 m + S) / ((3 + F) m))^(.2 r) * exp(.2 (novelty of the introducing page -
          .5)); F, S and novelty are those of `shown`, m is S a turn, over all pages, and r is the
          relevance of `rounds`. That of a lone page is 1. A site without a seed has a budget on top
          of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.money import PARTS
from minicrawl.opic.siblings.groups import NO_GROUP, NOVELTIES, Numbers, Pages
from minicrawl.opic.siblings.shown import Siblings

Floats = NDArray[np.float64]

PRIOR = 3
"""A group begins as if so many of its members had been average."""
REVEALED, NOVELTY, CHANCE = 0.2, 0.2, -0.03
"""The exponents; what is revealed counts that much where it is relevant."""

_LIFTS = np.power((np.arange(1 << 16) + 1.0) / (1 << 16), CHANCE)
_LIFT: list[float] = _LIFTS.tolist()
MOST_LIFT = _LIFT[0]
_NOVELTY_FACTORS = np.exp(NOVELTY * (np.arange(NOVELTIES + 1) / NOVELTIES - 0.5))
_NOVELTY_FACTOR: list[float] = _NOVELTY_FACTORS.tolist()
_SPREAD, _HALF, _16_BITS = 0x85EBCA6B, 16, 0xFFFF
"""The hash of a page are the bits 16 to 31 of its product with an odd number."""


# ---------------------------------------------------------------- worth


def worth(siblings: Siblings, page: PageId) -> float:
    """What one page is worth."""
    return siblings.ledger.key[page] * _LIFT[page * _SPREAD >> _HALF & _16_BITS]


def best(siblings: Siblings, pages: Sequence[PageId]) -> tuple[float, PageId]:
    """The worth of the best of a few pages, and the page; of equals it is the first."""
    keys, most, found = siblings.ledger.key, -inf, pages[0]
    for page in pages:
        own = keys[page] * _LIFT[page * _SPREAD >> _HALF & _16_BITS]
        if own > most:
            most, found = own, page
    return most, found


def worths(siblings: Siblings, pages: Pages) -> Floats:
    """The same for many pages."""
    found: Floats = np.frombuffer(siblings.ledger.key, dtype=np.int64)[pages] * lifts(pages)
    return found


def lifts(pages: Pages) -> Floats:
    """hash^-.03 of pages, the same in every run."""
    found: Floats = _LIFTS[pages.astype(np.uint32) * np.uint32(_SPREAD) >> _HALF]
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
        return key_of(PARTS, worth(siblings, page))
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
