"""Sends the requests of pages that are rendered, through the crawl's gate.

Laws: each request passes the gate of the crawl (`HostOnboarding.ask`): `--deny`, public
addresses, delays, hosts that are down. Its bytes count towards the budget. robots.txt applies to
frames and to data that scripts read; scripts themselves are parts of a page. A frame is a page:
it must be within the scope. Trackers are not contacted. A script is requested once, however many
pages use it. Another origin's response reaches the page as in a browser: without our logins and
cookies, readable only if that origin allows it, and with headers of the script only if that
origin accepts them, which a preflight finds out (CORS). So no page learns what is meant for us,
or acts in our name. A POST carries no logins and cookies, even to the page's own origin.

If whole pages are kept, each response is kept, too, with the URL of the page that asked for it.

own         at the origin that requests it; after redirects, only if each of them was, too
preflight   OPTIONS request that asks another origin whether it accepts these headers
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Hashable
from functools import partial

from minicrawl.archive.packing import pack_any
from minicrawl.archive.record import AskedBy
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.side_requests import follow
from minicrawl.crawl.parts import CrawlContext
from minicrawl.crawl.progress import are_bytes_spent
from minicrawl.crawl.rendering.cors import (
    cross_origin,
    may_be_read,
    preflight_holds_s,
    preflight_of,
    takes_headers,
    unsafe_names,
)
from minicrawl.crawl.rendering.render_messages import Resource, ResourceRequest
from minicrawl.crawl.rendering.resource_cache import ResourceAnswer, ResourceCache, fresh_for_s
from minicrawl.model import Failed, FetchResult, KeptAnswer, Request, Response, Want
from minicrawl.states import State
from minicrawl.web.html.scripts import TRACKERS
from minicrawl.web.urls import LONGEST, canonical, origin

_READ, _FRAME = frozenset(("fetch", "xhr")), "document"
"""Kinds of requests: data that scripts read, and frames."""
_LARGE = 1 << 18
"""Size in bytes of a body above which another thread packs it for the archive."""
_NOTHING = ResourceAnswer()
_SCRIPT_TYPE = "text/javascript"


class PageResources:
    """Serves the requests of all pages of a crawl."""

    def __init__(self, context: CrawlContext, onboarding: HostOnboarding) -> None:
        self._context, self._onboarding = context, onboarding
        self._keeps = bool(context.recorder.keeping) and context.settings.storing.keeps_failures
        self._cache = ResourceCache()
        self._under_way: dict[Hashable, asyncio.Task[ResourceAnswer]] = {}

    async def answer(self, page: str, resource: ResourceRequest) -> Resource:
        """Return the response to a page's request."""
        url = resource.url.partition("#")[0]
        if len(url) > LONGEST or canonical(url) is None or TRACKERS.search(url):
            return Resource(resource.number)
        return Resource(resource.number, *await self._answer(page, url, resource))

    async def _answer(self, page: str, url: str, resource: ResourceRequest) -> ResourceAnswer:
        is_own = _is_own(url, resource)
        key = resource.name, is_own, resource.is_document
        if (cached := self._cache.get(key, self._context.clock.now())) is not None:
            return cached
        # Data may differ from request to request, so two that overlap are not joined; scripts are.
        if resource.is_document:
            return await self._ask(page, url, resource)
        while (same := self._under_way.get(key)) is not None:
            await asyncio.wait((same,))
            if not same.cancelled():  # else the page that asked first was given up
                return same.result()
        task = asyncio.create_task(self._ask(page, url, resource))
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key))
        return await task

    async def _ask(self, page: str, url: str, resource: ResourceRequest) -> ResourceAnswer:
        """Return the response at the end of the redirects."""
        is_own, is_redirected = True, False

        async def send(there: str) -> FetchResult | State | None:
            nonlocal is_own, is_redirected
            # A frame from elsewhere would be taken for a document of `url`; a redirected POST would
            # become a GET, or act at another place.
            is_elsewhere = resource.kind == _FRAME and origin(there) != origin(url)
            if is_redirected and (is_elsewhere or resource.body is not None):
                return None
            is_own, is_redirected = is_own and _is_own(there, resource), True
            if are_bytes_spent(self._context):
                return None
            if not is_own and not await self._takes_headers(there, resource):
                return None
            fetched = await self._fetch(there, resource, is_own=is_own)
            if self._keeps:
                await self._keep(page, there, fetched, resource)
            return fetched

        _, fetched = (await follow(url, send))[-1]
        if resource.kind in _READ and not is_own and not may_be_read(fetched, resource.asker):
            return _NOTHING
        return self._cached(url, fetched, resource)

    async def _takes_headers(self, url: str, resource: ResourceRequest) -> bool:
        """Return whether another origin accepts the script's headers; true if none needs asking."""
        names = unsafe_names(resource.headers) if resource.kind in _READ else ()
        if not names:
            return True
        method = "GET" if resource.body is None else "POST"
        key, now = ("preflight", url, resource.asker, names, method), self._context.clock.now()
        if (cached := self._cache.get(key, now)) is not None:
            return cached.status != 0
        # The first preflight names no header: an origin that does not share with the asker is not
        # told what its scripts send.
        for named in ((), names):
            asks = preflight_of(url, resource.asker, named, method)
            answer = await self._onboarding.ask(asks)
            takes = takes_headers(answer, resource.asker, names)
            if takes or not may_be_read(answer, resource.asker):
                break
        until = self._context.clock.now() + preflight_holds_s(answer)
        self._cache.put(key, ResourceAnswer(int(takes)), until)
        return takes

    async def _fetch(
        self, url: str, resource: ResourceRequest, *, is_own: bool
    ) -> FetchResult | State | None:
        headers = resource.headers if is_own or resource.kind in _READ else ()
        is_post = resource.body is not None
        request = Request(
            url=resource.name if is_post else url,
            want=Want.RESOURCE,
            max_bytes=self._context.settings.network.max_body_bytes,
            headers=headers if is_own else cross_origin(headers, resource.asker),
            is_anonymous=is_post or not is_own,
            keeps_failures=self._keeps,
            method="POST" if is_post else "",
            body=resource.body or b"",
        )
        return await self._onboarding.ask(
            request, is_document=resource.is_document, in_scope=resource.kind == _FRAME
        )

    async def _keep(self, page: str, url: str, fetched: object, resource: ResourceRequest) -> None:
        """Keep a response, before the step of the page that asked for it."""
        name = url if resource.body is None else resource.name
        pack = partial(pack_any, name, fetched, AskedBy(resource.kind, page))
        is_large = isinstance(fetched, Response) and len(fetched.body) > _LARGE
        record = await asyncio.to_thread(pack) if is_large else pack()
        if record is not None:
            self._context.recorder.keep(None, KeptAnswer(record, self._context.clock.today(), name))

    def _cached(
        self, url: str, fetched: FetchResult | State | None, resource: ResourceRequest
    ) -> ResourceAnswer:
        if isinstance(fetched, Failed) and fetched.status:
            return ResourceAnswer(fetched.status)
        if not isinstance(fetched, Response) or fetched.cut is not None:
            return _NOTHING
        is_script, is_own = not resource.is_document, _is_own(url, resource)
        kind = fetched.headers.get("content-type", _SCRIPT_TYPE if is_script else "")
        answer = ResourceAnswer(fetched.status, kind, fetched.body)
        fresh_s = fresh_for_s(fetched.headers, is_script=is_script)
        # Data of another origin is not kept: whether it may be read depends on the asker.
        if fresh_s > 0 and resource.body is None and (is_script or is_own):
            until = math.inf if math.isinf(fresh_s) else self._context.clock.now() + fresh_s
            self._cache.put((url, is_own, resource.is_document), answer, until)
        return answer


def _is_own(url: str, resource: ResourceRequest) -> bool:
    return origin(url) == resource.asker
