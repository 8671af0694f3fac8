"""Formats of an audit: JSON, CSV, XLSX, SARIF and JUnit by suffix; sections of the site report.

Laws: text of web pages is never structure, and never a formula of a spreadsheet. JSON has all pages
and is a baseline; a JUnit file has a test for each check that could be made, which fails if a page
has the issue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import groupby
from operator import attrgetter
from typing import BinaryIO
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

from minicrawl.audit.checks import ERROR, NOTICE, WARNING
from minicrawl.audit.findings import (
    Issue,
    IssuePage,
    SiteAudit,
    as_document,
    audit_of,
    chosen_checks,
)
from minicrawl.errors import UsageError
from minicrawl.progress import Progress
from minicrawl.report.formats import write_csv
from minicrawl.report.selected_pages import Block
from minicrawl.report.site_report import ReportSection
from minicrawl.report.snapshot import Snapshot
from minicrawl.version import __version__
from minicrawl.wording import counted, visible

Pages = Iterable[IssuePage]
Write = Callable[[SiteAudit, Pages, BinaryIO], None]

_MOST_ROWS = 1_048_575
"""Most rows of a sheet below its headings; Excel opens no larger sheet."""
_MOST_RESULTS, _MOST_LINES = 25_000, 100
"""Most results in a SARIF file, as services refuse more; most pages named in a failed test."""


def write_json(audit: SiteAudit, pages: Pages, file: BinaryIO) -> None:
    """Write a JSON document."""
    file.write(json.dumps(as_document(audit, pages), indent=1).encode())


def write_rows(_audit: SiteAudit, pages: Pages, file: BinaryIO) -> None:
    """Write CSV with a row for each page of each issue."""
    rows = list(pages)
    block: Block = {name: [getattr(row, name) for row in rows] for name in IssuePage._fields}
    write_csv([block], file, IssuePage._fields)


# ---------------------------------------------------------------- XLSX

_TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">\
<Default Extension="rels" \
ContentType="application/vnd.openxmlformats-package.relationships+xml"/>\
<Default Extension="xml" ContentType="application/xml"/>{}</Types>"""
_TYPE = '<Override PartName="/xl/{}.xml" ContentType="application/vnd.openxmlformats-\
officedocument.spreadsheetml.{}+xml"/>'
_RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def write_xlsx(audit: SiteAudit, pages: Pages, file: BinaryIO) -> None:
    """Write a workbook with a sheet of issues and a sheet of their pages."""
    sheets = {"Issues": (Issue._fields, audit.issues()), "Pages": (IssuePage._fields, pages)}
    with ZipFile(file, "w", ZIP_DEFLATED) as book:
        numbers = range(1, len(sheets) + 1)
        # Excel's names: some readers look for no others.
        kinds = [("workbook", "sheet.main"), *((f"sheet{one}", "worksheet") for one in numbers)]
        types = "".join(_TYPE.format(*kind) for kind in kinds)
        book.writestr("[Content_Types].xml", _TYPES.format(types))
        book.writestr("_rels/.rels", _relations([("officeDocument", "xl/workbook.xml")]))
        files = [("worksheet", f"sheet{number}.xml") for number in numbers]
        book.writestr("xl/_rels/workbook.xml.rels", _relations(files))
        listed = "".join(
            f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
            for number, name in zip(numbers, sheets, strict=True)
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_SHEETS}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        for number, (columns, rows) in zip(numbers, sheets.values(), strict=True):
            with book.open(f"xl/sheet{number}.xml", "w", force_zip64=True) as part:
                _write_sheet(TextIOWrapper(part, "utf-8"), columns, rows)


def _relations(files: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{name}"/>'
        for number, (kind, name) in enumerate(files, 1)
    )
    return f"<Relationships {_RELATIONS}>{listed}</Relationships>"


def _write_sheet(
    out: TextIOWrapper, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    out.write(f'<worksheet xmlns="{_SHEETS}"><sheetViews><sheetView workbookViewId="0">')
    out.write('<pane ySplit="1" topLeftCell="A2" state="frozen"/></sheetView></sheetViews>')
    out.write(f"<sheetData>{_row(columns)}")
    for number, row in enumerate(rows):
        if number < _MOST_ROWS:
            out.write(_row(row))
    out.write("</sheetData></worksheet>")
    out.flush()


def _row(cells: Sequence[object]) -> str:
    return f"<row>{''.join(map(_cell, cells))}</row>"


def _cell(value: object) -> str:
    """Return a cell. Text is an inline string, so it is never a formula."""
    if value is None:
        return "<c/>"
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(visible(str(value)))}</t></is></c>'


# ---------------------------------------------------------------- SARIF, JUnit

_LEVELS = {ERROR: "error", WARNING: "warning", NOTICE: "note"}


def write_sarif(audit: SiteAudit, pages: Pages, file: BinaryIO) -> None:
    """Write SARIF 2.1, for services that show the findings of code checkers."""
    checks = [one.check for one in audit.found]
    rules = [
        {
            "id": check.name,
            "shortDescription": {"text": check.means},
            "defaultConfiguration": {"level": _LEVELS[check.severity]},
        }
        for check in checks
    ]
    means = {check.name: check.means for check in checks}
    results = [
        {
            "ruleId": page.issue,
            "level": _LEVELS[page.severity],
            "message": {"text": means[page.issue]},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": page.url}}}],
        }
        for _, page in zip(range(_MOST_RESULTS), pages, strict=False)
    ]
    driver = {"name": "minicrawl", "version": __version__, "rules": rules}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    file.write(json.dumps(document, indent=1).encode())


def write_junit(audit: SiteAudit, pages: Pages, file: BinaryIO) -> None:
    """Write JUnit XML, for CI: a test for each check."""
    by_issue = {name: list(some) for name, some in groupby(pages, key=attrgetter("issue"))}
    tests = len(audit.found) + len(audit.skipped)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="minicrawl audit" tests="{tests}" failures="{len(by_issue)}" '
        f'skipped="{len(audit.skipped)}">',
    ]
    for check, count in ((one.check, one.count) for one in audit.found):
        name = f'<testcase classname="{check.severity}" name={quoteattr(check.name)}'
        if not count:
            lines.append(f"{name}/>")
            continue
        message = quoteattr(f"{counted(count, 'page')}: {check.means}")
        some = [visible(page.url) for page in by_issue[check.name][:_MOST_LINES]]
        lines.append(f"{name}><failure message={message}>{escape(chr(10).join(some))}")
        lines.append("</failure></testcase>")
    for issue, why in audit.skipped:
        said = f"<skipped message={quoteattr(why)}/>"
        lines.append(f'<testcase classname="skipped" name={quoteattr(issue)}>{said}</testcase>')
    file.write("\n".join((*lines, "</testsuite>", "")).encode())


# ---------------------------------------------------------------- the site report

_SHOWN_OF_AN_ISSUE = 50


def report_sections(seen: Snapshot, tell: Progress) -> Iterator[ReportSection]:
    """Yield the sections of `minicrawl report`: the issues, and the first pages of each."""
    try:
        audit = audit_of(seen, chosen_checks(()), tell=tell)
    except UsageError as error:  # a folder that is read-only has no place for facts
        yield ReportSection("Issues", f"Not checked: {error}", (), (), 0)
        return
    means = f"{len(audit.found)} kinds of issues were checked"
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


WRITERS: dict[str, Write] = {
    "json": write_json,
    "csv": write_rows,
    "xlsx": write_xlsx,
    "sarif": write_sarif,
    "xml": write_junit,
}
"""Writers by the suffix of the file."""
