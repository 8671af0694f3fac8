"""An order: pages nearest to a seed first, and of those the first found.

minicrawl crawl https://docs.example.org/ --strategy nearest
"""

from array import array

from minicrawl.ext import Frontier


class Nearest:
    """Keys of all pages; the page with the largest key is read first."""

    def __init__(self, frontier: Frontier) -> None:
        self.keys = array("q")
        self._depth = frontier.urls.depth

    def grow(self, pages: range) -> None:
        """Add keys for new pages."""
        self.keys.extend(-(self._depth[page] << 40) - page for page in pages)
