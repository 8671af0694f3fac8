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
from minicrawl.opic.siblings.groups import MOST_MEMBERS, NOVELTIES, Numbers, Pages

NOT_JUDGED = -1.0
NOBODY = (1 << 32) - 1
"""In place of the page that made others known."""


class PostedLinks(NamedTuple):
    """The links of all plans, one behind the other."""

    pages: Pages
    atoms: NDArray[np.float64]
    plans: Numbers
    """The places of their plans."""


class NewbornPages(NamedTuple):
    """Of each page the first one that became known with it, and who made it known: how many of the
    links of that page were new, and the page, or NOBODY.
    """

    firsts: Pages
    novelties: NDArray[np.uint8]
    introducers: Pages


class PostedBirths:
    """Pages that became known, in runs of pages that did so together."""

    __slots__ = ("_introducers", "_novelties", "_starts", "count")

    def __init__(self) -> None:
        self.count, self._starts = 0, array("I")
        self._novelties, self._introducers = array("B"), array("I")

    def add(self, pages: range, novelty: float, by: int) -> None:
        """These became known together, behind all others, by a page or by nobody."""
        self.count += len(pages)
        for start in range(pages.start, pages.stop, MOST_MEMBERS):
            self._starts.append(start)
            self._novelties.append(round(novelty * NOVELTIES))
            self._introducers.append(by)

    def newborn(self, end: int) -> NewbornPages:
        """All of them, up to the last one."""
        starts = np.array(self._starts)
        sizes = np.append(starts[1:], end) - starts
        columns = starts, np.array(self._novelties), np.array(self._introducers)
        return NewbornPages(*(column.repeat(sizes) for column in columns))


class PostedPlans:
    """Plans, and the pages that became known meanwhile."""

    __slots__ = (
        "_atoms",
        "_first",
        "_links",
        "_sizes",
        "_told",
        "_worth_more",
        "births",
        "pages",
        "shown",
    )

    def __init__(self) -> None:
        self.pages, self.shown = array("I"), array("d")
        """Pages that spent, and what that showed of their siblings."""
        self._sizes, self._first, self._worth_more = array("I"), array("I"), array("d")
        self._links, self._atoms = array("I"), array("d")
        self._told: list[tuple[int, Sequence[range]]] = []
        self.births = PostedBirths()

    def __len__(self) -> int:
        return len(self.pages)

    def post(self, plan: Plan, worth_more: float = 0.0) -> None:
        """A page spent. What it gave counts that much more."""
        self._add(plan, 0, NOT_JUDGED, worth_more)

    def judge(
        self, plan: Plan, first: int, told: Sequence[range], shown: float, worth_more: float
    ) -> None:
        """The same by a turn of a page that waited. It made known the pages from the first one on,
        and those that it `told` of before.
        """
        if told:
            self._told.append((len(self.pages), told))
        self._add(plan, first, shown, worth_more)

    def _add(self, plan: Plan, first: int, shown: float, worth_more: float) -> None:
        self.pages.append(plan.page)
        self._sizes.append(len(plan.links) + len(plan.extras))
        self._first.append(first)
        self.shown.append(shown)
        self._worth_more.append(worth_more)
        self._links.extend(plan.links)
        self._atoms += array("d", (plan.share,)) * len(plan.links)
        if plan.extras:
            self._links.extend([link for link, _ in plan.extras])
            self._atoms.extend([atoms for _, atoms in plan.extras])

    # ------------------------------------------------------------ all of it

    def links(self) -> PostedLinks:
        """All links."""
        sizes = np.array(self._sizes, dtype=np.int64)
        plans = np.arange(len(sizes)).repeat(sizes)
        return PostedLinks(np.array(self._links), np.array(self._atoms), plans)

    def bonus(self, links: PostedLinks) -> NDArray[np.float64]:
        """What each gift is worth beside its atoms."""
        bonus: NDArray[np.float64] = links.atoms * np.array(self._worth_more)[links.plans]
        return bonus

    def recommends(self, links: PostedLinks) -> NDArray[np.bool_]:
        """Whether the link is that of a turn, and leads to a page that was known before it."""
        is_older: NDArray[np.bool_] = links.pages < np.array(self._first)[links.plans]
        for place, told in self._told:
            for pages in told:
                is_own = (links.pages >= pages.start) & (links.pages < pages.stop)
                is_older &= ~(is_own & (links.plans == place))
        return is_older
