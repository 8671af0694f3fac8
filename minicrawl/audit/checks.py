"""The table of the checks of an audit: `checks.txt` names and explains them, and says how each is
found: by conditions, or by a function of `detectors.WAYS` and its arguments.

    title-long       notice   indexable,title_chars>70  title over 70 characters: shorten it
    title-duplicate  warning  shared:title              same title as other pages
    link-dead        error    links                     the argument is the name of the issue

The text of a check says what is wrong, and after a colon what to do. Thresholds are lenient: a
title of 61 characters is no fault that anybody would mend. A package adds checks of its own by the
entry point group `minicrawl.audits`: a function without arguments that returns rows.

error    readers or search engines do not get the page, or get another one
warning  they get the page late, or in a bad state
notice   worth a look; may be intended
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, cast

from minicrawl import ext
from minicrawl.audit.detectors import WAYS, Detector, where

ERROR, WARNING, NOTICE = "error", "warning", "notice"
SEVERITIES = (ERROR, WARNING, NOTICE)

RULES = "axe"
"""Check that stands for the rules of axe-core as long as no browser has judged any page."""


class Check(NamedTuple):
    """An issue: its name, how bad it is, what it means and what to do, and how it is found."""

    name: str
    severity: str
    text: str
    by: Detector
    gain: str = ""
    """What pages do once it is mended, after their number."""

    @property
    def means(self) -> str:
        """Fault, as a sentence."""
        return self.text.partition(": ")[0]

    @property
    def remedy(self) -> str:
        """Remedy, as a sentence."""
        remedy = self.text.partition(": ")[2]
        return f"{remedy[:1].upper()}{remedy[1:]}." if remedy else ""


def _checks() -> Iterator[Check]:
    gain = ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            gain = line.partition(": ")[2]
        elif line:
            name, severity, how, text = line.split(maxsplit=3)
            way, *words = how.split(":")
            by = WAYS[way](*words or [name]) if way in WAYS else where(how)
            yield Check(name, severity, text, by, gain)


CHECKS = tuple(_checks())
"""All checks; issues with equal severity and count are listed in this order."""


def is_issue(name: str) -> bool:
    """Return True for the name of a check, or one that begins as those of rules of axe-core do."""
    return name.startswith(f"{RULES}-") or any(name == check.name for check in all_checks())


def all_checks() -> tuple[Check, ...]:
    """Return the checks of the table, and those of packages, which cannot replace them."""
    known = {check.name for check in CHECKS}
    points = ext.entry_points(ext.AUDITS).values()
    added = [
        check
        for point in points
        for check in cast(Callable[[], Iterable[Check]], point.load())()
        if check.name not in known
    ]
    return (*CHECKS, *added)
