"""What pages need to be shown is kept with them: images, styles, scripts, fonts, media.

Laws: what is in the archive is not asked for, and each other URL once a day, by the gate of the
crawl. An answer is in the archive, and in WARC files that are written, before the store
says so.

requisite  a URL that a page needs to be shown, or that a style needs
round      the requisites of pages; then what their styles need, what those need, and so on
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import closing
from urllib.parse import urlsplit

from minicrawl.archive.packing import pack_file
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer
from minicrawl.checking.asking import Hops, LinkAsker
from minicrawl.crawl.parts import CrawlContext
from minicrawl.errors import Damaged
from minicrawl.model import KeptAnswer, Want
from minicrawl.report.links.requisites import is_style, needed_by_style
from minicrawl.store import tables
from minicrawl.store.beside.checks import CheckRow
from minicrawl.store.reader import archive_folder, reading

MOST_ROUNDS = 5
"""Styles that import one another are followed so far."""


async def keep_requisites(
    context: CrawlContext, asker: LinkAsker, needed: Mapping[str, bool], vain: Set[str]
) -> tuple[int, list[CheckRow]]:
    """Keep what pages need, as far as it is not kept; of each URL whether it must be a style.

    What is in `vain` was asked for lately and was not there. Gives how many answers are new, and
    what came of each request.
    """
    store = context.settings.storing.store
    with closing(ArchiveReader(archive_folder(store), _end(context))) as archive:
        requisites = _Requisites(context, archive, vain)
        await requisites.run(asker, needed)
        return requisites.kept, requisites.rows


def _end(context: CrawlContext) -> int:
    """The end of the archive, as of the last commit."""
    with reading(context.settings.storing.store) as connection:
        end = tables.archive_end(connection)
    assert end is not None  # or there is nothing to keep them with
    return end


class _Requisites:
    """The requisites on their way to the archive."""

    def __init__(self, context: CrawlContext, archive: ArchiveReader, vain: Set[str]) -> None:
        self.kept, self.rows = 0, list[CheckRow]()
        self._context, self._archive, self._vain = context, archive, vain

    async def run(self, asker: LinkAsker, needed: Mapping[str, bool]) -> None:
        """All rounds."""
        seen: set[str] = set()

        def keep(hops: Hops) -> None:
            self.rows.append(asker.row_of(hops))
            self._keep(hops)

        for _ in range(MOST_ROUNDS):
            new = {url: must_be for url, must_be in needed.items() if url not in seen}
            if not new:
                return
            seen |= new.keys()
            wanted = new.keys() - self._vain
            missing = [url for url in wanted if not self._archive.versions(url)]
            await asker.ask(missing, keep, (Want.RESOURCE,))
            await self._context.recorder.committer.written()
            self._archive.go_on_to(_end(self._context))
            needed = dict(self._needed_by_styles(new))

    def _keep(self, hops: Hops) -> None:
        for url, found in hops:
            if (record := pack_file(url, found)) is not None:
                answer = KeptAnswer(record, self._context.clock.today(), url)
                self._context.recorder.keep(None, answer)
                self.kept += 1

    def _needed_by_styles(self, urls: Mapping[str, bool]) -> Iterator[tuple[str, bool]]:
        for url, must_be_a_style in urls.items():
            if must_be_a_style or urlsplit(url).path.endswith(".css"):
                for answer in self._answers(url):
                    yield from needed_by_style(answer)

    def _answers(self, url: str) -> Iterable[Answer]:
        """The last answer that is kept, if it is a style or leads to one."""
        rows = self._archive.versions(url)
        try:
            answer = self._archive.answer(rows[-1].place) if rows else None
        except Damaged:  # `minicrawl check` names it
            return []
        return [answer] if answer is not None and is_style(answer) else []
