"""From what a crawl begins, and what is refused before anything is written."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from minicrawl.config import Settings
from minicrawl.config.parts import Order
from minicrawl.crawl.start import resume
from minicrawl.crawl.start.browsers import check_browser
from minicrawl.crawl.start.logins import SeedLogins
from minicrawl.crawl.start.reach import check_types
from minicrawl.errors import UsageError
from minicrawl.opic.windows import WITHOUT_MEASURES, WITHOUT_WIDTH


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
            _refuse_unused(settings.order)


def _refuse_unused(order: Order) -> None:
    """Refuse what the window of a new store would not use. A store keeps its own to the end."""
    if order.width != Order().width and order.window in WITHOUT_WIDTH:
        raise UsageError(f"--width: a {order.window} window keeps all of the past; leave one out")
    if order.measures is not None and order.window in WITHOUT_MEASURES:
        raise UsageError(
            f"--measures: the {order.window} window keeps none; --window variable, fixed and "
            "improved-fixed do"
        )
