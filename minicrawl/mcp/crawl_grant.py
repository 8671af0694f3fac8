"""The grant of an agent, and the crawl that it starts: a process of its own.

    STORE PAGES URL...     prints its summary as JSON

Laws: the settings, the command and the limits of a store stay as they were, so that its own next
run goes on as before. A new store keeps the granted folders as its scope.
"""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.web.urls import canonical_seed

_LONGEST = "10m"


@dataclass(frozen=True, slots=True)
class CrawlGrant:
    """Permission by the user: folders that pages must be in, and a maximum number of pages."""

    below: Sequence[str]
    """URLs that name the folders, and that crawls begin with."""
    pages: int

    @classmethod
    def of(cls, urls: Sequence[str], pages: int) -> "CrawlGrant":
        """Return the grant; raise UsageError if one of the URLs is invalid."""
        below = []
        for url in urls:
            seed = canonical_seed(url)
            if seed is None:
                raise UsageError(f"--allow-crawl: {url!a} is not a URL")
            below.append(seed)
        return cls(below, pages)

    def pattern(self) -> str:
        """Return the pattern of URLs that may be requested."""
        names = "|".join(re.escape(folder.partition("://")[2]) for folder in self.folders())
        return f"^https?://({names})"

    def folders(self) -> list[str]:
        """Return the granted folders, each with a slash at its end."""
        return [f"{url.partition('?')[0].rpartition('/')[0]}/" for url in self.below]


def crawl_within(grant: CrawlGrant, store: Path) -> None:
    """Crawl the granted pages that are in the scope of the store, too."""
    from minicrawl.app import Crawl
    from minicrawl.cli.crawl.session import RunOptions, Session
    from minicrawl.cli.options import CONFIG_VARIABLE, loaded_from

    given: dict[str, object] = {"new_pages": grant.pages, "for_": _LONGEST, "store": str(store)}
    given |= {"continuous": False, "check": ("none",)}
    if not store.exists():
        given["scope"] = "prefix"
    chosen = os.environ.get(CONFIG_VARIABLE)
    loaded = loaded_from(given, Path(chosen) if chosen else None)
    granted = re.compile(grant.pattern())
    crawl = Crawl(grant.below, loaded, aside=True, accept=lambda url: bool(granted.match(url)))
    Session(crawl, RunOptions(resume="", quiet=True, as_json=True)).run()


def main() -> None:
    """Run the crawl of an agent in a process of its own."""
    try:
        crawl_within(CrawlGrant.of(sys.argv[3:], int(sys.argv[2])), Path(sys.argv[1]))
    except MinicrawlError as error:
        sys.exit(str(error))
