"""Findings of an audit as JSON, CSV, SARIF and JUnit, and the formats by suffix."""

import json
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from typing import Any, BinaryIO
from xml.sax.saxutils import escape, quoteattr

from minicrawl import __version__
from minicrawl.audit.checks import ERROR, NOTICE, WARNING
from minicrawl.audit.findings import AuditChange, IssuePage, SiteAudit, as_document
from minicrawl.audit.xlsx import Pages, Write, write_xlsx
from minicrawl.report.files.rows import write_csv
from minicrawl.report.selected_pages import Block
from minicrawl.wording import counted, visible

_MOST_RESULTS, _MOST_LINES = 25_000, 100
"""Most results in a SARIF file, as services refuse more; most pages named in a failed test."""


def write_json(
    audit: SiteAudit, pages: Pages, file: BinaryIO, change: AuditChange | None = None
) -> None:
    """Write a JSON document."""
    file.write(json.dumps(as_document(audit, pages, change), indent=1).encode())


def write_rows(
    _audit: SiteAudit, pages: Pages, file: BinaryIO, _change: AuditChange | None = None
) -> None:
    """Write CSV with a row for each page of each issue."""
    rows = list(pages)
    block: Block = {name: [getattr(row, name) for row in rows] for name in IssuePage._fields}
    write_csv([block], file, IssuePage._fields)


_LEVELS = {ERROR: "error", WARNING: "warning", NOTICE: "note"}


def write_sarif(
    audit: SiteAudit, _pages: Pages, file: BinaryIO, _change: AuditChange | None = None
) -> None:
    """Write SARIF 2.1, for services that show the findings of code checkers: a result a cause."""
    checks = [one.check for one in audit.found]
    rules = [
        {
            "id": check.name,
            "shortDescription": {"text": check.means},
            "help": {"text": check.remedy or check.means},
            "defaultConfiguration": {"level": _LEVELS[check.severity]},
        }
        for check in checks
    ]
    means = {check.name: check.means for check in checks}
    results = []
    for cause in audit.table(_MOST_RESULTS).causes:
        place: dict[str, Any] = {"artifactLocation": {"uri": audit.file_of(cause.example)}}
        if line := cause.place.partition(":")[0].removeprefix("line "):
            place["region"] = {"startLine": int(line)}
        text = f"{means[cause.issue]}: {cause.target} ({counted(cause.pages, 'page')})"
        # By issue and target: the fault stays the same if pages move or come and go.
        print_of = sha256(f"{cause.issue} {cause.target}".encode()).hexdigest()
        results.append(
            {
                "ruleId": cause.issue,
                "level": _LEVELS[cause.severity],
                "message": {"text": f"{text}. {cause.remedy}".strip()},
                "locations": [{"physicalLocation": place}],
                "partialFingerprints": {"cause/v1": print_of},
            }
        )
    driver = {"name": "minicrawl", "version": __version__, "rules": rules}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    file.write(json.dumps(document, indent=1).encode())


def write_junit(
    audit: SiteAudit, pages: Pages, file: BinaryIO, _change: AuditChange | None = None
) -> None:
    """Write JUnit XML, for CI: a test for each check."""
    by_issue = {name: list(some) for name, some in groupby(pages, key=attrgetter("issue"))}
    tests = len(audit.found) + len(audit.skipped)
    faultless = {one.check.name for one in audit.found if not one.count}
    failures = sum(bool(one.count) and one.check.severity != NOTICE for one in audit.found)
    unseen = {name: why for name, why in audit.partial if name in faultless}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="minicrawl audit" tests="{tests}" failures="{failures}" '
        f'skipped="{len(audit.skipped) + len(unseen)}">',
    ]
    for check, count in ((one.check, one.count) for one in audit.found):
        name = f'<testcase classname="{check.severity}" name={quoteattr(check.name)}'
        if not count:
            why = unseen.get(check.name)
            skipped = why and f"><skipped message={quoteattr(f'in part: {why}')}/></testcase>"
            lines.append(f"{name}{skipped or '/>'}")
            continue
        text = f"{counted(count, 'page')}: {check.means}"
        some = [visible(page.url) for page in by_issue[check.name][:_MOST_LINES]]
        if check.severity == NOTICE:  # worth a look, and no reason for a build to fail
            said = escape(chr(10).join((text, *some)))
            lines.append(f"{name}><system-out>{said}</system-out></testcase>")
            continue
        lines.append(f"{name}><failure message={quoteattr(text)}>{escape(chr(10).join(some))}")
        lines.append("</failure></testcase>")
    for issue, why in audit.skipped:
        said = f"<skipped message={quoteattr(why)}/>"
        lines.append(f'<testcase classname="skipped" name={quoteattr(issue)}>{said}</testcase>')
    file.write("\n".join((*lines, "</testsuite>", "")).encode())


WRITERS: dict[str, Write] = {
    "json": write_json,
    "csv": write_rows,
    "xlsx": write_xlsx,
    "sarif": write_sarif,
    "xml": write_junit,
}
"""Writers by the suffix of the file."""
