"""Findings of an audit as JSON, CSV, SARIF, JUnit and a workbook, and the formats by suffix."""

import json
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from io import TextIOWrapper
from itertools import groupby
from operator import attrgetter
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


_LEVELS = {ERROR: "error", WARNING: "warning", NOTICE: "note"}


def write_sarif(audit: SiteAudit, file: BinaryIO, _change: AuditChange | None) -> None:
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


def write_junit(audit: SiteAudit, file: BinaryIO, _change: AuditChange | None) -> None:
    """Write JUnit XML, for CI: a test for each check."""
    by_issue = {name: list(some) for name, some in groupby(audit.pages(), attrgetter("issue"))}
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


_TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">\
<Default Extension="rels" \
ContentType="application/vnd.openxmlformats-package.relationships+xml"/>\
<Default Extension="xml" ContentType="application/xml"/>{}</Types>"""
_TYPE = '<Override PartName="/xl/{}.xml" ContentType="application/vnd.openxmlformats-\
officedocument.spreadsheetml.{}+xml"/>'
_RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def write_xlsx(audit: SiteAudit, file: BinaryIO, _change: AuditChange | None) -> None:
    """Write a workbook with sheets of issues, of their causes, and of their pages."""
    sheets: dict[str, tuple[Sequence[str], Iterable[Sequence[object]]]] = {
        "Issues": (Issue._fields, audit.issues()),
        "Causes": (Cause._fields, audit.table().causes),
        "Pages": (IssuePage._fields, audit.pages()),
    }
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


WRITERS: dict[str, Write] = {
    "json": write_json,
    "csv": write_rows,
    "xlsx": write_xlsx,
    "sarif": write_sarif,
    "xml": write_junit,
}
"""Writers by the suffix of the file."""
