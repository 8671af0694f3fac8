"""Views of the dashboard's page, as plain values that become JSON.

Laws: the store is read like any reader does. A view is computed once for all browsers, only while
one of them shows it, in at most `SHARE` of the time, however large the store is. Text of pages and
servers is passed through unchanged: the page shows it as text, never as markup.
"""

import json
import time
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

from minicrawl.archive.replay import PNG
from minicrawl.cli.larger_budget import with_larger_budget
from minicrawl.control import MOST_HOSTS, ControlRequest, Verb, ask, request_of
from minicrawl.dashboard.crawl_form import Form
from minicrawl.dashboard.launcher import Launcher
from minicrawl.errors import MinicrawlError, MissingStoreError, NoCrawlError, UsageError
from minicrawl.json_values import to_json
from minicrawl.memory import measures
from minicrawl.model import CRAWLED
from minicrawl.report.archived.page_versions import drawn, version
from minicrawl.report.links.backlinks import links
from minicrawl.report.progress.activity import RequestHistory, busiest_hosts, latest
from minicrawl.report.progress.crawl_status import status
from minicrawl.report.progress.samples import Sample, samples, shown_sample
from minicrawl.report.selected_graph import HostGraph, PageGraph
from minicrawl.report.selected_pages import PageSelection, rows
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.report.states import explanation
from minicrawl.report.states.errors import KINDS, errors
from minicrawl.states import State
from minicrawl.store import questions, tables
from minicrawl.store.derived.pings import keep_pings
from minicrawl.store.reader import reading
from minicrawl.web.urls import PICTURES, canonical, host as host_of, split

SHARE = 0.1
MOMENT_S = 0.1
TOP_SHOWN, HOSTS_SHOWN, FOUND_SHOWN = 50, 100, 50
PAGES_OF_A_KIND, RECEIVERS_SHOWN = 100, 10
MOST_NODES = 150
LOG_AT_ONCE = 300
MOST_POINTS = 600
CURVES = ("strong_components", "weak_components", "largest_strong", "diameter", "mean_distance")
_PATIENCE_S = 2.0

Json = dict[str, Any]


class GraphFigures:
    """Figures of the link graph: the latest ones, and curves of the sampled ones."""

    def __init__(self) -> None:
        self._since, self._graph_of = 0.0, CRAWLED
        self._latest: Sample | None = None
        self._curves: list[tuple[Any, ...]] = []

    def read(self, store: Path, *, is_running: bool) -> None:
        """Read new samples, and measure the graph if no sample is up to date."""
        for sample in samples(store, self._since):
            self._since, self._graph_of = sample.at, sample.graph_of
            figures = (getattr(sample.outline, name) for name in CURVES)
            self._curves.append((sample.at, sample.importance_gathered, *figures))
        while len(self._curves) > MOST_POINTS:
            self._curves = [*self._curves[:-1:2], self._curves[-1]]
        self._latest = shown_sample(
            store, self._graph_of, is_running=is_running, measured=self._latest
        )

    def to_json(self) -> Json:
        """Return the figures; `latest` is None if the graph was not measured."""
        return {"latest": to_json(self._latest), "curves": self._curves}


class Views:
    def __init__(self, store: Path, launcher: Launcher | None = None) -> None:
        self.store = store
        self.launcher = launcher or Launcher(store)
        self._was_there = False
        # Each with the inode of the store that it was read from: a new crawl changes that.
        self._history, self._history_inode = RequestHistory(store), 0
        self._graph, self._graph_inode = GraphFigures(), 0

    def moment(self) -> float | None:
        """Return the time of the data that are read now, or None if it is unknown."""
        return time.time()

    def crawl(self) -> Json:
        """Return the state of the running crawl and of the store."""
        return {
            "store": str(self.store),
            "live": self._live(),
            "launched": self.launcher.has_running(),
            "ended": self.launcher.ended(),
            "status": self._status(),
        }

    def _live(self) -> Json | None:
        try:
            reply = ask(self.store, ControlRequest(verb=Verb.SHOW), _PATIENCE_S)
        except NoCrawlError:
            return None
        except MinicrawlError as error:
            return {"state": "unreachable", "why": str(error)}
        for crawler in reply["crawlers"]:
            crawler.update(process_usage(crawler["pid"], is_tree=crawler.get("is_tree", False)))
        return reply

    def _status(self) -> Json:
        try:
            progress = status(self.store)
        except MissingStoreError:
            gone = self._was_there
            return {
                "missing": f"{self.store} has vanished: put it back, or set up a new crawl"
                if gone
                else f"there is no crawl at {self.store} yet: set one up"
            }
        self._was_there = True
        facts: Json = to_json(progress)
        if progress.command:
            facts["command"] = with_larger_budget(progress.command, progress)
        return facts | {"at": time.time()}

    def history(self) -> Json:
        """Return requests, failures and bytes over time."""
        inode = self.store.stat().st_ino
        if inode != self._history_inode:
            self._history_inode, self._history = inode, RequestHistory(self.store)
        self._history.read()
        return {"sums": list(self._history.sums())}

    def graph_figures(self) -> Json:
        """Return the graph figures that `minicrawl status` shows, with their curves."""
        inode = self.store.stat().st_ino
        if inode != self._graph_inode:
            self._graph_inode, self._graph = inode, GraphFigures()
        self._graph.read(self.store, is_running=self._live() is not None)
        return self._graph.to_json()

    def log(self, last: int) -> list[Json]:
        """Return the requests after `last`, with the names of their crawlers if known."""
        rows = latest(self.store, last, LOG_AT_ONCE)
        names = dict[int, str]()  # the crawler of each recent page, by checksum of the URL
        with suppress(MinicrawlError):
            reply = ask(self.store, ControlRequest(verb=Verb.ASKERS), _PATIENCE_S) if rows else {}
            for name, pages in reply.get("askers", {}).items():
                names |= dict.fromkeys(pages, name)
        return [row._asdict() | {"crawler": names.get(crc32(row.url.encode()))} for row in rows]

    def hosts(self) -> Json:
        """Return the hosts with most pages, and the time until each may be asked."""
        with snapshot(self.store) as view:
            hosts = busiest_hosts(view, HOSTS_SHOWN)
            known = len(view.origins)
        ids = tuple(host["id"] for host in hosts)[:MOST_HOSTS]
        try:
            live = ask(self.store, ControlRequest(verb=Verb.HOSTS, hosts=ids), _PATIENCE_S)
        except MinicrawlError:
            live = {"hosts": []}
        by_id = {host: (in_use, wait_s) for host, in_use, wait_s in live["hosts"]}
        for host in hosts:
            host["in_use"], host["wait_s"] = by_id.get(host["id"], (0, None))
        return {"known": known, "hosts": hosts}

    def errors(self) -> list[Json]:
        with snapshot(self.store) as view:
            kinds: list[Json] = to_json(errors(view, count=1).kinds)
            return kinds

    def top(self) -> Json:
        with snapshot(self.store) as view:
            best = to_json(rows(view, PageSelection(count=TOP_SHOWN)))
            return {"known": len(view), "pages": best}

    async def start(self, form: Form) -> None:
        await self.launcher.start(form)

    async def dry_run(self, form: Form) -> str:
        return await self.launcher.dry_run(form)

    def control(self, action: Json) -> Json:
        return ask(self.store, request_of(json.dumps(action).encode()))

    def ping(self, urls: Sequence[str], host: str | None) -> Json:
        """Note that these pages have changed, for the running crawl and for later ones.

        Unknown URLs are only counted, and `host`, if given, must be the host of all URLs.
        """
        with reading(self.store) as connection:
            terms = tables.terms(connection)
            marks = terms is None or terms.strip_marks
            names = {canonical(url, strip_marks=marks): url for url in urls}
            site = canonical(f"http://{host}/")
            for url, written in names.items():
                if url is None or (host and (site is None or host_of(url) != host_of(site))):
                    raise UsageError(f"{written!r} is not a URL of {host or 'a page'}")
            places = [split(url) for url in names if url]
            known = [page for page in questions.find_all(connection, places) if page is not None]
            if known:
                keep_pings(self.store, connection, known, time.time())
        if known:
            with suppress(NoCrawlError):  # the next crawl reads the stored pings
                ask(self.store, ControlRequest(verb=Verb.CHANGED, pages=tuple(known)), _PATIENCE_S)
        return {"noted": len(known), "unknown": len(names) - len(known)}

    def form(self, form: Form) -> Json:
        return self.launcher.form.shown(form)

    def failed(self, kind: str) -> Json:
        """Return the pages with this kind of error, the latest first."""
        at = self.moment()
        if kind not in {state.label for state in KINDS}:
            raise UsageError(f"{kind!r} is not a kind of error")
        with snapshot(self.store) as view:
            kinds = frozenset((State.labelled(kind),))
            report = errors(view, kinds, count=PAGES_OF_A_KIND)
            return {"at": at, "pages": to_json(report.pages)}

    def search(self, text: str) -> Json:
        """Return the best pages with all these words in URL or title."""
        at = self.moment()
        with snapshot(self.store) as view:
            return {"at": at, "pages": pages_named(view, text, FOUND_SHOWN)}

    def page(self, url: str) -> Json:
        """Return the explanation of one page: its rank, its givers and its receivers."""
        at = self.moment()
        with snapshot(self.store, ordered=True) as view:
            reasons = explanation.explain(view, url)
            has_links = view.frontier.terms.links
            receivers = links(view, reasons.url, RECEIVERS_SHOWN) if has_links else None
            facts: Json = to_json(reasons)
            return facts | {
                "receivers": to_json(receivers),
                "picture": _picture(view, url),
                "at": at,
            }

    def graph(self, of: str, count: int) -> Json:
        """Return the best hosts or pages, and the links between them."""
        at = self.moment()
        with snapshot(self.store) as view:
            selection = PageSelection(count=0 if of == "hosts" else min(count, MOST_NODES))
            graph = HostGraph(view, selection) if of == "hosts" else PageGraph(view, selection)
            drawing = graph.drawing()
            nodes = list[Json]()
            for block in drawing.nodes:
                values = zip(*block.values(), strict=True)
                nodes += [dict(zip(list(block), node, strict=True)) for node in values]
            nodes = nodes[: min(count, MOST_NODES)]
            chosen = {node["id"] for node in nodes}
            ends = [
                link
                for block in drawing.links
                for link in zip(block["source"], block["target"], block["weight"], strict=True)
                if link[0] != link[1] and link[0] in chosen and link[1] in chosen
            ]
            return {"nodes": nodes, "links": ends, "known": len(view), "at": at}


def _picture(view: Snapshot, url: str) -> str | None:
    """Return the last picture of the top of a page as a URL, or None."""
    with suppress(MinicrawlError):  # nothing of it is kept
        answer = drawn(view, version(view, url), PICTURES[0])
        kind = "image/png" if answer.body.startswith(PNG) else "image/jpeg"
        return f"data:{kind};base64,{b64encode(answer.body).decode()}"
    return None


def pages_named(view: Snapshot, text: str, count: int) -> list[Json]:
    """Return the most important pages with all these words in URL or title."""
    pages = questions.pages_with(view.connection, text.split())
    best = sorted(pages, key=lambda page: -view.importance[page])[:count]
    titles = {row.page: row.title for row in questions.documents(view.connection, best)}
    urls = questions.locations(view.connection, best).urls
    return [
        {
            "url": url,
            "title": titles.get(page, ""),
            "importance": float(view.importance[page]),
            "state": State(int(view.states[page])).label,
        }
        for page, url in zip(best, urls, strict=True)
    ]


def process_usage(pid: int | None, *, is_tree: bool) -> Json:
    """Return processor time and memory of a process, or None for both without /proc.

    With `is_tree` its descendants count as well.
    """
    if pid is None or not (fields := measures.stat(measures.PROC, pid)):
        return {"cpu_s": None, "memory": None}
    begin = measures.FIRST_TIME
    cpu_s = sum(map(int, fields[begin : begin + 2])) / measures.TICKS
    memory = int(fields[measures.RESIDENT]) * measures.PAGE_BYTES
    if is_tree:
        tree = measures.resource_usage(pid)
        cpu_s, memory = tree.cpu_s, memory + tree.memory
    return {"cpu_s": cpu_s, "memory": memory}
