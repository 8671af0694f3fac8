"""Stop rules: the forms of --until, each a value that says what holds for it.

form              the crawl ends when                                           cluster
90% or 0.9        its pages hold this share of all importance, by an estimate   judges it
60% guaranteed    this share of PageRank with jumps to the seeds is proven      refuses it

A new form is a class here, entered in `Until`. mypy then names the place that judges it,
`crawl.progress.StopLimit`; a reason of its own is a row of `crawl.events.Reason`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, get_args

from minicrawl.config.values.kinds import NONE, InvalidValue, ValueKind
from minicrawl.config.values.quantities import as_percent, part


class _Form:
    """Base of the forms of --until, with what holds for most of them."""

    needs_links: ClassVar = False
    """True if it is judged by stored links."""
    why_one_machine: ClassVar = "no node of a cluster judges it"
    """Why a cluster refuses it; empty if `cluster.node.crawl_state` judges it."""


@dataclass(frozen=True, slots=True)
class GatheredShare(_Form):
    """Estimated share of all importance, that of undiscovered pages included."""

    share: float

    why_one_machine: ClassVar = ""

    @staticmethod
    def read(value: object) -> "GatheredShare | None":
        share = part(value)
        return GatheredShare(share) if share is not None and 0 < share <= 1 else None

    @property
    def plain(self) -> float:
        """Value in JSON types, which reads back as the same rule."""
        return self.share

    def __str__(self) -> str:
        return as_percent(self.share)

    def beyond(self, reached: float) -> str:
        """Return the --until with which a crawl goes on that has `reached` this share."""
        return NONE if reached >= 1 else f"{math.ceil(50 * (1 + reached))}%"


@dataclass(frozen=True, slots=True)
class GuaranteedShare(_Form):
    """Share of PageRank with jumps to the seeds that is surely on pages read."""

    share: float

    needs_links: ClassVar = True
    why_one_machine: ClassVar = "the proof needs the links of all pages"

    @staticmethod
    def read(value: object) -> "GuaranteedShare | None":
        text = value.rstrip() if isinstance(value, str) else ""
        rule = GatheredShare.read(text.removesuffix(_GUARANTEED))
        if rule is None or not text.endswith(_GUARANTEED):
            return None
        return GuaranteedShare(float(f"{100 * rule.share:.10g}") / 100)  # as `plain` has it

    @property
    def plain(self) -> str:
        return f"{100 * self.share:.10g}% {_GUARANTEED}"

    def __str__(self) -> str:
        return self.plain

    def beyond(self, reached: float) -> str:
        further = GatheredShare(self.share).beyond(reached)
        return further if further == NONE else f"{further} {_GUARANTEED}"


_GUARANTEED = "guaranteed"

Until = GatheredShare | GuaranteedShare
FORMS: tuple[type[Until], ...] = get_args(Until)


def _read(value: object) -> Until:
    if isinstance(value, FORMS):
        return value
    for form in FORMS:
        if (rule := form.read(value)) is not None:
            return rule
    raise InvalidValue(value, "must be a share above 0 and at most 1, such as 90% or 0.9")


UNTIL = ValueKind("SHARE", _read, accepts="float | str")
