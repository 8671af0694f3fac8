"""What a page asks for while it is rendered: the crawl asks for it, as it asks for pages.

Laws: each request passes the gate of the crawl (`HostOnboarding.ask`): `--deny`, public addresses,
delays, a host that is down. Its bytes are those of the budget. What robots.txt forbids is not asked
for, be it a frame or what a script reads; scripts themselves are parts of a page. A frame is a
page: it must be within the scope. Trackers are not asked. A script is asked for once, however many
pages want it. What a page wants of another origin it gets as from a browser: without our logins and
cookies, to read it only if that origin allows it, and with headers of the script only if that
origin takes them, which is asked first (CORS). So no page learns what is for us, or acts in our
name.

own         what is of the origin that asks for it, with each redirect on the way
preflight   the question to another origin whether it takes these headers, an OPTIONS
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Hashable, Mapping

from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.progress import are_bytes_spent
from minicrawl.crawl.rendering.cors import (
    cross_origin,
    may_be_read,
    preflight_holds_s,
    preflight_of,
    takes_headers,
    unsafe_names,
)
from minicrawl.crawl.rendering.messages import Resource, WantedResource
from minicrawl.crawl.rendering.resource_cache import FoundResource, ResourceCache, fresh_for_s
from minicrawl.model import Failed, FetchResult, Moved, Request, Response, State, Want
from minicrawl.web.html.scripts import TRACKERS
from minicrawl.web.urls import LONGEST, canonical, origin

MOST_REDIRECTS = 5
_READ, _FRAME = frozenset(("fetch", "xhr")), "document"
"""Kinds: what scripts read, and what frames show."""
_NOTHING = FoundResource()
_SCRIPT_TYPE = "text/javascript"


class PageResources:
    """Answers all pages of a crawl."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        self._context = context
        self._onboarding: HostOnboarding = parts.onboarding
        self._cache = ResourceCache()
        self._under_way: dict[Hashable, asyncio.Task[FoundResource]] = {}

    async def answer(self, wanted: WantedResource) -> Resource:
        """What the page gets."""
        url = wanted.url.partition("#")[0]
        if len(url) > LONGEST or canonical(url) is None or TRACKERS.search(url):
            return Resource(wanted.number)
        return Resource(wanted.number, *await self._found(url, wanted))

    async def _found(self, url: str, wanted: WantedResource) -> FoundResource:
        is_own = _is_own(url, wanted)
        key = url, is_own, wanted.is_document
        if (kept := self._cache.get(key, self._context.clock.now())) is not None:
            return kept
        if wanted.is_document:
            return await self._ask(url, wanted)
        if (same := self._under_way.get(key)) is not None:
            return await asyncio.shield(same)
        task = asyncio.create_task(self._ask(url, wanted))
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key))
        return await task

    async def _ask(self, url: str, wanted: WantedResource) -> FoundResource:
        """What is at the end of its redirects."""
        there, is_own = url, _is_own(url, wanted)
        for _ in range(MOST_REDIRECTS + 1):
            if are_bytes_spent(self._context):
                return _NOTHING
            if not is_own and not await self._takes_headers(there, wanted):
                return _NOTHING
            fetched = await self._fetch(there, wanted, is_own=is_own)
            target = canonical(fetched.target, there) if isinstance(fetched, Moved) else None
            if target is None:
                is_closed = wanted.kind in _READ and not is_own
                if is_closed and not may_be_read(fetched, wanted.asker):
                    return _NOTHING
                return self._kept(url, fetched, wanted)
            if wanted.kind == _FRAME and origin(target) != origin(url):
                return _NOTHING  # the browser would take it for a document of `url`
            there, is_own = target, is_own and _is_own(target, wanted)
        return _NOTHING

    async def _takes_headers(self, url: str, wanted: WantedResource) -> bool:
        """Whether another origin takes the headers of the script, if there are any."""
        names = unsafe_names(wanted.headers) if wanted.kind in _READ else ()
        if not names:
            return True
        key, now = ("preflight", url, wanted.asker, names), self._context.clock.now()
        if (kept := self._cache.get(key, now)) is not None:
            return kept.status != 0
        for told in ((), names):
            asks = preflight_of(url, wanted.asker, told)
            answer = await self._onboarding.ask(asks, self._context.tell)
            takes = takes_headers(answer, wanted.asker, names)
            if takes or not may_be_read(answer, wanted.asker):
                break
        until = self._context.clock.now() + preflight_holds_s(answer)
        self._cache.put(key, FoundResource(int(takes)), until)
        return takes

    async def _fetch(
        self, url: str, wanted: WantedResource, *, is_own: bool
    ) -> FetchResult | State | None:
        headers = wanted.headers if is_own or wanted.kind in _READ else ()
        request = Request(
            url=url,
            want=Want.RESOURCE,
            max_bytes=self._context.settings.network.max_body_bytes,
            headers=headers if is_own else cross_origin(headers, wanted.asker),
            is_anonymous=not is_own,
        )
        return await self._onboarding.ask(
            request,
            self._context.tell,
            is_document=wanted.is_document,
            in_scope=wanted.kind == _FRAME,
        )

    def _kept(
        self, url: str, fetched: FetchResult | State | None, wanted: WantedResource
    ) -> FoundResource:
        if isinstance(fetched, Failed) and fetched.status:
            return FoundResource(fetched.status)
        if not isinstance(fetched, Response) or fetched.cut is not None:
            return _NOTHING
        is_script, is_own = not wanted.is_document, _is_own(url, wanted)
        kind = _type(fetched.headers, is_script=is_script)
        found = FoundResource(fetched.status, kind, fetched.body)
        fresh_s = fresh_for_s(fetched.headers, is_script=is_script)
        if fresh_s > 0 and (is_script or is_own):  # who may read what is of others differs
            until = math.inf if math.isinf(fresh_s) else self._context.clock.now() + fresh_s
            self._cache.put((url, is_own, wanted.is_document), found, until)
        return found


def _is_own(url: str, wanted: WantedResource) -> bool:
    return origin(url) == wanted.asker


def _type(headers: Mapping[str, str], *, is_script: bool) -> str:
    return headers.get("content-type", _SCRIPT_TYPE if is_script else "")
