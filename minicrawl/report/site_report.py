"""Reports on a site in one file: as HTML, and as a picture of the crawl.

html     the report as one self-contained HTML file
report   content of the HTML report: facts, problems, best pages, links between hosts
picture  a crawl in one picture
"""

import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from minicrawl import ext
from minicrawl.graph.degrees import TAIL, DegreeDistribution, distribution
from minicrawl.model import State
from minicrawl.own_files import replacing
from minicrawl.ports import Progress
from minicrawl.report import page_links
from minicrawl.report.crawl_log import ContentRow, content_rows, discovery
from minicrawl.report.crawl_status import Sample, status
from minicrawl.report.formats import Figure, PlotLine, draw, pyplot
from minicrawl.report.page_links import with_texts
from minicrawl.report.selected_pages import HostGraph, PageSelection, blocks, rows_of
from minicrawl.report.snapshot import Snapshot, urls
from minicrawl.store import questions
from minicrawl.web.urls import readable
from minicrawl.wording import at_least, counted, iso, percentage, visible

# ================================================================ html
#
# For browsers, printing and mail.
#
# Laws: untrusted text is never markup, and links lead only to http and https. The file loads
# nothing. Its one script only searches and sorts the tables, and the report is complete without it;
# the content security policy enforces that, and names the script by its hash.

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
_WIDTH, _HEIGHT, _MARGIN = 640, 360, 44
_CENTRE, _RADIUS, _NAME_GAP = 450, 230, 18
_LONGEST_NAME = 30
_SHARES = frozenset(("importance",))
_CODES = frozenset(("status",))
_URLS = frozenset(("url", "target", "source", "end", "original", "example"))
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
  nav, input { display: none }
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
    yield "<h2>Links per page</h2>"
    yield "<p>Pages by number of links, both on a logarithmic scale.</p>"
    yield '<div class="plots">'
    yield _figure(_degree_plot(report.in_degrees), "Links to a page, from pages that were read")
    yield _figure(_degree_plot(report.out_degrees), "Links from a page that was read")
    yield "</div>"
    if len(report.hosts) > 1:
        yield "<h2>Hosts</h2><p>The most important hosts and the links between them.</p>"
        yield _figure(_host_graph(report), "A larger circle is a more important host.")
    yield f"<script>{_SCRIPT}</script></html>"


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
        yield f"<p>{_text(section.means)}</p>"
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


# ================================================================ report
#
# Law: a section has its total number of rows, and the first ones. Empty sections are included,
# because "none" is good news.

_MOST_ROWS = 200
"""Maximum rows of a section."""
_MOST_BEST = 50
_MOST_HOSTS = 40


def site_report(snapshot: Snapshot, made_at: float, tell: Progress) -> SiteReport:
    """Return the site report of a store."""
    in_links, out_links = page_links.link_counts(snapshot, tell)
    hosts, host_links = _hosts(snapshot)
    hosts_of_seeds = snapshot.host_of[questions.seeds(snapshot.connection)].tolist()
    names = dict.fromkeys(snapshot.hosts[host] for host in hosts_of_seeds)
    return SiteReport(
        title=", ".join(islice(names, 3)),
        made_at=iso(made_at),
        facts=list(_facts(snapshot)),
        sections=[
            # of packages, such as the issues of an audit
            *chain.from_iterable(add(snapshot, tell) for add in ext.loaded(ext.SECTIONS)),
            *_problems(snapshot),
            *_content(snapshot),
            _seeds(snapshot),
            _best(snapshot),
        ],
        in_degrees=distribution(in_links[snapshot.was_read]),
        out_degrees=distribution(out_links[snapshot.was_read]),
        hosts=hosts,
        host_links=host_links,
    )


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    found = status(snapshot.path)
    yield "pages fetched", f"{found.pages_fetched or 0:,}"
    yield "pages known", f"{found.pages_known:,}"
    yield "hosts", f"{found.hosts:,}"
    yield "pages that failed", f"{sum((found.failures or {}).values()):,}"
    yield (
        "linked pages",
        ", ".join(f"{n:,} {name}" for name, n in page_links.linked_verdicts(snapshot).items() if n),
    )
    yield "downloaded", f"{(found.bytes or 0) / 1e6:,.1f} MB"
    yield "importance gathered", percentage(found.importance_gathered)
    if found.importance_guaranteed is not None:
        yield "PageRank from the seeds", at_least(found.importance_guaranteed)


# ---------------------------------------------------------------- sections


def _rows_section(
    name: str, means: str, kind: type[NamedTuple], rows: Sequence[Any]
) -> ReportSection:
    return ReportSection(name, means, kind._fields, rows[:_MOST_ROWS], len(rows))


def _problems(snapshot: Snapshot) -> Iterator[ReportSection]:
    broken = page_links.broken_links(snapshot)
    yield _rows_section(
        "Broken links",
        "Links whose target failed, at once or behind redirects, or is at a private address.",
        page_links.BrokenLink,
        [*with_texts(snapshot, broken[:_MOST_ROWS]), *broken[_MOST_ROWS:]],
    )
    yield _rows_section(
        "Redirects",
        "Links to them cost the reader another request for each hop.",
        page_links.Redirect,
        page_links.redirects(snapshot),
    )
    yield _rows_section(
        "Duplicates",
        "Pages that are copies of another one, by rel=canonical, content or URL.",
        page_links.Duplicate,
        page_links.duplicates(snapshot),
    )


def _content(snapshot: Snapshot) -> Iterator[ReportSection]:
    rows = content_rows(snapshot)
    if rows is not None:
        means = "URLs with a kept response, and URLs without, by type, host and reason."
        yield _rows_section("Kept and left out", means, ContentRow, rows)


class SeedRow(NamedTuple):
    """Seed, its state, and how many pages were found from it and read."""

    pages: int
    read: int
    outcome: str
    url: str


def _seeds(snapshot: Snapshot) -> ReportSection:
    found = discovery(snapshot)
    pages, read = (
        np.bincount(sources[sources >= 0], minlength=len(snapshot))[found.seeds]
        for sources in (found.sources, found.sources[snapshot.was_read])
    )
    outcomes = [State(state).label for state in snapshot.states[found.seeds]]
    seeds = urls(snapshot, found.seeds)
    rows = [*map(SeedRow._make, zip(pages.tolist(), read.tolist(), outcomes, seeds, strict=True))]
    means = "Each page counts for the seed from which it was found first."
    return _rows_section("Seeds", means, SeedRow, sorted(rows, reverse=True))


def _best(snapshot: Snapshot) -> ReportSection:
    selection = PageSelection(count=_MOST_BEST, fetched=True)
    found = chain.from_iterable(map(rows_of, blocks(snapshot, selection)))
    names = ("rank", "importance", "inlinks", "url", "title")
    rows = [[getattr(row, name) for name in names] for row in found]
    return ReportSection("Most important pages", "", names, rows, int(snapshot.was_read.sum()))


# ---------------------------------------------------------------- hosts


def _hosts(snapshot: Snapshot) -> tuple[list[HostNode], list[tuple[int, int, int]]]:
    drawing = HostGraph(snapshot, PageSelection()).drawing()
    rows = chain.from_iterable(
        zip(*(block[name] for name in ("id", "label", "importance", "pages")), strict=True)
        for block in drawing.nodes
    )
    best = list(islice(rows, _MOST_HOSTS))
    places = {host: place for place, (host, *_) in enumerate(best)}
    links = (
        link
        for block in drawing.links
        for link in zip(block["source"], block["target"], block["weight"], strict=True)
    )
    between = [
        (places[source], places[target], weight)
        for source, target, weight in links
        if source != target and source in places and target in places
    ]
    return [HostNode(*row) for _, *row in best], between


# ================================================================ picture

MOST_HOSTS = 40


_COLUMNS, _ROWS = 4, 2


_PICTURE_WIDTH, _ROW_HEIGHT = 18.0, 4.2


_HOST_HEIGHT, _LEAST_HEIGHT = 0.2, 3.0
"""Row height and minimum height in inches. A line of small letters is 0.14 high."""


_DPI = 120


_LONGEST_LABEL = 48


_LARGEST_MARK = 60


_TIME = "running time, s"


Samples = Sequence[Sample]


Value = Callable[[Sample], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLinks:
    """Largest hosts by pages, and the number of links between each two."""

    pages: Mapping[str, int]
    links: Mapping[tuple[str, str], int]


def draw_crawl(file: Path, title: str, samples: Samples, hosts: HostLinks) -> None:
    """Write the picture as PNG or SVG, by the suffix of the file."""
    canvas = crawl_picture(title, samples, hosts)
    with replacing(file) as out:
        canvas.savefig(out, format=file.suffix[1:].lower(), dpi=_DPI)
    pyplot().close(canvas)


def crawl_picture(title: str, samples: Samples, hosts: HostLinks) -> Any:
    """Return a pyplot figure with the curves above and the hosts below."""
    heights = [_ROWS * _ROW_HEIGHT]
    if hosts.pages:
        heights.append(max(_LEAST_HEIGHT, _HOST_HEIGHT * len(hosts.pages)))
    canvas = pyplot().figure(figsize=(_PICTURE_WIDTH, sum(heights)), layout="constrained")
    parts = canvas.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    _draw_curves(parts[0], samples)
    for lower in parts[1:]:
        bars, matrix = lower.subplots(1, 2)
        _draw_hosts(bars, matrix, hosts)
    canvas.suptitle(title)
    return canvas


def _draw_curves(part: Any, samples: Samples) -> None:
    places = list(part.subplots(_ROWS, _COLUMNS).flat)
    for place, figure in zip(places, curves(samples), strict=True):
        draw(pyplot(), place, figure)
    last = samples[-1].outline
    for place, found in zip(places[-2:], (last.out_degrees, last.in_degrees), strict=True):
        _draw_fit(place, found)


def curves(samples: Samples) -> list[Figure]:
    """Return six curves over time, and two distributions."""
    last = samples[-1].outline
    return [
        _over_time(
            "pages", "pages", samples, known=lambda at: at.known, crawled=lambda at: at.crawled
        ),
        _pace(samples),
        _over_time(
            "importance gathered",
            "share, %",
            samples,
            gathered=lambda at: at.importance_gathered and 100 * at.importance_gathered,
        ),
        _over_time("errors", "pages", samples, errors=lambda at: at.errors),
        _over_time(
            "components",
            "components, pages",
            samples,
            strong=lambda at: at.outline.strong_components,
            weak=lambda at: at.outline.weak_components,
            in_the_largest_strong=lambda at: at.outline.largest_strong,
        ),
        _over_time(
            "distances",
            "links",
            samples,
            diameter=lambda at: at.outline.diameter,
            mean=lambda at: at.outline.mean_distance,
        ),
        _degrees("links from a page", last.out_degrees),
        _degrees("links to a page", last.in_degrees),
    ]


def _over_time(title: str, y_label: str, samples: Samples, **lines: Value) -> Figure:
    return Figure(
        name=title.replace(" ", "-"),
        title=title,
        x_label=_TIME,
        y_label=y_label,
        lines=[_line(label.replace("_", " "), samples, value) for label, value in lines.items()],
    )


def _line(label: str, samples: Samples, value: Value) -> PlotLine:
    points = [(sample.running_s, value(sample)) for sample in samples]
    known = [(x, y) for x, y in points if y is not None]
    return PlotLine(label=label, x=[x for x, _ in known], y=[y for _, y in known])


def _pace(samples: Samples) -> Figure:
    """Return a figure of pages per second between successive samples."""
    points = [
        (later.running_s, (later.crawled - sooner.crawled) / (later.running_s - sooner.running_s))
        for sooner, later in pairwise(samples)
        if later.running_s > sooner.running_s
    ]
    line = PlotLine(label="crawled", x=[x for x, _ in points], y=[y for _, y in points])
    return Figure(name="pace", title="pace", x_label=_TIME, y_label="pages/s", lines=[line])


def _degrees(title: str, found: DegreeDistribution) -> Figure:
    points = list(found.density())
    return Figure(
        name=title.replace(" ", "-"),
        title=title,
        x_label="links",
        y_label="pages",
        lines=[PlotLine(label="pages", x=[x for x, _ in points], y=[y for _, y in points])],
        log_x=True,
        log_y=True,
        points=True,
    )


def _draw_fit(axes: Any, found: DegreeDistribution) -> None:
    """Draw the power law fitted to the tail."""
    if found.exponent is None or not found.is_power_law:
        return
    least = TAIL - 0.5
    pages = sum(pages for start, pages in found.bins if start >= TAIL)
    height = pages * (found.exponent - 1) / least
    ends = (least, max(found.most, least))
    axes.plot(
        ends,
        [height * (end / least) ** -found.exponent for end in ends],
        linestyle="--",
        label=f"exponent {found.exponent:.2f} ± {found.exponent_error:.2f}, p {found.p_value:.2g}",
    )
    axes.legend()


def _draw_hosts(bars: Any, matrix: Any, hosts: HostLinks) -> None:
    """Draw a row for each host: its number, name and pages, and its links to other hosts.

    The links to a host are in the column with its number.
    """
    rows = range(1, len(hosts.pages) + 1)
    row_of = dict(zip(hosts.pages, rows, strict=True))
    bars.barh(rows, list(hosts.pages.values()), color="C1")
    names = [f"{_as_label(name)}  {row:>2}" for name, row in row_of.items()]
    bars.set_yticks(rows, names, fontsize="small")
    bars.set(xlabel="pages", ylim=(len(rows) + 0.5, 0.5))
    bars.set_title("largest hosts", loc="left")
    points = [(row_of[target], row_of[source]) for source, target in hosts.links]
    matrix.set(xlabel="to host", ylabel="from host", xlim=(0.5, len(rows) + 0.5))
    matrix.set(ylim=(len(rows) + 0.5, 0.5))
    matrix.set_xticks(rows, rows, fontsize="x-small")
    matrix.set_yticks(rows, rows, fontsize="x-small")
    matrix.set_title("links between them; larger marks are more links", loc="left")
    if points:
        most = math.log1p(max(hosts.links.values()))
        sizes = [_LARGEST_MARK * (math.log1p(links) / most) ** 2 for links in hosts.links.values()]
        matrix.scatter(*zip(*points, strict=True), s=sizes, marker="s")


def _as_label(name: str) -> str:
    """Return a name, shortened in the middle: hosts of a site differ at the beginning."""
    half = _LONGEST_LABEL // 2
    shown = name if len(name) <= _LONGEST_LABEL else f"{name[:half]}…{name[1 - half :]}"
    return shown.replace("$", r"\$")  # a $ in a name must not start math mode
