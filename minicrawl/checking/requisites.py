"""What pages need to be shown is kept with them: images, styles, scripts, fonts, media.

Laws: what is in the archive is not asked for, and each other URL once a day, as politely as
`polite` says. An answer is in the archive, and in WARC files that are written, before the store
says so.

requisite  a URL that a page needs to be shown, or that a style needs
round      the requisites of pages; then what their styles need, what those need, and so on
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import closing
from urllib.parse import urlsplit

from minicrawl.archive.packing import pack_file
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer
from minicrawl.checking.asking import Hops, LinkAsker
from minicrawl.config import Storing
from minicrawl.crawl.events import Listener
from minicrawl.crawl.settle.keeping import ArchivingStore, open_keeping
from minicrawl.errors import Damaged
from minicrawl.model import KeptAnswer, Want
from minicrawl.report.links.requisites import is_style, needed_by_style
from minicrawl.store import tables
from minicrawl.store.beside.checks import CheckRow
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter

MOST_ROUNDS = 5
"""Styles that import one another are followed so far."""
_WRITTEN_AT_ONCE = 4 << 20
"""Bytes of answers that may wait to be written."""


async def keep_requisites(
    storing: Storing,
    asker: LinkAsker,
    today: Callable[[], float],
    tell: Listener,
    needed: Mapping[str, bool],
    vain: Set[str],
) -> tuple[int, list[CheckRow]]:
    """Keep what pages need, as far as it is not kept; of each URL whether it must be a style.

    What is in `vain` was asked for lately and was not there. Gives how many answers are new, and
    what came of each request.
    """
    with closing(StoreWriter.open(storing.store)) as store:
        keeping = open_keeping(store, storing, tell)
        with closing(keeping):
            assert keeping.archive is not None  # or there is nothing to keep them with
            archiving = ArchivingStore(store, keeping)
            requisites = _Requisites(archiving, keeping.archive.reader, vain)
            await requisites.run(asker, today, needed)
            return requisites.kept, requisites.rows


class _Requisites:
    """The requisites on their way to the archive."""

    def __init__(self, store: ArchivingStore, archive: ArchiveReader, vain: Set[str]) -> None:
        self.kept, self.rows = 0, list[CheckRow]()
        self._store, self._archive, self._vain = store, archive, vain
        self._waiting: list[KeptAnswer] = []
        self._waiting_bytes = 0

    async def run(
        self, asker: LinkAsker, today: Callable[[], float], needed: Mapping[str, bool]
    ) -> None:
        """All rounds."""
        seen: set[str] = set()

        def keep(hops: Hops) -> None:
            self.rows.append(asker.row_of(hops))
            self._add(hops, today())

        for _ in range(MOST_ROUNDS):
            new = {url: must_be for url, must_be in needed.items() if url not in seen}
            if not new or asker.is_halted:
                return
            seen |= new.keys()
            wanted = new.keys() - self._vain
            missing = [url for url in wanted if not self._archive.versions(url)]
            await asker.ask(missing, keep, (Want.RESOURCE,))
            self._write()
            needed = dict(self._needed_by_styles(new))

    def _add(self, hops: Hops, at: float) -> None:
        for url, found in hops:
            if (record := pack_file(url, found)) is None:
                continue
            self._waiting.append(KeptAnswer(record, at, url))
            self._waiting_bytes += len(record)
            self.kept += 1
        if self._waiting_bytes >= _WRITTEN_AT_ONCE:
            self._write()

    def _write(self) -> None:
        """What waits is in the store from now on."""
        if self._waiting:
            counters = tables.counters(self._store.connection)
            self._store.commit(Batch(counters=counters, answers=self._waiting))
            self._waiting, self._waiting_bytes = [], 0
        end = tables.archive_end(self._store.connection)
        assert end is not None
        self._archive.go_on_to(end)

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
