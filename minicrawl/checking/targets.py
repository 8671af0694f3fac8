"""Which URLs are asked for, and what pages refer to that is not there.

Law: a URL is asked for again after a day, and not before.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from minicrawl.checking.asking import Hops, LinkAsker
from minicrawl.crawl.events import Noted
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.parts import CrawlContext
from minicrawl.model import READ_STATES, State
from minicrawl.report.links.graphs import urls
from minicrawl.report.links.problems import link_counts
from minicrawl.report.links.written import PageReferences
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.store.beside.checks import (
    CheckRow,
    FindingRow,
    all_checks,
    keep_checks,
    keep_findings,
)
from minicrawl.wording import counted

VALID_S = 86_400.0
_KEPT_AT_ONCE = 100
NO_ANCHOR = "anchor"
_TOP = ("", "top")
_DIRECTIVE = ":~:"
"""A fragment with it names a text and no anchor."""

Sources = dict[str, dict[int, tuple[str, str]]]
"""For each URL the pages that refer to it, each with the kind of the reference and its text."""
_MOST_SOURCES = 20


async def check_links(crawler: Crawler) -> None:
    """Ask for what the crawl does not crawl, by its gate."""
    context = crawler.context
    storing, tell = context.settings.storing, context.tell
    asker = LinkAsker(crawler)
    if storing.requisites:
        kept = await _keep_requisites(context, asker)
        tell(Noted(text=f"{counted(kept, 'file')} kept that pages need to be shown"))
    if storing.check_external or storing.check_assets:
        external, assets = storing.check_external, storing.check_assets
        asked = await check(
            storing.store, asker, context.clock.today(), external=external, assets=assets
        )
        tell(Noted(text=f"{counted(asked, 'link')} asked for that are not crawled"))


async def _keep_requisites(context: CrawlContext, asker: LinkAsker) -> int:
    """Keep what pages need; what is not there is broken."""
    from minicrawl.checking.requisites import keep_requisites

    store = context.settings.storing.store
    with snapshot(store) as seen:
        needed = assets_of(seen)
    styles = {url: any(kind == "style" for kind, _ in of.values()) for url, of in needed.items()}
    lately = _checked_lately(store, context.clock.today())
    vain = {row.url for row in lately if row.state != State.FETCHED}
    kept, rows = await keep_requisites(context, asker, styles, vain)
    _keep(store, rows)
    _keep_findings(store, needed, [])
    return kept


async def check(
    store: Path, asker: LinkAsker, today: float, *, external: bool, assets: bool
) -> int:
    """Ask for what is not crawled; answers with the number of URLs that were asked for."""
    with snapshot(store) as seen:
        wanted = set(_external(seen)) if external else set[str]()
        needed = assets_of(seen) if assets else {}
        anchors = list(missing_anchors(seen)) if assets else []
    fresh = {row.url for row in _checked_lately(store, today)}
    rows: list[CheckRow] = []
    asked = 0

    def keep(hops: Hops) -> None:
        nonlocal asked
        asked += 1
        rows.append(asker.row_of(hops))
        if len(rows) >= _KEPT_AT_ONCE:
            _keep(store, rows)

    try:
        await asker.ask((wanted | needed.keys()) - fresh, keep)
    finally:
        _keep(store, rows)
    if assets:
        _keep_findings(store, needed, anchors)
    return asked


def _checked_lately(store: Path, today: float) -> list[CheckRow]:
    with snapshot(store) as seen:
        return [row for row in all_checks(store, seen.connection) if abs(today - row.at) < VALID_S]


def _keep(store: Path, rows: list[CheckRow]) -> None:
    with snapshot(store) as seen:
        keep_checks(store, seen.connection, rows)
    rows.clear()


def _keep_findings(store: Path, needed: Sources, anchors: list[FindingRow]) -> None:
    with snapshot(store) as seen:
        failed = {
            row.url for row in all_checks(store, seen.connection) if State(row.state).is_dead_end
        }
        broken = (
            FindingRow(page, url, kind, text)
            for url in failed & needed.keys()
            for page, (kind, text) in needed[url].items()
        )
        keep_findings(store, seen.connection, [*broken, *anchors])


def _external(seen: Snapshot) -> Iterator[str]:
    """Pages that are linked, and that the scope or their names keep from being read."""
    inlinks, _ = link_counts(seen)
    is_aside = np.isin(seen.states, (State.SCOPE, State.TYPE)) & (inlinks > 0)
    yield from urls(seen, np.flatnonzero(is_aside))


def _read_pages(seen: Snapshot) -> list[tuple[int, str]]:
    pages = np.flatnonzero(np.isin(seen.states, READ_STATES))
    return list(zip(pages.tolist(), urls(seen, pages), strict=True))


def assets_of(seen: Snapshot) -> Sources:
    """All assets of pages that are kept."""
    found: Sources = defaultdict(dict)
    with PageReferences(seen) as references:
        for page, url in _read_pages(seen):
            resolve = partial(references.resolve, url)
            for asset in references.of(url).assets:
                target = resolve(asset.written)
                if target is not None and len(found[target]) < _MOST_SOURCES:
                    found[target].setdefault(page, (asset.kind, ""))
    return found


def missing_anchors(seen: Snapshot) -> Iterator[FindingRow]:
    """Links with a fragment that no anchor of their page has."""
    pages = {url: page for page, url in _read_pages(seen)}
    wanted: dict[str, list[tuple[str, FindingRow]]] = defaultdict(list)
    with PageReferences(seen) as references:
        for source, page in pages.items():
            for link in references.of(source).links:
                name = unquote(link.written.partition("#")[2])
                target = references.resolve(source, link.written)
                if name.lower() in _TOP or _DIRECTIVE in name or name.startswith("!"):
                    continue
                if target in pages:
                    row = FindingRow(page, f"{target}#{name}", NO_ANCHOR, link.text)
                    wanted[target].append((name, row))
        for target, rows in wanted.items():
            if not references.has(target):
                continue
            anchors = references.of(target).anchors
            yield from dict.fromkeys(row for name, row in rows if name not in anchors)
