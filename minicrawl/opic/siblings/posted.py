"""Links that were posted and are not counted yet, in the order in which they were posted.

Law: when they are counted changes nothing of what they come to. So those of many plans are counted
at a time, by a few operations on arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger import Plan
from minicrawl.opic.siblings.groups import Numbers, Pages

Floats = NDArray[np.float64]


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
    worth_more: Floats


_COLUMNS = len(PostedColumns._fields)


class PostedPlans:
    """Plans that are not counted yet."""

    __slots__ = ("_extras", "_links", "_plans", "_told", "handed_over")

    def __init__(self) -> None:
        self._plans = array("d")
        """Row by row, in the order of `PostedColumns`."""
        self._links = array("I")
        self._extras: list[tuple[int, Sequence[tuple[int, int]]]] = []
        """Of plans whose links get different sums."""
        self._told: list[tuple[int, Sequence[range]]] = []
        self.handed_over: list[tuple[int, int, int]] = []
        """Pages that stand for others, each with the other one, and before which plan they did."""

    def __len__(self) -> int:
        return len(self._plans) // _COLUMNS

    def post(self, plan: Plan) -> None:
        """A page spent."""
        links = self._add(plan) if plan.links or plan.extras else 0
        self._plans.extend((plan.page, links, plan.share, 0, 0))

    def judge(self, plan: Plan, first: int, told: Sequence[range], worth_more: float) -> None:
        """The same by a turn of a page that waited. It made known the pages from the first one on,
        and those that it `told` of before. What it gave counts that much more.
        """
        if told:
            self._told.append((len(self), told))
        links = self._add(plan)
        self._plans.extend((plan.page, links, plan.share, first, worth_more))

    def hand_over(self, page: PageId, target: int) -> None:
        """The page stands for the other one from now on."""
        self.handed_over.append((len(self), page, target))

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

    @staticmethod
    def are_older(plans: PostedColumns, links: PostedLinks) -> NDArray[np.bool_]:
        """Whether the link is that of a turn, and leads to a page that it did not bear."""
        found: NDArray[np.bool_] = links.pages < plans.firsts[links.plans]
        return found

    def recommends(self, links: PostedLinks, is_older: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether the link is that of a turn, and leads to a page that did not become known by it:
        one that `is_older`, and that the turn had not told of before.
        """
        found = is_older.copy() if self._told else is_older
        for place, told in self._told:
            for pages in told:
                is_own = (links.pages >= pages.start) & (links.pages < pages.stop)
                found &= ~(is_own & (links.plans == place))
        return found
