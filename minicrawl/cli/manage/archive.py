"""Files of a store: `minicrawl archive` describes those of kept pages, `move` moves all."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli.options import given_options
from minicrawl.cli.output import show_facts, show_json, show_list
from minicrawl.cli.parameters import number, option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option, own_store_option, store_with_pages_option
from minicrawl.wording import counted, visible

if TYPE_CHECKING:
    from minicrawl.archive.reader import ArchiveReader
    from minicrawl.archive.replay import Replayed

_QA_PAGES = 20


@click.command()
@click.argument(
    "folder", metavar="[PLACE]", required=False, type=click.Path(exists=True, path_type=Path)
)
@with_options
@json_option
@store_with_pages_option
def archive(
    folder: Path | None,
    store: Path,
    as_json: bool,
    verifies: bool = switch(
        "Verify all records, and list damaged ones. Exits 1 if there are any.", flag="--verify"
    ),
    report: Path | None = option(
        "Replay a sample of pages in a browser, and write their pictures to FILE (HTML).",
        flag="--qa",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
    ),
    qa_pages: int | None = number("Number of pages that --qa replays.", usual=_QA_PAGES),
) -> None:
    """Describe, verify or replay kept pages.

    PLACE is the folder of an archive, with or without its store. The default is the archive of the
    store. With --verify, PLACE may also be a WARC, WACZ or CDXJ file of any program, or a folder
    with some: digests, lengths, references of revisits, manifests and indexes are compared.

    With --qa, pages are drawn by importance and opened twice in chromium, which gets all files
    from the archive: as recorded (the DOM of --render, or the page without its scripts), and as
    replayed, with scripts. The table has the shares of text and picture that are equal, and the
    requests without a response, worst pages first.
    """
    if report is not None and (folder is not None or verifies):
        raise click.UsageError("--qa needs a store, and cannot be combined with --verify")
    if qa_pages is not None and report is None:
        raise click.UsageError("--qa-pages needs --qa")
    if report is not None:
        _replay(store, report, qa_pages or _QA_PAGES, as_json=as_json)
        return
    if folder is not None and "store" in given_options():
        raise click.UsageError("--store and PLACE cannot be combined")
    from minicrawl.archive.objects.moved_file import STUB
    from minicrawl.fetch.warc.verification import verifiable

    files = [] if folder is None else verifiable(folder)
    moved = [] if folder is None else sorted(folder.glob(f"*.warc.gz{STUB}"))
    if files or moved:
        if not verifies:
            raise click.UsageError(f"{folder} is no archive of a store: only --verify reads it")
        _verify_files(files, moved, as_json=as_json)
        return
    (_verify if verifies else _describe)(store, folder, as_json=as_json)


def _replay(store: Path, report: Path, count: int, *, as_json: bool) -> None:
    from minicrawl.archive.replay import ReplayedArchive
    from minicrawl.crawl.rendering.pool import find_browser
    from minicrawl.own_files import replacing
    from minicrawl.report.archived import replay_quality
    from minicrawl.report.archived.page_versions import kept_pages
    from minicrawl.report.snapshot import snapshot

    program = find_browser(None)
    from minicrawl.crawl.rendering.replay import replays

    with snapshot(store) as view, kept_pages(view) as reader, progress("pages") as advance:
        pages = list(replay_quality.sample(view, reader, count))
        replayed: list[Replayed] = []
        for page in replays(program, pages, ReplayedArchive(reader)):
            replayed.append(page)
            advance(len(replayed) / len(pages))
    rated = replay_quality.worst_first(replayed)
    with replacing(report) as file:
        file.writelines(part.encode() for part in replay_quality.html(rated))
    if as_json:
        show_json([row for row, _ in rated])
        return
    lines = [
        (f"{row.text:.0%}", f"{row.picture:.0%}", f"{row.failed:,}", row.url) for row, _ in rated
    ]
    show_list(("text", "picture", "failed", "url"), lines, texts=1)


def _describe(store: Path, folder: Path | None, *, as_json: bool) -> None:
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


def _verify_files(files: list[Path], moved: list[Path], *, as_json: bool) -> None:
    from minicrawl.archive.objects.moved_file import stub_of
    from minicrawl.fetch.warc.verification import Verification

    stubs = filter(None, (stub_of(path.with_name(path.stem)) for path in moved))
    objects = (
        f"{stub.url}/{stub.key} is not what was moved there"
        for stub in stubs
        if not stub.is_whole()
    )
    verification, wrong = Verification(), list[str]()
    for line in chain(verification.problems(files), objects):
        wrong.append(line)
        if not as_json:
            click.echo(visible(line))
    if as_json:
        unverified, records = dict(verification.unverified), verification.records
        show_json({"ok": not wrong, "records": records, "wrong": wrong, "unverified": unverified})
    else:
        for kind, count in verification.unverified.items():
            click.echo(f"not verified: {count:,} {kind}", err=True)
        if not wrong:
            there = f", {counted(len(moved), 'file')} in an object store" if moved else ""
            click.echo(f"ok: {counted(verification.records, 'record')}{there}")
    click.get_current_context().exit(1 if wrong else 0)


@contextmanager
def _opened(store: Path, folder: Path | None) -> "Iterator[tuple[ArchiveReader, list[str]]]":
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


@click.command()
@click.argument("new", type=click.Path())
@json_option
@own_store_option
def move(new: str, store: Path, as_json: bool) -> None:
    """Move the store and its files to NEW, a file or a folder.

    A NEW that ends in / is a folder. Missing folders are created.

    Files of a store have its name followed by `-` or `.log`: ranks, the link index, kept pages,
    logs. A store cannot be moved while a crawl writes it. Repeat the command to complete an
    interrupted move.
    """
    from minicrawl.store.disk.files import move as move_store

    def say(folder: Path) -> None:
        click.echo(f"made the folder {visible(str(folder))}", err=True)

    files = move_store(store, Path(new), is_folder=new.endswith("/"), made=say)
    if as_json:
        show_json(files)
    else:
        for file in files:
            click.echo(visible(str(file)))
