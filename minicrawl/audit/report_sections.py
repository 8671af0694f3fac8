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
    kept_and_earlier,
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
        earlier = kept_and_earlier(audit)
    except (UsageError, NoRoom) as error:  # a read-only folder, or a full disk, has no place
        yield ReportSection("Issues", f"Not checked: {error}", (), (), 0)
        return
    change = None if earlier is None else audit.since(earlier)
    causes, first, counts = audit.table(_SHOWN_CAUSES)
    issues = audit.issues()
    yield _first_page(audit, issues, first, counts, change)
    means = f"{len(audit.found)} kinds of issues were checked"
    if audit.partial:
        whys = "; ".join(dict.fromkeys(why for _, why in audit.partial))
        means += f", {len(audit.partial)} of them in part ({whys})"
    if audit.skipped:
        whys = "; ".join(dict.fromkeys(why for _, why in audit.skipped))
        means += f", and {len(audit.skipped)} were not ({whys})"
    columns = ("severity", "pages", "causes", "issue", "means", "example")
    rows = [
        (one.severity, one.pages, counts[one.issue], one.issue, one.means, one.example)
        for one in issues
    ]
    yield ReportSection("Issues", f"{means}.", columns, rows, len(issues))
    parts = ("severity", "pages", "issue", "target", "remedy", "example", "place")
    number = counts.total()
    by_cause = [tuple(getattr(one, name) for name in parts) for one in causes]
    yield ReportSection("Causes", "What one change mends.", parts, by_cause, number)
    pages = [
        (page.issue, page.url, page.title, "" if page.value is None else f"{page.value:.12g}")
        for page in audit.pages(_SHOWN_OF_AN_ISSUE)
    ]
    total = sum(one.count for one in audit.found)
    names = ("issue", "url", "title", "value")
    means = f"The most important {_SHOWN_OF_AN_ISSUE} pages of each issue."
    yield ReportSection("Pages with issues", means, names, pages, total)


def _first_page(
    audit: SiteAudit,
    issues: Sequence[Issue],
    causes: Sequence[Cause],
    counts: Counter[str],
    change: AuditChange | None,
) -> ReportSection:
    """Return the state of the site, and the changes that gain most."""
    checks, rows = {check.name: check for check in all_checks()}, list[tuple[str, ...]]()
    for cause in causes:
        check = checks[cause.issue]
        gain = f"{counted(cause.pages, 'page')} {check.gain}".strip()
        rows.append((cause.severity, check.text[:1].upper() + check.text[1:], cause.target, gain))
    has_error = audit.site.none()
    for finding in audit.found:
        if finding.check.severity == ERROR:
            has_error[finding.pages] = True
    total = int(np.count_nonzero(audit.site.own & audit.site.was_read))
    sound = int(np.count_nonzero(audit.site.own & audit.site.was_read & ~has_error))
    share = f"{sound / total:.0%}" if total else "–"
    number = Counter[str]()
    for issue in issues:
        number[issue.severity] += counts[issue.issue]
    tiles = [
        Tile("pages without errors", share, f"{sound:,} of {total:,}", "good"),
        *(
            Tile(name, f"{number[severity]:,}", means, tone)
            for severity, name, means, tone in _TILES
        ),
    ]
    if change is not None:
        new, still, fixed = (f"{count:,}" for count in change.counts.values())
        tiles.append(Tile("since the last crawl", f"{new} new", f"{fixed} fixed, {still} open"))
    else:
        tiles.append(Tile("since the last crawl", "–", "the next report compares"))
    columns = ("severity", "what to do", "where", "what it gains")
    means = "Each line is one change; the lists below have all of them."
    return ReportSection("What to do first", means, columns, rows, len(rows), True, tiles)


_TILES = (
    (ERROR, "errors to mend", "readers or search engines do not get the page", "error"),
    (WARNING, "warnings to mend", "they get it late, or in a bad state", "warning"),
    (NOTICE, "worth a look", "may be intended", ""),
)
