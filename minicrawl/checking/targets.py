"""Finds URLs to check, and broken references of pages."""

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.events import Checking, Listener
from minicrawl.crawl.workers.loop_rounds import LoopRounds
from minicrawl.report.graph.flows import redirect_ends
from minicrawl.report.links.problems import link_counts
from minicrawl.report.links.verdicts import SHOWN, verdicts_of
from minicrawl.report.links.written_links import PageReferences
from minicrawl.report.snapshot import Snapshot, snapshot, urls
from minicrawl.states import READ_STATES, LinkVerdict, State
from minicrawl.store import tables
from minicrawl.store.derived.checks import (
    EMPTY_IMAGE,
    HEAVY_PAGE,
    LARGE_IMAGE,
    MISTYPED,
    SMALL_PREVIEW,
    CheckRow,
    FindingRow,
    all_checks,
    keep_findings,
)
from minicrawl.web.html.references import Reference
from minicrawl.web.responses.types import HTML_TYPES
from minicrawl.web.robots.rules import Rules
from minicrawl.web.urls import canonical, origin

NO_ANCHOR = "anchor"
_LARGE_BYTES, _SMALL_BYTES, _HEAVY_BYTES = 500_000, 4_000, 5_000_000
"""Sizes of a large image, of a preview too small for any site to show, and of a page's files."""
_LOADED_AT_ONCE, _PARTS_SHOWN = ("image", "style", "script"), 3
_MOST_ANCHORS = 4_000_000
"""Most anchors in memory, 8 bytes each."""
_NOT_FOLLOWED = ("nofollow", "canonical")
_TOP = ("", "top")
_DIRECTIVE = ":~:"
"""Start of a fragment that names a text instead of an anchor."""

Sources: TypeAlias = "dict[str, dict[tuple[str, str], array[int]]]"
"""Pages that refer to each URL, by kind and text of the reference: 4 bytes for each page."""
_MOST_TEXTS = 20
"""Most texts of links to one URL; the links of further pages are noted without theirs."""


def keep_all_findings(
    store: Path,
    needed: Sources,
    findings: Sequence[FindingRow],
    checks: Sequence[CheckRow] = (),
    choices: Set[str] = frozenset(),
) -> None:
    """Keep the references to targets that are broken or have another fault.

    `choices` are images of which a browser loads one; they do not count for the weight of a page.
    """
    with snapshot(store) as view:
        judged = verdicts_of(view, needed)
        requested = {row.url: row for row in (*all_checks(store, view.connection), *checks)}
        broken = (
            FindingRow(page, url, kind, text)
            for url, verdict in judged.items()
            # A file whose state is unknown is counted, so `broken --verdict` has to list it.
            if verdict in SHOWN or (verdict is not LinkVerdict.ALIVE and url in requested)
            for page, kind, text in _references_to(url, needed)
            # No reader follows a canonical URL as a link; `audit` reports dead ones.
            if kind != "canonical"
        )
        rows = (requested[url] for url in needed if url in requested)
        alive = {row.url: row for row in rows if row.state == State.FETCHED}
        # A host that sends a length for one file at least knows the lengths of empty ones.
        lengths = {origin(row.url) for row in alive.values() if row.bytes}
        faulty = (
            FindingRow(page, url, *fault)
            for url, row in alive.items()
            for page, kind, _ in _references_to(url, needed)
            for fault in _faults_of_file(row, kind, knows_lengths=origin(url) in lengths)
        )
        sizes = {url: row.bytes or 0 for url, row in alive.items() if url not in choices}
        heavy = _heavy_pages(len(view), sizes, needed)
        keep_findings(store, view.connection, chain(broken, faulty, heavy, findings), checks)


def _faults_of_file(row: CheckRow, kind: str, *, knows_lengths: bool) -> Iterator[tuple[str, str]]:
    """Yield the faults of a file that is there, by the use that a page makes of it."""
    # An <object> may show a page.
    is_page = row.type in HTML_TYPES and kind not in (*_NOT_FOLLOWED, "media")
    if is_page or (kind == "style" and row.type and row.type != "text/css"):
        yield f"{kind}{MISTYPED}", str(row.type)
    elif kind == "image" and row.bytes == 0 and knows_lengths:
        yield EMPTY_IMAGE, "0"
    elif kind == "image" and (row.bytes or 0) > _LARGE_BYTES:
        yield LARGE_IMAGE, str(row.bytes)
    elif kind == "preview" and 0 < (row.bytes or 0) < _SMALL_BYTES:
        yield SMALL_PREVIEW, str(row.bytes)


def _heavy_pages(pages: int, sizes: Mapping[str, int], needed: Sources) -> Iterator[FindingRow]:
    """Yield the largest files of pages whose files are large together, with their size."""
    weights, users = np.zeros(pages, np.int64), dict[str, NDArray[np.int32]]()
    for url, size in sizes.items():
        loaded = [of for (kind, _), of in needed[url].items() if kind in _LOADED_AT_ONCE]
        if size and loaded:
            users[url] = np.unique(np.concatenate([np.frombuffer(of, np.int32) for of in loaded]))
            weights[users[url]] += size
    left = np.where(weights > _HEAVY_BYTES, _PARTS_SHOWN, 0)
    for url in sorted(users, key=sizes.__getitem__, reverse=True):
        for page in users[url][left[users[url]] > 0].tolist():
            left[page] -= 1
            yield FindingRow(page, url, HEAVY_PAGE, str(weights[page]))


def _references_to(url: str, sources: Sources) -> Iterator[tuple[int, str, str]]:
    """Yield the pages that refer to a URL, each once, with kind and text of the reference."""
    given_pages = set[int]()
    for (kind, text), pages in sources[url].items():
        for page in pages:
            if page not in given_pages:
                given_pages.add(page)
                yield page, kind, text


def external_urls(snapshot: Snapshot) -> Iterator[str]:
    """Yield the targets of links, behind redirects, that are not read for their scope or type."""
    inlinks, _ = link_counts(snapshot)
    ends = np.unique(redirect_ends(snapshot)[inlinks > 0])
    yield from urls(snapshot, ends[np.isin(snapshot.states[ends], (State.SCOPE, State.TYPE))])


def read_pages(snapshot: Snapshot) -> list[tuple[int, str]]:
    pages = np.flatnonzero(np.isin(snapshot.states, READ_STATES))
    return list(zip(pages.tolist(), urls(snapshot, pages), strict=True))


class Targets(NamedTuple):
    """URLs that pages refer to and that no crawl reads, and missing anchors."""

    assets: Sources
    links: Sources
    """Targets of links with rel=nofollow or rel=canonical."""
    anchors: list[FindingRow]
    previews: Sources
    """Images by which other sites show a link to a page."""
    choices: set[str]
    """Assets of which a browser loads one."""


async def targets_of(snapshot: Snapshot, emit: Listener) -> Targets:
    """Return the URLs that kept pages refer to; each page is parsed once."""
    pages = {url: page for page, url in read_pages(snapshot)}
    rounds = LoopRounds()  # or thousands of pages would stop the display, and keep Ctrl-C waiting
    assets: Sources = defaultdict(dict)
    links: Sources = defaultdict(dict)
    previews: Sources = defaultdict(dict)
    choices, anchors = set[str](), _Anchors(pages)
    with PageReferences(snapshot) as references:
        for done, (url, page) in enumerate(pages.items()):
            await rounds.turn()
            emit(Checking(done=done, all=len(pages), noun="page"))
            of_page, resolve = references.of(url), partial(references.resolve, url)
            for asset in of_page.assets:
                _add(assets, resolve(asset.written), page, asset.kind, "")
            for written in of_page.previews:
                _add(previews, resolve(written), page, "preview", "")
            choices.update(filter(None, map(resolve, of_page.choices)))
            for link in of_page.links:
                kind = link.role
                if kind not in _NOT_FOLLOWED and "#" not in link.written:
                    continue
                target = resolve(link.written)
                if kind in _NOT_FOLLOWED:
                    _add(links, target, page, kind, link.text)
                anchors.wanted(target, link, page)
            if references.has(url):
                anchors.found(url, of_page.anchors)
        return Targets(assets, links, list(anchors.missing(references)), previews, choices)


def named_sitemaps(snapshot: Snapshot) -> Sources:
    """Return the sitemaps that robots.txt files name, each with the first page read of its host."""
    named: Sources = defaultdict(dict)
    pages = np.flatnonzero(snapshot.was_read)
    ids, firsts = np.unique(snapshot.host_of[pages], return_index=True)
    first_of = dict(zip(ids.tolist(), pages[firsts].tolist(), strict=True))
    for host in tables.hosts(snapshot.connection):
        if host.robots and host.id in first_of:
            for written in Rules.from_text(host.robots).sitemaps:
                url = canonical(written, f"{host.origin}/")
                _add(named, url, first_of[host.id], "sitemap", "")
    return named


def joined(*parts: Sources) -> Sources:
    sources: Sources = defaultdict(dict)
    for part in parts:
        for url, of in part.items():
            sources[url] = of | sources[url]
    return sources


def _add(sources: Sources, target: str | None, page: int, kind: str, text: str) -> None:
    """Note the first reference of a page to a URL. All references of a page are added at once."""
    if target is None or any(pages[-1] == page for pages in sources[target].values()):
        return
    of_target = sources[target]
    is_noted = (kind, text) in of_target or len(of_target) < _MOST_TEXTS
    of_target.setdefault((kind, text if is_noted else ""), array("i")).append(page)


class _Anchors:
    """Anchors of pages, as hashes, and the fragments of links to them.

    Most pages of a manual are linked with fragments: parsing each of them again for its anchors
    took as long as the crawl. Pages beyond `_MOST_ANCHORS` are parsed again all the same.
    """

    def __init__(self, pages: Mapping[str, int]) -> None:
        self._pages = pages
        self._wanted: dict[str, dict[tuple[int, str, str], None]] = defaultdict(dict)
        self._found: dict[str, array[int]] = {}
        self._left = _MOST_ANCHORS

    def wanted(self, target: str | None, link: Reference, page: int) -> None:
        """Note the fragment of a link to a page that was read."""
        name = unquote(link.written.partition("#")[2])
        if name.lower() in _TOP or _DIRECTIVE in name or name.startswith("!"):
            return
        if target is not None and target in self._pages:
            self._wanted[target][page, name, link.text] = None

    def found(self, url: str, names: Collection[str]) -> None:
        if len(names) <= self._left:
            self._left -= len(names)
            self._found[url] = array("q", _hashes(names))

    def missing(self, references: PageReferences) -> Iterator[FindingRow]:
        """Yield the links whose fragment names no anchor of the target page."""
        for target, links in self._wanted.items():
            if target in self._found:
                anchors = set(self._found[target])
            elif references.has(target):
                anchors = set(_hashes(references.of(target).anchors))
            else:
                continue
            for page, name, text in links:
                if hash(name) not in anchors:
                    yield FindingRow(page, f"{target}#{name}", NO_ANCHOR, text)


def _hashes(names: Collection[str]) -> Iterator[int]:
    """Yield the hashes of anchors, which may be written as in a URL, with escapes."""
    return map(hash, map(unquote, names))
