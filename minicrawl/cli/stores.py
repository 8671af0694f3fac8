"""`minicrawl import` and `minicrawl move`: a store of WARC files, and a store in another place."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.common.options import CommandWithSettings, loaded_options, naming
from minicrawl.cli.common.stores import json_option, own_store_option, progress
from minicrawl.cli.common.tables import show_facts, show_json
from minicrawl.config import Loaded
from minicrawl.export.cells import visible
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.crawl.recorded import WarcImport
    from minicrawl.report.status import Status


_OF_REQUESTS = ("warc", "check-external", "check-assets")
"""Settings of crawls that say nothing to one that asks for nothing."""


@click.command("import", cls=CommandWithSettings)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@loaded_options("types", "store", without=_OF_REQUESTS)
def import_(files: tuple[Path, ...], loaded: Loaded, as_json: bool) -> None:
    """Make a new store of what is recorded in FILES, without fetching anything.

    FILES are WARC files of any program: plain, .gz or .zst, or several in a .wacz. The records are
    read in their order, as if a crawl had received these answers. All commands work on the store,
    and `minicrawl crawl` goes on with the pages that were not recorded. The answers are kept beside
    the store, where `page` and `search` find them; with --requisites so are images, styles and the
    like, for the pages that need them.
    """
    from minicrawl.crawl.recorded import import_warcs
    from minicrawl.report.status import status

    settings = loaded.settings.with_values({"max-tries": 1})
    with progress("import") as tell:
        made = import_warcs(files, settings, _warn, tell)
    found = status(made.store)
    if as_json:
        show_json({"store": str(made.store), "records": made.records, "skipped": made.skipped})
    else:
        show_facts(_facts(made, found))


_FIRST_PLURAL = re.compile(r"(record|revisit)s")


def _warn(line: str) -> None:
    click.echo(f"{PROGRAM}: {visible(line)}", err=True)


def _facts(made: "WarcImport", found: "Status") -> Iterator[tuple[str, str]]:
    yield "store", str(made.store)
    yield "records", f"{made.records:,}"
    known = f"{found.pages_known:,} known on {counted(found.hosts, 'host')}"
    yield "pages", f"{found.pages_fetched or 0:,} read, of {known}"
    for name, counts in (("failed", found.failures), ("refused", found.refusals)):
        if counts:
            yield name, ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    for reason, count in sorted(made.skipped.items(), key=lambda item: -item[1]):
        yield "left out", f"{count:,} {_one(reason) if count == 1 else reason}"
    if found.convergence is not None and found.convergence.is_complete:
        yield "next step", f"`minicrawl top{naming(made.store)}` shows the most important pages"
    else:
        yield "next step", f"`minicrawl refine{naming(made.store)}` makes the ranks converge"


@click.command()
@click.argument("new", type=click.Path())
@json_option
@own_store_option
def move(new: str, store: Path, as_json: bool) -> None:
    """Move the store to NEW, a file or a folder, with all that belongs to it.

    A NEW that ends in / is a folder. Folders that do not exist are made.

    That is everything whose name is that of the store followed by `-` or `.log`: ranks, the index
    of links, the pages that were kept, logs. A store is not moved while a crawl writes it. If a
    move was interrupted, the same command completes it.
    """
    from minicrawl.store.files import move as move_store

    files = move_store(store, Path(new), is_folder=new.endswith("/"), made=_tell_of_folder)
    if as_json:
        show_json([str(file) for file in files])
    else:
        for file in files:
            click.echo(visible(str(file)))


def _tell_of_folder(folder: Path) -> None:
    click.echo(f"made the folder {visible(str(folder))}", err=True)


def _one(reason: str) -> str:
    """A reason in the singular: `1 record of robots.txt`."""
    return _FIRST_PLURAL.sub(r"\1", reason, count=1)
