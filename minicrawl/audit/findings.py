"""Runs the checks of an audit, and compares their findings with a baseline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minicrawl.archive.record import key_of
from minicrawl.audit.checks import (
    CHECKED,
    LINKS,
    LISTED,
    MARKUP,
    SEVERITIES,
    TIMED,
    Check,
    all_checks,
    near_duplicate,
)
from minicrawl.audit.link_columns import Column
from minicrawl.audit.noted_facts import UrlKeys, note_facts
from minicrawl.audit.site import AuditedSite, Mask, titles
from minicrawl.errors import UsageError
from minicrawl.ports import Progress, part, unreported
from minicrawl.report.selected_pages import hosts_named
from minicrawl.report.snapshot import Snapshot, snapshot, urls
from minicrawl.store import tables
from minicrawl.wording import counted

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
        pages: Column = self.by_importance[self.ranks]
        return pages

    @property
    def ranks(self) -> Column:
        """Places of the pages in the list by importance, in order."""
        return np.flatnonzero(np.unpackbits(self._bits, count=len(self.by_importance)))

    def among(self, ranks: Column) -> Column:
        """Return those of these ranks whose pages have the issue, in time proportional to them."""
        ranks_among: Column = ranks[self._bits[ranks >> 3] >> (7 - (ranks & 7)) & 1 == 1]
        return ranks_among

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
        for finding in self.found:
            check, pages = finding.check, finding.pages[: count or None]
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
        for finding in self.found:
            # By URL, not by page id: the baseline may be from another store of the same site.
            pages = self.site.pages_of(np.array(keys.get(finding.check.name, ()), np.int64))
            left.append(finding.without(pages[pages >= 0]))
        return replace(self, found=left)


def issue_table(snapshot: Snapshot, counted: Sequence[tuple[Check, int, int]]) -> list[Issue]:
    """Return the table of checks, each with its number of pages and the most important of them."""
    examples = urls(snapshot, np.array([first for _, _, first in counted], np.int64))
    rows = [
        Issue(check.name, check.severity, pages, check.means, example)
        for (check, pages, _), example in zip(counted, examples, strict=True)
    ]
    return sorted(rows, key=lambda row: (SEVERITIES.index(row.severity), -row.pages))


def issue_pages(
    snapshot: Snapshot, check: Check, pages: Column, values: Column | None
) -> Iterator[IssuePage]:
    """Yield some pages of an issue, with the values that its check shows."""
    shares = snapshot.importance
    title_of = titles(snapshot, pages.tolist())
    for place, (page, url) in enumerate(zip(pages.tolist(), urls(snapshot, pages), strict=True)):
        value = None if values is None else round(float(values[place]), 2)
        title = title_of.get(page, "")
        yield IssuePage(check.name, check.severity, float(shares[page]), value, url, title)


@contextmanager
def audited(
    store: Path,
    names: Iterable[str] = (),
    host: str | None = None,
    progress: Progress = unreported,
) -> Iterator[SiteAudit]:
    """Audit a store, also while a crawl writes it; with `names`, run only these checks."""
    checks = chosen_checks(names)
    with snapshot(store) as view:
        yield audit_of(view, checks, host, progress)


def audit_of(
    snapshot: Snapshot,
    checks: Sequence[Check],
    host: str | None = None,
    progress: Progress = unreported,
) -> SiteAudit:
    """Run these checks on the pages of a snapshot, or on those of one host."""
    keys = UrlKeys(snapshot)
    noted = note_facts(snapshot, keys, part(progress, 0, _SHARE_OF_NOTING))
    site = AuditedSite(snapshot, keys, part(progress, _SHARE_OF_NOTING, 1))
    keeps_text = tables.settings(snapshot.connection).get("keep") == "text" and not site.html.any()
    lacks = {
        MARKUP: ""
        if noted.has_markup and not keeps_text
        else "needs kept pages: crawl with --keep pages",
        LINKS: "" if snapshot.frontier.terms.links else "needs links: crawl with --links",
        LISTED: "" if site.listed.any() else "needs sitemaps: crawl with --sitemaps",
        CHECKED: "" if site.was_checked else "needs checks: crawl with --check assets",
        TIMED: "" if site.first_byte_s.any() else "needs response times: crawl again",
    }
    skipped = [(one.name, why) for one in checks if (why := lacks.get(one.by.needs, ""))]
    missing = {name for name, _ in skipped}
    chosen = np.ones(len(snapshot), np.bool_)
    if host is not None:
        chosen = np.isin(snapshot.host_of, hosts_named(snapshot, host))
    by_importance = snapshot.best.astype(np.int32)
    findings = [
        IssueFinding(check, (check.by.find(site) & chosen)[by_importance], by_importance)
        for check in checks
        if check.name not in missing
    ]
    partial = [(one.check.name, why) for one in findings if (why := _unseen(site, one.check))]
    return SiteAudit(site, findings, skipped, partial, int(np.count_nonzero(site.html)))


def _unseen(site: AuditedSite, check: Check) -> str:
    """Return what a check could not see; "" if it saw everything."""
    if check.by.find is near_duplicate and not site.seen.has_near_duplicates:
        return "equal lines only: minicrawl index finds near-duplicates"
    if check.by.needs == CHECKED and (files := site.unknown_files[check.name.partition("-")[0]]):
        return f"{counted(files, 'file')} unknown: broken --verdict forbidden --verdict unchecked"
    return ""


def chosen_checks(names: Iterable[str]) -> list[Check]:
    """Return the checks with these names, or all."""
    known = {check.name: check for check in all_checks()}
    chosen = list(names)
    for name in chosen:
        if name not in known:
            raise UsageError(f"{name!r} is not an issue: `minicrawl audit --list` lists all")
    return [known[name] for name in chosen] if chosen else list(known.values())


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
        document = json.loads(baseline.read_bytes())
        if document["format"] != _FORMAT:
            raise ValueError(f"format {document['format']!r}")
        return {(str(one["issue"]), key_of(str(one["url"]))) for one in document["pages"]}
    except OSError as error:
        raise UsageError(f"{baseline}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{baseline} is not a baseline ({error}): "
            "write one with `minicrawl audit --out FILE.json`"
        ) from error
