"""Ways to find issues of an audit, each with the group that names their causes.

A detector gets the columns of a site and returns the pages that have the issue, as a mask. Those
that `checks.txt` names get the words behind their name, and `KINDS` are the pages that it names.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from minicrawl.audit import causes
from minicrawl.audit.link_columns import DEAD_OUTSIDE, Column
from minicrawl.audit.noted_facts import NO_TARGET, UNKNOWN
from minicrawl.audit.site import REDIRECTS, AuditedSite, Mask
from minicrawl.states import State

MARKUP, LINKS, CHECKED, LISTED, TIMED = "markup", "links", "checked", "listed", "timed"
RENDERED, OUTSIDE = "rendered", "outside"
"""Needs of a check: kept pages, stored links, checked links, kept sitemaps, times of heads, a
browser, or checked links to other sites.
"""

_MOST_ALIKE = 10

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


def _of(name: str) -> Measure:
    return lambda site: site.number(name)


def missing(name: str) -> Detector:
    """Find indexable pages where this text is missing."""
    return Detector(lambda site: site.indexable & (site.number(name) == 0))


def shared(name: str) -> Detector:
    """Find indexable pages that share this text with another page of their host."""
    return Detector(lambda site: site.repeated(name, site.indexable), group=causes.by_hash(name))


def over(name: str, most: int) -> Detector:
    """Find indexable pages where the number is above `most`."""
    return Detector(lambda site: site.indexable & (site.number(name) > most), shows=_of(name))


def under(name: str, least: int, *, or_none: bool = False) -> Detector:
    """Find indexable pages where the number is below `least`; 0 counts only with `or_none`."""

    def find(site: AuditedSite) -> Mask:
        number = site.number(name)
        return site.indexable & (number < least) & (or_none | (number > 0))

    return Detector(find, shows=_of(name))


def more(name: str, than: int = 0) -> Detector:
    """Find pages where the number is above `than`."""
    return Detector(lambda site: site.html & (site.number(name) > than), shows=_of(name), fact=name)


def has(flag: str) -> Detector:
    """Find pages where the flag is set."""
    return Detector(lambda site: site.html & site.flag(flag), fact=flag)


def lacks(flag: str, among: str = "") -> Detector:
    """Find pages where the flag is not set, perhaps only those with another one."""
    return Detector(lambda site: site.html & ~site.flag(flag) & (not among or site.flag(among)))


def url(fault: str) -> Detector:
    """Find pages whose URL has a fault."""
    return Detector(lambda site: site.url_fault(fault), "")


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
    find = KINDS[kind]
    return Detector(lambda site: site.whose_target(head, find(site)), group=causes.by_head(head))


def translated(kind: str) -> Detector:
    """Find pages with a language version of a kind."""
    find = KINDS[kind]
    return Detector(lambda site: site.with_alternate(find(site)), group=causes.by_alternate(find))


def listed(kind: str) -> Detector:
    """Find pages of a kind in sitemaps."""
    return Detector(lambda site: site.listed & KINDS[kind](site), LISTED)


def state(*states: State) -> Find:
    return lambda site: site.is_in(*states)


KINDS: dict[str, Find] = {
    "dead": attrgetter("dead"),
    "noindex": attrgetter("noindex"),
    "moved": state(State.MOVED),
    "blocked": state(State.ROBOTS),
    "copied": state(State.CANONICAL),
    "ahead": attrgetter("listed_ahead"),
    "renamed": lambda site: site.target("canonical") != NO_TARGET,
}
"""Kinds of pages by name; a page that names another as canonical is renamed."""


def own(
    kind: Find, shows: Measure | None = None, group: causes.Group = causes.by_template
) -> Detector:
    """Find pages of a kind on the hosts of the site; needs no kept pages."""
    return Detector(lambda site: site.own & kind(site), "", shows, group)


def linked(kind: Find) -> Detector:
    """Find pages of a kind that depends on stored links."""
    return Detector(kind, LINKS)


def canonical_loop(site: AuditedSite) -> Mask:
    target = site.target("canonical")
    # After as many steps as there are pages, every page left is in a loop; each round doubles the
    # steps.
    after = np.where(target >= 0, target, np.arange(len(site), dtype=np.int32))
    for _ in range(len(site).bit_length()):
        after = after[after]
    return site.of(after) & (target >= 0) & site.html


def canonical_elsewhere(site: AuditedSite) -> Mask:
    target = site.target("canonical")
    hosts = site.seen.host_of
    other = (target >= 0) & (hosts[np.maximum(target, 0)] != hosts)
    return site.html & (other | (target == UNKNOWN))


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
    return site.html & site.of(pages[pairs[places] != back])


def no_way_back(site: AuditedSite) -> Mask:
    is_alone = site.none()
    for head, back in (("next", "prev"), ("prev", "next")):
        target, returned = site.target(head), _ends(site, site.target(back))
        at = np.maximum(target, 0)
        is_alone |= (target >= 0) & site.html[at] & (returned[at] != site.ends)
    return is_alone & site.html


def endless(site: AuditedSite) -> Mask:
    """Return the redirects in or into a loop; the crawl gives up one redirect of each loop."""
    return site.is_in(*REDIRECTS) & site.is_in(State.BAD_REDIRECT)[site.ends]


def near_duplicate(site: AuditedSite) -> Mask:
    """Return pages with equal long lines, but not of many pages: those are from a template."""
    alike = site.repeated("text", site.indexable, _MOST_ALIKE)
    return alike | (site.of(site.seen.near_duplicates.pages) & site.indexable)
