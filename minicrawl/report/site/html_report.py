"""A report on a site as one HTML file, for browsers, printing and mail."""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import BinaryIO

from minicrawl.report.site.html_tables import entry_html, escaped, section_html, tile_html
from minicrawl.report.site.site_report import SiteReport

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
    """Write the report as HTML."""
    file.write("\n".join(_document(report)).encode())


def _document(report: SiteReport) -> Iterator[str]:
    title = f"Site report: {escaped(report.title)}"
    yield '<!doctype html><html lang="en"><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title><style>{_STYLE}</style>"
    yield f"<h1>{title}</h1>"
    facts = ", ".join(f"{escaped(value)} {escaped(name)}" for name, value in report.facts)
    yield f"<p>{escaped(report.made_at[:10])}. {facts}.</p>"
    for section in report.sections:
        if section.leads:
            yield f'<div class="tiles">{"".join(map(tile_html, section.tiles))}</div>'
            yield from section_html(section)
    lists = [section for section in report.sections if not section.leads]
    yield f"<nav><ul>{''.join(map(entry_html, lists))}</ul></nav>"
    for section in lists:
        yield from section_html(section)
    yield f"<p>Made by minicrawl on {escaped(report.made_at)}.</p>"
    yield f"<script>{_SCRIPT}</script></html>"
