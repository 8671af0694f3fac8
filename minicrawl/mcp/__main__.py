"""A crawl for an agent: `python -m minicrawl.mcp STORE PAGES URL...` prints its summary as JSON.

Laws: the settings, the command and the limits of a store stay as they were, so that its own next
run goes on as before. A new store keeps the granted folders as its scope.
"""

import os
import re
import sys
from pathlib import Path

from minicrawl.app import Crawl
from minicrawl.cli.crawl_session import RunOptions, Session
from minicrawl.cli.setting_options import CONFIG_VARIABLE, loaded_from
from minicrawl.errors import MinicrawlError
from minicrawl.mcp.crawling import CrawlGrant

_LONGEST = "10m"


def crawl_within(grant: CrawlGrant, store: Path) -> None:
    """Crawl the granted pages that are in the scope of the store, too."""
    given: dict[str, object] = {"new_pages": grant.pages, "for_": _LONGEST, "store": str(store)}
    given |= {"continuous": False, "check": ("none",)}
    if not store.exists():
        given["scope"] = "prefix"
    chosen = os.environ.get(CONFIG_VARIABLE)
    loaded = loaded_from(given, Path(chosen) if chosen else None)
    granted = re.compile(grant.pattern())
    crawl = Crawl(grant.below, loaded, aside=True, accept=lambda url: bool(granted.match(url)))
    Session(crawl, RunOptions(resume="", quiet=True, as_json=True)).run()


if __name__ == "__main__":
    try:
        crawl_within(CrawlGrant.of(sys.argv[3:], int(sys.argv[2])), Path(sys.argv[1]))
    except MinicrawlError as error:
        sys.exit(str(error))
