"""Runs the checks of an audit, and compares their findings with a baseline."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minicrawl.archive.record import key_of
from minicrawl.audit import detectors
from minicrawl.audit.checks import RULES, SEVERITIES, Check, all_checks
from minicrawl.audit.facts.noted_facts import UrlKeys, note_facts
from minicrawl.audit.ignores import Ignore
from minicrawl.audit.link_columns import Column
from minicrawl.audit.places import place_beside, place_of
from minicrawl.audit.site import AuditedSite, Mask
from minicrawl.errors import UsageError
from minicrawl.json_values import to_json
from minicrawl.ports import Progress, part, unreported
from minicrawl.report.snapshot import Snapshot, snapshot, urls
from minicrawl.states import LinkVerdict
from minicrawl.store import questions, tables
from minicrawl.store.derived.audits import earlier_audit, keep_audit
from minicrawl.wording import counted, iso

_SHARE_OF_NOTING = 0.7
_PAGES_AT_ONCE = 10_000
_MOST_PLACED = 2_000
"""Most causes whose place is looked up in a kept page."""
_FORMAT = "minicrawl audit 1"
_OTHER_SITES = "needs checks of other sites: crawl with --check external, or audit a URL"
_GAINS, _FIRST, _FIRST_OF_AN_ISSUE = (100, 10, 1), 10, 3
"""Weights of a page by severity, and the most causes that are named first."""
_EASED = {"page-missing", "sitemap-dead", "redirect-to-dead"}
"""Issues that vanish with the links to their pages."""


class Issue(NamedTuple):
    """Row of the table: an issue, its number of pages, and the most important of them."""

    issue: str
    severity: str
    pages: int
    means: str
    example: str


class Cause(NamedTuple):
    """Pages that one change mends. `example` is the most important one, `place` in or beside it."""

    severity: str
    pages: int
    issue: str
    scope: str  # site, folder or page; link or file; group; element
    target: str
    remedy: str
    example: str
    place: str


class AuditTable(NamedTuple):
    """Causes, worst first and then most pages; what gains most; number of causes by issue."""

    causes: list[Cause]
    first: list[Cause]
    counts: Counter[str]


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
        return self.by_importance[self.ranks]

    @property
    def ranks(self) -> Column:
        """Places of the pages in the list by importance, in order."""
        return np.flatnonzero(np.unpackbits(self._bits, count=len(self.by_importance)))

    def among(self, ranks: Column) -> Column:
        """Return those of these ranks whose pages have the issue, in time proportional to them."""
        ranks_among: Column = ranks[self._bits[ranks >> 3] >> (7 - (ranks & 7)) & 1 == 1]
        return ranks_among

    def since(self, bits: Column) -> "tuple[IssueFinding, ...]":
        """Return the new pages, and those of before, a bit for each by page, that are fixed."""
        size = len(self.by_importance)
        had, has = (np.unpackbits(mask, count=size).view(np.bool_) for mask in (bits, self._bits))
        had = had[self.by_importance]
        new, fixed = has & ~had, had & ~has
        return tuple(IssueFinding(self.check, mask, self.by_importance) for mask in (new, fixed))


@dataclass(frozen=True, slots=True)
class SiteAudit:
    """Result of an audit: issues found, and checks that could not run."""

    site: AuditedSite
    findings: Sequence[IssueFinding]
    skipped: Sequence[tuple[str, str]]
    """Names of checks that could not run, each with the reason."""
    partial: Sequence[tuple[str, str]]
    """Names of checks that could not see everything, each with the reason."""
    read: int
    """Number of pages with facts."""
    file_of: Callable[[str], str] = str
    """Function of a URL that returns its file in a built folder, or the URL."""

    def issues(self) -> list[Issue]:
        """Return the table: worst and most frequent first, without issues that no page has."""
        return issue_table(
            self.site.seen,
            [
                (finding.check, finding.count, finding.first)
                for finding in self.findings
                if finding.first is not None
            ],
        )

    def table(self, count: int = 0) -> AuditTable:
        """Return the first `count` causes; 0 is all."""
        counts, rows = Counter[str](), list[tuple[Any, ...]]()
        for order, finding in enumerate(self.findings):
            check, severity = finding.check, SEVERITIES.index(finding.check.severity)
            for causes in check.by.group(self.site, finding.pages) if finding.count else ():
                counts[check.name] += len(causes.pages)
                places = np.argsort(-causes.pages, kind="stable")[: count or None]
                keys = zip((-causes.pages[places]).tolist(), places.tolist(), strict=True)
                rows += ((severity, pages, order, place, causes, check) for pages, place in keys)
        rows.sort(key=lambda row: row[:4])
        first, of_issue = list[tuple[Any, ...]](), Counter[int]()
        for row in sorted(rows, key=lambda row: row[1] * _GAINS[row[0]]):
            of_issue[row[2]] += 1
            if of_issue[row[2]] <= _FIRST_OF_AN_ISSUE and row[-1].name not in _EASED:
                first.append(row)
        shown = rows[: count or None]
        named = self._named([*shown, *first[:_FIRST]])
        return AuditTable(named[: len(shown)], named[len(shown) :], counts)

    def _named(self, rows: Sequence[tuple[Any, ...]]) -> list[Cause]:
        firsts = np.array([causes.firsts[place] for *_, place, causes, _ in rows], np.int64)
        markups = chain(self.site.markups(firsts[:_MOST_PLACED]), repeat(""))
        named = []
        for row, url, markup in zip(rows, self.site.urls(firsts), markups, strict=False):
            _, pages, _, at, causes, check = row
            (target,) = causes.names(np.array([at]))
            is_named = causes.scope in ("link", "file")
            place = place_of(markup, url, check.name, target if is_named else "", check.by.fact)
            beside = target if causes.scope == "element" else place_beside(check.name)
            issue = check.name, causes.scope, target, check.remedy
            named.append(Cause(check.severity, -pages, *issue, url, place or beside))
        return named

    def pages(self, count: int = 0) -> Iterator[IssuePage]:
        """Yield the pages of all issues, at most `count` of each; 0 is all."""
        for finding in self.findings:
            check, pages = finding.check, finding.pages[: count or None]
            for start in range(0, len(pages), _PAGES_AT_ONCE):
                block = pages[start : start + _PAGES_AT_ONCE]
                values = None if check.by.shows is None else check.by.shows(self.site)[block]
                yield from issue_pages(self.site.seen, check, block, values)

    def since(self, earlier: "Earlier") -> "AuditChange":
        """Compare with an earlier result; issues that it did not check are neither new nor open."""
        compared = [finding for finding in self.findings if finding.check.name in earlier.pages]
        changes = [finding.since(earlier.pages[finding.check.name]) for finding in compared]
        new, fixed = ([change[at] for change in changes] for at in (0, 1))
        still = sum(finding.count for finding in compared) - sum(finding.count for finding in new)
        audits = replace(self, findings=new), replace(self, findings=fixed)
        return AuditChange(earlier.of, *audits, still, earlier.gone)


class Earlier(NamedTuple):
    """Earlier result: what it is of, and the pages with each issue, a bit for each by page.

    Pages that became known later have no bit.
    """

    of: str
    pages: Mapping[str, Column]
    gone: int = 0
    """Number of faults of pages that the store does not know."""


class AuditChange(NamedTuple):
    """Changes since an earlier result: new and fixed pages of issues, and those still open."""

    since: str
    new: SiteAudit
    fixed: SiteAudit
    still: int
    gone: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Number of pages of issues that are new, open and fixed."""
        new, fixed = (
            sum(finding.count for finding in audit.findings) for audit in (self.new, self.fixed)
        )
        return {"new": new, "open": self.still, "fixed": fixed + self.gone}


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
    rows = questions.documents(snapshot.connection, sorted(pages.tolist()))
    title_of = {row.page: row.title for row in rows}
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
    ignores: Sequence[Ignore] = (),
    rendered: Sequence[str] | None = None,
) -> Iterator[SiteAudit]:
    """Audit a store, also while a crawl writes it; with `names`, run only these checks."""
    with snapshot(store) as view:
        yield audit_of(view, chosen_checks(names), host, progress, ignores, rendered)


def audit_of(
    snapshot: Snapshot,
    checks: Sequence[Check],
    host: str | None = None,
    progress: Progress = unreported,
    ignores: Sequence[Ignore] = (),
    rendered: Sequence[str] | None = None,
) -> SiteAudit:
    """Run these checks on the pages of a snapshot, or on those of one host.

    With `rendered`, a browser judges pages by the rules with these names, or by all.
    """
    keys = UrlKeys(snapshot)
    note_facts(snapshot, keys, part(progress, 0, _SHARE_OF_NOTING))
    site = AuditedSite(snapshot, keys, part(progress, _SHARE_OF_NOTING, 1), host, ignores)
    no_markup = "" if site.html.any() else "needs kept pages: crawl with --keep pages"
    outside = site.verdicts[~site.own]
    knows_outside = not len(outside) or (outside != LinkVerdict.UNCHECKED).any()
    no_links = "" if snapshot.frontier.terms.links else "needs links: crawl with --links"
    lacks = {
        detectors.MARKUP: no_markup,
        detectors.LINKS: no_links,
        detectors.LISTED: "" if site.listed.any() else "needs sitemaps: crawl with --sitemaps",
        detectors.CHECKED: "" if site.was_checked else "needs checks: crawl with --check assets",
        detectors.TIMED: "" if site.first_byte_s.any() else "needs response times: crawl again",
        detectors.RENDERED: no_markup or "needs a browser: audit --render",
        detectors.OUTSIDE: no_links or ("" if knows_outside else _OTHER_SITES),
    }
    rules, sampled = list[Check](), ""
    if rendered is not None and not no_markup and any(check.name == RULES for check in checks):
        from minicrawl.audit.accessibility import judged

        rules, sampled = judged(site, rendered)
        lacks[detectors.RENDERED] = sampled  # if no page was judged
        checks = [*(check for check in checks if check.name != RULES or not rules), *rules]
    skipped = [(check.name, why) for check in checks if (why := lacks.get(check.by.needs, ""))]
    by_importance = snapshot.best.astype(np.int32)
    findings = [
        IssueFinding(check, pages[by_importance], by_importance)
        for check in checks
        if not lacks.get(check.by.needs)
        for pages in (check.by.find(site) & site.chosen & ~site.ignored(check.name),)
    ]
    partial = [
        (finding.check.name, why) for finding in findings if (why := _unseen(site, finding.check))
    ]
    partial += [(rule.name, sampled) for rule in rules]
    return SiteAudit(site, findings, skipped, partial, int(np.count_nonzero(site.html)))


def _unseen(site: AuditedSite, check: Check) -> str:
    """Return what a check could not see; "" if it saw everything."""
    if check.by.fact == "near_duplicate" and not site.seen.has_near_duplicates:
        return "equal lines only: minicrawl index finds near-duplicates"
    if check.by.needs == detectors.CHECKED and (
        files := site.unknown_files[check.name.partition("-")[0]]
    ):
        return f"{counted(files, 'file')} unknown: broken --verdict forbidden --verdict unchecked"
    return ""


def chosen_checks(names: Iterable[str]) -> list[Check]:
    known = {check.name: check for check in all_checks()}
    chosen = [RULES if name.startswith(f"{RULES}-") else name for name in names]
    for name in chosen:
        if name not in known:
            raise UsageError(f"{name!r} is not an issue: `minicrawl audit --list` lists all")
    return [known[name] for name in chosen] if chosen else list(known.values())


def keep_and_compare(audit: SiteAudit) -> AuditChange | None:
    """Keep the result of all checks, and compare it with that for the crawl before, if any."""
    snapshot = audit.site.seen
    crawl = tables.last_run(snapshot.connection)
    bits = (
        (finding.check.name, np.packbits(audit.site.of(finding.pages)))
        for finding in audit.findings
    )
    keep_audit(snapshot.path, snapshot.connection, crawl, bits)
    earlier = earlier_audit(snapshot.path, snapshot.connection, crawl)
    if earlier is None:
        return None
    began, pages = earlier
    return audit.since(Earlier(f"the crawl of {iso(began)[:16].replace('T', ' ')}", pages))


def as_document(audit: SiteAudit, change: AuditChange | None, count: int = 0) -> dict[str, Any]:
    """Return the result as a JSON document, which is also a baseline.

    `count` limits the causes, and the pages of each issue; 0 is all.
    """
    causes, first, counts = audit.table(count)
    document = {
        "format": _FORMAT,
        "pages_read": audit.read,
        "issues": [issue._asdict() | {"causes": counts[issue.issue]} for issue in audit.issues()],
        "causes": to_json(causes),
        "first": to_json(first),
        "skipped": [{"issue": name, "why": why} for name, why in audit.skipped],
        "partial": [{"issue": name, "why": why} for name, why in audit.partial],
        "pages": to_json(audit.pages(count)),
    }
    if change is not None:
        document["since"] = {"what": change.since, **change.counts}
        document["new"] = to_json(change.new.pages())
        document["fixed"] = to_json(change.fixed.pages())
    return document


def read_baseline(baseline: Path, audit: SiteAudit) -> Earlier:
    """Return the result in a document of an earlier audit, perhaps of another store of the site."""
    keys: dict[str, list[int]] = {finding.check.name: [] for finding in audit.findings}
    try:
        document = json.loads(baseline.read_bytes())
        if document["format"] != _FORMAT:
            raise ValueError(f"format {document['format']!r}")
        for page in document["pages"]:
            keys.setdefault(str(page["issue"]), []).append(key_of(str(page["url"])))
    except OSError as error:
        raise UsageError(f"{baseline}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{baseline} is not a baseline ({error}): "
            "write one with `minicrawl audit --out FILE.json`"
        ) from error
    pages, gone = {}, 0
    for issue, page_keys in keys.items():
        # By URL, not by page id: the baseline may be from another store of the same site.
        known = audit.site.pages_of(np.array(page_keys, np.int64))
        pages[issue] = np.packbits(audit.site.of(known[known >= 0]))
        gone += int(np.count_nonzero(known < 0))
    return Earlier(str(baseline), pages, gone)
