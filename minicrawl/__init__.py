"""minicrawl: a single-machine web crawler that knows which pages matter while it crawls.

The Python API uses the terms of the command line. A crawl in five lines:

>>> from minicrawl import Crawl, Settings
>>> settings = Settings.of(pages=100, scope="host", store="docs.db")
>>> crawl = Crawl(["https://docs.example.org/"], settings)  # doctest: +SKIP
>>> reason = crawl.run()  # doctest: +SKIP
>>> best = [page.url for page in crawl.pages(10)]  # doctest: +SKIP

To watch a crawl, call `crawl.subscribe(listener)`: the listener receives every `Asked`,
`Settled`, `Delayed`, `Noted`, `Warned`, `Steered` and `Ended`. This module is cheap to import: a
name is imported on first access.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from minicrawl.app import Crawl
    from minicrawl.config import Loaded, Settings
    from minicrawl.crawl.events import (
        Asked,
        Delayed,
        Ended,
        Event,
        Noted,
        Reason,
        Settled,
        Steered,
        Warned,
    )
    from minicrawl.crawl.progress import Progress
    from minicrawl.crawl.workers.scoring import PageRead
    from minicrawl.errors import MinicrawlError
    from minicrawl.report.selected_pages import ExportRow
    from minicrawl.results import PageTable, Store, StoredPage
    from minicrawl.states import State

_HOMES = {
    name: f"minicrawl.{module}"
    for module, names in (
        ("app", "Crawl"),
        ("results", "PageTable Store StoredPage"),
        ("config", "Settings Loaded"),
        ("crawl.events", "Asked Delayed Ended Event Noted Reason Settled Steered Warned"),
        ("crawl.workers.scoring", "PageRead"),
        ("crawl.progress", "Progress"),
        ("errors", "MinicrawlError"),
        ("report.selected_pages", "ExportRow"),
        ("states", "State"),
    )
    for name in names.split()
}

__all__ = [
    "Asked",
    "Crawl",
    "Delayed",
    "Ended",
    "Event",
    "ExportRow",
    "Loaded",
    "MinicrawlError",
    "Noted",
    "PageRead",
    "PageTable",
    "Progress",
    "Reason",
    "Settings",
    "Settled",
    "State",
    "Steered",
    "Store",
    "StoredPage",
    "Warned",
    "__version__",
]

if not TYPE_CHECKING:  # hides `__getattr__` from the type checker, which knows the names

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(home), name)

    def __dir__() -> list[str]:
        """Return the names of the API, for completion, without importing them."""
        return sorted(__all__)
