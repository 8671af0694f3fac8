"""A report on a site as one HTML file, for browsers, printing and mail."""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from typing import BinaryIO

from minicrawl.report.site.site_report import ReportSection, SiteReport
from minicrawl.web.readable_hosts import readable
from minicrawl.wording import visible

_SHARES = frozenset(("importance",))
_CODES = frozenset(("status",))
_URLS = frozenset(("url", "target", "source", "end", "original", "example", "where"))
_NUMBER, _URL = ' class="number"', ' class="url"'

_SCRIPT = """
const tables = [...document.querySelectorAll("table")];
const number = text => Number(text.replace(/[,%\u2013]/g, ""));
const compare = (one, other) => {
  const [a, b] = [number(one), number(other)];
  return isNaN(a) || isNaN(b) ? one.localeCompare(other) : a - b;
};
for (const table of tables) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const sign = head.ariaSort === "ascending" ? -1 : 1;
      heads.forEach(other => { other.ariaSort = null; });
      head.ariaSort = sign < 0 ? "descending" : "ascending";
      const text = row => row.cells[place].textContent.trim();
      const rows = [...table.tBodies[0].rows].map(row => [text(row), row]);
      rows.sort((one, other) => sign * compare(one[0], other[0]));
      table.tBodies[0].append(...rows.map(one => one[1]));
    };
  });
}
const search = document.createElement("input");
search.type = "search";
search.placeholder = "Search all tables";
search.ariaLabel = search.placeholder;
search.oninput = () => {
  const words = search.value.toLowerCase().split(/\\s+/);
  for (const table of tables)
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
};
document.querySelector("nav").after(search);
"""
_SCRIPT_HASH = b64encode(sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_SCRIPT_HASH}'"

_STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1b2430; --soft: #5a6675; --line: #d9dee5; --paper: #fff; --band: #f5f7fa;
  --accent: #0b62a8; --good: #1d6f42; --error: #b3261e; --warning: #8a5a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaf0; --soft: #a3afbd; --line: #37414e; --paper: #12171d; --band: #1a2129;
    --accent: #6db5f2; --good: #6fcf97; --error: #ff9a8f; --warning: #f0b95a;
  }
}
* { box-sizing: border-box }
body {
  margin: 0 auto; max-width: 76rem; padding: 2rem 1.25rem 4rem;
  background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
}
h1 { margin: 0; font-size: 1.9rem; overflow-wrap: anywhere }
h2 { margin: 2.5rem 0 .25rem; font-size: 1.25rem }
p { margin: .25rem 0 .75rem; color: var(--soft) }
a { color: var(--accent) }
.tiles {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
  gap: .75rem; margin: 1.5rem 0;
}
.tile {
  padding: .75rem 1rem; border: 1px solid var(--line); border-left: .35rem solid var(--line);
  border-radius: .5rem; background: var(--band); break-inside: avoid;
}
.tile b { display: block; font-size: 1.6rem; font-variant-numeric: tabular-nums }
.tile span { display: block; color: var(--soft); font-size: .85rem }
.tile.error { border-left-color: var(--error) }
.tile.warning { border-left-color: var(--warning) }
.tile.good { border-left-color: var(--good) }
td.error, td.warning, td.notice { white-space: nowrap; overflow-wrap: normal }
td.error { color: var(--error); font-weight: 600 }
td.warning { color: var(--warning); font-weight: 600 }
nav { break-before: page; margin-top: 3rem; border-top: 1px solid var(--line) }
nav ul { display: flex; flex-wrap: wrap; gap: .4rem 1.25rem; padding: 0; list-style: none }
.count { color: var(--soft); font-weight: 400; font-variant-numeric: tabular-nums }
.none { color: var(--good) }
.table { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td {
  padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: top;
}
th { color: var(--soft); font-weight: 600; white-space: nowrap }
th button {
  all: unset; cursor: pointer; font: inherit;
}
th button:hover, th button:focus-visible { color: var(--accent) }
th[aria-sort=ascending] button::after { content: " \\2191" }
th[aria-sort=descending] button::after { content: " \\2193" }
input {
  display: block; position: sticky; top: .5rem; width: 100%; max-width: 24rem;
  padding: .4rem .75rem; font: inherit;
  color: inherit; background: var(--band); border: 1px solid var(--line); border-radius: .5rem;
}
h2 { scroll-margin-top: 3.5rem }
td { overflow-wrap: break-word }
td.url { overflow-wrap: anywhere; min-width: 14rem }
th.number { width: 1% }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.number + :not(.number) { padding-left: 1rem }
@media (max-width: 40rem) {
  body { padding: 1.25rem 1rem 3rem }
  h1 { font-size: 1.4rem }
  .leads thead { display: none }
  .leads tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line) }
  .leads td { display: block; padding: .1rem 0; border: 0; text-align: left }
  .leads .number + :not(.number) { padding-left: 0 }
}
@media print {
  body { max-width: none; padding: 0 }
  td { overflow-wrap: anywhere }
  td.url { min-width: 0 }
  input { display: none }
  nav ul { columns: 2; display: block }
  h2 { break-after: avoid }
  tr { break-inside: avoid }
}
"""


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
