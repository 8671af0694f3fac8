"""`minicrawl audit`: runs the checks of a site for its owner, and shows or writes what they find.

Laws: a check whose facts are missing is named with the reason, and never counts as passed. A
baseline identifies an issue by its name and page, not by its place in the list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

import click
import numpy as np

from minicrawl import __version__
from minicrawl.archive.record import key_of
from minicrawl.audit.checks import (
    CHECKED,
    ERROR,
    LINKS,
    LISTED,
    MARKUP,
    NOTICE,
    SEVERITIES,
    TIMED,
    WARNING,
    Check,
    all_checks,
)
from minicrawl.audit.site import AuditedSite, Column, Mask, UrlKeys, note_facts, titles
from minicrawl.cli.options import count_option, json_option, store_option
from minicrawl.cli.output import percent, progress, show_json, show_list
from minicrawl.errors import UsageError
from minicrawl.memory import mmap_large_arrays
from minicrawl.own_files import replacing
from minicrawl.ports import Progress, part, unreported
from minicrawl.report.formats import write_csv
from minicrawl.report.selected_pages import Block, hosts_named
from minicrawl.report.site_report import ReportSection
from minicrawl.report.snapshot import Snapshot, snapshot, urls
from minicrawl.wording import counted, visible

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
        found: Column = self.by_importance[self.ranks]
        return found

    @property
    def ranks(self) -> Column:
        """Places of the pages in the list by importance, in order."""
        return np.flatnonzero(np.unpackbits(self._bits, count=len(self.by_importance)))

    def among(self, ranks: Column) -> Column:
        """Return those of these ranks whose pages have the issue, in time proportional to them."""
        found: Column = ranks[self._bits[ranks >> 3] >> (7 - (ranks & 7)) & 1 == 1]
        return found

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
        for one in self.found:
            check, pages = one.check, one.pages[: count or None]
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
        for one in self.found:
            # By URL, not by page id: the baseline may be from another store of the same site.
            pages = self.site.pages_of(np.array(keys.get(one.check.name, ()), np.int64))
            left.append(one.without(pages[pages >= 0]))
        return SiteAudit(self.site, left, self.skipped, self.read)


def issue_table(seen: Snapshot, found: Sequence[tuple[Check, int, int]]) -> list[Issue]:
    """Return the table of checks, each with its number of pages and the most important of them."""
    examples = urls(seen, np.array([first for _, _, first in found], np.int64))
    rows = [
        Issue(check.name, check.severity, pages, check.means, example)
        for (check, pages, _), example in zip(found, examples, strict=True)
    ]
    return sorted(rows, key=lambda row: (SEVERITIES.index(row.severity), -row.pages))


def issue_pages(
    seen: Snapshot, check: Check, pages: Column, values: Column | None
) -> Iterator[IssuePage]:
    """Yield some pages of an issue, with the values that its check shows."""
    shares = seen.importance
    title_of = titles(seen, pages.tolist())
    for place, (page, url) in enumerate(zip(pages.tolist(), urls(seen, pages), strict=True)):
        value = None if values is None else round(float(values[place]), 2)
        title = title_of.get(page, "")
        yield IssuePage(check.name, check.severity, float(shares[page]), value, url, title)


@contextmanager
def audited(
    store: Path,
    names: Iterable[str] = (),
    host: str | None = None,
    tell: Progress = unreported,
) -> Iterator[SiteAudit]:
    """Audit a store, also while a crawl writes it; with `names`, run only these checks."""
    checks = chosen_checks(names)
    with snapshot(store) as seen:
        yield audit_of(seen, checks, host, tell)


def audit_of(
    seen: Snapshot, checks: Sequence[Check], host: str | None = None, tell: Progress = unreported
) -> SiteAudit:
    """Run these checks on the pages of a snapshot, or on those of one host."""
    keys = UrlKeys(seen)
    noted = note_facts(seen, keys, part(tell, 0, _SHARE_OF_NOTING))
    site = AuditedSite(seen, keys, part(tell, _SHARE_OF_NOTING, 1))
    lacks = {
        MARKUP: "" if noted.has_markup else "needs kept pages: crawl with --keep pages",
        LINKS: "" if seen.frontier.terms.links else "needs links: crawl with --links",
        LISTED: "" if site.listed.any() else "needs sitemaps: crawl with --sitemaps",
        CHECKED: "" if site.was_checked else "needs checks: crawl with --check assets",
        TIMED: "" if site.first_byte_s.any() else "needs response times: crawl again",
    }
    skipped = [(one.name, why) for one in checks if (why := lacks.get(one.by.needs, ""))]
    missing = {name for name, _ in skipped}
    chosen = np.ones(len(seen), np.bool_)
    if host is not None:
        chosen = np.isin(seen.host_of, hosts_named(seen, host))
    by_importance = seen.best.astype(np.int32)
    found = [
        IssueFinding(check, (check.by.find(site) & chosen)[by_importance], by_importance)
        for check in checks
        if check.name not in missing
    ]
    return SiteAudit(site, found, skipped, int(np.count_nonzero(site.html)))


def chosen_checks(names: Iterable[str]) -> list[Check]:
    """Return the checks with these names, or all."""
    known = {check.name: check for check in all_checks()}
    wanted = list(names)
    for name in wanted:
        if name not in known:
            raise UsageError(f"{name!r} is not an issue: `minicrawl audit --list` lists all")
    return [known[name] for name in wanted] if wanted else list(known.values())


# ================================================================ baseline


def as_document(audit: SiteAudit, pages: Iterable[IssuePage]) -> dict[str, Any]:
    """Return the result as a JSON document, which is also a baseline."""
    return {
        "format": _FORMAT,
        "pages_read": audit.read,
        "issues": [one._asdict() for one in audit.issues()],
        "skipped": [{"issue": name, "why": why} for name, why in audit.skipped],
        "pages": [one._asdict() for one in pages],
    }


def read_baseline(baseline: Path) -> set[tuple[str, int]]:
    """Return the issues of a baseline, each with the key of its page."""
    try:
        found = json.loads(baseline.read_bytes())
        if found["format"] != _FORMAT:
            raise ValueError(f"format {found['format']!r}")
        return {(str(one["issue"]), key_of(str(one["url"]))) for one in found["pages"]}
    except OSError as error:
        raise UsageError(f"{baseline}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{baseline} is not a baseline ({error}): "
            "write one with `minicrawl audit --out FILE.json`"
        ) from error


# ================================================================ formats
#
# JSON, CSV, XLSX, SARIF and JUnit by suffix; sections of the site report.
#
# Laws: text of web pages is never structure, and never a formula of a spreadsheet. JSON has all
# pages and is a baseline; a JUnit file has a test for each check that could be made, which fails if
# a page has the issue.

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


# ================================================================ command

_SHOWN = 100


@click.command()
@click.argument("issues", nargs=-1, metavar="[ISSUE]...")
@click.option("--host", metavar="NAME", help="Only pages of this host.")
@count_option(_SHOWN)
@click.option("--list", "lists", is_flag=True, help="List all issues that an audit checks for.")
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write all pages of the issues to FILE: .json, .csv, .xlsx, .sarif, or .xml for JUnit.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Show only issues that are not in FILE, a .json of an earlier --out, and exit 1 if "
    "there are any.",
)
@json_option
@store_option
def audit(
    issues: tuple[str, ...],
    host: str | None,
    n: int,
    lists: bool,
    out: Path | None,
    baseline: Path | None,
    as_json: bool,
    store: Path,
) -> None:
    """List the issues of a site, worst first.

    With ISSUE, list its pages, most important first. The first audit after a crawl reads the kept
    pages, once each. Issues that cannot be checked are counted with the reason.
    """
    mmap_large_arrays()
    if lists:
        rows = [(one.severity, one.name, one.means) for one in chosen_checks(issues)]
        show_list(("severity", "issue", "means"), rows, texts=2)
        return
    suffix = "" if out is None else out.suffix[1:].lower()
    if out is not None and suffix not in WRITERS:
        raise UsageError(f"{out}: unknown suffix; use one of .{', .'.join(WRITERS)}")
    known = None if baseline is None else read_baseline(baseline)
    with progress("pages") as tell, audited(store, issues, host, tell) as whole:
        found = whole if known is None else whole.new_since(known)
        if out is not None:
            with replacing(out) as file:
                WRITERS[suffix](found, found.pages(), file)
        if as_json:
            show_json(as_document(found, found.pages(n)))
        elif issues:
            _show_pages(found, n)
        else:
            _show_issues(found)
        has_new = known is not None and any(one.count for one in found.found)
    if has_new:
        raise click.exceptions.Exit(1)


def _show_issues(found: SiteAudit) -> None:
    rows = found.issues()
    lines = [(one.severity, f"{one.pages:,}", one.issue, one.example) for one in rows]
    if lines:
        show_list(("severity", "pages", "issue", "example"), lines, texts=2)
    looked = len(found.found)
    click.echo(
        f"found {counted(len(rows), 'issue')}, checked {looked}, read {counted(found.read, 'page')}"
    )
    _tell_skipped(found)


def _show_pages(found: SiteAudit, count: int) -> None:
    lines = [
        (percent(page.importance), "-" if page.value is None else f"{page.value:.12g}", page.url)
        for page in found.pages(count)
    ]
    show_list(("importance", "value", "url"), lines, texts=1)
    left = sum(max(one.count - count, 0) for one in found.found) if count else 0
    if left:
        click.echo(f"{counted(left, 'more page')}: --n 0 shows all")
    _tell_skipped(found)


def _tell_skipped(found: SiteAudit) -> None:
    reasons: dict[str, list[str]] = {}
    for name, why in found.skipped:
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        click.echo(f"not checked: {counted(len(names), 'issue')} ({why})", err=True)
