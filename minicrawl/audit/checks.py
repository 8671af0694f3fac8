"""The table of the checks of an audit: `checks.txt` names and explains them, and here is how each
is found.

The text of a check says what is wrong, and after a colon what to do. Thresholds are lenient: a
title of 61 characters is no fault that anybody would mend. A package adds checks of its own by the
entry point group `minicrawl.audits`: a function without arguments that returns rows.

error    readers or search engines do not get the page, or get another one
warning  they get the page late, or in a bad state
notice   worth a look; may be intended
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from minicrawl import ext
from minicrawl.audit.causes import by_end, by_hash, by_head, by_twin
from minicrawl.audit.detectors import (
    LISTED,
    TIMED,
    Detector,
    canonical_elsewhere,
    canonical_loop,
    dead,
    endless,
    finding,
    has,
    is_copy,
    lacks,
    linked,
    links_to,
    listed,
    missing,
    more,
    names,
    near_duplicate,
    no_return,
    no_way_back,
    noindex,
    over,
    own,
    shared,
    slow,
    state,
    translated,
    under,
    url,
)
from minicrawl.audit.fact_columns import NO_TARGET
from minicrawl.audit.site import ISSUE_OF_FILES, ISSUE_OF_LINKS, AuditedSite, Mask
from minicrawl.states import LinkVerdict, State
from minicrawl.store.derived.checks import (
    EMPTY_IMAGE,
    HEAVY_PAGE,
    LARGE_IMAGE,
    MISTYPED,
    SMALL_PREVIEW,
)

ERROR, WARNING, NOTICE = "error", "warning", "notice"
SEVERITIES = (ERROR, WARNING, NOTICE)

_LATE_S, _DEEP, _THIN_WORDS, _LARGE, _WORTH_CODING = 0.8, 5, 20, 500_000, 2_000
_OK, _TEMPORARY, _SERVER_ERROR = 200, (302, 303, 307), 500
_MANY_LINKS = 500
_MISTYPED = ("style", "script", "image", "manifest", "preview")


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


def _chained(site: AuditedSite) -> Mask:
    is_chain = site.whose_target("canonical", site.target("canonical") >= 0)
    return is_chain & ~canonical_loop(site)


def _on_http(site: AuditedSite) -> Mask:
    return site.html & ~site.flag("is_https") & site.has_https


def _without_hsts(site: AuditedSite) -> Mask:
    return site.html & site.flag("is_https") & ~site.flag("hsts")


def _late(site: AuditedSite) -> Mask:
    return site.own & site.was_read & (site.first_byte_s > _LATE_S)


def _uncompressed(site: AuditedSite) -> Mask:
    return site.html & ~site.flag("compressed") & (site.number("size") > _WORTH_CODING)


def _single(site: AuditedSite) -> Mask:
    return site.indexable & (site.links.to == 1) & ~site.of(site.seeds)


def _without_links(site: AuditedSite) -> Mask:
    return site.html & site.was_read & (site.links.away_from == 0) & ~site.flag("nofollow")


def _failing(site: AuditedSite) -> Mask:
    is_failing = site.is_in(State.SERVER_ERROR) & (site.status >= _SERVER_ERROR)
    return is_failing & (site.verdicts == LinkVerdict.DEAD)


def _temporary(site: AuditedSite) -> Mask:
    is_temporary = site.is_in(State.MOVED) & np.isin(site.status, _TEMPORARY)
    return site.own & is_temporary & (site.links.to > 0)


def _refreshing(site: AuditedSite) -> Mask:
    return site.is_in(State.MOVED) & (site.status == _OK)


def _to_dead(site: AuditedSite) -> Mask:
    return site.is_in(State.MOVED) & site.dead[site.ends] & ~endless(site)


def _orphan(site: AuditedSite) -> Mask:
    return site.was_read & (site.links.to == 0) & ~site.of(site.seeds) & ~site.is_end


def _unlisted(site: AuditedSite) -> Mask:
    is_original = site.target("canonical") == NO_TARGET
    return site.listed.any() & site.indexable & is_original & ~site.listed


_MOVED, _BLOCKED, _COPY = state(State.MOVED), state(State.ROBOTS), state(State.CANONICAL)

_DETECTORS: dict[str, Detector] = {
    # texts of the page in results
    "title-missing": missing("title"),
    "title-duplicate": shared("title"),
    "title-long": over("title_chars", 70),
    "title-short": under("title_chars", 10),
    "title-several": more("titles", 1),
    "description-missing": missing("description"),
    "description-duplicate": shared("description"),
    "description-long": over("description_chars", 170),
    "description-short": under("description_chars", 50),
    "description-several": more("descriptions", 1),
    "h1-missing": missing("h1"),
    "h1-duplicate": shared("h1"),
    "h1-long": over("h1_chars", 80),
    "h1-short": under("h1_chars", 3),
    "h1-several": more("h1s", 1),
    "heading-order": has("skips_heading"),
    # markup
    "image-without-alt": more("without_alt"),
    "language-missing": lacks("html_lang"),
    "viewport-missing": lacks("viewport"),
    "charset-missing": lacks("charset"),
    "doctype-missing": lacks("doctype"),
    "structured-data-broken": has("bad_json"),
    "meta-refresh": has("refresh"),
    "meta-refresh-now": own(_refreshing, group=by_end),
    "charset-conflict": more("charset_conflict"),
    "id-duplicate": more("repeated_ids"),
    "error-text": more("error_texts"),
    "directory-listing": more("listing"),
    "structured-data-incomplete": more("data_gaps"),
    "text-thin": under("words", _THIN_WORDS, or_none=True),
    "text-filler": has("filler"),
    "duplicate": own(state(State.ALIAS), group=by_end),
    "duplicate-near": Detector(near_duplicate, group=by_hash("text")),
    # indexing
    "noindex-meta": has("noindex_meta"),
    "noindex-header": has("noindex_header"),
    "nofollow-page": has("nofollow"),
    "nofollow-links": more("nofollow_links"),
    "canonical-several": more("canonicals", 1),
    "canonical-dead": names("canonical", dead),
    "canonical-redirect": names("canonical", _MOVED),
    "canonical-noindex": names("canonical", noindex),
    "canonical-blocked": names("canonical", _BLOCKED),
    "canonical-chain": Detector(_chained, group=by_head("canonical")),
    "canonical-loop": Detector(canonical_loop, group=by_head("canonical")),
    "canonical-in-body": more("canonical_late"),
    "canonical-elsewhere": Detector(canonical_elsewhere, group=by_head("canonical")),
    # languages and pagination
    "language-other": more("other_language"),
    "hreflang-unknown": has("unknown_hreflang"),
    "hreflang-twice": has("twice_hreflang"),
    "hreflang-without-self": has("no_self_hreflang"),
    "hreflang-without-default": has("no_default_hreflang"),
    "hreflang-without-return": Detector(no_return),
    "hreflang-dead": translated(dead),
    "hreflang-redirect": translated(_MOVED),
    "hreflang-not-canonical": translated(is_copy),
    "hreflang-noindex": translated(noindex),
    "pagination-dead-next": names("next", dead),
    "pagination-dead-prev": names("prev", dead),
    "pagination-without-return": Detector(no_way_back),
    # security
    "mixed-content": more("mixed"),
    "form-insecure": has("insecure_form"),
    "password-exposed": more("open_password"),
    "cookie-weak": more("weak_cookies"),
    "link-to-http": links_to("insecure"),
    "page-on-http": Detector(_on_http),
    "hsts-missing": Detector(_without_hsts),
    "csp-missing": lacks("csp"),
    # speed
    "slow": own(slow, attrgetter("seconds")),
    "slow-first-byte": Detector(_late, TIMED, attrgetter("first_byte_s")),
    "page-large": more("size", _LARGE),
    "page-heavy": finding(HEAVY_PAGE, numbered=True),
    "image-large": finding(LARGE_IMAGE, numbered=True),
    "image-empty": finding(EMPTY_IMAGE),
    "uncompressed": Detector(_uncompressed),
    "uncached": lacks("cached"),
    # links and answers
    **{issue: links_to(kind) for kind, issue in ISSUE_OF_LINKS.items()},
    **{issue: finding(kind) for kind, issue in ISSUE_OF_FILES.items()},
    "link-single": linked(_single),
    "links-none": linked(_without_links),
    "links-many": linked(lambda site: site.html & (site.links.away_from > _MANY_LINKS)),
    "link-malformed": more("bad_links"),
    "contact-malformed": more("bad_contacts"),
    "link-by-script": more("script_links"),
    "link-with-campaign": more("campaign_links"),
    "preview-small": finding(SMALL_PREVIEW, numbered=True),
    **{f"{kind}{MISTYPED}": finding(f"{kind}{MISTYPED}") for kind in _MISTYPED},
    "style-blocked": finding("style-blocked"),
    "script-blocked": finding("script-blocked"),
    "page-as-text": own(lambda site: site.sent_as_text),
    "page-missing": own(state(State.NOT_FOUND)),
    "server-error": own(_failing),
    "error-page": more("says_missing"),
    "soft-404": finding("soft-404"),
    # redirects and structure
    "redirect-loop": own(endless),
    "redirect-chain": own(lambda site: site.hops > 1, attrgetter("hops"), by_end),
    "redirect-temporary": linked(_temporary),
    "redirect-to-dead": own(_to_dead, group=by_end),
    "orphan": linked(_orphan),
    "deep": own(lambda site: site.was_read & (site.depth > _DEEP), attrgetter("depth")),
    # accessibility
    "control-without-name": more("nameless"),
    "input-without-label": more("unlabelled"),
    "link-text-vague": more("vague_links"),
    "frame-without-title": more("untitled_frames"),
    "zoom-disabled": more("zoom_off"),
    "image-without-size": more("unsized"),
    # sitemaps
    "sitemap-dead": listed(dead),
    "sitemap-redirect": listed(_MOVED),
    "sitemap-noindex": listed(noindex),
    "sitemap-blocked": listed(_BLOCKED),
    "sitemap-copy": listed(_COPY),
    "sitemap-without": Detector(_unlisted, LISTED),
    "sitemap-future": listed(lambda site: site.listed_ahead),
    # URLs
    "url-upper-case": url("upper"),
    "url-underscore": url("underscore"),
    "url-twin": Detector(lambda site: site.twins != 0, "", group=by_twin),
    "url-session": own(lambda site: site.has_session),
    "url-long": url("long"),
    "url-non-ascii": url("non_ascii"),
    "url-double-slash": url("double_slash"),
    "url-space": url("space"),
    "url-parameters": url("many_parameters"),
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
