"""Tables of a report as HTML."""

from collections.abc import Iterator
from html import escape

from minicrawl.report.site.site_report import ReportSection, Tile
from minicrawl.web.readable_hosts import readable
from minicrawl.wording import visible

_SHARES = frozenset(("importance",))
_CODES = frozenset(("status",))
_URLS = frozenset(("url", "target", "source", "end", "original", "example", "where"))
_NUMBER, _URL = ' class="number"', ' class="url"'


def escaped(value: object) -> str:
    return escape(visible(readable(str(value))))


def _anchor(section: ReportSection) -> str:
    return section.name.lower().replace(" ", "-")


def entry_html(section: ReportSection) -> str:
    count = f'<span class="count">{section.total:,}</span>'
    return f'<li><a href="#{_anchor(section)}">{section.name}</a> {count}</li>'


def tile_html(tile: Tile) -> str:
    note = f"<span>{escaped(tile.note)}</span>" if tile.note else ""
    shown = f"<span>{escaped(tile.name)}</span><b>{escaped(tile.value)}</b>{note}"
    return f'<div class="tile {tile.tone}">{shown}</div>'


def section_html(section: ReportSection) -> Iterator[str]:
    count = f'<span class="count">{section.total:,}</span>'
    yield (
        f"<h2>{section.name}</h2>"
        if section.leads
        else f'<h2 id="{_anchor(section)}">{section.name} {count}</h2>'
    )
    if section.means:
        yield f"<p>{escaped(section.means)}</p>"
    if not section.rows:
        yield '<p class="none">None.</p>'
        return
    is_number = [not isinstance(value, str) for value in section.rows[0]]
    heads = map(_head, section.columns, is_number)
    kind = "table leads" if section.leads else "table"
    yield f'<div class="{kind}"><table><thead><tr>{"".join(heads)}</tr></thead><tbody>'
    for row in section.rows:
        yield f"<tr>{''.join(map(_cell, section.columns, row, is_number))}</tr>"
    yield "</tbody></table></div>"
    if section.total > len(section.rows) and not section.leads:
        yield f'<p class="more">The first {len(section.rows):,} of {section.total:,}.</p>'


def _head(column: str, is_number: bool) -> str:
    name = column.replace("_", " ")
    return f'<th scope="col"{_NUMBER if is_number else ""}>{name}</th>'


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
    text = escaped(value)
    if column in _URLS and str(value).startswith(("http://", "https://")):
        return f'<a href="{escape(str(value))}" rel="noopener noreferrer nofollow">{text}</a>'
    return text
