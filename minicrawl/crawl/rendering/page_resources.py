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

Laws of the cache: a response that must not be stored is not stored. Without caching headers, a
script is kept until the crawl ends, and other responses are not kept. There are at most `MOST`
responses, with `MOST_BYTES` together; the least recently used is dropped first.

own         at the origin that requests it; after redirects, only if each of them was, too
preflight   OPTIONS request that asks another origin whether it accepts these headers
"""

import asyncio
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from functools import partial

from minicrawl.archive.packing import pack_any
from minicrawl.archive.record import AskedBy
from minicrawl.config import Settings
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.side_requests import follow
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.rendering import cors
from minicrawl.crawl.rendering.render_messages import Resource, ResourceRequest
from minicrawl.model import Failed, FetchResult, KeptAnswer, Request, Response, Want
from minicrawl.ports import Clock
from minicrawl.states import State
from minicrawl.web.html.scripts import TRACKERS
from minicrawl.web.responses.headers import max_age_s
from minicrawl.web.urls import LONGEST, canonical, origin

_READ, _FRAME = frozenset(("fetch", "xhr")), "document"
"""Kinds of requests: data that scripts read, and frames."""
_LARGE = 1 << 18
"""Size in bytes of a body above which another thread packs it for the archive."""
_NOTHING = Resource()
_SCRIPT_TYPE = "text/javascript"
MOST_BYTES = 32_000_000
MOST = 10_000
_NEVER = re.compile(r"no-store|no-cache|private", re.IGNORECASE)


class ResourceCache:
    """Cache of responses, by URL and by everything else that makes a difference."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._answers = OrderedDict[Hashable, tuple[Resource, float]]()

    def get(self, key: Hashable, now: float) -> Resource | None:
        answer, until = self._answers.get(key, (None, 0.0))
        if answer is None or until <= now:
            return None
        self._answers.move_to_end(key)
        return answer

    def put(self, key: Hashable, answer: Resource, until: float) -> None:
        """Keep a response until the time `until`, unless it is larger than the whole cache."""
        self._bytes -= len(self._answers.pop(key, (Resource(), 0.0))[0].body)
        if len(answer.body) > self._most_bytes:
            return
        self._answers[key] = answer, until
        self._bytes += len(answer.body)
        while self._bytes > self._most_bytes or len(self._answers) > MOST:
            _, (gone, _) = self._answers.popitem(last=False)
            self._bytes -= len(gone.body)


def fresh_for_s(headers: Mapping[str, str], *, is_script: bool) -> float:
    """Return for how many seconds a response may be used again."""
    said = headers.get("cache-control", "")
    if _NEVER.search(said) or headers.get("vary", "").strip() == "*" or "set-cookie" in headers:
        return 0.0
    age_s = max_age_s(headers)
    if age_s is not None:
        return age_s
    return math.inf if is_script else 0.0


class PageResources:
    """Serves the requests of all pages of a crawl."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        onboarding: HostOnboarding,
        clock: Clock,
        is_spent: Callable[[], bool],
    ) -> None:
        """Set up; `is_spent` says that the crawl may receive no more bytes."""
        self._recorder, self._onboarding, self._clock = recorder, onboarding, clock
        self._most_bytes, self._is_spent = settings.network.max_body_bytes, is_spent
        self._keeps = bool(recorder.keeping) and settings.storing.keeps_failures
        self._cache = ResourceCache()
        self._under_way: dict[Hashable, asyncio.Task[Resource]] = {}

    async def answer(self, page: str, resource: ResourceRequest) -> Resource:
        url, answer = resource.url.partition("#")[0], _NOTHING
        if len(url) <= LONGEST and canonical(url) is not None and not TRACKERS.search(url):
            key = resource.name, _is_own(url, resource), resource.is_document
            if (cached := self._cache.get(key, self._clock.now())) is not None:
                answer = cached
            # Data may differ from request to request, so two that overlap are not joined.
            elif resource.is_document:
                answer = await self._ask(page, url, resource)
            else:
                answer = await self._script(page, url, resource, key)
        return answer._replace(number=resource.number)

    async def _script(
        self, page: str, url: str, resource: ResourceRequest, key: Hashable
    ) -> Resource:
        """Return a script, of which requests that overlap are joined."""
        while (same := self._under_way.get(key)) is not None:
            await asyncio.wait((same,))
            if not same.cancelled():  # else the page that asked first was given up
                return same.result()
        task = asyncio.create_task(self._ask(page, url, resource))
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key))
        return await task

    async def _ask(self, page: str, url: str, resource: ResourceRequest) -> Resource:
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
            if self._is_spent():
                return None
            if not is_own and not await self._takes_headers(there, resource):
                return None
            fetched = await self._fetch(there, resource, is_own=is_own)
            if self._keeps:
                await self._keep(page, there, fetched, resource)
            return fetched

        _, fetched = (await follow(url, send))[-1]
        if resource.kind in _READ and not is_own and not cors.may_be_read(fetched, resource.asker):
            return _NOTHING
        return self._cached(url, fetched, resource)

    async def _takes_headers(self, url: str, resource: ResourceRequest) -> bool:
        """Return whether another origin accepts the script's headers; true if none needs asking."""
        names = cors.unsafe_names(resource.headers) if resource.kind in _READ else ()
        if not names:
            return True
        method = "GET" if resource.body is None else "POST"
        key, now = ("preflight", url, resource.asker, names, method), self._clock.now()
        if (cached := self._cache.get(key, now)) is not None:
            return cached.status != 0
        # The first preflight names no header: an origin that does not share with the asker is not
        # told what its scripts send.
        for named in ((), names):
            asks = cors.preflight_of(url, resource.asker, named, method)
            answer = await self._onboarding.ask(asks)
            takes = cors.takes_headers(answer, resource.asker, names)
            if takes or not cors.may_be_read(answer, resource.asker):
                break
        until = self._clock.now() + cors.preflight_holds_s(answer)
        self._cache.put(key, Resource(status=int(takes)), until)
        return takes

    async def _fetch(
        self, url: str, resource: ResourceRequest, *, is_own: bool
    ) -> FetchResult | State | None:
        headers = resource.headers if is_own or resource.kind in _READ else ()
        is_post = resource.body is not None
        request = Request(
            url=resource.name if is_post else url,
            want=Want.RESOURCE,
            max_bytes=self._most_bytes,
            headers=headers if is_own else cors.cross_origin(headers, resource.asker),
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
            self._recorder.keep(None, KeptAnswer(record, self._clock.today(), name))

    def _cached(
        self, url: str, fetched: FetchResult | State | None, resource: ResourceRequest
    ) -> Resource:
        if isinstance(fetched, Failed) and fetched.status:
            return Resource(status=fetched.status)
        if not isinstance(fetched, Response) or fetched.cut is not None:
            return _NOTHING
        is_script, is_own = not resource.is_document, _is_own(url, resource)
        usual = _SCRIPT_TYPE if resource.kind == "script" else ""
        kind = fetched.headers.get("content-type", usual)
        answer = Resource(0, fetched.status, kind, fetched.body)
        fresh_s = fresh_for_s(fetched.headers, is_script=is_script)
        # Data of another origin is not kept: whether it may be read depends on the asker.
        if fresh_s > 0 and resource.body is None and (is_script or is_own):
            until = math.inf if math.isinf(fresh_s) else self._clock.now() + fresh_s
            self._cache.put((url, is_own, resource.is_document), answer, until)
        return answer


def _is_own(url: str, resource: ResourceRequest) -> bool:
    return origin(url) == resource.asker
