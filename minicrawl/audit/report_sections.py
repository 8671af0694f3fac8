"""Findings of an audit as sections of the site report; the first one leads it."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from minicrawl.audit.checks import ERROR, NOTICE, WARNING, all_checks
from minicrawl.audit.findings import (
    AuditChange,
    Cause,
    Issue,
    SiteAudit,
    audit_of,
    chosen_checks,
    keep_and_compare,
)
from minicrawl.errors import NoRoom, UsageError
from minicrawl.ports import Progress
from minicrawl.report.site.site_report import ReportSection, Tile
from minicrawl.report.snapshot import Snapshot
from minicrawl.wording import counted

_SHOWN_OF_AN_ISSUE, _SHOWN_CAUSES = 10, 200


def report_sections(snapshot: Snapshot, progress: Progress) -> Iterator[ReportSection]:
    """Yield the sections of `minicrawl report`: what to do first, issues, causes, and pages."""
    try:
        audit = audit_of(snapshot, chosen_checks(()), progress=progress)
        change = keep_and_compare(audit)
    except (UsageError, NoRoom) as error:  # a read-only folder, or a full disk, has no place
        yield ReportSection("Issues", f"Not checked: {error}", (), (), 0)
        return
    causes, first, counts = audit.table(_SHOWN_CAUSES)
    issues = audit.issues()
    yield ReportSection(
        "What to do first",
        "Each line is one change; the lists below have all of them.",
        ("severity", "what to do", "where", "what it gains"),
        list(map(_change, first)),
        len(first),
        True,
        list(_tiles(audit, issues, counts, change)),
    )
    means = f"{len(audit.findings)} kinds of issues were checked"
    if audit.partial:
        means += f", {len(audit.partial)} of them in part ({_reasons(audit.partial)})"
    if audit.skipped:
        means += f", and {len(audit.skipped)} were not ({_reasons(audit.skipped)})"
    columns = ("severity", "pages", "causes", "issue", "means", "example")
    rows = [
        (issue.severity, issue.pages, counts[issue.issue], issue.issue, issue.means, issue.example)
        for issue in issues
    ]
    yield ReportSection("Issues", f"{means}.", columns, rows, len(issues))
    parts = ("severity", "pages", "issue", "target", "remedy", "example", "place")
    by_cause = [tuple(getattr(cause, name) for name in parts) for cause in causes]
    yield ReportSection("Causes", "What one change mends.", parts, by_cause, counts.total())
    pages = [
        (page.issue, page.url, page.title, "" if page.value is None else f"{page.value:.12g}")
        for page in audit.pages(_SHOWN_OF_AN_ISSUE)
    ]
    total = sum(finding.count for finding in audit.findings)
    names = ("issue", "url", "title", "value")
    means = f"The most important {_SHOWN_OF_AN_ISSUE} pages of each issue."
    yield ReportSection("Pages with issues", means, names, pages, total)


def _reasons(issues: Sequence[tuple[str, str]]) -> str:
    return "; ".join(dict.fromkeys(why for _, why in issues))


def _change(cause: Cause) -> tuple[str, ...]:
    """Return a row of what to do: how bad it is, the change, where, and what it gains."""
    (check,) = (check for check in all_checks() if check.name == cause.issue)
    gain = f"{counted(cause.pages, 'page')} {check.gain}".strip()
    return cause.severity, check.text[:1].upper() + check.text[1:], cause.target, gain


def _tiles(
    audit: SiteAudit, issues: Sequence[Issue], counts: Counter[str], change: AuditChange | None
) -> Iterator[Tile]:
    """Yield the state of the site in figures."""
    has_error = audit.site.none()
    for finding in audit.findings:
        if finding.check.severity == ERROR:
            has_error[finding.pages] = True
    was_read = audit.site.own & audit.site.was_read
    total, sound = (int(np.count_nonzero(pages)) for pages in (was_read, was_read & ~has_error))
    share = f"{sound / total:.0%}" if total else "–"
    yield Tile("pages without errors", share, f"{sound:,} of {total:,}", "good")
    for severity, name, means, tone in _TILES:
        number = sum(counts[issue.issue] for issue in issues if issue.severity == severity)
        yield Tile(name, f"{number:,}", means, tone)
    shown = "–", "the next report compares"
    if change is not None:
        new, still, fixed = (f"{count:,}" for count in change.counts.values())
        shown = f"{new} new", f"{fixed} fixed, {still} open"
    yield Tile("since the last crawl", *shown)


_TILES = (
    (ERROR, "errors to mend", "readers or search engines do not get the page", "error"),
    (WARNING, "warnings to mend", "they get it late, or in a bad state", "warning"),
    (NOTICE, "worth a look", "may be intended", ""),
)
