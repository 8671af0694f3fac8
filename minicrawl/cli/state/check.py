"""`minicrawl check`: a store against its laws, and a server against cloaking."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli.options import CONFIG_VARIABLE, loaded_from
from minicrawl.cli.output import share, show_facts, show_json
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option, store_option
from minicrawl.errors import UsageError
from minicrawl.wording import counted, visible

if TYPE_CHECKING:
    from minicrawl.checking.cloaking_judgement import Cloaking, PageAnswer


@click.command()
@click.option(
    "--cloaking",
    "url",
    metavar="URL",
    help="Check whether the server sends browsers another version of this page, instead of the "
    "store. Sends four requests, as politely as a crawl.",
)
@json_option
@store_option
@click.pass_context
def check(context: click.Context, store: Path, url: str | None, as_json: bool) -> None:
    """Verify a store: the file, the links, every atom of cash.

    Prints a line per problem, and exits 1 if there is any.
    """
    if url is not None:
        context.exit(1 if is_cloaked(url, as_json=as_json) else 0)
    from minicrawl.report.integrity.audit import audit

    with progress("check") as advance:
        report = audit(store, advance)
    if as_json:
        show_json(report)
    else:
        for line in report.lines():
            click.echo(visible(line))
    context.exit(0 if report.is_intact else 1)


def is_cloaked(url: str, *, as_json: bool) -> bool:
    """Check a page, show the findings, and return whether it is served differently."""
    import asyncio

    from minicrawl.app import SystemClock
    from minicrawl.checking.cloaking import check_cloaking
    from minicrawl.web.urls import canonical_seed

    seed = canonical_seed(url)
    if seed is None:
        raise UsageError(f"--cloaking: {url!a} is not a URL")
    chosen = os.environ.get(CONFIG_VARIABLE)
    settings = loaded_from({}, Path(chosen) if chosen else None).settings
    with progress("four requests"):
        cloaking = asyncio.run(check_cloaking(seed, settings, SystemClock()))
    if as_json:
        show_json(cloaking)
    else:
        show_facts(_cloaking_facts(cloaking))
    return cloaking.is_cloaked


def _cloaking_facts(cloaking: "Cloaking") -> Iterator[tuple[str, str]]:
    yield "crawler", _told(cloaking.crawler[0])
    yield "browser", _told(cloaking.browser[0])
    same_name = f"{share(cloaking.steadiness)} for the same User-Agent"
    yield "text", f"{share(cloaking.likeness)} alike; between two responses, {same_name}"
    yield "links", f"{share(cloaking.links)} alike"
    for difference in cloaking.differences:
        yield (
            difference.what,
            f"crawler: {difference.crawler or 'none'}; browser: {difference.browser or 'none'}",
        )
    for name, is_crawler in (("crawler", True), ("browser", False)):
        for line in cloaking.only_for(crawler=is_crawler) if cloaking.is_cloaked else ():
            yield f"only for {name}", line[:_LONGEST]
    is_unsteady = "not known: the page changes too much by itself"
    same = is_unsteady if cloaking.is_unsteady else "the same for both"
    yield "verdict", "served differently" if cloaking.is_cloaked else same


_LONGEST = 200


def _told(answer: "PageAnswer") -> str:
    if answer.why:
        return f"{answer.url}: {answer.why}"
    links, vary = counted(len(answer.page.links), "link"), ", Vary: User-Agent"
    return f"{answer.url}: {answer.page.title!r}, {links}{vary if answer.varies else ''}"
