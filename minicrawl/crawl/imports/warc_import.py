"""Makes a store of WARC files: a recorded crawl, which names the store when it is complete."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from minicrawl.config import Settings, Storing
from minicrawl.crawl.admission.scope import gate_for
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.imports.recorded_responses import RecordClock, RecordedCrawl, are_files_kept
from minicrawl.crawl.parts import CrawlContext
from minicrawl.crawl.record.archiving import ArchiveSinks, open_places, set_pages_aside
from minicrawl.crawl.refinement.fresh_ranks import refine_for
from minicrawl.crawl.start.opening import opened_crawl
from minicrawl.crawl.start.reach import check_types
from minicrawl.crawl.start.settings import store_terms
from minicrawl.crawl.workers.visitor import visiting
from minicrawl.crawl.workers.worker_config import WorkerConfig
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.fetch.warc.files import warc_files
from minicrawl.fetch.warc.records import MOST_HEAD_BYTES, WarcRecord, WarcRecords
from minicrawl.own_files import drafting
from minicrawl.ports import Progress, unreported
from minicrawl.store.reader import archive_folder, real_path, refuse_to_overwrite
from minicrawl.store.writer import StoreWriter


class WarcImport(NamedTuple):
    """Result of an import."""

    store: Path
    records: int
    skipped: Mapping[str, int]
    """Number of records that no page was read from, by reason."""
    damages: int
    """Number of places where the files are damaged."""


def import_warcs(
    files: Sequence[Path],
    settings: Settings,
    note: Callable[[str], None] = lambda _line: None,
    progress: Progress = unreported,
) -> WarcImport:
    """Make a store of WARC files; `note` is called with each problem.

    The store gets its name when it is complete, and no store is overwritten.
    """
    began = time.monotonic()
    check_types(settings.scope)
    store = settings.storing.store
    refuse_to_overwrite(store)
    place = real_path(store)
    longest = settings.longest_file_bytes if are_files_kept(settings) else 0
    most = max(settings.network.max_body_bytes, longest) + MOST_HEAD_BYTES
    records = _Records(files, most, note, progress)
    with drafting(place) as folder:
        draft = folder / place.name
        storing = replace(settings.storing, store=draft)
        skipped = asyncio.run(_import(records, replace(settings, storing=storing)))
        if not records.count:
            raise UsageError(f"{', '.join(map(str, files))}: no WARC record in it")
        refuse_to_overwrite(store)
        if (pages := archive_folder(draft)).is_dir():
            set_pages_aside(archive_folder(place))
            pages.rename(archive_folder(place))
        draft.rename(place)
    if settings.storing.may_converge:
        try:
            refine_for(store, time.monotonic() - began)
        except (MinicrawlError, OSError) as error:  # the store is complete even so
            note(f"the ranks were not computed: {error}")
    return WarcImport(store, records.count, skipped, records.damages)


async def _import(records: Iterable[WarcRecord], settings: Settings) -> Mapping[str, int]:
    def agree(store: StoreWriter) -> Settings:
        store.agree(store_terms(settings))
        return settings

    def keep(store: StoreWriter, storing: Storing) -> ArchiveSinks:
        return open_places(store, replace(storing, warc=None), nobody_listens)

    path, clock = settings.storing.store, RecordClock()
    async with opened_crawl(agree, path, (), keep=keep, needs_pages=False) as recorder:
        folder = None if recorder.keeping.archive is None else archive_folder(path)
        async with visiting(WorkerConfig.of(settings, archive=folder)) as visitor:
            context = CrawlContext(
                settings=settings,
                recorder=recorder,
                web_access=visitor,
                gate=gate_for(recorder, settings.scope),
                clock=clock,
                emit=nobody_listens,
                wake=lambda: None,
            )
            with closing(RecordedCrawl(context, clock, visitor, folder)) as crawl:
                await crawl.read_all(records)
            return crawl.skipped


class _Records:
    """The records of all files."""

    def __init__(
        self,
        files: Sequence[Path],
        most_bytes: int,
        note: Callable[[str], None],
        progress: Progress,
    ) -> None:
        self._files = [file for named in files for file in warc_files(named)]
        self._most_bytes, self._note, self._progress = most_bytes, note, progress
        self.count = self.damages = 0

    def __iter__(self) -> Iterator[WarcRecord]:
        whole, before = max(sum(file.length for file in self._files), 1), 0
        for file in self._files:
            shown = partial(self._show, before / whole, file.length / whole)
            records = WarcRecords(file, self._most_bytes, self._note, shown)
            for record in records:
                self.count += 1
                yield record
            self.damages += records.damages
            before += file.length

    def _show(self, begin: float, length: float, share: float) -> None:
        self._progress(begin + length * share)
