"""Seeds and options of a crawl, with the logins among them, checked before anything is written.

Law: a login in the URL of a seed is removed before anything else sees the URL; so neither the
store nor a log has it. The next run needs it again.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from minicrawl.config import Access, Settings
from minicrawl.config.values.kinds import OFF, key_file
from minicrawl.config.values.networks import hidden_login
from minicrawl.crawl.start.cookies import given_cookies
from minicrawl.crawl.start.reach import check_browser, check_types, refuse_what_varies
from minicrawl.crawl.start.settings import refuse_contradictions
from minicrawl.errors import UsageError
from minicrawl.web.urls import ResolvedUrl, resolve_seed

if TYPE_CHECKING:
    from minicrawl.fetch.access.logins import AccessByOrigin, Login
    from minicrawl.fetch.http.targets import Origin

MOST_IN_SEEDS = 10_000


class StartOptions:
    def __init__(self, seeds: Iterable[str], command: str | None, *, fresh: bool) -> None:
        self.seeds, self.command, self.fresh = seeds, command, fresh
        self._logins: dict[Origin, Login] = {}  # in the URLs of seeds

    def is_new(self, store: Path) -> bool:
        return self.fresh or not store.exists()

    def check(self, settings: Settings, today: float) -> None:
        """Refuse settings that cannot work: logins, headers, cookies and keys, too."""
        refuse_what_varies(settings)
        check_types(settings.scope)
        check_browser(settings)
        access = settings.access
        self.logins(access, ())
        if access.cookies != OFF:
            given_cookies(access, today)
        if access.sign_requests:
            from minicrawl.fetch.access.signing import SigningKey

            SigningKey.read(key_file(access.sign_requests)[0])
        if self.is_new(settings.storing.store):
            refuse_contradictions(settings)

    def resolved(self, seed: str, settings: Settings) -> ResolvedUrl:
        """Return the URL of a seed without its login, which is kept here."""
        resolved = resolve_seed(seed, strip_marks=settings.storing.strip_marks)
        if resolved is None:
            raise UsageError(f"{hidden_login(seed)!r} is not a URL that can be crawled")
        if "@" in seed:
            from minicrawl.fetch.access.origins import login_in

            if (login := login_in(seed.strip())) is not None:
                origin, self._logins[origin] = login
                if len(self._logins) > MOST_IN_SEEDS:
                    raise UsageError(f"more than {MOST_IN_SEEDS:,} seeds with logins: use --netrc")
        return resolved

    def logins(self, access: Access, seeds: Iterable[str]) -> "AccessByOrigin | None":
        if not (access.has_secrets or self._logins):
            return None
        from minicrawl.fetch.access.origins import access_by_origin

        return access_by_origin(access, seeds, self._logins)
