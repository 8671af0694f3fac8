"""Pictures of a report as SVG: degrees of pages, and links between hosts."""

import math
from html import escape

import numpy as np

from minicrawl.graph.degrees import DegreeDistribution
from minicrawl.report.site.html_tables import escaped
from minicrawl.report.site.site_report import SiteReport
from minicrawl.web.readable_hosts import readable
from minicrawl.wording import counted, visible

_WIDTH, _HEIGHT, _MARGIN = 640, 360, 44
_CENTRE, _RADIUS, _NAME_GAP = 450, 230, 18
_LONGEST_NAME = 30


def figure_html(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def degree_plot(degrees: DegreeDistribution) -> str:
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


def host_graph(report: SiteReport) -> str:
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
        says = f"{escaped(host.name)}: {host.importance:.1%}, {counted(host.pages, 'page')}"
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
