"""Findings of an audit as sections of the site report."""

from __future__ import annotations

from collections.abc import Iterator

from minicrawl.audit.findings import audit_of, chosen_checks
from minicrawl.errors import NoRoom, UsageError
from minicrawl.ports import Progress
from minicrawl.report.site.site_report import ReportSection
from minicrawl.report.snapshot import Snapshot

_SHOWN_OF_AN_ISSUE = 50


def report_sections(snapshot: Snapshot, progress: Progress) -> Iterator[ReportSection]:
    """Yield the sections of `minicrawl report`: the issues, and the first pages of each."""
    try:
        audit = audit_of(snapshot, chosen_checks(()), progress=progress)
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
