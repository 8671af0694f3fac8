"""Findings of an audit as JSON, CSV, SARIF, JUnit and a workbook, and the formats by suffix."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from io import TextIOWrapper
from itertools import chain, islice
from typing import Any, BinaryIO
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

from minicrawl import __version__
from minicrawl.audit.checks import ERROR, NOTICE, WARNING
from minicrawl.audit.findings import AuditChange, Cause, Issue, IssuePage, SiteAudit, as_document
from minicrawl.report.files.rows import write_csv
from minicrawl.report.selected_pages import Block
from minicrawl.wording import counted, visible

Write = Callable[[SiteAudit, BinaryIO, AuditChange | None], None]

_MOST_RESULTS, _MOST_LINES = 25_000, 100
"""Most results in a SARIF file, as services refuse more; most pages named in a failed test."""
_MOST_ROWS = 1_048_575
"""Most rows of a sheet below its headings; Excel opens no larger sheet."""


def write_json(audit: SiteAudit, file: BinaryIO, change: AuditChange | None) -> None:
    file.write(json.dumps(as_document(audit, change), indent=1).encode())


def write_rows(audit: SiteAudit, file: BinaryIO, _change: AuditChange | None) -> None:
    """Write CSV with a row for each page of each issue."""
    rows = list(audit.pages())
    block: Block = {name: [getattr(row, name) for row in rows] for name in IssuePage._fields}
    write_csv([block], file, IssuePage._fields)


_LINE = re.compile(r"line (\d+):")
_LEVELS = {ERROR: "error", WARNING: "warning", NOTICE: "note"}


def write_sarif(audit: SiteAudit, file: BinaryIO, _change: AuditChange | None) -> None:
    """Write SARIF 2.1, for services that show the findings of code checkers: a result a cause."""
    checks = {finding.check.name: finding.check for finding in audit.findings}
    rules = [
        {
            "id": check.name,
            "shortDescription": {"text": check.means},
            "help": {"text": check.remedy or check.means},
            "defaultConfiguration": {"level": _LEVELS[check.severity]},
        }
        for check in checks.values()
    ]
    results = []
    for cause in audit.table(_MOST_RESULTS).causes:
        place: dict[str, Any] = {"artifactLocation": {"uri": audit.file_of(cause.example)}}
        if line := _LINE.match(cause.place):
            place["region"] = {"startLine": int(line[1])}
        text = f"{checks[cause.issue].means}: {cause.target} ({counted(cause.pages, 'page')})"
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


def write_junit(audit: SiteAudit, file: BinaryIO, _change: AuditChange | None) -> None:
    """Write JUnit XML, for CI: a test for each check."""
    cases = list(_cases(audit))
    number = Counter(result for _, _, result, _, _ in cases)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="minicrawl audit" tests="{len(cases)}" failures="{number["failure"]}" '
        f'skipped="{number["skipped"]}">',
    ]
    for kind, name, result, message, text in cases:
        attribute = f" message={quoteattr(message)}" if message else ""
        inside = f"<{result}{attribute}>{escape(text)}</{result}>" if result else ""
        lines.append(f'<testcase classname="{kind}" name={quoteattr(name)}>{inside}</testcase>')
    file.write("\n".join((*lines, "</testsuite>", "")).encode())


def _cases(audit: SiteAudit) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield class and name of each test, and the element of its result with message and text."""
    by_issue = defaultdict[str, list[str]](list)
    for page in audit.pages(_MOST_LINES):
        by_issue[page.issue].append(visible(page.url))
    partial = dict(audit.partial)
    for check, count in ((finding.check, finding.count) for finding in audit.findings):
        text, pages = f"{counted(count, 'page')}: {check.means}", by_issue[check.name]
        why = partial.get(check.name)
        result = ("skipped", f"in part: {why}", "") if why else ("", "", "")
        if count and check.severity == NOTICE:  # worth a look, and no reason for a build to fail
            result = "system-out", "", "\n".join((text, *pages))
        elif count:
            result = "failure", text, "\n".join(pages)
        yield check.severity, check.name, *result
    for issue, why in audit.skipped:
        yield "skipped", issue, "skipped", why, ""


_TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">\
<Default Extension="rels" \
ContentType="application/vnd.openxmlformats-package.relationships+xml"/>\
<Default Extension="xml" ContentType="application/xml"/>{}</Types>"""
_TYPE = '<Override PartName="/xl/{}.xml" ContentType="application/vnd.openxmlformats-\
officedocument.spreadsheetml.{}+xml"/>'
_RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_BOOK = f'<workbook xmlns="{_SHEETS}" xmlns:r="{_OFFICE}"><sheets>{{}}</sheets></workbook>'
_SHEET_HEAD = f"""<worksheet xmlns="{_SHEETS}"><sheetViews><sheetView workbookViewId="0">\
<pane ySplit="1" topLeftCell="A2" state="frozen"/></sheetView></sheetViews><sheetData>"""


def write_xlsx(audit: SiteAudit, file: BinaryIO, _change: AuditChange | None) -> None:
    """Write a workbook with sheets of issues, of their causes, and of their pages."""
    sheets: dict[str, tuple[Sequence[str], Iterable[Sequence[object]]]] = {
        "Issues": (Issue._fields, audit.issues()),
        "Causes": (Cause._fields, audit.table().causes),
        "Pages": (IssuePage._fields, audit.pages()),
    }
    # Excel's names: some readers look for no others.
    names = {title: f"sheet{number}" for number, title in enumerate(sheets, 1)}
    types = [("workbook", "sheet.main"), *((name, "worksheet") for name in names.values())]
    listed = (
        f'<sheet name="{title}" sheetId="{number}" r:id="r{number}"/>'
        for number, title in enumerate(sheets, 1)
    )
    files = [("worksheet", f"{name}.xml") for name in names.values()]
    with ZipFile(file, "w", ZIP_DEFLATED) as book:
        book.writestr(
            "[Content_Types].xml", _TYPES.format("".join(_TYPE.format(*t) for t in types))
        )
        book.writestr("_rels/.rels", _relations([("officeDocument", "xl/workbook.xml")]))
        book.writestr("xl/_rels/workbook.xml.rels", _relations(files))
        book.writestr("xl/workbook.xml", _BOOK.format("".join(listed)))
        for title, (columns, rows) in sheets.items():
            with book.open(f"xl/{names[title]}.xml", "w", force_zip64=True) as part:
                out = TextIOWrapper(part, "utf-8")
                out.write(_SHEET_HEAD)
                for row in chain([columns], islice(rows, _MOST_ROWS)):
                    out.write(f"<row>{''.join(map(_cell, row))}</row>")
                out.write("</sheetData></worksheet>")
                out.flush()


def _relations(files: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{name}"/>'
        for number, (kind, name) in enumerate(files, 1)
    )
    return f"<Relationships {_RELATIONS}>{listed}</Relationships>"


def _cell(value: object) -> str:
    """Return a cell. Text is an inline string, so it is never a formula."""
    if value is None:
        return "<c/>"
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(visible(str(value)))}</t></is></c>'


WRITERS: dict[str, Write] = {
    "json": write_json,
    "csv": write_rows,
    "xlsx": write_xlsx,
    "sarif": write_sarif,
    "xml": write_junit,
}
