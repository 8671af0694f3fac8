"""Logins, headers and cookies, as a crawl begins: from its settings and its seeds.

Law: a login in the URL of a seed is taken out of it before anything else sees the URL; so neither
the store nor a log has it. The next run needs it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

from minicrawl.config import Access, Settings
from minicrawl.config.parts import OFF
from minicrawl.config.values.network_kinds import hidden_login
from minicrawl.errors import UsageError
from minicrawl.ports import Clock, WebAccess
from minicrawl.web.urls import ResolvedUrl, resolve_seed

if TYPE_CHECKING:
    from minicrawl.fetch.access.logins import AccessByOrigin, Login
    from minicrawl.fetch.where.targets import Origin

MOST_IN_SEEDS = 10_000


class SeedLogins:
    """The logins that URLs of seeds have."""

    def __init__(self) -> None:
        self._found: dict[Origin, Login] = {}

    def resolved(self, seed: str, settings: Settings) -> ResolvedUrl:
        """The URL of a seed, without the login in it."""
        found = resolve_seed(seed, strip_marks=settings.storing.strip_marks)
        if "@" in seed:
            self._take(seed, found)
        if found is None:
            raise UsageError(f"{hidden_login(seed)!r} is not a URL that can be crawled")
        return found

    def check(self, access: Access, today: float) -> None:
        """Refuse what cannot be read, before anything is written."""
        self.by_origin(access, ())
        if access.cookies != OFF:
            from minicrawl.crawl.cookies import given_cookies

            given_cookies(access, today)

    def by_origin(self, access: Access, seeds: Iterable[str]) -> AccessByOrigin | None:
        """What some origins get besides; None if none does."""
        if not (access.has_secrets or self._found):
            return None
        from minicrawl.fetch.access.origins import access_by_origin

        return access_by_origin(access, seeds, self._found)

    def _take(self, seed: str, found: ResolvedUrl | None) -> None:
        from minicrawl.fetch.access.origins import login_in

        login = login_in(seed.strip()) if found else None
        if login is not None:
            if len(self._found) >= MOST_IN_SEEDS and login[0] not in self._found:
                raise UsageError(f"more than {MOST_IN_SEEDS:,} seeds with logins: use --netrc")
            self._found[login[0]] = login[1]


def cookies_for(
    web_access: WebAccess, settings: Settings, clock: Clock
) -> AbstractAsyncContextManager[WebAccess]:
    """Web access with cookies, if they are wanted."""
    if settings.access.cookies == OFF:
        return nullcontext(web_access)
    from minicrawl.crawl.cookies import with_cookies

    return with_cookies(web_access, settings.access, settings.storing.store, clock)
