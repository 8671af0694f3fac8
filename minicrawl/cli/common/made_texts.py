"""Main text and Markdown of pages, which a room brings."""

from minicrawl import plugins
from minicrawl.cli import is_missing

MAIN, MARKDOWN = "main", "markdown"


def refuse_without_text(name: str, option: str) -> None:
    """Raise if the option needs a text of the room `text`, which is not installed."""
    if name in {MAIN, MARKDOWN} and name not in plugins.entry_points(plugins.TEXTS):
        raise is_missing(option, "text")
