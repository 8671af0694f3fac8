"""Keeps the files that a browser needs to show a page: images, styles, scripts, fonts, media; and
linked files of any kind, if they are within the scope.

Laws: files in the archive are not requested again, and a URL that failed is requested again after
a day at the earliest, through the gate of the crawl. A response is in the archive, and in the
WARC files if these are written, before the store says so.

requisite  URL of a file that a browser needs to show a page, or that a style needs
round      requests for the requisites of pages; then for those of their styles, and so on
"""

import asyncio
from collections.abc import Iterable, Mapping, Set
from tempfile import TemporaryFile
from typing import IO

from minicrawl.archive.packing import pack_any
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, RecordKind, pack_spooled
from minicrawl.checking.link_asker import VALID_S, Hops, LinkAsker
from minicrawl.crawl.parts import CrawlContext
from minicrawl.errors import Damaged
from minicrawl.model import KeptAnswer, Moved, Response, Want
from minicrawl.report.archived.requisites import may_lead_on, needed_by_file
from minicrawl.store import tables
from minicrawl.store.derived.checks import CheckRow
from minicrawl.store.reader import archive_folder, reading

MOST_ROUNDS = 100
"""Limit of rounds, for an endless series of styles that import one another."""


def _end(context: CrawlContext) -> int:
    """Return the end of the archive, as of the last commit."""
    with reading(context.settings.storing.store) as connection:
        end = tables.archive_end(connection)
    assert end is not None  # without an archive, requisites are not kept
    return end


class KeptFiles:
    """Requests files, and keeps the responses: their number, and the result of each request."""

    def __init__(self, context: CrawlContext, failed: Set[str]) -> None:
        """Open the archive. URLs in `failed` failed lately and are not requested."""
        self.kept, self.rows = 0, list[CheckRow]()
        self._context, self._failed = context, failed
        folder = archive_folder(context.settings.storing.store)
        self._archive = ArchiveReader(folder, _end(context))
        self.close = self._archive.close

    async def run(self, asker: LinkAsker, needed: Mapping[str, bool]) -> None:
        """Run all rounds. The values of `needed` tell whether a file may need more files."""
        names: set[str] = set()
        for _ in range(MOST_ROUNDS):
            new = {url: leads_on for url, leads_on in needed.items() if url not in names}
            if not new:
                return
            names |= new.keys()
            await self.ask(asker, new)
            self._archive.go_on_to(_end(self._context))
            # The archive has been committed, and is read with the new files: what they need is the
            # next round.
            needed = {
                file: leads_further
                for url, leads_on in new.items()
                if leads_on or may_lead_on(url)
                for answer in self._answers(url)
                for file, leads_further in needed_by_file(answer)
            }

    async def ask(self, asker: LinkAsker, urls: Iterable[str], *, in_scope: bool = False) -> None:
        """Request the URLs that are not kept, and keep the responses."""

        async def keep(hops: Hops) -> None:
            self.rows.append(asker.row_of(hops))
            await self._keep(hops)

        # A failure of a day ago or longer is as good as nothing.
        since = self._context.clock.today() - VALID_S
        missing = [
            url
            for url in set(urls) - self._failed
            if all(
                row.kind == RecordKind.FAILURE and row.at <= since
                for row in self._archive.versions(url)
            )
        ]
        await asker.ask(missing, keep, (Want.FILE,), in_scope=in_scope)
        await self._context.recorder.committer.written()

    async def _keep(self, hops: Hops) -> None:
        recorder, today = self._context.recorder, self._context.clock.today()
        for url, result in hops:
            if isinstance(result, Response) and result.spooled is not None:
                payload: IO[bytes] = TemporaryFile()  # noqa: SIM115  # the archive closes it
                with result.spooled as body:
                    record = await asyncio.to_thread(pack_spooled, url, result, body, payload)
                recorder.keep(None, KeptAnswer(record, today, url, payload=payload))
                await recorder.committer.written()
            elif (packed := pack_any(url, result)) is not None:
                recorder.keep(None, KeptAnswer(packed, today, url))
            self.kept += isinstance(result, Response | Moved)

    def _answers(self, url: str) -> Iterable[Answer]:
        """Return the last kept response, if it can be read and is not longer than --max-body."""
        rows = [row for row in self._archive.versions(url) if row.kind != RecordKind.FAILURE]
        most = self._context.settings.network.max_body_bytes
        try:
            last = [row.place for row in rows[-1:]]
            short = [at for at in last if self._archive.segments.header(at).body_bytes <= most]
            return [self._archive.answer(at) for at in short]
        except Damaged:  # `minicrawl check` reports it
            return []
