"""From what a crawl begins, and what is refused before anything is written."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from minicrawl.config import Settings
from minicrawl.crawl.start import resume
from minicrawl.crawl.start.browsers import check_browser
from minicrawl.crawl.start.logins import SeedLogins
from minicrawl.crawl.start.reach import check_types


class Beginning(NamedTuple):
    """From what a crawl begins, and by which command it may be resumed."""

    seeds: Iterable[str]
    fresh: bool
    command: str
    logins: SeedLogins

    def is_new(self, store: Path) -> bool:
        """Whether there is no store to resume."""
        return self.fresh or not store.exists()

    def check(self, settings: Settings, today: float) -> None:
        """Refuse what cannot work."""
        check_types(settings.scope)
        check_browser(settings.rendering)
        self.logins.check(settings.access, today)
        if self.is_new(settings.storing.store):
            resume.refuse_contradictions(settings)
