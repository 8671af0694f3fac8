"""Report on a site as one self-contained HTML file, for browsers, printing and mail.

Laws: untrusted text is never markup, and links lead only to http and https. The file has no scripts
and loads nothing; its content security policy enforces that.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from minicrawl.export.cells import visible
from minicrawl.graph.outline import DegreeDistribution
from minicrawl.web.urls import readable
from minicrawl.wording import counted

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_WIDTH, _HEIGHT, _MARGIN = 640, 360, 44
_CENTRE, _RADIUS, _NAME_GAP = 450, 230, 18
_LONGEST_NAME = 30
_SHARES = frozenset(("importance",))
_CODES = frozenset(("status",))
_URLS = frozenset(("url", "target", "source", "end", "original"))
_NUMBER, _URL = ' class="number"', ' class="url"'

_STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1b2430; --soft: #5a6675; --line: #d9dee5; --paper: #fff; --band: #f5f7fa;
  --accent: #0b62a8; --good: #1d6f42;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaf0; --soft: #a3afbd; --line: #37414e; --paper: #12171d; --band: #1a2129;
    --accent: #6db5f2; --good: #6fcf97;
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
dl {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr));
  gap: .75rem; margin: 1.5rem 0;
}
dl div {
  padding: .75rem 1rem; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--band);
}
dt { color: var(--soft); font-size: .85rem }
dd { margin: 0; font-size: 1.35rem; font-variant-numeric: tabular-nums }
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
td { overflow-wrap: break-word }
td.url { overflow-wrap: anywhere; min-width: 14rem }
th.number { width: 1% }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.number + :not(.number) { padding-left: 1rem }
.plots { display: flex; flex-wrap: wrap; gap: 1.5rem }
figure { margin: 0; flex: 1 1 22rem; min-width: 0 }
figcaption { color: var(--soft); font-size: .9rem }
svg { width: 100%; height: auto }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif }
svg .name { fill: var(--ink) }
.axis { stroke: var(--line) }
.point, .node { fill: var(--accent) }
.link { stroke: var(--accent); opacity: .3; fill: none }
@media (max-width: 40rem) {
  body { padding: 1.25rem 1rem 3rem }
  h1 { font-size: 1.4rem }
}
@media print {
  body { max-width: none; padding: 0 }
  td { overflow-wrap: anywhere }
  td.url { min-width: 0 }
  nav { display: none }
  h2 { break-after: avoid }
  tr { break-inside: avoid }
}
"""


class ReportSection(NamedTuple):
    """Rows of one kind, possibly the first of `total`."""

    name: str
    means: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int


class HostNode(NamedTuple):
    """Host with the total importance of its pages."""

    name: str
    importance: float
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteReport:
    """Content of the report."""

    title: str
    made_at: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[ReportSection]
    in_degrees: DegreeDistribution
    out_degrees: DegreeDistribution
    hosts: Sequence[HostNode]
    """Most important hosts."""
    host_links: Sequence[tuple[int, int, int]]
    """Links between `hosts`: two indices, and the number of links."""


def write_site_report(report: SiteReport, file: BinaryIO) -> None:
    """Write the report as HTML."""
    file.write("\n".join(_document(report)).encode())


def _document(report: SiteReport) -> Iterator[str]:
    title = f"Site report: {_text(report.title)}"
    yield '<!doctype html><html lang="en"><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title><style>{_STYLE}</style>"
    yield f"<h1>{title}</h1><p>Made by minicrawl on {_text(report.made_at)}.</p>"
    facts = (
        f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in report.facts
    )
    yield f"<dl>{''.join(facts)}</dl>"
    yield f"<nav><ul>{''.join(map(_entry, report.sections))}</ul></nav>"
    for section in report.sections:
        yield from _section(section)
    yield "<h2>Links a page</h2>"
    yield "<p>How many pages have so many links, both on a logarithmic scale.</p>"
    yield '<div class="plots">'
    yield _figure(_degree_plot(report.in_degrees), "Links to a page, from pages that were read")
    yield _figure(_degree_plot(report.out_degrees), "Links from a page that was read")
    yield "</div>"
    if len(report.hosts) > 1:
        yield "<h2>Hosts</h2><p>The most important hosts and the links between them.</p>"
        yield _figure(_host_graph(report), "A larger circle is a more important host.")
    yield "</html>"


def _text(value: object) -> str:
    return escape(visible(readable(str(value))))


# ---------------------------------------------------------------- tables


def _anchor(section: ReportSection) -> str:
    return section.name.lower().replace(" ", "-")


def _entry(section: ReportSection) -> str:
    count = f'<span class="count">{section.total:,}</span>'
    return f'<li><a href="#{_anchor(section)}">{section.name}</a> {count}</li>'


def _section(section: ReportSection) -> Iterator[str]:
    count = f'<span class="count">{section.total:,}</span>'
    yield f'<h2 id="{_anchor(section)}">{section.name} {count}</h2>'
    if section.means:
        yield f"<p>{section.means}</p>"
    if not section.rows:
        yield '<p class="none">None.</p>'
        return
    is_number = [not isinstance(value, str) for value in section.rows[0]]
    heads = map(_head, section.columns, is_number)
    yield f'<div class="table"><table><thead><tr>{"".join(heads)}</tr></thead><tbody>'
    for row in section.rows:
        yield f"<tr>{''.join(map(_cell, section.columns, row, is_number))}</tr>"
    yield "</tbody></table></div>"
    if section.total > len(section.rows):
        yield f'<p class="more">The first {len(section.rows):,} of {section.total:,}.</p>'


def _head(column: str, is_number: bool) -> str:
    name = column.replace("_", " ")
    return f'<th scope="col"{_NUMBER if is_number else ""}>{name}</th>'


def _cell(column: str, value: object, is_number: bool) -> str:
    kind = _NUMBER if is_number else _URL if column in (*_URLS, "through") else ""
    return f"<td{kind}>{_shown(column, value)}</td>"


def _shown(column: str, value: object) -> str:
    if value is None:
        return "&ndash;"
    if isinstance(value, float):
        return f"{value:.2%}" if column in _SHARES else f"{value:,.2f}"
    if isinstance(value, int):
        return f"{value:,}" if column not in _CODES else str(value)
    text = _text(value)
    if column in _URLS and str(value).startswith(("http://", "https://")):
        return f'<a href="{escape(str(value))}" rel="noopener noreferrer nofollow">{text}</a>'
    return text


# ---------------------------------------------------------------- pictures


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _degree_plot(degrees: DegreeDistribution) -> str:
    """Return a log-log plot, with a grid line at each power of ten."""
    points = np.array(list(degrees.density())).reshape(-1, 2)
    if not len(points):
        return "<p>No page has a link.</p>"
    logs = np.log10(points)
    low, high = np.floor(logs.min(axis=0)), np.ceil(logs.max(axis=0))
    span = np.maximum(high - low, 1)
    room = np.array([_WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN])
    places = (logs - low) / span * room
    drawn = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">']
    for power in range(int(span[0]) + 1):
        x = _MARGIN + power / span[0] * room[0]
        label = _power(int(low[0]) + power)
        drawn.append(f'<path class="axis" d="M{x:.1f} {_MARGIN}V{_HEIGHT - _MARGIN}"/>')
        drawn.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _MARGIN + 18}" text-anchor="middle">{label}</text>'
        )
    for power in range(int(span[1]) + 1):
        y = _HEIGHT - _MARGIN - power / span[1] * room[1]
        label = _power(int(low[1]) + power)
        drawn.append(f'<path class="axis" d="M{_MARGIN} {y:.1f}H{_WIDTH - _MARGIN}"/>')
        drawn.append(f'<text x="{_MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for x, y in places.tolist():
        drawn.append(
            f'<circle class="point" cx="{_MARGIN + x:.1f}" cy="{_HEIGHT - _MARGIN - y:.1f}" r="4"/>'
        )
    return "".join((*drawn, "</svg>"))


def _power(exponent: int) -> str:
    return f"{10**exponent:,}" if exponent >= 0 else f"{10.0**exponent:g}"


def _host_graph(report: SiteReport) -> str:
    """Return a picture of the hosts on a circle, with names outside and links inside."""
    turns = np.linspace(0, 360, len(report.hosts), endpoint=False)
    places = _CENTRE + _RADIUS * np.column_stack(
        (np.cos(np.radians(turns)), np.sin(np.radians(turns)))
    )
    most = max((weight for *_, weight in report.host_links), default=1)
    drawn = [f'<svg viewBox="0 0 {2 * _CENTRE} {2 * _CENTRE}" role="img">']
    for source, target, weight in report.host_links:
        (x, y), (to_x, to_y) = places[source], places[target]
        curve = f"M{x:.0f} {y:.0f}Q{_CENTRE} {_CENTRE} {to_x:.0f} {to_y:.0f}"
        width = 0.5 + 3 * math.log1p(weight) / math.log1p(most)
        drawn.append(f'<path class="link" stroke-width="{width:.1f}" d="{curve}"/>')
    best = max(host.importance for host in report.hosts) or 1.0
    for turn, (x, y), host in zip(turns.tolist(), places, report.hosts, strict=True):
        radius = 4 + 8 * math.sqrt(host.importance / best)
        says = f"{_text(host.name)}: {host.importance:.1%}, {counted(host.pages, 'page')}"
        drawn.append(
            f'<circle class="node" cx="{x:.0f}" cy="{y:.0f}" r="{radius:.0f}">'
            f"<title>{says}</title></circle>"
        )
        drawn.append(_name_outside(turn, host.name))
    return "".join((*drawn, "</svg>"))


def _name_outside(turn: float, name: str) -> str:
    """Return a name outside of the circle at `turn` degrees, along the radius and upright."""
    is_left = math.cos(math.radians(turn)) < 0
    x = _CENTRE - _RADIUS - _NAME_GAP if is_left else _CENTRE + _RADIUS + _NAME_GAP
    degrees, anchor = (turn - 180, "end") if is_left else (turn, "start")
    name = visible(readable(name))
    shown = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    return (
        f'<text class="name" x="{x}" y="{_CENTRE + 4}" text-anchor="{anchor}" '
        f'transform="rotate({degrees:.1f} {_CENTRE} {_CENTRE})">{escape(shown)}</text>'
    )
