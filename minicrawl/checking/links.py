"""Checks the links of a crawl that it does not follow, and notes what came of each.

Law: a URL is requested at most once per day. Styles and missing pages are requested again if the
checks did not come to their end, because what was read in them is not kept.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Set
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from minicrawl.checking.link_asker import VALID_S, BodyReader, Hops, LinkAsker, came_to_their_end
from minicrawl.checking.requisites import KeptFiles
from minicrawl.checking.soft_404s import MissingPages
from minicrawl.checking.targets import (
    Sources,
    external_urls,
    joined,
    keep_all_findings,
    named_sitemaps,
    targets_of,
)
from minicrawl.crawl.events import Checking, Noted
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.parts import CrawlContext
from minicrawl.crawl.schedule.dead_targets import is_due
from minicrawl.model import Response, Want
from minicrawl.report.snapshot import Snapshot, snapshot, urls
from minicrawl.states import State
from minicrawl.store import questions, tables
from minicrawl.store.derived.checks import (
    CheckRow,
    FindingRow,
    all_checks,
    all_findings,
    keep_checks,
)
from minicrawl.store.reader import reading
from minicrawl.web.html.references import LEADS_ON, style_targets
from minicrawl.web.responses.soft_404 import is_missing_sibling
from minicrawl.web.urls import split
from minicrawl.wording import counted

_KEPT_EVERY_S = 1.0
"""Time between two writes of results, each of which waits for the disk. A kill loses the results
since the last one; their requests are repeated."""
_IN_STYLE = "in "


async def check_links(crawler: Crawler) -> None:
    """Keep requisites and linked files, and check links outside the crawl, as settings say."""
    context = crawler.context
    storing, emit = context.settings.storing, context.emit
    asker = LinkAsker(crawler)
    dead = list[CheckRow]()

    async def keep(hops: Hops) -> None:
        dead.append(asker.row_of(hops))

    try:  # first: what is there again is no longer broken below
        await asker.ask(due_checks(context), keep)
    finally:
        _keep(storing.store, dead)
    if storing.requisites:
        number = await _keep_requisites(context, asker)
        emit(Noted(text=f"kept {counted(number, 'page requisite')}"))
    if context.settings.keeps_files:
        number = await _keep_linked_files(context, asker)
        emit(Noted(text=f"kept {counted(number, 'linked file')}"))
    if storing.check:
        requested = await check(context, asker)
        emit(Noted(text=f"checked {counted(requested, 'link')} outside the crawl"))


def due_checks(context: CrawlContext) -> list[str]:
    """Return the dead targets of earlier checks that a run that reads again requests once more."""
    store, today = context.settings.storing.store, context.clock.today()
    began = context.recorder.counters.number(tables.BEGAN)
    with reading(store) as connection:
        dead = [row for row in all_checks(store, connection) if State(row.state).is_dead_end]
    return [
        row.url
        for row in dead
        if row.at < began and not is_missing_sibling(row.url)
        if context.settings.order.refresh and is_due(row.since or row.at, row.at, today)
    ]


async def _keep_requisites(context: CrawlContext, asker: LinkAsker) -> int:
    """Keep the requisites of pages; those that fail are recorded as broken."""
    store = context.settings.storing.store
    with snapshot(store) as view:
        targets = await targets_of(view, context.emit)
    needed = targets.assets
    leading_on = {url: any(kind in LEADS_ON for kind, _ in of) for url, of in needed.items()}
    with closing(KeptFiles(context, _failed_lately(context))) as requisites:
        await requisites.run(asker, leading_on)
    _keep(store, requisites.rows)
    keep_all_findings(store, needed, [], choices=targets.choices)
    return requisites.kept


async def _keep_linked_files(context: CrawlContext, asker: LinkAsker) -> int:
    """Keep the linked files within the scope; check rows record why others are not kept."""
    store, max_depth = context.settings.storing.store, context.settings.scope.max_depth
    depths = context.recorder.frontier.urls.depth
    with snapshot(store) as view:
        places = np.flatnonzero(view.states == State.TYPE)
        if max_depth is not None:
            places = places[[depths[page] <= max_depth for page in places.tolist()]]
        linked = list(urls(view, places))
    with closing(KeptFiles(context, _failed_lately(context))) as files:
        await files.ask(asker, linked, in_scope=True)
    _keep(store, files.rows)
    return files.kept


def _failed_lately(context: CrawlContext) -> set[str]:
    """Return the URLs whose last request, at most a day ago, failed."""
    lately = _checked_lately(context.settings.storing.store, context.clock.today())
    return {row.url for row in lately if row.state != State.FETCHED}


async def check(context: CrawlContext, asker: LinkAsker) -> int:
    """Request URLs that are not crawled. Return their number."""
    storing, clock, emit = context.settings.storing, context.clock, context.emit
    store, external, assets = storing.store, "external" in storing.check, "assets" in storing.check
    with snapshot(store) as view:
        urls = set(external_urls(view)) if external else set[str]()
        targets = await targets_of(view, emit)
        files = joined(targets.assets, targets.previews, named_sitemaps(view))
        needed = files if assets else {}
        links = targets.links if external else {}
        waiting = urls | _unjudged(view, needed | links)
    fresh = {row.url for row in _checked_lately(store, clock.today())}
    waiting -= fresh
    rows, rows_at_the_end = list[CheckRow](), list[CheckRow]()
    reader = BodyReader(emit)
    styles = _Styles(needed, reader)
    requested, kept_at, is_whole = 0, clock.now(), True

    async def keep(hops: Hops, rows_of_kind: list[CheckRow] = rows) -> None:
        nonlocal requested, kept_at
        requested += 1
        rows_of_kind.append(asker.row_of(hops))
        emit(Checking(done=requested, all=len(waiting)))
        if clock.now() >= kept_at + _KEPT_EVERY_S:
            _keep(store, rows)
            kept_at = clock.now()

    folders = MissingPages(store, fresh, reader)

    async def keep_style(hops: Hops) -> None:
        await styles.read(hops)
        await keep(hops, rows_at_the_end if isinstance(hops[-1][1], Response) else rows)

    try:
        missing, todo = folders.missing_urls() if assets else [], set(waiting)
        while missing or todo:
            async with asyncio.TaskGroup() as group:
                asking = (
                    group.create_task(asker.ask(missing, folders.keep, (Want.RESOURCE,))),
                    group.create_task(asker.ask(todo & styles.urls, keep_style, (Want.RESOURCE,))),
                    group.create_task(asker.ask(todo - styles.urls, keep)),
                )
            is_whole &= came_to_their_end(asking)
            missing, todo = [], styles.found.keys() - waiting - fresh
            waiting |= todo
    finally:
        _keep(store, rows)
        await reader.close()
    if assets or links:
        more = [*targets.anchors, *await folders.soft_404s(), *_within(store, fresh)]
        rows_at_the_end += map(asker.row_of, folders.hops)
        keep_all_findings(
            store,
            joined(needed, links, styles.found),
            more if assets else [],
            rows_at_the_end if is_whole else [],
            targets.choices,
        )
    return requested


def _checked_lately(store: Path, today: float) -> list[CheckRow]:
    with reading(store) as connection:
        return [row for row in all_checks(store, connection) if abs(today - row.at) < VALID_S]


def _keep(store: Path, rows: list[CheckRow]) -> None:
    """Write the rows, and empty their list."""
    if rows:
        with reading(store) as connection:
            keep_checks(store, connection, rows)
        rows.clear()


class _Styles:
    def __init__(self, needed: Sources, reader: BodyReader) -> None:
        self._reader = reader
        self.urls = {url for url, of in needed.items() if any(kind == "style" for kind, _ in of)}
        self.found: Sources = defaultdict(dict)
        self._needed = needed

    async def read(self, hops: Hops) -> None:
        """Note the files that a style refers to: pages that need the style need them, too."""
        (url, _), (base, result) = hops[0], hops[-1]
        if not isinstance(result, Response):
            return
        first, *more = (self._needed.get(url) or self.found[url]).values()
        pages = sum(more, first)
        read = partial(style_targets, url=base, content_type=result.headers.get("content-type"))
        for target, kind in await self._reader.read(read, result, base) or ():
            if kind == "style":
                self.urls.add(target)
            self.found[target].setdefault((kind, f"{_IN_STYLE}{url}"), pages)


def _within(store: Path, fresh: Set[str]) -> list[FindingRow]:
    """Return the stored findings from styles that were read lately."""
    texts = {f"{_IN_STYLE}{url}" for url in fresh}
    with reading(store) as connection:
        return [row for row in all_findings(store, connection) if row.text in texts]


def _unjudged(snapshot: Snapshot, urls: Collection[str]) -> set[str]:
    """Return the URLs that the crawl does not know, or skips for their scope or type."""
    pages = questions.find_all(snapshot.connection, list(map(split, urls)))
    aside = (State.SCOPE, State.TYPE)
    return {
        url
        for url, page in zip(urls, pages, strict=True)
        if page is None or snapshot.states[page] in aside
    }
