"""The table of the checks of an audit: `checks.txt` names and explains them, and here is how each
is found.

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
from minicrawl.audit import detectors as find
from minicrawl.audit.causes import by_end, by_hash, by_head, by_label
from minicrawl.audit.fact_columns import NO_TARGET
from minicrawl.audit.site import ISSUE_OF_FILES, ISSUE_OF_LINKS, AuditedSite
from minicrawl.states import State
from minicrawl.store.derived.checks import (
    EMPTY_IMAGE,
    HEAVY_PAGE,
    LARGE_IMAGE,
    MISTYPED,
    SMALL_PREVIEW,
)

ERROR, WARNING, NOTICE = "error", "warning", "notice"
SEVERITIES = (ERROR, WARNING, NOTICE)

RULES = "axe"
"""Check that stands for the rules of axe-core as long as no browser has judged any page."""

_SLOW_S, _LATE_S, _DEEP, _THIN_WORDS = 1.0, 0.8, 5, 20
_LARGE, _WORTH_CODING = 500_000, 2_000
_OK, _TEMPORARY, _SERVER_ERROR = 200, (302, 303, 307), 500
_MANY_LINKS = 500
_MISTYPED = ("style", "script", "image", "manifest", "preview", "sitemap")


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


_MOVED, _BLOCKED, _COPY = (
    find.state(State.MOVED),
    find.state(State.ROBOTS),
    find.state(State.CANONICAL),
)

_DETECTORS: dict[str, find.Detector] = {
    # texts of the page in results
    "title-missing": find.missing("title"),
    "title-duplicate": find.shared("title"),
    "title-long": find.over("title_chars", 70),
    "title-short": find.under("title_chars", 10),
    "title-several": find.more("titles", 1),
    "description-missing": find.missing("description"),
    "description-duplicate": find.shared("description"),
    "description-long": find.over("description_chars", 170),
    "description-short": find.under("description_chars", 50),
    "description-several": find.more("descriptions", 1),
    "h1-missing": find.missing("h1"),
    "h1-duplicate": find.shared("h1"),
    "h1-long": find.over("h1_chars", 80),
    "h1-short": find.under("h1_chars", 3),
    "h1-several": find.more("h1s", 1),
    "heading-order": find.has("skips_heading"),
    # markup
    "image-without-alt": find.more("without_alt"),
    "language-missing": find.lacks("html_lang"),
    "viewport-missing": find.lacks("viewport"),
    "charset-missing": find.lacks("charset"),
    "doctype-missing": find.lacks("doctype"),
    "structured-data-broken": find.has("bad_json"),
    "meta-refresh": find.has("refresh"),
    "meta-refresh-now": find.own(
        lambda site: site.is_in(State.MOVED) & (site.status == _OK), group=by_end
    ),
    "charset-conflict": find.more("charset_conflict"),
    "id-duplicate": find.more("repeated_ids"),
    "error-text": find.more("error_texts"),
    "directory-listing": find.more("listing"),
    "structured-data-incomplete": find.more("data_gaps"),
    "text-thin": find.under("words", _THIN_WORDS, or_none=True),
    "text-filler": find.has("filler"),
    "duplicate": find.own(find.state(State.ALIAS), group=by_end),
    "duplicate-near": find.Detector(find.near_duplicate, group=by_hash("text")),
    # indexing
    "noindex-meta": find.has("noindex_meta"),
    "noindex-header": find.has("noindex_header"),
    "nofollow-page": find.has("nofollow"),
    "nofollow-links": find.more("nofollow_links"),
    "canonical-several": find.more("canonicals", 1),
    "canonical-dead": find.names("canonical", find.dead),
    "canonical-redirect": find.names("canonical", _MOVED),
    "canonical-noindex": find.names("canonical", find.noindex),
    "canonical-blocked": find.names("canonical", _BLOCKED),
    "canonical-chain": find.Detector(
        lambda site: (
            site.whose_target("canonical", site.target("canonical") >= 0)
            & ~find.canonical_loop(site)
        ),
        group=by_head("canonical"),
    ),
    "canonical-loop": find.Detector(find.canonical_loop, group=by_head("canonical")),
    "canonical-in-body": find.more("canonical_late"),
    "canonical-elsewhere": find.Detector(find.canonical_elsewhere, group=by_head("canonical")),
    # languages and pagination
    "language-other": find.more("other_language"),
    "hreflang-unknown": find.has("unknown_hreflang"),
    "hreflang-twice": find.has("twice_hreflang"),
    "hreflang-without-self": find.has("no_self_hreflang"),
    "hreflang-without-default": find.has("no_default_hreflang"),
    "hreflang-without-return": find.Detector(find.no_return),
    "hreflang-dead": find.translated(find.dead),
    "hreflang-redirect": find.translated(_MOVED),
    "hreflang-not-canonical": find.translated(lambda site: site.target("canonical") != NO_TARGET),
    "hreflang-noindex": find.translated(find.noindex),
    "pagination-dead-next": find.names("next", find.dead),
    "pagination-dead-prev": find.names("prev", find.dead),
    "pagination-without-return": find.Detector(find.no_way_back),
    # security
    "mixed-content": find.more("mixed"),
    "form-insecure": find.has("insecure_form"),
    "password-exposed": find.more("open_password"),
    "cookie-weak": find.more("weak_cookies"),
    "link-to-http": find.links_to("insecure"),
    "page-on-http": find.Detector(lambda site: site.html & ~site.flag("is_https") & site.has_https),
    "hsts-missing": find.Detector(
        lambda site: site.html & site.flag("is_https") & ~site.flag("hsts")
    ),
    "csp-missing": find.lacks("csp"),
    # speed
    "slow": find.own(lambda site: site.was_read & (site.seconds > _SLOW_S), attrgetter("seconds")),
    "slow-first-byte": find.own(
        lambda site: site.was_read & (site.first_byte_s > _LATE_S),
        attrgetter("first_byte_s"),
    )._replace(needs=find.TIMED),
    "page-large": find.more("size", _LARGE),
    "page-heavy": find.finding(HEAVY_PAGE, numbered=True),
    "image-large": find.finding(LARGE_IMAGE, numbered=True),
    "image-empty": find.finding(EMPTY_IMAGE),
    "uncompressed": find.Detector(
        lambda site: site.html & ~site.flag("compressed") & (site.number("size") > _WORTH_CODING)
    ),
    "uncached": find.lacks("cached"),
    # links and answers
    **{issue: find.links_to(kind) for kind, issue in ISSUE_OF_LINKS.items()},
    **{issue: find.finding(kind) for kind, issue in ISSUE_OF_FILES.items()},
    "link-single": find.linked(
        lambda site: site.indexable & (site.links.to == 1) & ~site.of(site.seeds)
    ),
    "links-none": find.linked(
        lambda site: (
            site.html & site.was_read & (site.links.away_from == 0) & ~site.flag("nofollow")
        )
    ),
    "links-many": find.linked(lambda site: site.html & (site.links.away_from > _MANY_LINKS)),
    "link-malformed": find.more("bad_links"),
    "contact-malformed": find.more("bad_contacts"),
    "link-by-script": find.more("script_links"),
    "link-with-campaign": find.more("campaign_links"),
    "preview-small": find.finding(SMALL_PREVIEW, numbered=True),
    **{f"{kind}{MISTYPED}": find.finding(f"{kind}{MISTYPED}") for kind in _MISTYPED},
    "style-blocked": find.finding("style-blocked"),
    "script-blocked": find.finding("script-blocked"),
    "page-as-text": find.own(lambda site: site.sent_as_text),
    "page-missing": find.own(find.state(State.NOT_FOUND)),
    "server-error": find.own(
        lambda site: site.dead & site.is_in(State.SERVER_ERROR) & (site.status >= _SERVER_ERROR)
    ),
    "error-page": find.more("says_missing"),
    "soft-404": find.finding("soft-404"),
    # redirects and structure
    "redirect-loop": find.own(find.endless),
    "redirect-chain": find.own(lambda site: site.hops > 1, attrgetter("hops"), by_end),
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
        group=by_end,
    ),
    "orphan": find.linked(
        lambda site: site.was_read & (site.links.to == 0) & ~site.of(site.seeds) & ~site.is_end
    ),
    "deep": find.own(lambda site: site.was_read & (site.depth > _DEEP), attrgetter("depth")),
    # accessibility
    "control-without-name": find.more("nameless"),
    "input-without-label": find.more("unlabelled"),
    "link-text-vague": find.more("vague_links"),
    "frame-without-title": find.more("untitled_frames"),
    "zoom-disabled": find.more("zoom_off"),
    "image-without-size": find.more("unsized"),
    RULES: find.Detector(AuditedSite.none, find.RENDERED),
    # sitemaps
    "sitemap-dead": find.listed(find.dead),
    "sitemap-redirect": find.listed(_MOVED),
    "sitemap-noindex": find.listed(find.noindex),
    "sitemap-blocked": find.listed(_BLOCKED),
    "sitemap-copy": find.listed(_COPY),
    "sitemap-without": find.Detector(
        lambda site: site.indexable & (site.target("canonical") == NO_TARGET) & ~site.listed,
        find.LISTED,
    ),
    "sitemap-future": find.listed(lambda site: site.listed_ahead),
    # URLs
    "url-upper-case": find.url("upper"),
    "url-underscore": find.url("underscore"),
    "url-twin": find.Detector(
        lambda site: site.twins != 0,
        "",
        group=by_label(lambda site, pages: site.twins[pages]),
    ),
    "url-session": find.own(lambda site: site.has_session),
    "url-long": find.url("long"),
    "url-non-ascii": find.url("non_ascii"),
    "url-double-slash": find.url("double_slash"),
    "url-space": find.url("space"),
    "url-parameters": find.url("many_parameters"),
}


def _checks() -> Iterator[Check]:
    gain = ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            gain = line.partition(": ")[2]
        elif line:
            name, severity, text = line.split(maxsplit=2)
            yield Check(name, severity, text, _DETECTORS[name], gain)


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
