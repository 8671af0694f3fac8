"""`minicrawl archive`: the files of kept pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli.options import given_options
from minicrawl.cli.output import show_facts, show_json
from minicrawl.cli.store_options import json_option, store_with_pages_option
from minicrawl.wording import counted, visible

if TYPE_CHECKING:
    from minicrawl.archive.reader import ArchiveReader


folder_argument = click.argument(
    "folder",
    metavar="[PLACE]",
    required=False,
    type=click.Path(exists=True, path_type=Path),
)


@click.command()
@folder_argument
@click.option(
    "--verify",
    "verifies",
    is_flag=True,
    help="Verify all records, and list damaged ones. Exits 1 if there are any.",
)
@json_option
@store_with_pages_option
def archive(folder: Path | None, store: Path, *, verifies: bool, as_json: bool) -> None:
    """Describe or verify kept pages.

    PLACE is the folder of an archive, with or without its store. The default is the archive of the
    store. With --verify, PLACE may also be a WARC, WACZ or CDXJ file of any program, or a folder
    with some: digests, lengths, references of revisits, manifests and indexes are compared.
    """
    if folder is not None and "store" in given_options():
        raise click.UsageError("--store and PLACE cannot be combined")
    from minicrawl.fetch.warc.verification import verifiable

    if folder is not None and (files := verifiable(folder)):
        if not verifies:
            raise click.UsageError(f"{folder} is no archive of a store: only --verify reads it")
        _verify_files(files, as_json=as_json)
        return
    (_verify if verifies else _describe)(store, folder, as_json=as_json)


def _describe(store: Path, folder: Path | None, *, as_json: bool) -> None:
    """Show the number and size of records."""
    with _opened(store, folder) as (reader, lost):
        totals = reader.index.totals(reader.end)
        facts = {f"{kind.name.lower()} records": records for kind, records, _ in totals}
        facts["bytes"] = sum(size for _, _, size in totals)
        facts["segments"] = len(reader.segments.numbers())
    for line in lost:
        click.echo(visible(line), err=True)
    if as_json:
        show_json(facts)
    else:
        show_facts((name, f"{value:,}") for name, value in facts.items())


def _verify(store: Path, folder: Path | None, *, as_json: bool) -> None:
    """List damaged records, and exit 1 if there are any."""
    from minicrawl.archive.reader import verify

    with _opened(store, folder) as (reader, lost):
        wrong = [*lost, *verify(reader)]
        records = sum(records for _, records, _ in reader.index.totals(reader.end))
    if as_json:
        show_json({"ok": not wrong, "records": records, "wrong": wrong})
    else:
        for line in wrong or [f"ok: {counted(records, 'record')}"]:
            click.echo(visible(line))
    click.get_current_context().exit(1 if wrong else 0)


def _verify_files(files: list[Path], *, as_json: bool) -> None:
    """List what is wrong in WARC, WACZ and CDXJ files, and exit 1 if anything is."""
    from minicrawl.fetch.warc.verification import Verification

    verification, wrong = Verification(), list[str]()
    for line in verification.problems(files):
        wrong.append(line)
        if not as_json:
            click.echo(visible(line))
    if as_json:
        unverified, records = dict(verification.unverified), verification.records
        show_json({"ok": not wrong, "records": records, "wrong": wrong, "unverified": unverified})
    else:
        for what, count in verification.unverified.items():
            click.echo(f"not verified: {count:,} {what}", err=True)
        if not wrong:
            click.echo(f"ok: {counted(verification.records, 'record')}")
    click.get_current_context().exit(1 if wrong else 0)


@contextmanager
def _opened(store: Path, folder: Path | None) -> Iterator[tuple[ArchiveReader, list[str]]]:
    """Open the archive as of the last commit of its store; yield it, and what a crawl missed.

    Lock it before reading the store, so that a crawl that prunes it meanwhile deletes no file.
    """
    from minicrawl.archive.reader import ArchiveReader
    from minicrawl.archive.segments import held
    from minicrawl.report.archived.page_versions import folder_of, kept_pages, lost_pages
    from minicrawl.report.snapshot import snapshot

    place = folder_of(store, folder)
    hold, end, lost = held(place), None, list[str]()
    try:
        if folder is None:
            with snapshot(store) as view, kept_pages(view) as archive:
                end, lost = archive.end, list(lost_pages(view.connection, place))
        with closing(ArchiveReader(place, end)) as reader:
            yield reader, lost
    finally:
        if hold is not None:
            os.close(hold)
