"""What a page asks for while it is rendered: the crawl asks for it, as it asks for pages.

Laws: an address that is not public is not asked, as for any page. A host is asked no sooner and no
more at once than its delays allow, and not at all while it is down. What robots.txt forbids is not
asked for, be it a frame or what a script reads; scripts themselves are parts of a page. Trackers
are not asked. A script is asked for once, however many pages want it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping

from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.rendering.messages import Resource, WantedResource
from minicrawl.crawl.rendering.resource_cache import FoundResource, ResourceCache, fresh_for_s
from minicrawl.model import Failed, FetchResult, Moved, Request, Response, Want
from minicrawl.web.html.scripts import TRACKERS
from minicrawl.web.urls import LONGEST, canonical, origin

MOST_REDIRECTS = 5
_NOTHING = FoundResource()
_SCRIPT_TYPE = "text/javascript"


class PageResources:
    """Answers all pages of a crawl."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        self._context, self._hosts = context, parts.hosts
        self._onboarding: HostOnboarding = parts.onboarding
        self._cache = ResourceCache()
        self._under_way: dict[str, asyncio.Task[FoundResource]] = {}

    async def answer(self, wanted: WantedResource) -> Resource:
        """What the page gets."""
        url = wanted.url.partition("#")[0]
        if len(url) > LONGEST or canonical(url) is None or TRACKERS.search(url):
            return Resource(wanted.number)
        return Resource(wanted.number, *await self._found(url, wanted))

    async def _found(self, url: str, wanted: WantedResource) -> FoundResource:
        if (kept := self._cache.get(url, self._context.clock.now())) is not None:
            return kept
        if wanted.is_document:
            return await self._ask(url, wanted)
        if (same := self._under_way.get(url)) is not None:
            return await asyncio.shield(same)
        task = asyncio.create_task(self._ask(url, wanted))
        self._under_way[url] = task
        task.add_done_callback(lambda _: self._under_way.pop(url))
        return await task

    async def _ask(self, url: str, wanted: WantedResource) -> FoundResource:
        """What is at the end of its redirects."""
        there = url
        for _ in range(MOST_REDIRECTS + 1):
            if not await self._may_ask(there, is_document=wanted.is_document):
                return _NOTHING
            fetched = await self._fetch(there, wanted)
            target = canonical(fetched.target, there) if isinstance(fetched, Moved) else None
            if target is None:
                return self._kept(url, fetched, is_script=not wanted.is_document)
            there = target
        return _NOTHING

    async def _may_ask(self, url: str, *, is_document: bool) -> bool:
        host = self._context.recorder.host_at(origin(url))
        if self._hosts[host].trouble_at(self._context.clock.now()):
            return False
        if not is_document:
            return True
        rules = await self._onboarding.rules_for(url, self._context.tell)
        return rules is not None and rules.allows(url)

    async def _fetch(self, url: str, wanted: WantedResource) -> FetchResult:
        most = self._context.settings.network.max_body_bytes
        request = Request(url=url, want=Want.RESOURCE, max_bytes=most, headers=wanted.headers)
        fetched = await self._onboarding.resource(request)
        self._onboarding.judge(url, fetched)
        return fetched

    def _kept(self, url: str, fetched: FetchResult, *, is_script: bool) -> FoundResource:
        if isinstance(fetched, Failed) and fetched.status:
            return FoundResource(fetched.status)
        if not isinstance(fetched, Response) or fetched.cut is not None:
            return _NOTHING
        kind = _type(fetched.headers, is_script=is_script)
        found = FoundResource(fetched.status, kind, fetched.body)
        fresh_s = fresh_for_s(fetched.headers, is_script=is_script)
        if fresh_s > 0:
            until = math.inf if math.isinf(fresh_s) else self._context.clock.now() + fresh_s
            self._cache.put(url, found, until)
        return found


def _type(headers: Mapping[str, str], *, is_script: bool) -> str:
    return headers.get("content-type", _SCRIPT_TYPE if is_script else "")
