"""Table of the checks of an audit, each a row with a small function, and what they find.

A check gets the columns of a site and returns the pages that have the issue, as a mask. Thresholds
are lenient: a title of 61 characters is no fault that anybody would mend. A package adds checks of
its own by the entry point group `minicrawl.audits`: a function without arguments that returns rows.

error    readers or search engines do not get the page, or get another one
warning  they get the page late, or in a bad state
notice   worth a look; may be intended
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import TextIOWrapper
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

from minicrawl import __version__, ext
from minicrawl.archive.record import key_of
from minicrawl.audit.site import (
    NO_TARGET,
    REDIRECTS,
    UNKNOWN,
    AuditedSite,
    Column,
    Mask,
    UrlKeys,
    note_facts,
    titles,
)
from minicrawl.errors import NoRoom, UsageError
from minicrawl.model import State
from minicrawl.ports import Progress, part, unreported
from minicrawl.report.files.rows import write_csv
from minicrawl.report.links.verdicts import LinkVerdict
from minicrawl.report.selected_pages import Block, hosts_named
from minicrawl.report.site.site_report import ReportSection
from minicrawl.report.snapshot import Snapshot, snapshot, urls
from minicrawl.store import tables
from minicrawl.store.derived import LARGE_IMAGE
from minicrawl.wording import counted, visible

ERROR, WARNING, NOTICE = "error", "warning", "notice"
SEVERITIES = (ERROR, WARNING, NOTICE)
MARKUP, LINKS, CHECKED, LISTED, TIMED = "markup", "links", "checked", "listed", "timed"
"""Needs of a check: kept pages, stored links, checked links, kept sitemaps, or times of heads."""

_SLOW_S, _LATE_S = 1.0, 0.8
_DEEP, _THIN_WORDS, _LARGE, _WORTH_CODING = 5, 20, 500_000, 2_000
_TEMPORARY, _SERVER_ERROR = (302, 303, 307), 500
_MANY_LINKS, _MOST_ALIKE = 500, 10

Find = Callable[[AuditedSite], Mask]
Measure = Callable[[AuditedSite], Column]


class Detector(NamedTuple):
    """Way to find an issue, with its needs and the number that it shows for a page."""

    find: Find
    needs: str = MARKUP
    shows: Measure | None = None


class Check(NamedTuple):
    """An issue: its name, how bad it is, what it means, and how it is found."""

    name: str
    severity: str
    means: str
    by: Detector


# ---------------------------------------------------------------- ways to find


def _of(name: str) -> Measure:
    return lambda site: site.number(name)


def missing(name: str) -> Detector:
    """Find indexable pages where this text is missing."""
    return Detector(lambda site: site.indexable & (site.number(name) == 0))


def shared(name: str) -> Detector:
    """Find indexable pages that share this text with another page of their host."""
    return Detector(lambda site: site.repeated(name, site.indexable))


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
    return Detector(lambda site: site.html & (site.number(name) > than), shows=_of(name))


def has(flag: str) -> Detector:
    """Find pages where the flag is set."""
    return Detector(lambda site: site.html & site.flag(flag))


def lacks(flag: str) -> Detector:
    """Find pages where the flag is not set."""
    return Detector(lambda site: site.html & ~site.flag(flag))


def url(fault: str) -> Detector:
    """Find pages whose URL has a fault."""
    return Detector(lambda site: site.url_fault(fault), "")


def links_to(kind: str) -> Detector:
    """Find pages with links of a kind."""
    count: Measure = attrgetter(f"links.{kind}")
    return Detector(lambda site: count(site) > 0, LINKS, count)


def found(kind: str, shows: Measure | None = None) -> Detector:
    """Find pages on which the link check found an issue of this kind."""
    return Detector(lambda site: site.finding(kind), CHECKED, shows)


def names(head: str, kind: Find) -> Detector:
    """Find pages whose canonical, next or prev is a page of a kind."""
    return Detector(lambda site: site.whose_target(head, kind(site)))


def translated(kind: Find) -> Detector:
    """Find pages with a language version of a kind."""
    return Detector(lambda site: site.with_alternate(kind(site)))


def listed(kind: Find) -> Detector:
    """Find pages of a kind in sitemaps."""
    return Detector(lambda site: site.listed & kind(site), LISTED)


def state(*states: State) -> Find:
    """Return a function that finds the pages in these states."""
    return lambda site: site.is_in(*states)


def own(kind: Find, shows: Measure | None = None) -> Detector:
    """Find pages of a kind on the hosts of the site; needs no kept pages."""
    return Detector(lambda site: site.own & kind(site), "", shows)


def linked(kind: Find) -> Detector:
    """Find pages of a kind that depends on stored links."""
    return Detector(kind, LINKS)


def _dead(site: AuditedSite) -> Mask:
    return site.dead


def _noindex(site: AuditedSite) -> Mask:
    return site.noindex


# ---------------------------------------------------------------- canonical


def _canonical_loop(site: AuditedSite) -> Mask:
    """Return pages in a loop of canonical URLs."""
    target = site.target("canonical")
    # After as many steps as there are pages, every page left is in a loop; each round doubles the
    # steps.
    after = np.where(target >= 0, target, np.arange(len(site), dtype=np.int32))
    for _ in range(len(site).bit_length()):
        after = after[after]
    return site.of(after) & (target >= 0) & site.html


def _canonical_elsewhere(site: AuditedSite) -> Mask:
    target = site.target("canonical")
    hosts = site.seen.host_of
    other = (target >= 0) & (hosts[np.maximum(target, 0)] != hosts)
    return site.html & (other | (target == UNKNOWN))


# ---------------------------------------------------------------- languages and pagination


def _no_return(site: AuditedSite) -> Mask:
    """Return pages with a language version that does not name them."""
    pages, targets = (column.astype(np.int64) for column in site.alternates)
    pairs = np.sort(pages * len(site) + targets)
    is_read = (targets >= 0) & site.html[np.maximum(targets, 0)] & (targets != pages)
    pages, targets = pages[is_read], targets[is_read]
    back = targets * len(site) + pages
    places = np.minimum(np.searchsorted(pairs, back), len(pairs) - 1)
    return site.html & site.of(pages[pairs[places] != back])


def _no_way_back(site: AuditedSite) -> Mask:
    found, own = site.none(), np.arange(len(site), dtype=np.int32)
    for head, back in (("next", "prev"), ("prev", "next")):
        target, returned = site.target(head), site.target(back)
        at = np.maximum(target, 0)
        found |= (target >= 0) & site.html[at] & (returned[at] != own)
    return found & site.html


# ---------------------------------------------------------------- redirects, structure, sitemaps


def _endless(site: AuditedSite) -> Mask:
    """Return the redirects in or into a loop; the crawl gives up one redirect of each loop."""
    return site.is_in(*REDIRECTS) & site.is_in(State.BAD_REDIRECT)[site.ends]


def _slow(site: AuditedSite) -> Mask:
    return site.own & site.was_read & (site.seconds > _SLOW_S)


def _near_duplicate(site: AuditedSite) -> Mask:
    """Return pages with equal long lines, but not of many pages: those are from a template."""
    alike = site.repeated("text", site.indexable, _MOST_ALIKE)
    return alike | (site.of(site.seen.near_duplicates.pages) & site.indexable)


def _is_copy(site: AuditedSite) -> Mask:
    return site.target("canonical") != NO_TARGET


E, W, N = SEVERITIES
_MOVED, _BLOCKED, _COPY = state(State.MOVED), state(State.ROBOTS), state(State.CANONICAL)

CHECKS: tuple[Check, ...] = (
    # texts of the page in results
    Check("title-missing", E, "no title", missing("title")),
    Check("title-duplicate", W, "same title as other pages", shared("title")),
    Check("title-long", N, "title over 70 characters", over("title_chars", 70)),
    Check("title-short", N, "title under 10 characters", under("title_chars", 10)),
    Check("title-several", W, "several titles", more("titles", 1)),
    Check("description-missing", N, "no description", missing("description")),
    Check("description-duplicate", N, "same description as other pages", shared("description")),
    Check("description-long", N, "description over 170 characters", over("description_chars", 170)),
    Check(
        "description-short", N, "description under 50 characters", under("description_chars", 50)
    ),
    Check("description-several", W, "several descriptions", more("descriptions", 1)),
    Check("h1-missing", W, "no h1", missing("h1")),
    Check("h1-duplicate", N, "same h1 as other pages", shared("h1")),
    Check("h1-long", N, "h1 over 80 characters", over("h1_chars", 80)),
    Check("h1-short", N, "h1 under 3 characters", under("h1_chars", 3)),
    Check("h1-several", N, "several h1", more("h1s", 1)),
    Check("heading-order", N, "a heading skips a level, such as h4 after h2", has("skips_heading")),
    # markup
    Check("image-without-alt", W, "images without alt", more("without_alt")),
    Check("language-missing", N, "no lang attribute on <html>", lacks("html_lang")),
    Check("viewport-missing", N, "no viewport for phones", lacks("viewport")),
    Check("charset-missing", W, "no declared encoding", lacks("charset")),
    Check("doctype-missing", N, "no doctype: browsers use quirks mode", lacks("doctype")),
    Check("structured-data-broken", E, "JSON-LD that does not parse", has("bad_json")),
    Check("meta-refresh", W, "a meta refresh sends readers to another URL", has("refresh")),
    Check("text-thin", N, "fewer than 20 words", under("words", _THIN_WORDS, or_none=True)),
    Check("text-filler", W, "placeholder text", has("filler")),
    Check("duplicate", W, "content of another page", own(state(State.ALIAS))),
    Check("duplicate-near", N, "nearly the text of another page", Detector(_near_duplicate)),
    # indexing
    Check("noindex-meta", N, "a meta element says noindex", has("noindex_meta")),
    Check("noindex-header", N, "X-Robots-Tag says noindex", has("noindex_header")),
    Check("nofollow-page", N, "the page says nofollow", has("nofollow")),
    Check("nofollow-links", N, "nofollow on links within the site", more("nofollow_links")),
    Check("link-to-noindex", N, "links to noindex pages", links_to("noindex")),
    Check("link-to-blocked", W, "links to pages that robots.txt forbids", links_to("blocked")),
    Check("canonical-several", E, "several canonical URLs", more("canonicals", 1)),
    Check("canonical-dead", E, "canonical URL is missing", names("canonical", _dead)),
    Check("canonical-redirect", W, "canonical URL redirects", names("canonical", _MOVED)),
    Check("canonical-noindex", E, "canonical URL says noindex", names("canonical", _noindex)),
    Check("canonical-blocked", E, "robots.txt forbids the canonical", names("canonical", _BLOCKED)),
    Check(
        "canonical-chain",
        W,
        "canonical page names another canonical URL",
        Detector(
            lambda site: (
                site.whose_target("canonical", site.target("canonical") >= 0)
                & ~_canonical_loop(site)
            )
        ),
    ),
    Check("canonical-loop", E, "canonical URLs form a loop", Detector(_canonical_loop)),
    Check("canonical-elsewhere", N, "canonical on another host", Detector(_canonical_elsewhere)),
    # languages and pagination
    Check("hreflang-unknown", E, "invalid language code", has("unknown_hreflang")),
    Check("hreflang-twice", W, "a language is declared twice", has("twice_hreflang")),
    Check(
        "hreflang-without-self",
        N,
        "hreflang does not name the page itself",
        has("no_self_hreflang"),
    ),
    Check(
        "hreflang-without-return", E, "language version does not link back", Detector(_no_return)
    ),
    Check("hreflang-dead", E, "language version is missing", translated(_dead)),
    Check("hreflang-redirect", W, "language version redirects", translated(_MOVED)),
    Check("hreflang-not-canonical", W, "language version is not canonical", translated(_is_copy)),
    Check("hreflang-noindex", W, "language version says noindex", translated(_noindex)),
    Check("pagination-dead-next", E, "next page is missing", names("next", _dead)),
    Check("pagination-dead-prev", E, "previous page is missing", names("prev", _dead)),
    Check(
        "pagination-without-return",
        N,
        "next or previous page does not link back",
        Detector(_no_way_back),
    ),
    # security
    Check("mixed-content", E, "https page loads files over http", more("mixed")),
    Check("form-insecure", E, "https page sends a form over http", has("insecure_form")),
    Check("link-to-http", W, "https page links to http on the same host", links_to("insecure")),
    Check(
        "page-on-http",
        W,
        "served over http, though the host has https",
        Detector(lambda site: site.html & ~site.flag("is_https") & site.has_https),
    ),
    Check(
        "hsts-missing",
        N,
        "no Strict-Transport-Security",
        Detector(lambda site: site.html & site.flag("is_https") & ~site.flag("hsts")),
    ),
    Check("csp-missing", N, "no Content-Security-Policy", lacks("csp")),
    # speed
    Check("slow", W, "response took more than 1 s", own(_slow, attrgetter("seconds"))),
    Check(
        "slow-first-byte",
        W,
        "first byte came more than 0.8 s after the request",
        Detector(
            lambda site: site.own & site.was_read & (site.first_byte_s > _LATE_S),
            TIMED,
            attrgetter("first_byte_s"),
        ),
    ),
    Check("page-large", W, "markup over 500 kB", more("size", _LARGE)),
    Check("image-large", W, "an image over 500 kB", found(LARGE_IMAGE, attrgetter("image_bytes"))),
    Check(
        "uncompressed",
        N,
        "sent uncompressed",
        Detector(
            lambda site: (
                site.html & ~site.flag("compressed") & (site.number("size") > _WORTH_CODING)
            )
        ),
    ),
    Check("uncached", N, "no caching headers", lacks("cached")),
    # links and answers
    Check("link-dead", E, "links to missing pages of the site", links_to("dead")),
    Check("link-dead-outside", W, "links to missing pages elsewhere", links_to("dead_outside")),
    Check("link-to-redirect", N, "links to redirects", links_to("redirects")),
    Check("link-to-copy", N, "links to copies of other pages", links_to("copies")),
    Check(
        "link-single",
        N,
        "linked from one page only",
        linked(lambda site: site.indexable & (site.links.to == 1) & ~site.of(site.seeds)),
    ),
    Check(
        "links-none",
        N,
        "links to no other page",
        linked(
            lambda site: (
                site.html & site.was_read & (site.links.away_from == 0) & ~site.flag("nofollow")
            )
        ),
    ),
    Check(
        "links-many",
        N,
        "more than 500 links",
        linked(lambda site: site.html & (site.links.away_from > _MANY_LINKS)),
    ),
    Check("anchor-missing", N, "links to a #name that does not exist", found("anchor")),
    Check("image-missing", E, "an image does not exist", found("image")),
    Check("style-missing", E, "a style sheet does not exist", found("style")),
    Check("script-missing", E, "a script does not exist", found("script")),
    Check("media-missing", E, "a media file or font does not exist", found("media")),
    Check("page-missing", W, "page answers 404 or 410", own(state(State.NOT_FOUND))),
    Check(
        "server-error",
        E,
        "page answers 5xx",
        own(
            lambda site: (
                site.is_in(State.SERVER_ERROR)
                & (site.status >= _SERVER_ERROR)
                & (site.verdicts == LinkVerdict.DEAD)
            )
        ),
    ),
    Check("soft-404", E, "'not found' with status 200", found("soft-404")),
    # redirects and structure
    Check("redirect-loop", E, "redirect loop, or redirect to nowhere", own(_endless)),
    Check(
        "redirect-chain",
        W,
        "chain of redirects",
        own(lambda site: site.hops > 1, attrgetter("hops")),
    ),
    Check(
        "redirect-temporary",
        N,
        "302, 303 or 307 on a linked page, not 301",
        linked(
            lambda site: (
                site.own
                & site.is_in(State.MOVED)
                & np.isin(site.status, _TEMPORARY)
                & (site.links.to > 0)
            )
        ),
    ),
    Check(
        "redirect-to-dead",
        E,
        "redirect to a missing page",
        own(lambda site: site.is_in(State.MOVED) & site.dead[site.ends] & ~_endless(site)),
    ),
    Check(
        "orphan",
        W,
        "no page links to it",
        linked(
            lambda site: site.was_read & (site.links.to == 0) & ~site.of(site.seeds) & ~site.is_end
        ),
    ),
    Check(
        "deep",
        N,
        "more than 5 links deep",
        own(lambda site: site.was_read & (site.depth > _DEEP), attrgetter("depth")),
    ),
    # sitemaps
    Check("sitemap-dead", E, "a sitemap lists a missing page", listed(_dead)),
    Check("sitemap-redirect", W, "a sitemap lists a redirect", listed(_MOVED)),
    Check("sitemap-noindex", W, "a sitemap lists a noindex page", listed(_noindex)),
    Check("sitemap-blocked", E, "a sitemap lists a page that robots.txt forbids", listed(_BLOCKED)),
    Check("sitemap-copy", W, "a sitemap lists a copy", listed(_COPY)),
    Check(
        "sitemap-without",
        N,
        "no sitemap lists the page",
        Detector(
            lambda site: (
                site.listed.any()
                & site.indexable
                & (site.target("canonical") == NO_TARGET)
                & ~site.listed
            ),
            LISTED,
        ),
    ),
    Check("sitemap-future", W, "lastmod is in the future", listed(lambda site: site.listed_ahead)),
    # URLs
    Check("url-upper-case", N, "capital letters in the path", url("upper")),
    Check("url-session", W, "session id in the URL", own(lambda site: site.has_session)),
    Check("url-long", N, "URL over 115 characters", url("long")),
    Check("url-non-ascii", N, "characters beyond ASCII", url("non_ascii")),
    Check("url-double-slash", N, "// in the path", url("double_slash")),
    Check("url-space", N, "space in the path", url("space")),
    Check("url-parameters", N, "five parameters or more", url("many_parameters")),
)
"""Table of checks; issues with equal severity and count are listed in this order."""


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


# ================================================================ findings
#
# Runs the checks of an audit, compares their findings with a baseline, and writes them to files.
#
# Laws: a check whose facts are missing is named with the reason, and never counts as passed. A
# baseline identifies an issue by its name and page, not by its place in the list.

_SHARE_OF_NOTING = 0.7
_PAGES_AT_ONCE = 10_000
_FORMAT = "minicrawl audit 1"


class Issue(NamedTuple):
    """Row of the table: an issue, its number of pages, and the most important of them."""

    issue: str
    severity: str
    pages: int
    means: str
    example: str


class IssuePage(NamedTuple):
    """Page with an issue; `value` is the number that the check shows, if any."""

    issue: str
    severity: str
    importance: float
    value: float | None
    url: str
    title: str


class IssueFinding:
    """Pages of one issue, a bit for each page of the store: every page may have every issue."""

    def __init__(self, check: Check, has: Mask, by_importance: Column) -> None:
        """Keep the pages in `has`, by rank; `by_importance` lists all, most important first."""
        self.check, self.count = check, int(np.count_nonzero(has))
        self.first = int(by_importance[has.argmax()]) if self.count else None
        self._bits, self.by_importance = np.packbits(has), by_importance

    @property
    def pages(self) -> Column:
        """The pages, most important first."""
        found: Column = self.by_importance[self.ranks]
        return found

    @property
    def ranks(self) -> Column:
        """Places of the pages in the list by importance, in order."""
        return np.flatnonzero(np.unpackbits(self._bits, count=len(self.by_importance)))

    def among(self, ranks: Column) -> Column:
        """Return those of these ranks whose pages have the issue, in time proportional to them."""
        found: Column = ranks[self._bits[ranks >> 3] >> (7 - (ranks & 7)) & 1 == 1]
        return found

    def without(self, pages: Column) -> IssueFinding:
        """Return a copy without these pages."""
        has = np.zeros(len(self.by_importance), np.bool_)
        has[self.ranks] = ~np.isin(self.pages, pages)
        return IssueFinding(self.check, has, self.by_importance)


@dataclass(frozen=True, slots=True)
class SiteAudit:
    """Result of an audit: issues found, and checks that could not run."""

    site: AuditedSite
    found: Sequence[IssueFinding]
    skipped: Sequence[tuple[str, str]]
    """Names of checks that could not run, each with the reason."""
    partial: Sequence[tuple[str, str]]
    """Names of checks that could not see everything, each with the reason."""
    read: int
    """Number of pages with facts."""

    def issues(self) -> list[Issue]:
        """Return the table: worst and most frequent first, without issues that no page has."""
        return issue_table(
            self.site.seen,
            [(one.check, one.count, one.first) for one in self.found if one.first is not None],
        )

    def pages(self, count: int = 0) -> Iterator[IssuePage]:
        """Yield the pages of all issues, at most `count` of each; 0 is all."""
        for one in self.found:
            check, pages = one.check, one.pages[: count or None]
            for start in range(0, len(pages), _PAGES_AT_ONCE):
                some = pages[start : start + _PAGES_AT_ONCE]
                values = None if check.by.shows is None else check.by.shows(self.site)[some]
                yield from issue_pages(self.site.seen, check, some, values)

    def new_since(self, known: Set[tuple[str, int]]) -> SiteAudit:
        """Return the result without the pages of a baseline."""
        keys: dict[str, list[int]] = {}
        for name, key in known:
            keys.setdefault(name, []).append(key)
        left = []
        for one in self.found:
            # By URL, not by page id: the baseline may be from another store of the same site.
            pages = self.site.pages_of(np.array(keys.get(one.check.name, ()), np.int64))
            left.append(one.without(pages[pages >= 0]))
        return replace(self, found=left)


def issue_table(seen: Snapshot, found: Sequence[tuple[Check, int, int]]) -> list[Issue]:
    """Return the table of checks, each with its number of pages and the most important of them."""
    examples = urls(seen, np.array([first for _, _, first in found], np.int64))
    rows = [
        Issue(check.name, check.severity, pages, check.means, example)
        for (check, pages, _), example in zip(found, examples, strict=True)
    ]
    return sorted(rows, key=lambda row: (SEVERITIES.index(row.severity), -row.pages))


def issue_pages(
    seen: Snapshot, check: Check, pages: Column, values: Column | None
) -> Iterator[IssuePage]:
    """Yield some pages of an issue, with the values that its check shows."""
    shares = seen.importance
    title_of = titles(seen, pages.tolist())
    for place, (page, url) in enumerate(zip(pages.tolist(), urls(seen, pages), strict=True)):
        value = None if values is None else round(float(values[place]), 2)
        title = title_of.get(page, "")
        yield IssuePage(check.name, check.severity, float(shares[page]), value, url, title)


@contextmanager
def audited(
    store: Path,
    names: Iterable[str] = (),
    host: str | None = None,
    tell: Progress = unreported,
) -> Iterator[SiteAudit]:
    """Audit a store, also while a crawl writes it; with `names`, run only these checks."""
    checks = chosen_checks(names)
    with snapshot(store) as seen:
        yield audit_of(seen, checks, host, tell)


def audit_of(
    seen: Snapshot, checks: Sequence[Check], host: str | None = None, tell: Progress = unreported
) -> SiteAudit:
    """Run these checks on the pages of a snapshot, or on those of one host."""
    keys = UrlKeys(seen)
    noted = note_facts(seen, keys, part(tell, 0, _SHARE_OF_NOTING))
    site = AuditedSite(seen, keys, part(tell, _SHARE_OF_NOTING, 1))
    keeps_text = tables.settings(seen.connection).get("keep") == "text" and not site.html.any()
    lacks = {
        MARKUP: ""
        if noted.has_markup and not keeps_text
        else "needs kept pages: crawl with --keep pages",
        LINKS: "" if seen.frontier.terms.links else "needs links: crawl with --links",
        LISTED: "" if site.listed.any() else "needs sitemaps: crawl with --sitemaps",
        CHECKED: "" if site.was_checked else "needs checks: crawl with --check assets",
        TIMED: "" if site.first_byte_s.any() else "needs response times: crawl again",
    }
    skipped = [(one.name, why) for one in checks if (why := lacks.get(one.by.needs, ""))]
    missing = {name for name, _ in skipped}
    chosen = np.ones(len(seen), np.bool_)
    if host is not None:
        chosen = np.isin(seen.host_of, hosts_named(seen, host))
    by_importance = seen.best.astype(np.int32)
    found = [
        IssueFinding(check, (check.by.find(site) & chosen)[by_importance], by_importance)
        for check in checks
        if check.name not in missing
    ]
    partial = [(one.check.name, why) for one in found if (why := _unseen(site, one.check))]
    return SiteAudit(site, found, skipped, partial, int(np.count_nonzero(site.html)))


def _unseen(site: AuditedSite, check: Check) -> str:
    """Return what a check could not see; "" if it saw everything."""
    if check.by.find is _near_duplicate and not site.seen.has_near_duplicates:
        return "equal lines only: minicrawl index finds near-duplicates"
    if check.by.needs == CHECKED and (files := site.unknown_files[check.name.partition("-")[0]]):
        return f"{counted(files, 'file')} unknown: broken --verdict forbidden --verdict unchecked"
    return ""


def chosen_checks(names: Iterable[str]) -> list[Check]:
    """Return the checks with these names, or all."""
    known = {check.name: check for check in all_checks()}
    wanted = list(names)
    for name in wanted:
        if name not in known:
            raise UsageError(f"{name!r} is not an issue: `minicrawl audit --list` lists all")
    return [known[name] for name in wanted] if wanted else list(known.values())


# ---------------------------------------------------------------- baseline


def as_document(audit: SiteAudit, pages: Iterable[IssuePage]) -> dict[str, Any]:
    """Return the result as a JSON document, which is also a baseline."""
    return {
        "format": _FORMAT,
        "pages_read": audit.read,
        "issues": [one._asdict() for one in audit.issues()],
        "skipped": [{"issue": name, "why": why} for name, why in audit.skipped],
        "partial": [{"issue": name, "why": why} for name, why in audit.partial],
        "pages": [one._asdict() for one in pages],
    }


def read_baseline(baseline: Path) -> set[tuple[str, int]]:
    """Return the issues of a baseline, each with the key of its page."""
    try:
        found = json.loads(baseline.read_bytes())
        if found["format"] != _FORMAT:
            raise ValueError(f"format {found['format']!r}")
        return {(str(one["issue"]), key_of(str(one["url"]))) for one in found["pages"]}
    except OSError as error:
        raise UsageError(f"{baseline}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{baseline} is not a baseline ({error}): "
            "write one with `minicrawl audit --out FILE.json`"
        ) from error


# ---------------------------------------------------------------- formats
#
# JSON, CSV, XLSX, SARIF and JUnit by suffix; sections of the site report.
#
# Laws: text of web pages is never structure, and never a formula of a spreadsheet. JSON has all
# pages and is a baseline; a JUnit file has a test for each check that could be made, which fails if
# a page has the issue.

Pages = Iterable[IssuePage]
Write = Callable[[SiteAudit, Pages, BinaryIO], None]

_MOST_ROWS = 1_048_575
"""Most rows of a sheet below its headings; Excel opens no larger sheet."""
_MOST_RESULTS, _MOST_LINES = 25_000, 100
"""Most results in a SARIF file, as services refuse more; most pages named in a failed test."""


def write_json(audit: SiteAudit, pages: Pages, file: BinaryIO) -> None:
    """Write a JSON document."""
    file.write(json.dumps(as_document(audit, pages), indent=1).encode())


def write_rows(_audit: SiteAudit, pages: Pages, file: BinaryIO) -> None:
    """Write CSV with a row for each page of each issue."""
    rows = list(pages)
    block: Block = {name: [getattr(row, name) for row in rows] for name in IssuePage._fields}
    write_csv([block], file, IssuePage._fields)


# ---------------------------------------------------------------- XLSX

_TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">\
<Default Extension="rels" \
ContentType="application/vnd.openxmlformats-package.relationships+xml"/>\
<Default Extension="xml" ContentType="application/xml"/>{}</Types>"""
_TYPE = '<Override PartName="/xl/{}.xml" ContentType="application/vnd.openxmlformats-\
officedocument.spreadsheetml.{}+xml"/>'
_RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def write_xlsx(audit: SiteAudit, pages: Pages, file: BinaryIO) -> None:
    """Write a workbook with a sheet of issues and a sheet of their pages."""
    sheets = {"Issues": (Issue._fields, audit.issues()), "Pages": (IssuePage._fields, pages)}
    with ZipFile(file, "w", ZIP_DEFLATED) as book:
        numbers = range(1, len(sheets) + 1)
        # Excel's names: some readers look for no others.
        kinds = [("workbook", "sheet.main"), *((f"sheet{one}", "worksheet") for one in numbers)]
        types = "".join(_TYPE.format(*kind) for kind in kinds)
        book.writestr("[Content_Types].xml", _TYPES.format(types))
        book.writestr("_rels/.rels", _relations([("officeDocument", "xl/workbook.xml")]))
        files = [("worksheet", f"sheet{number}.xml") for number in numbers]
        book.writestr("xl/_rels/workbook.xml.rels", _relations(files))
        listed = "".join(
            f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
            for number, name in zip(numbers, sheets, strict=True)
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_SHEETS}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        for number, (columns, rows) in zip(numbers, sheets.values(), strict=True):
            with book.open(f"xl/sheet{number}.xml", "w", force_zip64=True) as part:
                _write_sheet(TextIOWrapper(part, "utf-8"), columns, rows)


def _relations(files: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{name}"/>'
        for number, (kind, name) in enumerate(files, 1)
    )
    return f"<Relationships {_RELATIONS}>{listed}</Relationships>"


def _write_sheet(
    out: TextIOWrapper, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    out.write(f'<worksheet xmlns="{_SHEETS}"><sheetViews><sheetView workbookViewId="0">')
    out.write('<pane ySplit="1" topLeftCell="A2" state="frozen"/></sheetView></sheetViews>')
    out.write(f"<sheetData>{_row(columns)}")
    for number, row in enumerate(rows):
        if number < _MOST_ROWS:
            out.write(_row(row))
    out.write("</sheetData></worksheet>")
    out.flush()


def _row(cells: Sequence[object]) -> str:
    return f"<row>{''.join(map(_cell, cells))}</row>"


def _cell(value: object) -> str:
    """Return a cell. Text is an inline string, so it is never a formula."""
    if value is None:
        return "<c/>"
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(visible(str(value)))}</t></is></c>'


# ---------------------------------------------------------------- SARIF, JUnit

_LEVELS = {ERROR: "error", WARNING: "warning", NOTICE: "note"}


def write_sarif(audit: SiteAudit, pages: Pages, file: BinaryIO) -> None:
    """Write SARIF 2.1, for services that show the findings of code checkers."""
    checks = [one.check for one in audit.found]
    rules = [
        {
            "id": check.name,
            "shortDescription": {"text": check.means},
            "defaultConfiguration": {"level": _LEVELS[check.severity]},
        }
        for check in checks
    ]
    means = {check.name: check.means for check in checks}
    results = [
        {
            "ruleId": page.issue,
            "level": _LEVELS[page.severity],
            "message": {"text": means[page.issue]},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": page.url}}}],
        }
        for _, page in zip(range(_MOST_RESULTS), pages, strict=False)
    ]
    driver = {"name": "minicrawl", "version": __version__, "rules": rules}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    file.write(json.dumps(document, indent=1).encode())


def write_junit(audit: SiteAudit, pages: Pages, file: BinaryIO) -> None:
    """Write JUnit XML, for CI: a test for each check."""
    by_issue = {name: list(some) for name, some in groupby(pages, key=attrgetter("issue"))}
    tests = len(audit.found) + len(audit.skipped)
    faultless = {one.check.name for one in audit.found if not one.count}
    unseen = {name: why for name, why in audit.partial if name in faultless}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="minicrawl audit" tests="{tests}" failures="{len(by_issue)}" '
        f'skipped="{len(audit.skipped) + len(unseen)}">',
    ]
    for check, count in ((one.check, one.count) for one in audit.found):
        name = f'<testcase classname="{check.severity}" name={quoteattr(check.name)}'
        if not count:
            why = unseen.get(check.name)
            skipped = why and f"><skipped message={quoteattr(f'in part: {why}')}/></testcase>"
            lines.append(f"{name}{skipped or '/>'}")
            continue
        message = quoteattr(f"{counted(count, 'page')}: {check.means}")
        some = [visible(page.url) for page in by_issue[check.name][:_MOST_LINES]]
        lines.append(f"{name}><failure message={message}>{escape(chr(10).join(some))}")
        lines.append("</failure></testcase>")
    for issue, why in audit.skipped:
        said = f"<skipped message={quoteattr(why)}/>"
        lines.append(f'<testcase classname="skipped" name={quoteattr(issue)}>{said}</testcase>')
    file.write("\n".join((*lines, "</testsuite>", "")).encode())


# ---------------------------------------------------------------- the site report

_SHOWN_OF_AN_ISSUE = 50


def report_sections(seen: Snapshot, tell: Progress) -> Iterator[ReportSection]:
    """Yield the sections of `minicrawl report`: the issues, and the first pages of each."""
    try:
        audit = audit_of(seen, chosen_checks(()), tell=tell)
    except (UsageError, NoRoom) as error:  # a read-only folder, or a full disk, has no place
        yield ReportSection("Issues", f"Not checked: {error}", (), (), 0)
        return
    means = f"{len(audit.found)} kinds of issues were checked"
    if audit.partial:
        whys = "; ".join(dict.fromkeys(why for _, why in audit.partial))
        means += f", {len(audit.partial)} of them in part ({whys})"
    if audit.skipped:
        whys = "; ".join(dict.fromkeys(why for _, why in audit.skipped))
        means += f", and {len(audit.skipped)} were not ({whys})"
    columns = ("severity", "pages", "issue", "means", "example")
    issues = [tuple(getattr(one, name) for name in columns) for one in audit.issues()]
    yield ReportSection("Issues", f"{means}.", columns, issues, len(issues))
    rows = [
        (page.issue, page.url, page.title, "" if page.value is None else f"{page.value:.12g}")
        for page in audit.pages(_SHOWN_OF_AN_ISSUE)
    ]
    total = sum(one.count for one in audit.found)
    names = ("issue", "url", "title", "value")
    first = f"The most important {_SHOWN_OF_AN_ISSUE} pages of each issue."
    yield ReportSection("Pages with issues", first, names, rows, total)


WRITERS: dict[str, Write] = {
    "json": write_json,
    "csv": write_rows,
    "xlsx": write_xlsx,
    "sarif": write_sarif,
    "xml": write_junit,
}
"""Writers by the suffix of the file."""
