"""`minicrawl archive`: the files of kept pages."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.archive.segments import held
from minicrawl.archive.writer import PruneRules, Pruning
from minicrawl.cli import PROGRAM
from minicrawl.cli.common.options import given_options
from minicrawl.cli.common.stores import json_option, own_store_option, store_with_pages_option
from minicrawl.cli.common.tables import show_facts, show_json
from minicrawl.crawl.settle.keeping import prune_store
from minicrawl.report.archived_pages import folder_of, kept_pages, keys_of_best, lost_pages, moment
from minicrawl.report.snapshot import snapshot
from minicrawl.store.reader import archive_folder, reading
from minicrawl.wording import counted, visible

folder_argument = click.argument(
    "folder",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)


@click.group()
def archive() -> None:
    """Describe, verify or prune kept pages.

    FOLDER is an archive, with or without its store. The default is the archive of the store.
    """


@archive.command()
@folder_argument
@json_option
@store_with_pages_option
def info(folder: Path | None, store: Path, as_json: bool) -> None:
    """Show the number and size of records in FOLDER."""
    _refuse_both(folder)
    with _opened(store, folder) as reader:
        found = dict(_facts(reader))
    for line in _lost(store, folder):
        click.echo(visible(line), err=True)
    if as_json:
        show_json(found)
    else:
        show_facts((name, f"{value:,}") for name, value in found.items())


@archive.command("verify")
@folder_argument
@json_option
@store_with_pages_option
def verify_command(folder: Path | None, store: Path, as_json: bool) -> None:
    """Verify all records in FOLDER, and list damaged ones.

    Exits 1 if there are any.
    """
    _refuse_both(folder)
    with _opened(store, folder) as reader:
        wrong = [*_lost(store, folder), *verify(reader)]
        records = sum(one.records for one in reader.index.totals(reader.end))
    if as_json:
        show_json({"ok": not wrong, "records": records, "wrong": wrong})
    else:
        for line in wrong or [f"ok: {counted(records, 'record')}"]:
            click.echo(visible(line))
    click.get_current_context().exit(1 if wrong else 0)


@archive.command()
@click.option(
    "--keep-versions",
    "versions",
    metavar="N",
    type=click.IntRange(min=1),
    help="Keep only the last N versions of each page.",
)
@click.option("--before", metavar="TIME", help="Remove versions older than this time.")
@click.option(
    "--best",
    metavar="N",
    type=click.IntRange(min=1),
    help="Keep only versions of the N most important pages.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, without removing it.")
@json_option
@own_store_option
def prune(
    store: Path,
    versions: int | None,
    before: str | None,
    best: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove old or unimportant versions of pages.

    The remaining versions are copied to new files first, so there must be room for them, and no
    crawl may be running. A program that is reading the archive is not disturbed; the next crawl or
    `prune` then removes the old files. Damaged records are listed and removed; then the exit code
    is 1.
    """
    if versions is None and before is None and best is None:
        raise click.UsageError("--keep-versions, --before or --best must say what to remove")
    at = None if before is None else moment(before)
    with snapshot(store) as seen, kept_pages(seen) as reader:
        keys = None if best is None else keys_of_best(seen, best)
        rules = PruneRules(versions=versions, before=at, keys=keys)
        pruning, is_gone = Pruning(reader, rules), True
        pruning.refuse_all(reader)
        damaged = list(verify(reader))
    for line in damaged:
        click.echo(f"{PROGRAM}: damaged, so it goes as well: {visible(line)}", err=True)
    if not dry_run:
        pruning, is_gone = prune_store(store, rules)
    _show_pruning(pruning, as_json, is_gone=is_gone, is_done=is_gone and not dry_run)
    click.get_current_context().exit(1 if damaged else 0)


def _show_pruning(pruning: Pruning, as_json: bool, *, is_gone: bool, is_done: bool) -> None:
    facts = {"answers": pruning.records, "bytes": pruning.record_bytes}
    facts |= {"removed answers": pruning.dropped, "removed bytes": pruning.freed_bytes()}
    if as_json:
        show_json(facts | {"done": is_done})
    else:
        show_facts((name, f"{value:,}") for name, value in facts.items())
        if not is_gone:
            click.echo(
                "another program is reading the old files: the next crawl or prune removes them"
            )


def _refuse_both(folder: Path | None) -> None:
    if folder is not None and "store" in given_options():
        raise click.UsageError("--store and FOLDER cannot be combined")


@contextmanager
def _opened(store: Path, folder: Path | None) -> Iterator[ArchiveReader]:
    """Open the archive as of the last commit of its store.

    It is locked before the store is read, so that a crawl that prunes it meanwhile deletes nothing.
    """
    place = folder_of(store, folder)
    hold = held(place)
    try:
        with closing(ArchiveReader(place, _end(store, folder))) as reader:
            yield reader
    finally:
        if hold is not None:
            os.close(hold)


def _end(store: Path, folder: Path | None) -> int | None:
    """Return the end of the archive, as of the last commit of the store."""
    if folder is not None:
        return None
    with snapshot(store) as seen, kept_pages(seen) as found:
        return found.end


def _lost(store: Path, folder: Path | None) -> list[str]:
    if folder is not None:
        return []
    with reading(store) as connection:
        return list(lost_pages(connection, archive_folder(store)))


def _facts(reader: ArchiveReader) -> Iterator[tuple[str, int]]:
    totals = reader.index.totals(reader.end)
    yield from ((f"{one.kind.name.lower()} records", one.records) for one in totals)
    yield "bytes", sum(one.record_bytes for one in totals)
    yield "segments", len(reader.segments.numbers())
