"""`minicrawl check --cloaking`: whether a browser is served another page."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from minicrawl.app import SystemClock
from minicrawl.checking import Cloaking, PageAnswer, check_cloaking
from minicrawl.cli.common.options import CONFIG_VARIABLE, loaded_from
from minicrawl.cli.common.stores import progress
from minicrawl.cli.common.tables import share, show_facts, show_json
from minicrawl.config import Settings
from minicrawl.errors import UsageError
from minicrawl.web.urls import canonical_seed
from minicrawl.wording import counted


def is_cloaked(url: str, *, as_json: bool) -> bool:
    """Check a page, show the findings, and return whether it is served differently."""
    wanted = canonical_seed(url)
    if wanted is None:
        raise UsageError(f"--cloaking: {url!a} is not a URL")
    with progress("four requests"):
        found = asyncio.run(check_cloaking(wanted, _settings(), SystemClock()))
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(_facts(found))
    return found.is_cloaked


def _settings() -> Settings:
    """Return the settings of a crawl, from the environment and the settings file."""
    chosen = os.environ.get(CONFIG_VARIABLE)
    return loaded_from({}, Path(chosen) if chosen else None).settings


def _facts(found: Cloaking) -> Iterator[tuple[str, str]]:
    yield "crawler", _told(found.crawler[0])
    yield "browser", _told(found.browser[0])
    yield "text", f"{share(found.likeness)} alike, and {share(found.steadiness)} for one name"
    yield "links", f"{share(found.links)} alike"
    for one in found.differences:
        yield one.what, f"crawler: {one.crawler or 'none'}; browser: {one.browser or 'none'}"
    for name, is_crawler in (("crawler", True), ("browser", False)):
        for line in found.only_for(crawler=is_crawler) if found.is_cloaked else ():
            yield f"only for {name}", line[:_LONGEST]
    yield "verdict", _verdict(found)


_LONGEST = 200


def _told(answer: PageAnswer) -> str:
    if answer.why:
        return f"{answer.url}: {answer.why}"
    links, vary = counted(len(answer.page.links), "link"), ", Vary: User-Agent"
    return f"{answer.url}: {answer.page.title!r}, {links}{vary if answer.varies else ''}"


def _verdict(found: Cloaking) -> str:
    if found.is_cloaked:
        return "served differently"
    if found.is_unsteady:
        return "not known: the page changes too much by itself"
    return "the same for both"
