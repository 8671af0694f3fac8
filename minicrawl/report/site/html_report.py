"""A report on a site as one HTML file, for browsers, printing and mail."""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import BinaryIO

from minicrawl.report.site.site_report import ReportSection, SiteReport
from minicrawl.web.readable_hosts import readable
from minicrawl.wording import visible

_SHARES = frozenset(("importance",))
_CODES = frozenset(("status",))
_URLS = frozenset(("url", "target", "source", "end", "original", "example", "where"))
_PAGE = Path(__file__).parent / "page"
_NUMBER, _URL = ' class="number"', ' class="url"'

_SCRIPT = (_PAGE / "report.js").read_text("utf-8")
_SCRIPT_HASH = b64encode(sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_SCRIPT_HASH}'"

_STYLE = (_PAGE / "report.css").read_text("utf-8")


def write_site_report(report: SiteReport, file: BinaryIO) -> None:
    file.write("\n".join(_document(report)).encode())


def _document(report: SiteReport) -> Iterator[str]:
    title = f"Site report: {_escaped(report.title)}"
    yield '<!doctype html><html lang="en"><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title><style>{_STYLE}</style>"
    yield f"<h1>{title}</h1>"
    facts = ", ".join(f"{_escaped(value)} {_escaped(name)}" for name, value in report.facts)
    yield f"<p>{_escaped(report.made_at[:10])}. {facts}.</p>"
    for section in report.sections:
        if section.leads:
            yield '<div class="tiles">'
            for tile in section.tiles:
                note = f"<span>{_escaped(tile.note)}</span>" if tile.note else ""
                shown = f"<span>{_escaped(tile.name)}</span><b>{_escaped(tile.value)}</b>{note}"
                yield f'<div class="tile {tile.tone}">{shown}</div>'
            yield "</div>"
            yield from _section(section)
    lists = [section for section in report.sections if not section.leads]
    yield "<nav><ul>"
    for section in lists:
        count = f'<span class="count">{section.total:,}</span>'
        yield f'<li><a href="#{_anchor(section)}">{section.name}</a> {count}</li>'
    yield "</ul></nav>"
    for section in lists:
        yield from _section(section)
    yield f"<p>Made by minicrawl on {_escaped(report.made_at)}.</p>"
    yield f"<script>{_SCRIPT}</script></html>"


def _escaped(value: object) -> str:
    return escape(visible(readable(str(value))))


def _anchor(section: ReportSection) -> str:
    return section.name.lower().replace(" ", "-")


def _section(section: ReportSection) -> Iterator[str]:
    count = f'<span class="count">{section.total:,}</span>'
    yield (
        f"<h2>{section.name}</h2>"
        if section.leads
        else f'<h2 id="{_anchor(section)}">{section.name} {count}</h2>'
    )
    if section.means:
        yield f"<p>{_escaped(section.means)}</p>"
    if not section.rows:
        yield '<p class="none">None.</p>'
        return
    is_number = [not isinstance(value, str) for value in section.rows[0]]
    heads = [
        f'<th scope="col"{_NUMBER if number else ""}>{column.replace("_", " ")}</th>'
        for column, number in zip(section.columns, is_number, strict=True)
    ]
    kind = "table leads" if section.leads else "table"
    yield f'<div class="{kind}"><table><thead><tr>{"".join(heads)}</tr></thead><tbody>'
    for row in section.rows:
        yield f"<tr>{''.join(map(_cell, section.columns, row, is_number))}</tr>"
    yield "</tbody></table></div>"
    if section.total > len(section.rows) and not section.leads:
        yield f'<p class="more">The first {len(section.rows):,} of {section.total:,}.</p>'


def _cell(column: str, value: object, is_number: bool) -> str:
    kind = _NUMBER if is_number else _URL if column in (*_URLS, "through") else ""
    if column == "severity":
        kind = f' class="{value}"'
    return f"<td{kind}>{_shown(column, value)}</td>"


def _shown(column: str, value: object) -> str:
    if value is None:
        return "&ndash;"
    if isinstance(value, float):
        return f"{value:.2%}" if column in _SHARES else f"{value:,.2f}"
    if isinstance(value, int):
        return f"{value:,}" if column not in _CODES else str(value)
    text = _escaped(value)
    if column in _URLS and str(value).startswith(("http://", "https://")):
        return f'<a href="{escape(str(value))}" rel="noopener noreferrer nofollow">{text}</a>'
    return text
