"""Worths of pages and factors of groups, computed from what siblings revealed. No state.

Law: the scalar and vectorised versions agree to the bit, because the hash of a page uses the last
16 bits of its id, the powers of hashes are in a table, and factors are rounded to 65,536ths.
"""

from collections.abc import Sequence
from math import inf
from operator import mul

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.money import PARTS
from minicrawl.opic.siblings.groups import MOST_MEMBERS, NO_GROUP, NOVELTIES, Numbers, Pages
from minicrawl.opic.siblings.siblings import Siblings

Floats = NDArray[np.float64]

PRIOR = 3
"""Number of average turns that a group starts with."""
REVEALED, NOVELTY, CHANCE = 0.2, 0.1, -0.03
"""Exponents; that of what was revealed is multiplied by the relevance."""

_HASHED = (1 << 16) - 1

_MIXED = np.arange(_HASHED + 1, dtype=np.uint32) * np.uint32(0x9E3779B1)
_MIXED ^= _MIXED >> 16
_MIXED *= np.uint32(0x85EBCA6B)
_LIFTS: Floats = np.power(((_MIXED >> 16) + 1.0) / (_HASHED + 1), CHANCE)
"""hash^-.03 for all 16-bit numbers, the same in every run."""
_LIFT: list[float] = [*_LIFTS.tolist(), *_LIFTS[:MOST_MEMBERS].tolist()]
"""Table with its beginning repeated, so that consecutive pages are one slice."""
MOST_LIFT = max(_LIFT)
LEVELS_A_FACTOR, MOST_LEVEL = 16, 255
"""Number of levels that divide a worth by e; the largest level."""
LEVEL_FACTORS: Floats = np.exp(-np.arange(MOST_LEVEL + 1) / LEVELS_A_FACTOR)
_FACTOR: list[float] = LEVEL_FACTORS.tolist()
_NOVELTY_FACTORS = np.exp(NOVELTY * (np.arange(NOVELTIES + 1) / NOVELTIES - 0.5))
_NOVELTY_FACTOR: list[float] = _NOVELTY_FACTORS.tolist()


def worth_of(siblings: Siblings, page: PageId) -> float:
    own = siblings.keys[page] * _LIFT[page & _HASHED]
    return own if siblings.levels is None else own * _FACTOR[siblings.levels[page]]


def best_of(siblings: Siblings, pages: Sequence[PageId]) -> tuple[float, PageId]:
    """Return the best of a few pages with its worth; ties go to the first."""
    if siblings.levels is not None:
        most, before = max((worth_of(siblings, page), -page) for page in pages)
        return most, -before
    if isinstance(pages, range):
        first = pages.start & _HASHED
        lifts = _LIFT[first : first + len(pages)]
        worths = list(map(mul, siblings.keys[pages.start : pages.stop], lifts))
        most = max(worths)
        return most, pages.start + worths.index(most)
    keys, most, best = siblings.keys, -inf, pages[0]
    for page in pages:
        own = keys[page] * _LIFT[page & _HASHED]
        if own > most:
            most, best = own, page
    return most, best


def worths_of(siblings: Siblings, pages: Pages) -> Floats:
    keys = np.frombuffer(siblings.keys, dtype=np.int64)[pages]
    worths: Floats = keys * _LIFTS[pages & _HASHED]
    if siblings.levels is not None:
        worths *= LEVEL_FACTORS[np.frombuffer(siblings.levels, dtype=np.uint8)[pages]]
    return worths


def factor_of(siblings: Siblings, group: int) -> float:
    """Return the factor of a group, in 65,536ths."""
    of, means = siblings.groups, siblings.means
    weight = of.turns[group] + PRIOR
    factor = _NOVELTY_FACTOR[of.novelty[group]]
    if means.mean_revealed:
        factor *= ((PRIOR + of.revealed[group] / means.mean_revealed) / weight) ** (
            REVEALED * means.relevance
        )
    if siblings.holds_back or of.dead[group]:
        factor = siblings.budgets.hold_back(of.host[group], factor)
        factor *= live_share(siblings, group, of.host[group])
    return float(round(factor * PARTS))


def factors_of(siblings: Siblings, groups: Numbers) -> Floats:
    of, means = siblings.groups, siblings.means
    weight = np.frombuffer(of.turns, dtype=np.uint32)[groups] + float(PRIOR)
    factors = _NOVELTY_FACTORS[np.frombuffer(of.novelty, dtype=np.uint8)[groups]]
    if means.mean_revealed:
        revealed = np.frombuffer(of.revealed, dtype=np.float32)[groups].astype(np.float64)
        factors *= ((PRIOR + revealed / means.mean_revealed) / weight) ** (
            REVEALED * means.relevance
        )
    hosts = np.frombuffer(of.host, dtype=np.uint32)[groups]
    factors = siblings.budgets.hold_back_many(hosts, factors)
    dead = np.frombuffer(of.dead, dtype=np.uint32)[groups]
    factors *= 1 - (dead + PRIOR * (1 - siblings.live.of_many(hosts))) / weight
    return np.rint(factors * PARTS)


def live_share(siblings: Siblings, group: int, host: int) -> float:
    """Return the live share of a group, or of a lone page of the host."""
    share, of = siblings.live.of(host), siblings.groups
    if group == NO_GROUP:
        return share
    return 1 - (of.dead[group] + PRIOR * (1 - share)) / (of.turns[group] + PRIOR)


def lone_factors(siblings: Siblings, hosts: Pages) -> Floats:
    factors = siblings.budgets.hold_back_many(hosts, np.ones(len(hosts)))
    return np.rint(factors * siblings.live.of_many(hosts) * PARTS)


_SCALE = 2.0**-12
"""Keys are in 16ths of atoms, factors in 65,536ths."""
_MOST = 2.0**62


def key_of(factor: float, worth: float) -> int:
    """Return the key of a page, or of a group from its best member."""
    return int(min(factor * worth * _SCALE, _MOST))


def keys_of(factors: Floats | float, worths: Floats) -> Numbers:
    return np.minimum(factors * worths * _SCALE, _MOST).astype(np.int64)


def page_key(siblings: Siblings, page: PageId) -> int:
    """Return the sort key of a page: its worth times the sibling factor, in 1/16 atom."""
    group = siblings.group_of(page)
    if group == NO_GROUP:
        return lone_key(siblings, page)
    return key_of(factor_of(siblings, group), worth_of(siblings, page))


def lone_key(siblings: Siblings, page: PageId) -> int:
    """Return the sort key of a page that is known to be lone."""
    if siblings.levels is None and not siblings.holds_back:  # all lone pages have factor 1
        return int(min(siblings.keys[page] * _LIFT[page & _HASHED] * (PARTS * _SCALE), _MOST))
    return key_of(round(siblings.held(siblings.host_of[page]) * PARTS), worth_of(siblings, page))


def lone_keys(siblings: Siblings, pages: Pages) -> Numbers:
    worths = worths_of(siblings, pages)
    if not siblings.holds_back:
        return keys_of(PARTS, worths)
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[pages]
    return keys_of(lone_factors(siblings, hosts), worths)


def urgency(siblings: Siblings, pages: Pages) -> Floats:
    """Return factor * worth of these pages, in atoms: the page with the most comes first."""
    hosts = np.frombuffer(siblings.host_of, dtype=np.uint32)[pages]
    groups, factors = siblings.groups.of(pages, hosts), lone_factors(siblings, hosts)
    (grouped,) = (groups != NO_GROUP).nonzero()
    factors[grouped] = factors_of(siblings, groups[grouped])
    return factors * worths_of(siblings, pages) / PARTS
