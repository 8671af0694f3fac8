"""The table of the checks of an audit: `checks.txt` names and explains them, and says how each is
found: by a function of `detectors` and its arguments, or in a way of its own, which is here.

    title-long  notice  over:title_chars:70  title over 70 characters: shorten it
    link-dead   error   links                links to missing pages: the argument is the name itself
    orphan      warning -                    no page links to it: see _OWN

The text of a check says what is wrong, and after a colon what to do. Thresholds are lenient: a
title of 61 characters is no fault that anybody would mend. A package adds checks of its own by the
entry point group `minicrawl.audits`: a function without arguments that returns rows.

error    readers or search engines do not get the page, or get another one
warning  they get the page late, or in a bad state
notice   worth a look; may be intended
"""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from minicrawl import ext
from minicrawl.audit import causes, detectors as find
from minicrawl.audit.noted_facts import NO_TARGET
from minicrawl.audit.site import AuditedSite
from minicrawl.states import State

ERROR, WARNING, NOTICE = "error", "warning", "notice"
SEVERITIES = (ERROR, WARNING, NOTICE)

RULES = "axe"
"""Check that stands for the rules of axe-core as long as no browser has judged any page."""

_SLOW_S, _LATE_S, _DEEP, _THIN_WORDS, _MANY_LINKS, _WORTH_CODING = 1.0, 0.8, 5, 20, 500, 2_000
_OK, _TEMPORARY, _SERVER_ERROR = 200, (302, 303, 307), 500


class Check(NamedTuple):
    """An issue: its name, how bad it is, what it means and what to do, and how it is found."""

    name: str
    severity: str
    text: str
    by: find.Detector
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


_OWN: dict[str, find.Detector] = {
    # markup
    "meta-refresh-now": find.own(
        lambda site: site.is_in(State.MOVED) & (site.status == _OK), group=causes.by_end
    ),
    "text-thin": find.under("words", _THIN_WORDS, or_none=True),
    "duplicate": find.own(find.state(State.ALIAS), group=causes.by_end),
    "duplicate-near": find.Detector(find.near_duplicate, group=causes.by_hash("text")),
    # indexing, languages and pagination
    "canonical-chain": find.Detector(
        lambda site: (
            site.whose_target("canonical", site.target("canonical") >= 0)
            & ~find.canonical_loop(site)
        ),
        group=causes.by_head("canonical"),
    ),
    "canonical-loop": find.Detector(find.canonical_loop, group=causes.by_head("canonical")),
    "canonical-elsewhere": find.Detector(
        find.canonical_elsewhere, group=causes.by_head("canonical")
    ),
    "hreflang-without-return": find.Detector(find.no_return),
    "pagination-without-return": find.Detector(find.no_way_back),
    # security and speed
    "page-on-http": find.Detector(lambda site: site.html & ~site.flag("is_https") & site.has_https),
    "slow": find.own(lambda site: site.was_read & (site.seconds > _SLOW_S), attrgetter("seconds")),
    "slow-first-byte": find.own(
        lambda site: site.was_read & (site.first_byte_s > _LATE_S),
        attrgetter("first_byte_s"),
    )._replace(needs=find.TIMED),
    "uncompressed": find.Detector(
        lambda site: site.html & ~site.flag("compressed") & (site.number("size") > _WORTH_CODING)
    ),
    # links and answers
    "link-single": find.linked(
        lambda site: site.indexable & (site.links.to == 1) & ~site.of(site.seeds)
    ),
    "links-none": find.linked(
        lambda site: (
            site.html & site.was_read & (site.links.away_from == 0) & ~site.flag("nofollow")
        )
    ),
    "links-many": find.linked(lambda site: site.html & (site.links.away_from > _MANY_LINKS)),
    "page-as-text": find.own(lambda site: site.sent_as_text),
    "page-missing": find.own(find.state(State.NOT_FOUND)),
    "server-error": find.own(
        lambda site: site.dead & site.is_in(State.SERVER_ERROR) & (site.status >= _SERVER_ERROR)
    ),
    # redirects and structure
    "redirect-loop": find.own(find.endless),
    "redirect-chain": find.own(lambda site: site.hops > 1, attrgetter("hops"), causes.by_end),
    "redirect-temporary": find.linked(
        lambda site: (
            site.own
            & site.is_in(State.MOVED)
            & np.isin(site.status, _TEMPORARY)
            & (site.links.to > 0)
        )
    ),
    "redirect-to-dead": find.own(
        lambda site: site.is_in(State.MOVED) & site.dead[site.ends] & ~find.endless(site),
        group=causes.by_end,
    ),
    "orphan": find.linked(
        lambda site: site.was_read & (site.links.to == 0) & ~site.of(site.seeds) & ~site.is_end
    ),
    "deep": find.own(lambda site: site.was_read & (site.depth > _DEEP), attrgetter("depth")),
    # accessibility, sitemaps and URLs
    RULES: find.Detector(AuditedSite.none, find.RENDERED),
    "sitemap-without": find.Detector(
        lambda site: site.indexable & (site.target("canonical") == NO_TARGET) & ~site.listed,
        find.LISTED,
    ),
    "url-twin": find.Detector(
        lambda site: site.twins != 0,
        "",
        group=causes.by_label(lambda site, pages: site.twins[pages]),
    ),
    "url-session": find.own(lambda site: site.has_session),
}


def _checks() -> Iterator[Check]:
    gain = ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            gain = line.partition(": ")[2]
        elif line:
            name, severity, how, text = line.split(maxsplit=3)
            way, *words = how.split(":")
            arguments = [int(word) if word.isdigit() else word for word in words or [name]]
            by = _OWN[name] if way == "-" else getattr(find, way)(*arguments)
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
