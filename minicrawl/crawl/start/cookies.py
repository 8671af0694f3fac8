"""Cookies of a crawl: one jar for all workers, in a file beside the store.

Laws: the jar is in the crawl process. It adds cookies to each request and takes those of each
response, whichever process sends the request, so that all share one session of a site. Only
its owner can read the file, which is replaced as a whole. If the crawl is killed, the file lacks
the cookies of the last `SAVE_EVERY_S`; a site sets them again.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from minicrawl.config import Access, Settings
from minicrawl.config.values.kinds import OFF, ON
from minicrawl.errors import UsageError
from minicrawl.model import FetchResult, Request
from minicrawl.ports import Clock, Visit, WebAccess
from minicrawl.store.reader import file_beside
from minicrawl.web.cookies.files import BadLine, read_cookies, write_cookies
from minicrawl.web.cookies.jar import CookieJar

SAVE_EVERY_S = 2.0
COOKIES_SUFFIX = "-cookies"


class WithCookies:
    def __init__(self, web_access: WebAccess, jar: CookieJar, clock: Clock) -> None:
        self._web_access, self._jar, self._clock = web_access, jar, clock
        self.locate, self.parse_rules = web_access.locate, web_access.parse_rules

    async def fetch(self, request: Request) -> FetchResult:
        sent = self._with_cookies(request)
        return self._take_cookies(sent, await self._web_access.fetch(sent))

    async def visit(self, request: Request) -> Visit:
        sent = self._with_cookies(request)
        visit = await self._web_access.visit(sent)
        fetched = self._take_cookies(sent, visit.fetched)
        return visit if fetched is visit.fetched else visit._replace(fetched=fetched)

    def _with_cookies(self, request: Request) -> Request:
        if request.is_anonymous:
            return request
        cookies = self._jar.header(request.url, self._clock.today())
        return request._replace(cookies=cookies) if cookies else request

    def _take_cookies(self, sent: Request, fetched: FetchResult) -> FetchResult:
        """Store the cookies of a response, and leave those that change the next request in it."""
        if not fetched.cookies:
            return fetched
        if sent.is_anonymous:
            return fetched._replace(cookies=())
        jar, today = self._jar, self._clock.today()
        before = jar.changes
        jar.take(sent.url, fetched.cookies, today)
        is_new = jar.changes > before or jar.header(sent.url, today) != sent.cookies
        return fetched if is_new else fetched._replace(cookies=())


def given_cookies(access: Access, now: float) -> CookieJar:
    jar = CookieJar()
    if access.cookies not in (ON, OFF):
        _read_into(jar, Path(access.cookies), now)
    return jar


@asynccontextmanager
async def with_cookies(
    web_access: WebAccess, settings: Settings, clock: Clock
) -> AsyncIterator[WebAccess]:
    access = settings.access
    if access.cookies == OFF:
        yield web_access
        return
    file, today = file_beside(settings.storing.store, COOKIES_SUFFIX), clock.today()
    jar = given_cookies(access, today)
    given = access.cookies
    # Cookies of earlier runs count, unless the user has written the given file since.
    if file.exists() and (given == ON or file.stat().st_mtime >= Path(given).stat().st_mtime):
        _read_into(jar, file, today)
    saving = asyncio.create_task(_save_often(jar, file))
    try:
        yield WithCookies(web_access, jar, clock)
    finally:
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
        with suppress(OSError):  # as in `_save_often`
            _write(file, write_cookies(jar))


def _read_into(jar: CookieJar, file: Path, now: float) -> None:
    try:
        with file.open(encoding="utf-8") as lines:
            for cookie in read_cookies(lines):
                jar.add(cookie, now)
    except BadLine as bad:
        raise UsageError(f"--cookies {file}:{bad.number}: {bad.why}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--cookies {file}: not UTF-8") from None
    except OSError as error:
        raise UsageError(f"--cookies {file}: {error.strerror}") from None


async def _save_often(jar: CookieJar, file: Path) -> None:
    saved = 0
    while True:
        await asyncio.sleep(SAVE_EVERY_S)
        if jar.changes != saved:
            saved = jar.changes
            with suppress(OSError):  # the store reports a full disk; the next save may succeed
                await asyncio.to_thread(_write, file, write_cookies(jar))


def _write(file: Path, text: str) -> None:
    """Replace the file, which nobody else can read at any moment."""
    draft = file.with_name(f"{file.name}.part")
    with suppress(FileNotFoundError):
        draft.unlink()
    # O_EXCL refuses a link that somebody else put there in the meantime.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as written:
        written.write(text)
    draft.replace(file)
