"""The recorder: applies changes to the frontier at once, and has them committed in batches.

Laws: a step is applied once and written once, in the same order. Nothing is reported as safe before
it is in the store.

pages       pages as known, committed or not
hosts       hosts as earlier runs knew them
seeds       pages that the user named, in this run or an earlier one
counters    numbers that `status` shows
committer   writes all of these
"""

from collections.abc import Collection, Sequence
from functools import partial

from minicrawl.config import Order
from minicrawl.crawl.record.archiving import NOWHERE, ArchiveSinks
from minicrawl.crawl.record.commits import Committer, Counters, UncommittedRows
from minicrawl.crawl.record.known_rows import (
    LoadFrontier,
    SeedPages,
    StoredHosts,
    StoredPages,
    UrlLookup,
)
from minicrawl.crawl.record.store_with_archive import StoreWithArchive
from minicrawl.crawl.shards import WHOLE, Membership
from minicrawl.frontier.importance import CurrentShares
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl
from minicrawl.frontier.url_table import Meeting
from minicrawl.model import KeptAnswer, Originals, OwnRequests, PageId
from minicrawl.opic.ledger.books import Step, StepKind, terms
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.money import in_parts
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.derived import pings
from minicrawl.store.records import FetchRow, HostRow, StepRow, WrittenRow, check_of
from minicrawl.store.writer import StoreWriter


class Recorder:
    """State of a crawl, and the only way to change it."""

    def __init__(
        self,
        store: StoreWriter,
        reader: tables.Connection,
        load: LoadFrontier,
        keeping: ArchiveSinks = NOWHERE,
    ) -> None:
        """Set up with `reader`, which sees the store as of the last commit."""
        self.keeping = keeping
        self._rows = UncommittedRows()
        self.counters = Counters(tables.counters(store.connection))
        self.pages = StoredPages(reader, self._rows, load)
        self.frontier = self.pages.frontier
        self.hosts = StoredHosts(reader, self.frontier)
        self.seeds = SeedPages(self.pages, self.counters)
        self.committer = Committer(
            StoreWithArchive(store, keeping), reader, self._rows, self.frontier, self.counters
        )
        self.shard: Membership = WHOLE
        self.by_value = False
        """True if a scorer gives values to pages in this run."""
        self._shares = CurrentShares(self.frontier)
        self._url_lookup = UrlLookup(store.path)
        self.describe = self._rows.add_document
        """Records the document of a page, as of its last reading."""
        self.kept_pings = partial(pings.kept_pings, store.path, reader)

    @property
    def dictionary(self) -> int:
        """Number of the dictionary with which responses are packed for the archive."""
        archive = self.keeping.archive
        return 0 if archive is None else archive.dictionary

    def close(self) -> None:
        self.committer.close()
        self._url_lookup.close()

    def meet(
        self,
        urls: Sequence[str],
        depth: int,
        originals: Originals = (),
        looked_up: PagesByUrl = NO_PAGES,
    ) -> Meeting:
        """Return the pages of these URLs; the next step must bear the new ones."""
        looked_up = self.shard.meet_foreign(urls, depth, originals, looked_up)
        return self.meet_all(urls, depth, originals, looked_up)

    def meet_all(
        self, urls: Sequence[str], depth: int, originals: Originals, looked_up: PagesByUrl
    ) -> Meeting:
        """Return the pages of these URLs, whichever shard they belong to."""
        meeting = self.frontier.urls.meet(urls, depth, looked_up)
        self._rows.batch.hosts += meeting.hosts
        self._rows.add_urls(meeting.urls)
        if originals:
            written, origins = dict(originals), self.frontier.urls.origins
            new = ((row.id, origins[row.host] + row.path) for row in meeting.urls)
            pairs = [(page, written[url]) for page, url in new if url in written]
            self._rows.batch.originals += pairs
        return meeting

    async def look_up_urls(self, urls: Collection[str]) -> PagesByUrl:
        """Return the pages of the known URLs. The crawl continues while the store is queried."""
        pages, candidates = self.frontier.urls.find_recent(urls)
        if candidates:
            homes = await self._url_lookup.homes(candidates)
            stored = ((page, *homes[page]) for page in candidates if page in homes)
            pages |= self.frontier.urls.remember(stored)
        return pages

    def host_at(self, origin: str) -> int:
        host, rows = self.frontier.urls.meet_host(origin)
        self._rows.batch.hosts += rows
        return host

    def apply_step(
        self, step: Step, state: State = State.UNREAD, value: int | None = None
    ) -> list[Plan]:
        row = StepRow(self.frontier.last_seq + 1, state, step, value)
        if step.kind is StepKind.ENDOWED:
            self.seeds.endowed_by(row.seq)
        plans = self.frontier.apply(row)
        self._rows.add_step(row)
        self.shard.saw(step, plans)
        return plans

    def note_time(self, today: float) -> None:
        """Note the time in the log if the window is one of a span of time, and a note is due."""
        if (span := self.frontier.span) is not None and span.is_due(today):
            self.apply_step(Step(StepKind.TIME, amount=int(today)))

    def agree_on_terms(self, order: Order) -> None:
        """Post the terms of the virtual page if the settings have changed them.

        If new pages get a share of the fetches, they get that share of the virtual page's gifts.
        Older versions let focused links draw cash; the new terms end that.
        """
        share = in_parts(order.discovery) if 0 < order.discovery < 1 else -1
        totals, edge = self.frontier.ledger.totals, in_parts(order.small_edge)
        if edge == in_parts(self.frontier.small_edge):
            edge = totals.edge
        if (share, 0, edge) != (totals.discovery, totals.focus, totals.edge):
            self.apply_step(terms(share, edge=edge))

    def record(self, fetch: FetchRow) -> None:
        self._rows.batch.fetches.append(fetch)

    def record_request(self, fetch: FetchRow, *, is_page: bool) -> None:
        """Record and count a request; `is_page` if it brought a page or found it unchanged."""
        self._rows.batch.fetches.append(fetch)
        self.counters.add("requests")
        self.counters.add("wire_bytes", fetch.wire_bytes)
        self.counters.add("fetched", is_page)

    def keep(self, page: PageId | None, answer: KeptAnswer) -> None:
        """Keep the response of a page, or of a file. Responses must be kept in this crawl."""
        if self.keeping.warcs is not None and page is not None:
            importance, hops = self._shares.of(page), self.frontier.urls.depth[page]
            answer = answer._replace(importance=importance, hops=hops)
        self._rows.add_answer(answer)

    def keep_own_requests(self, pages: PagesByUrl, own: OwnRequests) -> None:
        for url, request in own:
            self._rows.add_own_request(pages[url], request)

    def keep_written(self, page: PageId, links: Sequence[int], entries: Sequence[str]) -> None:
        """Keep the links of a page as written in it, if collected, in the order of its step."""
        if entries:
            # deferred: most crawls keep no entries
            from minicrawl.web.html.written_links import joined

            of_link = dict(zip(links, entries, strict=True))
            # In the order of the stored links, whose ids ascend.
            ordered = sorted(of_link)
            entries_text = joined(map(of_link.__getitem__, ordered)).encode("utf-8", "replace")
            self._rows.add_written(WrittenRow(page, check_of(ordered), entries_text))

    def describe_host(self, row: HostRow) -> None:
        self._rows.batch.hosts.append(row)

    def record_mirror(self, host: int, of_host: int) -> None:
        self._rows.batch.mirrors.append((host, of_host))
