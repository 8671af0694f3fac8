"""`minicrawl archive`: the pages that are kept, as files."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click

from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.cli.common.stores import json_option, store_option
from minicrawl.cli.common.tables import show_facts, show_json
from minicrawl.export.cells import visible
from minicrawl.report.pages import folder_of, kept_pages
from minicrawl.report.snapshot import snapshot

folder_argument = click.argument(
    "folder",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)


@click.group()
def archive() -> None:
    """Describe or verify the pages that are kept.

    FOLDER is an archive; its store need not be there. The default is the archive of the store.
    """


@archive.command()
@folder_argument
@json_option
@store_option
def info(folder: Path | None, store: Path, as_json: bool) -> None:
    """Show how much is kept in FOLDER."""
    with closing(ArchiveReader(folder_of(store, folder), _end(store, folder))) as reader:
        found = dict(_facts(reader))
    if as_json:
        show_json(found)
    else:
        show_facts((name, f"{value:,}") for name, value in found.items())


@archive.command("verify")
@folder_argument
@json_option
@store_option
def verify_command(folder: Path | None, store: Path, as_json: bool) -> None:
    """Read all records in FOLDER, and name those that are damaged.

    Exits with 1 if there is one.
    """
    with closing(ArchiveReader(folder_of(store, folder), _end(store, folder))) as reader:
        wrong = list(verify(reader))
        records = sum(one.records for one in reader.index.totals(reader.end))
    if as_json:
        show_json({"ok": not wrong, "records": records, "wrong": wrong})
    else:
        for line in wrong or [f"ok: {records:,} records"]:
            click.echo(visible(line))
    click.get_current_context().exit(1 if wrong else 0)


def _end(store: Path, folder: Path | None) -> int | None:
    """What the store does not know of is no part of its archive."""
    if folder is not None:
        return None
    with snapshot(store) as seen, kept_pages(seen) as found:
        return found.end


def _facts(reader: ArchiveReader) -> Iterator[tuple[str, int]]:
    totals = reader.index.totals(reader.end)
    yield from ((f"{one.kind.name.lower()} records", one.records) for one in totals)
    yield "bytes", sum(one.record_bytes for one in totals)
    yield "segments", len(reader.segments.numbers())
