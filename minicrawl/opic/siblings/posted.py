"""What was posted and is not counted yet, in the order in which it was posted.

Law: when it is counted changes nothing of what it comes to. So plans are counted many at a time,
by a few operations on arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.ledger import Plan
from minicrawl.opic.siblings.groups import Numbers, Pages

Floats = NDArray[np.float64]

NOT_JUDGED = -1.0


class PostedLinks(NamedTuple):
    """The links of all plans, one behind the other."""

    pages: Pages
    atoms: Floats
    plans: Numbers
    """The places of their plans."""


class PostedColumns(NamedTuple):
    """All plans. A sum of atoms is rounded to 53 bits, as all that comes of it is."""

    pages: Pages
    sizes: Numbers
    """How many links they have."""
    shares: Floats
    firsts: Floats
    """The first pages that their turns made known."""
    shown: Floats
    """What that showed of their siblings."""
    worth_more: Floats


_COLUMNS = len(PostedColumns._fields)


class PostedPlans:
    """Plans that are not counted yet."""

    __slots__ = ("_extras", "_links", "_plans", "_told")

    def __init__(self) -> None:
        self._plans = array("d")
        """Row by row, in the order of `PostedColumns`."""
        self._links = array("I")
        self._extras: list[tuple[int, Sequence[tuple[int, int]]]] = []
        """Of plans whose links get different sums."""
        self._told: list[tuple[int, Sequence[range]]] = []

    def __len__(self) -> int:
        return len(self._plans) // _COLUMNS

    def post(self, plan: Plan) -> None:
        """A page spent."""
        links = self._add(plan) if plan.links or plan.extras else 0
        self._plans.extend((plan.page, links, plan.share, 0, NOT_JUDGED, 0))

    def judge(
        self, plan: Plan, first: int, told: Sequence[range], shown: float, worth_more: float
    ) -> None:
        """The same by a turn of a page that waited. It made known the pages from the first one on,
        and those that it `told` of before. What it gave counts that much more.
        """
        if told:
            self._told.append((len(self), told))
        links = self._add(plan)
        self._plans.extend((plan.page, links, plan.share, first, shown, worth_more))

    def _add(self, plan: Plan) -> int:
        self._links.extend(plan.links)
        if plan.extras:
            self._extras.append((len(self._links), plan.extras))
            self._links.extend([link for link, _ in plan.extras])
        return len(plan.links) + len(plan.extras)

    # ------------------------------------------------------------ all of it

    def columns(self) -> PostedColumns:
        """All plans, column by column."""
        table = np.frombuffer(self._plans).reshape(-1, _COLUMNS)
        pages, sizes = table[:, 0].astype(np.uint32), table[:, 1].astype(np.int64)
        return PostedColumns(pages, sizes, *table[:, 2:].T)

    def links(self, plans: PostedColumns) -> PostedLinks:
        """All links."""
        places = np.arange(len(plans.sizes)).repeat(plans.sizes)
        atoms = plans.shares.repeat(plans.sizes)
        for place, extras in self._extras:
            atoms[place : place + len(extras)] = [atoms for _, atoms in extras]
        return PostedLinks(np.frombuffer(self._links, dtype=np.uint32), atoms, places)

    def recommends(self, plans: PostedColumns, links: PostedLinks) -> NDArray[np.bool_]:
        """Whether the link is that of a turn, and leads to a page that was known before it."""
        is_older: NDArray[np.bool_] = links.pages < plans.firsts[links.plans]
        for place, told in self._told:
            for pages in told:
                is_own = (links.pages >= pages.start) & (links.pages < pages.stop)
                is_older &= ~(is_own & (links.plans == place))
        return is_older
