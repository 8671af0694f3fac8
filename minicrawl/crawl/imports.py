"""Stores that are made without a network: of WARC files, and of a graph.

Law: the store gets its name when it is complete, and no store is overwritten.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from minicrawl.archive.reader import ArchiveReader, last_page
from minicrawl.archive.record import RecordKind, pack_any
from minicrawl.config import Settings, Storing
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.page_turns import PageTurns, parsed_visit
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.refinement import refine_for
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.scope_and_traps import gate_for
from minicrawl.crawl.settle.keeping import ArchiveSinks, open_places, set_pages_aside
from minicrawl.crawl.settle.recorder import COMMIT_EVERY_S, MOST_STEPS, Recorder
from minicrawl.crawl.settle.settler import PageIntroducer
from minicrawl.crawl.start.opening import opened_crawl, store_terms
from minicrawl.crawl.start.preparation import check_types
from minicrawl.crawl.workers.worker import Visitor, WorkerConfig, visiting
from minicrawl.errors import Damaged, MinicrawlError, UsageError
from minicrawl.fetch.warc.answers import RecordedAnswers, head_of, moment_of, wire_of
from minicrawl.fetch.warc.files import warc_files
from minicrawl.fetch.warc.records import MOST_HEAD_BYTES, WarcRecord, WarcRecords, with_requests
from minicrawl.frontier.importance import gathered
from minicrawl.frontier.page_table import Frontier, cut_checkpoint
from minicrawl.graph.csr import Csr
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.model import (
    FetchResult,
    KeptAnswer,
    Moved,
    PageId,
    Refused,
    Request,
    Response,
    State,
    Unchanged,
    Want,
)
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.own_files import drafting
from minicrawl.ports import Progress, unreported
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, real_path, refuse_to_overwrite
from minicrawl.store.records import (
    NOT_ASKED,
    Batch,
    DocumentRow,
    FetchRow,
    HostRow,
    StepRow,
    StoreTerms,
    UrlRow,
)
from minicrawl.store.writer import StoreWriter
from minicrawl.web.responses import types_of
from minicrawl.web.scope import may_be_html
from minicrawl.web.urls import Location, ResolvedUrl, location, resolve
from minicrawl.wording import visible

# ================================================================ recorded responses
#
# A crawl without a network: responses are read from WARC files, in their order.
#
# Laws: each record has the effect that the same response would have in a crawl, so the log, the
# ranks and the archive are those of such a crawl. Responses, redirects, and confirmations that a
# known page has not changed are turns of pages. Any other record (a picture, a failure) is the
# turn of its page if a link has led to it, and is counted otherwise. Pictures and the like are
# kept for the pages that need them, if the user asks for that. No request goes over the network.
#
# revisit  record without a body: the page repeats an earlier response, its own or another page's

_ANSWERS = ("response", "resource", "revisit")
_KINDS = ("warcinfo", "request", "metadata", "conversion", "continuation")
"""Other record types of the standard. All further types are counted as "other"."""
_ROBOTS = "/robots.txt"
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
        """Return the time of the current record."""
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
        if is_confirmed and page is not None and self._was_read(page):
            return Unchanged(wire=wire_of(record))
        if is_confirmed:
            return None
        if head is not None and head.status // 100 != _SUCCESS:
            return await self._answers.read(request, record)
        original = record.fields.get("warc-refers-to-target-uri", record.url).strip("<> ")
        url = resolve(original, strip_marks=self._strip_marks)
        body = await self._last(request.url if url is None else url.url)
        if body is None or head is None:
            return body
        return body._replace(headers=head.headers, wire=wire_of(record))

    def _was_read(self, page: PageId) -> bool:
        return State(self._recorder.frontier.state[page]).was_read

    async def _last(self, url: str) -> Response | None:
        """Return the last response of a page, or None if it is unknown."""
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
    """Gives each record its turn."""

    def __init__(
        self, context: CrawlContext, clock: RecordClock, visitor: Visitor, folder: Path | None
    ) -> None:
        """Set up; `folder` is that of the archive, if there is one."""
        self._settings, self._recorder, self._clock = context.settings, context.recorder, clock
        self._fetches = RecordedFetches(context.recorder, context.settings, folder)
        self._types, self._visitor = types_of(context.settings.scope.types), visitor
        self._parts = parts = CrawlParts(context)
        parts.restore(context)
        self._introducer = PageIntroducer(context.recorder, parts.settler.poster)
        self._turns = PageTurns(context, parts, self._introducer)
        self.skipped: Counter[str] = Counter()

    def close(self) -> None:
        self._fetches.close()

    async def read_all(self, records: Iterable[WarcRecord]) -> None:
        """Give each record its turn, while the results are committed."""
        await self._recorder.committer.keep_while(lambda _group: self._read_all(records))

    async def _read_all(self, records: Iterable[WarcRecord]) -> None:
        for record in with_requests(records):
            await self._read(record)
            await asyncio.sleep(0)
            while not self._recorder.committer.takes_more:
                await asyncio.sleep(COMMIT_EVERY_S)

    async def _read(self, record: WarcRecord) -> None:
        """Give a record its turn, or count why it has none."""
        if record.kind not in _ANSWERS:
            kind = record.kind if record.kind in _KINDS else "other"
            self.skipped[f"{kind} records"] += 1
            return
        found = resolve(record.url, strip_marks=self._settings.storing.strip_marks)
        if found is None:
            self.skipped[NO_PAGE] += 1
        elif urlsplit(found.url).path == _ROBOTS:
            self.skipped[ROBOTS] += 1
        else:
            await self._answer(found, record)

    async def _answer(self, found: ResolvedUrl, record: WarcRecord) -> None:
        page = (await self._recorder.look_up_urls([found.url])).get(found.url)
        novelty = self._parts.traps.novelty
        request = Request(
            found.url,
            max_bytes=self._settings.network.max_body_bytes,
            request_url=found.original,
            dictionary=self._recorder.dictionary,
            suspicious=0 if page is None else novelty.suspicious(self._host_of(page)),
            types=self._types,
            keeps_failures=self._settings.storing.keeps_failures,
        )
        fetched = await self._fetches.result(request, record, page)
        self._clock.at = moment_of(record)
        if fetched is None:
            self.skipped[NO_BODY] += 1
            return
        # Without a link to it, a page becomes known by its content, or by its redirect.
        is_found = isinstance(fetched, Moved) and may_be_html(found.url)
        has_turn = page is not None or is_found or isinstance(fetched, Response)
        if has_turn:
            await self._turn(request, fetched, page)
        is_file = isinstance(fetched, Refused) or not has_turn
        is_kept = is_file and await self._keep_file(request, record)
        if not has_turn and not is_kept:
            self.skipped[NOT_LINKED] += 1

    async def _turn(self, request: Request, fetched: FetchResult, page: PageId | None) -> None:
        """Run the turn of a page as in a crawl, but without waiting for its host."""
        if page is None:
            originals = ((request.url, request.request_url),) if request.request_url else ()
            introduced = await self._introducer.introduce([request.url], 0, originals)
            page = introduced.pages[request.url]
        host, again = self._host_of(page), self._recorder.frontier.state[page] != State.UNREAD
        turn = self._parts.suspended.turn_of(Lease(page, host, request.url, again))
        if not again:
            self._parts.traps.quotas.spend(host)
        visit = self._visitor.visit_of(request, fetched)
        found = None if visit.read is None else await visit.read()
        fetched, parsed = parsed_visit(turn, visit, found)
        await self._turns.end(turn, fetched, parsed)
        self._fetches.saw(request.url)

    async def _keep_file(self, request: Request, record: WarcRecord) -> bool:
        """Keep a response that is not a page, if such files are kept. Return whether it is."""
        if not _keeps_files(self._settings):
            return False
        longest = self._settings.longest_file_bytes
        wanted = request._replace(want=Want.RESOURCE, max_bytes=longest)
        found = await self._fetches.result(wanted, record, None)
        if (packed := pack_any(request.url, found)) is None:
            return False
        self._recorder.keep(None, KeptAnswer(packed, self._clock.at, request.url))
        self._fetches.saw(request.url)
        return True

    def _host_of(self, page: PageId) -> int:
        return self._recorder.frontier.urls.host_of[page]


def _keeps_files(settings: Settings) -> bool:
    """Return True if responses that are not pages are kept."""
    storing = settings.storing
    return settings.keeps_files or (storing.requisites and storing.keep == "pages")


# ================================================================ warc import
#
# Makes a store of WARC files: a recorded crawl, which names the store when it is complete.


class WarcImport(NamedTuple):
    """Result of an import."""

    store: Path
    records: int
    skipped: Mapping[str, int]
    """Number of records that no page was read from, by reason."""


def import_warcs(
    files: Sequence[Path],
    settings: Settings,
    note: Callable[[str], None] = lambda _line: None,
    tell: Progress = unreported,
) -> WarcImport:
    """Make a store of WARC files; `note` is called with each problem.

    The store gets its name when it is complete, and no store is overwritten.
    """
    began = time.monotonic()
    check_types(settings.scope)
    store = settings.storing.store
    refuse_to_overwrite(store)
    place = real_path(store)
    longest = settings.longest_file_bytes if _keeps_files(settings) else 0
    most = max(settings.network.max_body_bytes, longest) + MOST_HEAD_BYTES
    records = _Records(files, most, note, tell)
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
        _converge(store, time.monotonic() - began, note)
    return WarcImport(store, records.count, skipped)


def _converge(store: Path, ran_s: float, note: Callable[[str], None]) -> None:
    """Converge the ranks as at the end of a crawl. The store is complete even if that fails."""
    try:
        refine_for(store, ran_s)
    except (MinicrawlError, OSError) as error:
        note(f"the ranks were not computed: {error}")


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
                tell=nobody_listens,
                wake=lambda: None,
            )
            with closing(RecordedCrawl(context, clock, visitor, folder)) as crawl:
                await crawl.read_all(records)
            return crawl.skipped


class _Records:
    """The records of all files."""

    def __init__(
        self, files: Sequence[Path], most_bytes: int, note: Callable[[str], None], tell: Progress
    ) -> None:
        self._files = [file for named in files for file in warc_files(named)]
        self._most_bytes, self._note, self._tell = most_bytes, note, tell
        self.count = 0

    def __iter__(self) -> Iterator[WarcRecord]:
        whole, before = max(sum(file.length for file in self._files), 1), 0
        for file in self._files:
            shown = partial(self._show, before / whole, file.length / whole)
            for record in WarcRecords(file, self._most_bytes, self._note, shown):
                self.count += 1
                yield record
            before += file.length

    def _show(self, begin: float, length: float, share: float) -> None:
        self._tell(begin + length * share)


# ================================================================ graphs
#
# Imports a graph: writes the store of a crawl that read every page with links, each once.
#
# Laws: two names that are spellings of one URL become one page. A page without links is an unread
# one. A link of a page to itself is dropped, as in a crawl.
#
# home    place of a node in the store: origin and path
# weight  whole number. Whole weights up to 2^53 are kept, others are scaled so that the largest is
#         2^31; if all are equal, none is stored.

TERMS = StoreTerms(strip_marks=False, imported=True)


class ImportSizes(NamedTuple):
    """Sizes of the blocks in which a graph is imported."""

    names: int = 10_000
    births: int = 50_000
    visits: int = 5_000
    changes: int = 1_000_000
    """Changed pages after which a checkpoint is written."""


_USUAL_SIZES = ImportSizes()
_LARGEST_WEIGHT = 2**31
_LARGEST_WHOLE = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Result of an import."""

    pages: int
    links: int
    read: int
    merged: int
    """Number of names that are another spelling of a URL."""
    self_links: int
    """Number of links from a page to itself, under any of its names, which were dropped."""
    store: Path


class GraphToImport(NamedTuple):
    """Content of the new store: distinct homes, links, and their weights unless all are equal."""

    homes: Sequence[Location]
    graph: Csr
    weights: NDArray[np.int64] | None
    self_links: int


def import_graph(
    named: NamedGraph,
    store: Path,
    label: str,
    now: float,
    tell: Progress = unreported,
    sizes: ImportSizes = _USUAL_SIZES,
) -> Imported:
    """Write the store; `label` names the source of the graph in it."""
    refuse_to_overwrite(store)
    web = _web_of(named, sizes.names)
    place = real_path(store)
    with drafting(place) as folder:
        beside = folder / place.name
        with closing(StoreWriter.open(beside)) as opened:
            opened.agree(TERMS)
            _CrawlWriter(opened, web, label, now, sizes).read_all(tell)
        refuse_to_overwrite(store)
        beside.rename(place)
    return Imported(
        pages=web.graph.nodes,
        links=web.graph.edges,
        read=int(np.count_nonzero(web.graph.out_degrees())),
        merged=named.graph.nodes - web.graph.nodes,
        self_links=web.self_links,
        store=store,
    )


# ---------------------------------------------------------------- content of the store


def _web_of(named: NamedGraph, at_once: int) -> GraphToImport:
    graph, weights = named.graph, named.weights
    pages: dict[Location, int] = {}
    page_of = np.fromiter(
        (pages.setdefault(home, len(pages)) for home in _homes(named, at_once)),
        dtype=np.int64,
        count=graph.nodes,
    )
    sources, targets = page_of[graph.sources()], page_of[graph.targets]
    is_proper = sources != targets
    sources, targets = sources[is_proper], targets[is_proper]
    self_links = int(np.count_nonzero(~is_proper))
    linked = Csr.from_edges(len(pages), sources, targets)
    if weights is None:
        return GraphToImport(list(pages), linked, None, self_links)
    _, link = np.unique(sources * len(pages) + targets, return_inverse=True)
    summed = np.bincount(link, weights=weights[is_proper]).astype(np.float64, copy=False)
    return GraphToImport(list(pages), linked, _whole(summed), self_links)


def _homes(named: NamedGraph, at_once: int) -> Iterator[Location]:
    for first in range(0, len(named.names), at_once):
        nodes = range(first, min(first + at_once, len(named.names)))
        yield from map(location, map(visible, named.names.of(nodes)))


def _whole(weights: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return the weights as whole numbers above 0, or None if all are equal."""
    if not weights.size or (weights == weights[0]).all():
        return None
    largest = float(weights.max())
    if largest > _LARGEST_WHOLE or (weights != np.rint(weights)).any():
        weights = weights * (_LARGEST_WEIGHT / largest)
    found: NDArray[np.int64] = np.maximum(np.rint(weights), 1).astype(np.int64)
    return found


# ---------------------------------------------------------------- writing the store


class _CrawlWriter:
    """Writes the log of a crawl that reads all pages with links, one by one."""

    def __init__(
        self, store: StoreWriter, web: GraphToImport, label: str, now: float, sizes: ImportSizes
    ) -> None:
        self._store, self._web, self._sizes = store, web, sizes
        self._label, self._now = f"imported from {label}", now
        self._frontier = Frontier(TERMS, _nothing_is_spent_twice)
        self._hosts: dict[str, int] = {}
        self._fetches = 0

    def read_all(self, tell: Progress) -> None:
        reads = np.flatnonzero(self._web.graph.out_degrees())
        pages, all_turns = len(self._web.homes), max(len(self._web.homes) + len(reads), 1)
        births, visits = self._sizes.births, self._sizes.visits
        for first in range(0, pages, births):
            self._introduce(first, self._web.homes[first : first + births])
            tell(min(first + births, pages) / all_turns)
        for first in range(0, len(reads), visits):
            self._visit(reads[first : first + visits].tolist())
            tell((pages + min(first + visits, len(reads))) / all_turns)
        self._commit(Batch(), {tables.GATHERED: gathered(self._frontier)})
        self._store.checkpoint(cut_checkpoint(self._frontier))

    def _introduce(self, first: int, born: Sequence[Location]) -> None:
        batch = Batch()
        for page, (origin, path) in enumerate(born, start=first):
            if origin not in self._hosts:
                self._hosts[origin] = len(self._hosts)
                batch.hosts.append(HostRow(self._hosts[origin], origin))
            batch.urls.append(UrlRow(page, self._hosts[origin], path, 0))
        batch.steps.append(self._do(Step(StepKind.BORN, born=len(born)), State.UNREAD))
        self._commit(batch)

    def _visit(self, pages: list[int]) -> None:
        batch = Batch()
        graph, weights = self._web.graph, self._web.weights
        for page in pages:
            row = slice(graph.starts[page], graph.starts[page + 1])
            shares = () if weights is None else weights[row].tolist()
            step = Step(
                StepKind.VISIT, page, spending=Spending(graph.targets[row].tolist(), shares)
            )
            batch.steps.append(self._do(step, State.FETCHED))
            batch.fetches.append(FetchRow(page, self._now, NOT_ASKED, None, 0, 0.0, self._label))
            batch.documents.append(
                DocumentRow(page, "", 0, None, None, 0, False, self._now, self._now, 0, 0)
            )
        self._fetches += len(pages)
        self._commit(batch)
        if self._frontier.changes > self._sizes.changes:
            self._store.checkpoint(cut_checkpoint(self._frontier))

    def _do(self, step: Step, state: State) -> StepRow:
        row = StepRow(self._frontier.last_seq + 1, state, step)
        self._frontier.apply(row)
        return row

    def _commit(self, batch: Batch, others: Mapping[str, object] | None = None) -> None:
        counted = {tables.FETCHES: self._fetches, **(others or {})}
        batch.counters = self._frontier.tally() | counted
        self._store.commit(batch)


def _nothing_is_spent_twice(seq: int) -> Spending:
    raise LookupError(f"step {seq} was requested again, but an import reads each page once")
