"""Makes a store of WARC files: a crawl without a network, whose responses are read in their order.

Laws: each record has the effect that the same response would have in a crawl, so the log, the
ranks and the archive are those of such a crawl. Responses, redirects, and confirmations that a
known page has not changed are turns of pages. Any other record (a picture, a failure) is the
turn of its page if a link has led to it, and is counted otherwise. Pictures and the like are
kept for the pages that need them, if the user asks for that. No request goes over the network.

revisit  record without a body: the page repeats an earlier response, its own or another page's
"""

import asyncio
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from minicrawl.archive.packing import pack_any
from minicrawl.archive.reader import ArchiveReader, last_page
from minicrawl.archive.record import RecordKind
from minicrawl.config import Settings, Storing
from minicrawl.crawl.admission.scope import gate_for
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.record.archiving import ArchiveSinks, open_places, set_pages_aside
from minicrawl.crawl.record.commits import COMMIT_EVERY_S, MOST_STEPS
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.refinement.last_convergence import refine_for
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.start.opening import opened_crawl
from minicrawl.crawl.start.reach import check_types
from minicrawl.crawl.start.settings import agreed
from minicrawl.crawl.turns.page_turns import parsed_visit
from minicrawl.crawl.workers.visitor import Visitor, WorkerConfig, visiting
from minicrawl.errors import Damaged, MinicrawlError, UsageError
from minicrawl.fetch.warc.answers import RecordedAnswers, head_of, moment_of, wire_of
from minicrawl.fetch.warc.files import warc_files
from minicrawl.fetch.warc.records import MOST_HEAD_BYTES, WarcRecord, WarcRecords, with_requests
from minicrawl.model import (
    FetchResult,
    KeptAnswer,
    Moved,
    PageId,
    Refused,
    Request,
    Response,
    Unchanged,
    Want,
)
from minicrawl.own_files import drafting
from minicrawl.ports import Progress, part, unreported
from minicrawl.states import State
from minicrawl.store.reader import archive_folder, real_path, refuse_to_overwrite
from minicrawl.store.writer import StoreWriter
from minicrawl.web.responses.types import types_of
from minicrawl.web.scope import may_be_html
from minicrawl.web.urls import ResolvedUrl, pictured, resolve

_ANSWERS = ("response", "resource", "revisit")
_KINDS = ("warcinfo", "request", "metadata", "conversion", "continuation")
"""Other record types of the standard. All further types are counted as "other"."""
_ROBOTS = "/robots.txt"
_SITEMAP = re.compile(r"/sitemap[^/]*\.(?:xml|txt)(?:\.gz)?\Z", re.IGNORECASE)
"""Usual paths of sitemaps, which belong to an archive as robots.txt does."""
_UNCOMMITTED = 3 * MOST_STEPS
"""Limit of responses that are not in the archive yet."""
_SUCCESS = 2  # status // 100

# Reasons why a record has no turn.
NO_PAGE = "records that are not pages"
ROBOTS = "records of robots.txt"
NOT_LINKED = "records of pictures, failures and the like that no earlier link leads to"
NO_BODY = "revisits of unknown responses"


class RecordClock:
    """Clock whose time of day is that of the current record."""

    def __init__(self) -> None:
        self.at = 0.0

    now = staticmethod(time.monotonic)

    def today(self) -> float:
        return self.at


class RecordedFetches:
    """Fetch results from records. The body of a revisit is the former response of its page, which
    is unknown without an archive.
    """

    def __init__(self, recorder: Recorder, settings: Settings, folder: Path | None) -> None:
        """Set up; `folder` is that of the archive, if there is one."""
        self._recorder, self._folder = recorder, folder
        self._strip_marks = settings.storing.strip_marks
        self._answers = RecordedAnswers(settings.network)
        self._reader: ArchiveReader | None = None
        self._recent: OrderedDict[str, None] = OrderedDict()

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()

    def saw(self, url: str) -> None:
        """Note that the page was read, and may not be in the archive yet."""
        self._recent[url] = None
        self._recent.move_to_end(url)
        if len(self._recent) > _UNCOMMITTED:
            self._recent.popitem(last=False)

    async def result(
        self, request: Request, record: WarcRecord, page: PageId | None
    ) -> FetchResult | None:
        """Return the fetch result of a record; None for a revisit of an unknown response."""
        head = head_of(record)
        is_confirmed = head is not None and head.status == HTTPStatus.NOT_MODIFIED
        if record.kind != "revisit" and not is_confirmed:
            return await self._answers.read(request, record)
        if is_confirmed:
            was_read = page is not None and State(self._recorder.frontier.state[page]).was_read
            return Unchanged(wire=wire_of(record)) if was_read else None
        if head is not None and head.status // 100 != _SUCCESS:
            return await self._answers.read(request, record)
        original = record.fields.get("warc-refers-to-target-uri", record.url).strip("<> ")
        url = resolve(original, strip_marks=self._strip_marks)
        body = await self._last(request.url if url is None else url.url)
        if body is None or head is None:
            return body
        return body._replace(headers=head.headers, wire=wire_of(record))

    async def _last(self, url: str) -> Response | None:
        archive = self._recorder.keeping.archive
        if archive is None or self._folder is None:
            return None
        if url in self._recent:
            await self._recorder.committer.written()
            self._recent.clear()
        if self._reader is None:
            self._reader = ArchiveReader(self._folder, archive.end)
        self._reader.go_on_to(archive.end)
        with suppress(Damaged, IndexError):
            rows = self._reader.versions(url)
            answer = self._reader.answer(rows[last_page(rows) - 1].place)
            if answer.kind is RecordKind.PAGE:
                return Response(status=answer.status, headers=answer.headers, body=answer.body)
        return None


class RecordedCrawl:
    def __init__(
        self, context: CrawlContext, clock: RecordClock, visitor: Visitor, folder: Path | None
    ) -> None:
        self._settings, self._recorder, self._clock = context.settings, context.recorder, clock
        self._fetches = RecordedFetches(context.recorder, context.settings, folder)
        self.close = self._fetches.close
        self._types, self._visitor = types_of(context.settings.scope.types), visitor
        self._parts = parts = CrawlParts(context)
        parts.restore(context)
        self.skipped: Counter[str] = Counter()

    async def read_all(self, records: Iterable[WarcRecord]) -> None:
        committer = self._recorder.committer

        async def read(_group: object) -> None:
            for record in with_requests(records):
                await self._read(record)
                await asyncio.sleep(0)
                while not committer.takes_more:
                    await asyncio.sleep(COMMIT_EVERY_S)

        await committer.keep_while(read)

    async def _read(self, record: WarcRecord) -> None:
        """Give a record its turn, or count why it has none."""
        if record.kind not in _ANSWERS:
            kind = record.kind if record.kind in _KINDS else "other"
            self.skipped[f"{kind} records"] += 1
            return
        page = pictured(record.url)
        address = resolve(page, strip_marks=self._settings.storing.strip_marks)
        if address is None:
            self.skipped[NO_PAGE] += 1
        elif beginning := record.url.removesuffix(page):
            self._clock.at = moment_of(record)
            if not await self._keep_file(Request(beginning + address.url), record):
                self.skipped[NO_PAGE] += 1
        elif urlsplit(address.url).path == _ROBOTS:
            if not await self._keep_file(self._request(address), record):
                self.skipped[ROBOTS] += 1
        else:
            await self._answer(address, record)

    def _request(self, address: ResolvedUrl, suspicious: int = 0) -> Request:
        return Request(
            address.url,
            max_bytes=self._settings.network.max_body_bytes,
            request_url=address.original,
            dictionary=self._recorder.dictionary,
            suspicious=suspicious,
            types=self._types,
            keeps_failures=self._settings.storing.keeps_failures,
        )

    async def _answer(self, address: ResolvedUrl, record: WarcRecord) -> None:
        page = (await self._recorder.look_up_urls([address.url])).get(address.url)
        novelty = self._parts.traps.novelty
        suspicious = 0 if page is None else novelty.suspicious(self._host_of(page))
        request = self._request(address, suspicious)
        fetched = await self._fetches.result(request, record, page)
        self._clock.at = moment_of(record)
        if fetched is None:
            self.skipped[NO_BODY] += 1
            return
        # Without a link to it, a page becomes known by its content, or by its redirect.
        is_found = isinstance(fetched, Moved) and may_be_html(address.url)
        has_turn = page is not None or is_found or isinstance(fetched, Response)
        if has_turn:
            await self._turn(request, fetched, page)
        is_file = isinstance(fetched, Refused) or not has_turn
        is_wanted = are_files_kept(self._settings) or _SITEMAP.search(urlsplit(address.url).path)
        is_kept = is_file and is_wanted and await self._keep_file(request, record)
        if not has_turn and not is_kept:
            self.skipped[NOT_LINKED] += 1

    async def _turn(self, request: Request, fetched: FetchResult, page: PageId | None) -> None:
        """Run the turn of a page as in a crawl, but without waiting for its host."""
        if page is None:
            originals = ((request.url, request.request_url),) if request.request_url else ()
            pages, *_ = await self._parts.poster.introduce([request.url], 0, originals)
            page = pages[request.url]
        host_id, again = self._host_of(page), self._recorder.frontier.state[page] != State.UNREAD
        lease = Lease(page, host_id, request.url, again)
        turn = self._parts.ends.suspended.turn_of(lease, self._parts.hosts[host_id])
        if not again:
            self._parts.traps.quotas.spend(host_id)
        visit = self._visitor.visit_of(request, fetched)
        read = None if visit.read is None else await visit.read()
        fetched, parsed = parsed_visit(turn, visit, read)
        await self._parts.ends.end(turn, fetched, parsed)
        self._fetches.saw(request.url)

    async def _keep_file(self, request: Request, record: WarcRecord) -> bool:
        """Keep a response that is not a page, unless only text is kept. Return whether it is."""
        if self._settings.storing.keep != "pages":
            return False
        longest = self._settings.longest_file_bytes
        of_file = request._replace(want=Want.RESOURCE, max_bytes=longest)
        answer = await self._fetches.result(of_file, record, None)
        if (packed := pack_any(request.url, answer)) is None:
            return False
        self._recorder.keep(None, KeptAnswer(packed, self._clock.at, request.url))
        self._fetches.saw(request.url)
        return True

    def _host_of(self, page: PageId) -> int:
        return self._recorder.frontier.urls.host_of[page]


def are_files_kept(settings: Settings) -> bool:
    """Return True if responses that are not pages are kept."""
    storing = settings.storing
    return settings.keeps_files or (storing.requisites and storing.keep == "pages")


class WarcImport(NamedTuple):
    store: Path
    records: int
    skipped: Mapping[str, int]
    """Number of records that no page was read from, by reason."""
    damages: int


def import_warcs(
    files: Sequence[Path],
    settings: Settings,
    note: Callable[[str], None] = lambda _line: None,
    progress: Progress = unreported,
) -> WarcImport:
    """Make a store of WARC files; `note` is called with each problem."""
    began = time.monotonic()
    check_types(settings.scope)
    store = settings.storing.store
    refuse_to_overwrite(store)
    place = real_path(store)
    longest = settings.longest_file_bytes if are_files_kept(settings) else 0
    most = max(settings.network.max_body_bytes, longest) + MOST_HEAD_BYTES
    parts = [file for named in files for file in warc_files(named)]
    counts = Counter[str]()

    def records() -> Iterator[WarcRecord]:
        whole, before = max(sum(file.length for file in parts), 1), 0
        for file in parts:
            shown = part(progress, before / whole, (before + file.length) / whole)
            of_file = WarcRecords(file, most, note, shown)
            for record in of_file:
                counts["records"] += 1
                yield record
            counts["damages"] += of_file.damages
            before += file.length

    with drafting(place) as folder:
        draft = folder / place.name
        storing = replace(settings.storing, store=draft)
        skipped = asyncio.run(_import(records(), replace(settings, storing=storing)))
        if not counts["records"]:
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
    return WarcImport(store, counts["records"], skipped, counts["damages"])


async def _import(records: Iterable[WarcRecord], settings: Settings) -> Mapping[str, int]:
    def keep(store: StoreWriter, storing: Storing) -> ArchiveSinks:
        return open_places(store, replace(storing, warc=None), nobody_listens)

    path, clock = settings.storing.store, RecordClock()
    async with opened_crawl(
        partial(agreed, settings), path, (), keep=keep, needs_pages=False
    ) as recorder:
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
