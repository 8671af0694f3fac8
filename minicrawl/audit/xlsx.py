"""Findings of an audit as a workbook of spreadsheets."""

from collections.abc import Callable, Iterable, Sequence
from io import TextIOWrapper
from typing import BinaryIO
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

from minicrawl.audit.findings import AuditChange, Cause, Issue, IssuePage, SiteAudit
from minicrawl.wording import visible

Pages = Iterable[IssuePage]
Write = Callable[[SiteAudit, Pages, BinaryIO, AuditChange | None], None]

_MOST_ROWS = 1_048_575
"""Most rows of a sheet below its headings; Excel opens no larger sheet."""


_TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">\
<Default Extension="rels" \
ContentType="application/vnd.openxmlformats-package.relationships+xml"/>\
<Default Extension="xml" ContentType="application/xml"/>{}</Types>"""
_TYPE = '<Override PartName="/xl/{}.xml" ContentType="application/vnd.openxmlformats-\
officedocument.spreadsheetml.{}+xml"/>'
_RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def write_xlsx(
    audit: SiteAudit, pages: Pages, file: BinaryIO, _change: AuditChange | None = None
) -> None:
    """Write a workbook with sheets of issues, of their causes, and of their pages."""
    sheets: dict[str, tuple[Sequence[str], Iterable[Sequence[object]]]] = {
        "Issues": (Issue._fields, audit.issues()),
        "Causes": (Cause._fields, audit.table().causes),
        "Pages": (IssuePage._fields, pages),
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
