"""The table of the checks of an audit, each a row with a small function.

A check gets the columns of a site and returns the pages that have the issue, as a mask. Thresholds
are lenient: a title of 61 characters is no fault that anybody would mend. A package adds checks of
its own by the entry point group `minicrawl.audits`: a function without arguments that returns rows.

error    readers or search engines do not get the page, or get another one
warning  they get the page late, or in a bad state
notice   worth a look; may be intended
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import NamedTuple, cast

import numpy as np

from minicrawl import ext
from minicrawl.audit.link_columns import Column
from minicrawl.audit.site import NO_TARGET, REDIRECTS, UNKNOWN, AuditedSite, Mask
from minicrawl.states import LinkVerdict, State
from minicrawl.store.derived.checks import LARGE_IMAGE

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


def finding(kind: str, shows: Measure | None = None) -> Detector:
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
    is_alone, own = site.none(), np.arange(len(site), dtype=np.int32)
    for head, back in (("next", "prev"), ("prev", "next")):
        target, returned = site.target(head), site.target(back)
        at = np.maximum(target, 0)
        is_alone |= (target >= 0) & site.html[at] & (returned[at] != own)
    return is_alone & site.html


def _endless(site: AuditedSite) -> Mask:
    """Return the redirects in or into a loop; the crawl gives up one redirect of each loop."""
    return site.is_in(*REDIRECTS) & site.is_in(State.BAD_REDIRECT)[site.ends]


def _slow(site: AuditedSite) -> Mask:
    return site.own & site.was_read & (site.seconds > _SLOW_S)


def near_duplicate(site: AuditedSite) -> Mask:
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
    Check("duplicate-near", N, "nearly the text of another page", Detector(near_duplicate)),
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
    Check(
        "image-large", W, "an image over 500 kB", finding(LARGE_IMAGE, attrgetter("image_bytes"))
    ),
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
    Check("anchor-missing", N, "links to a #name that does not exist", finding("anchor")),
    Check("image-missing", E, "an image does not exist", finding("image")),
    Check("style-missing", E, "a style sheet does not exist", finding("style")),
    Check("script-missing", E, "a script does not exist", finding("script")),
    Check("media-missing", E, "a media file or font does not exist", finding("media")),
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
    Check("soft-404", E, "'not found' with status 200", finding("soft-404")),
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
