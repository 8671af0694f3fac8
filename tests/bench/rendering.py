"""Benefit and cost of rendering: a mixed web, crawled in each mode.

    python -m tests.bench.rendering --pages 1000 --into docs/speed.md

Half of the hosts have complete markup; scripts fill the pages of the others, in a different way on
each host. Each page links to further pages, so a crawl that misses a link misses all pages behind
it.

link      link of a page to another page, as in the exported graph
ideal     number of renderings if only pages are rendered whose scripts add links or redirect
"""

import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import click

from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from minicrawl.memory.measures import resource_usage
from minicrawl.store import tables
from minicrawl.store.reader import connect
from tests.bench.notes import circumstances, head, into_document, row, tell

MODES = ("never", "auto", "always")
LEAST_FOUND, MOST_RENDERED = 0.98, 1.3
_POLL_S = 0.1
_WORDS_A_PAGE = 60
_TRACKER = '<script src="https://www.googletagmanager.com/gtag/js?id=G-1"></script>'
_THEME = '<script src="/theme.js"></script>'
_FILL = (
    "document.getElementById('root').innerHTML = all.words + "
    "all.links.map((one) => `<a href=${one}>x</a>`).join(' ')"
)


def _words(name: str) -> str:
    """Return distinct words for each page, as similar pages would be taken for a trap."""
    draw = random.Random(name)
    return " ".join(
        "".join(draw.choices("abcdefghiklmnoprstuvw", k=draw.randint(3, 9)))
        for _ in range(_WORDS_A_PAGE)
    )


def _data(name: str, links: Sequence[str]) -> str:
    return json.dumps({"links": links, "words": _words(name)})


def _html(body: str) -> DemoResponse:
    return DemoResponse(200, {"Content-Type": "text/html; charset=utf-8"}, body.encode())


def _anchors(links: Sequence[str]) -> str:
    return "".join(f'<a href="{link}">{link}</a> ' for link in links)


Make = Callable[[str, Sequence[str]], str]


def _static(name: str, links: Sequence[str]) -> str:
    return f"<title>{name}</title>{_THEME}{_TRACKER}<p>{_words(name)} {_anchors(links)}"


def _widget(name: str, links: Sequence[str]) -> str:
    """Return a page whose scripts add no link."""
    code = "document.getElementById('clock').innerHTML = '<b>' + Date() + '</b>'"
    return f"{_static(name, links)}<div id='clock'></div><script>{code}</script>"


def _application(_name: str, _links: Sequence[str]) -> str:
    return f'<title>app</title><div id="root"></div>{_THEME}<script src="/app.js"></script>'


def _late(name: str, links: Sequence[str]) -> str:
    code = f"const all = {_data(name, links)}; setTimeout(() => {{ {_FILL} }}, 1500)"
    early = f"{_words(f'at first {name}')} {_anchors(['/about', '/imprint'])}"
    return f"<title>{name}</title><p>{early}<ul id=root></ul><script>{code}</script>"


def _shadow(name: str, links: Sequence[str]) -> str:
    code = (
        "customElements.define('my-list', class extends HTMLElement { connectedCallback() { "
        "this.attachShadow({ mode: 'closed' }).innerHTML = this.dataset.all.split(' ')"
        ".map((one) => `<a href=${one}>x</a>`).join('') } })"
    )
    words = f"<title>{name}</title><p>{_words(name)}"
    return f'{words}<my-list data-all="{" ".join(links)}"></my-list><script>{code}</script>'


def _wall(name: str, links: Sequence[str]) -> str:
    """Return a page whose scripts add links behind a consent banner."""
    code = f"const all = {_data(name, links)}; {_FILL}; document.body.style.overflow = 'hidden';"
    wall = '<div style="position:fixed;inset:0">We value your privacy <button>OK</button></div>'
    return f"<title>{name}</title><div id=root></div>{wall}<script>{code}</script>"


def _mover(name: str, _links: Sequence[str]) -> str:
    """Return a page that redirects by a script."""
    return f"<script>location.replace('/at/{name.rpartition(' ')[2]}')</script>"


KINDS: Mapping[str, tuple[Make, int]] = {
    "static": (_static, 4),
    "widget": (_widget, 1),
    "application": (_application, 1),
    "late": (_late, 1),
    "shadow": (_shadow, 1),
    "wall": (_wall, 1),
    "mover": (_mover, 1),
}
"""Function that makes the pages of a host, and number of hosts, by kind."""
_GAIN = frozenset(("application", "late", "shadow", "wall", "mover"))
_APP = (
    "fetch('/api' + location.pathname).then((one) => one.json()).then((all) => { " + _FILL + " })"
)


class MixedWeb:
    """Web whose front page links to the first page of each host."""

    def __init__(self, pages: int) -> None:
        self.hosts = [
            f"{kind}{number}.example"
            for kind, (_, count) in KINDS.items()
            for number in range(count)
        ]
        self._of_each = pages // len(self.hosts)

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        if target == "/robots.txt":
            return DemoResponse(404, {"Content-Type": "text/plain"}, b"")
        if host == "front.example":
            return _html(
                f"<p>{_words(host)} {_anchors([f'http://{one}/p/0' for one in self.hosts])}"
            )
        if target.endswith(".js"):
            code = _APP if target == "/app.js" else "window.theme = 1"
            return DemoResponse(200, {"Content-Type": "text/javascript"}, code.encode())
        number = int(target.rpartition("/")[2]) if target[-1].isdigit() else None
        if number is None or number >= self._of_each:
            return _html(f"<title>{target}</title><p>{_words(host + target)} {_anchors(['/p/0'])}")
        links = self._links(number)
        if target.startswith("/api"):
            body = _data(f"{host} {number}", links).encode()
            return DemoResponse(200, {"Content-Type": "application/json"}, body)
        kind = host.partition(".")[0].rstrip("0123456789")
        make = _static if target.startswith("/at/") else KINDS[kind][0]
        return _html(make(f"{host} {number}", links))

    def _links(self, number: int) -> list[str]:
        """Return links of a tree, downwards, upwards and to the first page."""
        children = [one for one in (2 * number + 1, 2 * number + 2) if one < self._of_each]
        return [f"/p/{one}" for one in children] + [f"/p/{max(number - 1, 0) // 2}#up", "/p/0"]


class Found(NamedTuple):
    """Results of a crawl in one mode."""

    links: set[tuple[str, str]]
    pages: int
    rendered: int
    wall_s: float
    cpu_s: float


def _crawl(mode: str, base: str, folder: Path, workers: int) -> Found:
    store = folder / f"{mode}.db"
    options = ("--render", mode, "--render-workers", str(workers), "--delay", "0", "--quiet")
    more = ("--resolve", f"*={base}", "--store", str(store))
    command = (sys.executable, "-m", "minicrawl", "crawl", "http://front.example/", *options, *more)
    began, cpu_s, last_s = time.perf_counter(), 0.0, 0.0
    with subprocess.Popen((*command, "--site-pages", "none"), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            now_s = resource_usage(process.pid).cpu_s
            cpu_s += max(now_s - last_s, 0.0)
            last_s = now_s
            time.sleep(_POLL_S)
    wall_s = time.perf_counter() - began
    if process.returncode:
        raise click.ClickException(f"the crawl of mode {mode} ended with {process.returncode}")
    with closing(connect(store)) as connection:
        counters = tables.counters(connection)
    rendered, pages = (int(str(counters.get(name, 0))) for name in ("rendered", "fetched"))
    return Found(_links_of(store), pages, rendered, wall_s, cpu_s)


def _links_of(store: Path) -> set[tuple[str, str]]:
    target = store.with_suffix(".csv")
    command = (sys.executable, "-m", "minicrawl", "export", str(target), "--edges")
    subprocess.run((*command, "--store", str(store)), check=True, capture_output=True)
    with target.open() as rows:
        return {(one["source"], one["target"]) for one in csv.DictReader(rows)}


def _ideal(found: Found) -> int:
    """Return the number of pages whose scripts add links or redirect."""
    sources = {source for source, _ in found.links}
    return sum(_gains(url) for url in sources)


def _gains(url: str) -> bool:
    kind = url.partition("//")[2].partition(".")[0].rstrip("0123456789")
    return kind in _GAIN and "/p/" in url


def _lines(found: Mapping[str, Found], workers: int) -> Iterator[str]:
    all_links, ideal = found["always"].links, _ideal(found["always"])
    yield f"{circumstances()} {found['always'].pages:,} pages, {workers} render workers."
    yield ""
    yield from head("`--render`", "links found", "renderings", "pages/s", "CPU ms a page")
    for mode, one in found.items():
        share = len(one.links & all_links) / len(all_links)
        cells = (f"{share:.1%}", f"{one.rendered:,}", f"{one.pages / one.wall_s:,.1f}")
        yield row(mode, *cells, f"{1000 * one.cpu_s / max(one.pages, 1):.1f}")
    yield ""
    auto = found["auto"]
    share, times = len(auto.links & all_links) / len(all_links), auto.rendered / max(ideal, 1)
    held = share >= LEAST_FOUND and times <= MOST_RENDERED
    yield (
        f"`auto` found {share:.1%} of the links of `always`, with {times:.2f} times the ideal "
        f"{ideal:,} renderings; limits {LEAST_FOUND:.0%} and {MOST_RENDERED:g} times: "
        f"{'kept' if held else 'NOT KEPT'}."
    )


@click.command()
@click.option("--pages", default=1000, show_default=True)
@click.option("--render-workers", default=2, show_default=True)
@into_document
def main(pages: int, render_workers: int, into: Path | None) -> None:
    """Crawl the mixed web in each mode."""
    found = dict[str, Found]()
    with DemoServer(MixedWeb(pages)) as server, tempfile.TemporaryDirectory() as name:
        for mode in MODES:
            found[mode] = _crawl(mode, server.address, Path(name), render_workers)
    tell(list(_lines(found, render_workers)), "rendering", into)


if __name__ == "__main__":
    main()
