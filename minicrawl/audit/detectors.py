"""Ways to find issues of an audit, each with the group that names their causes.

A detector gets the columns of a site and returns the pages that have the issue, as a mask. Most are
conditions, which a row of `checks.txt` states:

    html,h1s>1                   pages with facts that have several h1
    own,MOVED,dead_end/end       redirects to a missing page; their causes are the ends
    was_read,!seed,!is_end,!to   pages without any link to them

A name is that of a column: of `COLUMNS`, of a site, of facts, or, in capitals, of a state.
"""

import re
from collections.abc import Callable
from operator import attrgetter, eq, gt, lt, ne
from typing import Any, NamedTuple

import numpy as np

from minicrawl.audit import causes
from minicrawl.audit.facts.noted_facts import NO_TARGET, UNKNOWN
from minicrawl.audit.facts.page_facts import BIT, LAYOUT
from minicrawl.audit.link_columns import DEAD_OUTSIDE, Column
from minicrawl.audit.site import REDIRECTS, AuditedSite, Mask
from minicrawl.states import State

MARKUP, LINKS, CHECKED, LISTED, TIMED = "markup", "links", "checked", "listed", "timed"
RENDERED, OUTSIDE = "rendered", "outside"
"""Needs: kept pages, links, checks of links, sitemaps, times, a browser, checks of other sites."""

_MOST_ALIKE = 10
_CONDITION = re.compile(r"(!?)(\w+)([<>=]?)([\d.]*)")
_COMPARISONS = {"": ne, "!": eq, "=": eq, "<": lt, ">": gt}
"""Comparisons by sign; without a number it is one with 0."""

Find = Callable[[AuditedSite], Mask]
Measure = Callable[[AuditedSite], Column]


class Detector(NamedTuple):
    """Way to find an issue: its needs, the number that it shows for a page, and its causes."""

    find: Find
    needs: str = MARKUP
    shows: Measure | None = None
    group: causes.Group = causes.by_template
    fact: str = ""
    """Name of the fact of a page that it reads, for the place on the page."""


def where(conditions: str) -> Detector:
    """Find the pages for which all conditions hold; the last name with a need decides on it."""
    written, _, group = conditions.partition("/")
    parts = _CONDITION.findall(written)
    named = [name for _, name, _, _ in parts]
    measured = [name for _, name, sign, _ in parts if sign in ("<", ">")]
    return Detector(
        lambda site: np.logical_and.reduce(
            [
                _COMPARISONS[negation or sign](column(site, name), float(number) if number else 0)
                for negation, name, sign, number in parts
            ]
        ),
        next((_NEEDS[name] for name in reversed(named) if name in _NEEDS), ""),
        (lambda site: column(site, measured[-1])) if measured else None,
        _GROUPS.get(group, causes.by_template),
        named[-1],
    )


def column(site: AuditedSite, name: str) -> Any:
    """Return the column of this name."""
    if name in COLUMNS:
        return COLUMNS[name](site)
    if name.startswith("url_"):
        return site.url_fault(name.removeprefix("url_"))
    if name in BIT:
        return site.flag(name)
    if name in (LAYOUT.names or ()):
        return site.number(name)
    if name in State.__members__:
        return site.is_in(State[name])
    return getattr(site, name)


def shared(name: str) -> Detector:
    """Find indexable pages that share this text with another page of their host."""
    return Detector(lambda site: site.repeated(name, site.indexable), group=causes.by_hash(name))


def links(issue: str) -> Detector:
    needs, group = OUTSIDE if issue == DEAD_OUTSIDE else LINKS, causes.by_link(issue)
    return Detector(
        lambda site: site.links.of[issue] > 0, needs, lambda site: site.links.of[issue], group
    )


def finding(kind: str, number: str = "") -> Detector:
    """Find pages on which the link check found an issue of this kind, perhaps with a number."""
    shows: Measure | None = (lambda site: site.finding_number(kind)) if number else None
    return Detector(lambda site: site.finding(kind), CHECKED, shows, causes.by_file(kind))


def names(head: str, kind: str) -> Detector:
    """Find pages whose canonical, next or prev is a page of a kind."""
    return Detector(
        lambda site: site.whose_target(head, column(site, kind)), group=causes.by_head(head)
    )


def translated(kind: str) -> Detector:
    """Find pages with a language version of a kind."""
    return Detector(
        lambda site: site.with_alternate(column(site, kind)),
        group=causes.by_alternate(lambda site: column(site, kind)),
    )


def canonical_loop(site: AuditedSite) -> Mask:
    target = site.target("canonical")
    # Each round doubles the steps. After as many as there are pages, only those in loops are left.
    after = np.where(target >= 0, target, np.arange(len(site), dtype=np.int32))
    for _ in range(len(site).bit_length()):
        after = after[after]
    return site.of(after) & (target >= 0)


def canonical_elsewhere(site: AuditedSite) -> Mask:
    target = site.target("canonical")
    hosts = site.seen.host_of
    other = (target >= 0) & (hosts[np.maximum(target, 0)] != hosts)
    return other | (target == UNKNOWN)


def _ends(site: AuditedSite, pages: Column) -> Column:
    """Return the pages that stand for those that a page names, such as / for /index.html."""
    return np.where(pages >= 0, site.ends[np.maximum(pages, 0)], pages)


def no_return(site: AuditedSite) -> Mask:
    """Return pages with a language version that does not name them, nor a copy of them."""
    pages, targets = (column.astype(np.int64) for column in site.alternates)
    pairs = np.sort(pages * len(site) + _ends(site, targets))
    is_read = (targets >= 0) & site.html[np.maximum(targets, 0)] & (targets != pages)
    pages, targets = pages[is_read], targets[is_read]
    back = targets * len(site) + site.ends[pages]
    places = np.minimum(np.searchsorted(pairs, back), len(pairs) - 1)
    return site.of(pages[pairs[places] != back])


def no_way_back(site: AuditedSite) -> Mask:
    is_alone = site.none()
    for head, back in (("next", "prev"), ("prev", "next")):
        target, returned = site.target(head), _ends(site, site.target(back))
        at = np.maximum(target, 0)
        is_alone |= (target >= 0) & site.html[at] & (returned[at] != site.ends)
    return is_alone


def endless(site: AuditedSite) -> Mask:
    """Return the redirects in or into a loop; the crawl gives up one redirect of each loop."""
    return site.is_in(*REDIRECTS) & site.is_in(State.BAD_REDIRECT)[site.ends]


def expected(site: AuditedSite) -> Mask:
    """Return the pages that something names, or that were there once."""
    is_named = (site.links.to > 0) | site.listed | site.is_end | site.of(site.seeds)
    return is_named | (site.number("size") > 0)


def near_duplicate(site: AuditedSite) -> Mask:
    """Return pages with equal long lines, but not of many pages: those are from a template."""
    alike = site.repeated("text", site.indexable, _MOST_ALIKE)
    return alike | (site.of(site.seen.near_duplicates.pages) & site.indexable)


COLUMNS: dict[str, Measure] = {
    "away": attrgetter("links.away_from"),
    "canonical_chain": lambda site: site.whose_target("canonical", site.target("canonical") >= 0),
    "canonical_elsewhere": canonical_elsewhere,
    "canonical_loop": canonical_loop,
    "dead_end": lambda site: site.dead[site.ends],
    "endless": endless,
    "expected": expected,
    "near_duplicate": near_duplicate,
    "no_return": no_return,
    "no_way_back": no_way_back,
    "renamed": lambda site: site.target("canonical") != NO_TARGET,
    "rendered": AuditedSite.none,
    "seed": lambda site: site.of(site.seeds),
    "temporary": lambda site: np.isin(site.status, (302, 303, 307)),
    "to": attrgetter("links.to"),
}
"""Columns that are neither of a site nor facts, by name: `to` and `away` count links."""
_NEEDS = {
    **dict.fromkeys(("html", "indexable", "near_duplicate"), MARKUP),
    **dict.fromkeys(("away", "expected", "to"), LINKS),
    **dict.fromkeys(("listed", "listed_ahead"), LISTED),
    "first_byte_s": TIMED,
    "rendered": RENDERED,
}
_GROUPS: dict[str, causes.Group] = {
    "canonical": causes.by_head("canonical"),
    "end": causes.by_end,
    "text": causes.by_hash("text"),
    "twin": causes.by_label(lambda site, pages: site.twins[pages]),
}
WAYS: dict[str, Callable[..., Detector]] = {
    way.__name__: way for way in (shared, links, finding, names, translated)
}
"""Ways to find what no condition states, by name."""
