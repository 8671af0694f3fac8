"""Runs the checks of an audit, and compares what they find with a baseline.

Laws: a check whose facts are missing is named with the reason, and never counts as passed. A
baseline identifies an issue by its name and page, not by its place in the list.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minicrawl.archive.record import key_of
from minicrawl.audit.checks import CHECKED, LINKS, LISTED, MARKUP, SEVERITIES, Check, all_checks
from minicrawl.audit.noting import UrlKeys, note_facts
from minicrawl.audit.site import AuditedSite, Column, Mask
from minicrawl.errors import UsageError
from minicrawl.progress import Progress, part, unreported
from minicrawl.report.selected_pages import hosts_named
from minicrawl.report.snapshot import Snapshot, places_of_largest, snapshot

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
        """Keep the pages in `has`; `by_importance` lists all pages, most important first."""
        self.check, self.count = check, int(np.count_nonzero(has))
        self.first = int(by_importance[has[by_importance].argmax()]) if self.count else None
        self._bits, self._by_importance = np.packbits(has), by_importance

    @property
    def pages(self) -> Column:
        """The pages, most important first."""
        found: Column = self._by_importance[self._has[self._by_importance]]
        return found

    def without(self, pages: Column) -> IssueFinding:
        """Return a copy without these pages."""
        has = self._has
        has[pages] = False
        return IssueFinding(self.check, has, self._by_importance)

    @property
    def _has(self) -> Mask:
        return np.unpackbits(self._bits, count=len(self._by_importance)).view(np.bool_)


@dataclass(frozen=True, slots=True)
class SiteAudit:
    """Result of an audit: issues found, and checks that could not run."""

    site: AuditedSite
    found: Sequence[IssueFinding]
    skipped: Sequence[tuple[str, str]]
    """Names of checks that could not run, each with the reason."""
    read: int
    """Number of pages with facts."""

    def issues(self) -> list[Issue]:
        """Return the table: worst and most frequent first, without issues that no page has."""
        some = [one for one in self.found if one.first is not None]
        examples = self.site.urls(np.array([one.first for one in some], np.int64))
        rows = [
            Issue(one.check.name, one.check.severity, one.count, one.check.means, example)
            for one, example in zip(some, examples, strict=True)
        ]
        return sorted(rows, key=lambda row: (SEVERITIES.index(row.severity), -row.pages))

    def pages(self, count: int = 0) -> Iterator[IssuePage]:
        """Yield the pages of all issues, at most `count` of each; 0 is all."""
        shares = self.site.seen.importance
        for one in self.found:
            check, pages = one.check, one.pages[: count or None]
            for start in range(0, len(pages), _PAGES_AT_ONCE):
                some = pages[start : start + _PAGES_AT_ONCE]
                titles = self.site.titles(some.tolist())
                values = None if check.by.shows is None else check.by.shows(self.site)[some]
                for place, (page, url) in enumerate(
                    zip(some.tolist(), self.site.urls(some), strict=True)
                ):
                    value = None if values is None else round(float(values[place]), 2)
                    share = float(shares[page])
                    title = titles.get(page, "")
                    yield IssuePage(check.name, check.severity, share, value, url, title)

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
        return SiteAudit(self.site, left, self.skipped, self.read)


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
    lacks = {
        MARKUP: "" if noted.has_markup else "needs kept pages: crawl with --keep pages",
        LINKS: "" if seen.frontier.terms.links else "needs links: crawl with --links",
        LISTED: "" if site.listed.any() else "needs sitemaps: crawl with --sitemaps",
        CHECKED: "" if site.was_checked else "needs checks: crawl with --check assets",
    }
    skipped = [(one.name, why) for one in checks if (why := lacks.get(one.by.needs, ""))]
    missing = {name for name, _ in skipped}
    chosen = np.ones(len(seen), np.bool_)
    if host is not None:
        chosen = np.isin(seen.host_of, hosts_named(seen, host))
    by_importance = places_of_largest(seen.importance, 0).astype(np.int32)
    found = [
        IssueFinding(check, check.by.find(site) & chosen, by_importance)
        for check in checks
        if check.name not in missing
    ]
    return SiteAudit(site, found, skipped, int(np.count_nonzero(site.html)))


def chosen_checks(names: Iterable[str]) -> list[Check]:
    """Return the checks with these names, or all."""
    known = {check.name: check for check in all_checks()}
    wanted = list(names)
    for name in wanted:
        if name not in known:
            raise UsageError(f"{name!r} is not an issue: `minicrawl audit --list` lists all")
    return [known[name] for name in wanted] if wanted else list(known.values())


# ================================================================ baseline


def as_document(audit: SiteAudit, pages: Iterable[IssuePage]) -> dict[str, Any]:
    """Return the result as a JSON document, which is also a baseline."""
    return {
        "format": _FORMAT,
        "pages_read": audit.read,
        "issues": [one._asdict() for one in audit.issues()],
        "skipped": [{"issue": name, "why": why} for name, why in audit.skipped],
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
