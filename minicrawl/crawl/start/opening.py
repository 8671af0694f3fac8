"""Opens the store of a crawl: locked, checked, with its archive and its seeds.

Law: the crawl gets a consistent store, and an archive as of its last commit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.config import Access, Rendering, Settings, Storing
from minicrawl.config.values import OFF, hidden_login
from minicrawl.crawl.events import Listener, Noted, nobody_listens
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.settle.keeping import NOWHERE, Keeping
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.shards import WHOLE, ShardSetup
from minicrawl.crawl.start import resume
from minicrawl.crawl.start.preview import check_types
from minicrawl.errors import UsageError
from minicrawl.frontier.checkpoint import contradictions, load_frontier, verify
from minicrawl.opic.ledger import Spending, Step, StepKind
from minicrawl.ports import Clock, WebAccess
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, connect
from minicrawl.store.records import StoreTerms, reporting_damage, translating_sqlite_errors
from minicrawl.store.writer import SAFE, StoreWriter
from minicrawl.web.urls import ResolvedUrl, resolve_seed

if TYPE_CHECKING:
    from minicrawl.fetch.access import AccessByOrigin, Login
    from minicrawl.fetch.transport import Origin


# ================================================================ browsers
#
# Has the pages of a crawl rendered, if the user asks for it.
#
# Laws: a browser that is missing, or does not start, is reported before the first request. A crawl
# that renders nothing imports nothing of `crawl.rendering`.

Attach = Callable[[Crawler], None]


def check_browser(rendering: Rendering) -> None:
    """Check that the browser exists, before anything is written; raises `UsageError`."""
    if rendering.is_on:
        from minicrawl.crawl.rendering.renderer import find_browser

        find_browser(rendering.browser)


@asynccontextmanager
async def browsers_for(settings: Settings, recorder: Recorder) -> AsyncIterator[Attach]:
    """Open the browsers, and yield a function that attaches them; raises `UsageError`."""
    if not settings.rendering.is_on:
        yield _unrendered
        return
    from minicrawl.crawl.rendering.renderer import PageRenderer, open_render_pool

    is_kept = recorder.keeping.archive is not None
    archive = archive_folder(settings.storing.store) if is_kept else None
    async with open_render_pool(settings, archive) as pool:

        def attach(crawler: Crawler) -> None:
            crawler.context.renderer = PageRenderer(crawler.context, crawler.parts, pool)

        yield attach


def _unrendered(crawler: Crawler) -> None:
    """Do nothing: the pages are read as fetched."""


# ================================================================ logins
#
# Logins, headers and cookies at the start of a crawl, from its settings and its seeds.
#
# Law: a login in the URL of a seed is removed before anything else sees the URL; so neither the
# store nor a log has it. The next run needs it again.

MOST_IN_SEEDS = 10_000


class SeedLogins:
    """Logins in the URLs of seeds."""

    def __init__(self) -> None:
        self._found: dict[Origin, Login] = {}

    def resolved(self, seed: str, settings: Settings) -> ResolvedUrl:
        """Return the URL of a seed without its login, which is kept here."""
        found = resolve_seed(seed, strip_marks=settings.storing.strip_marks)
        if "@" in seed:
            self._take(seed, found)
        if found is None:
            raise UsageError(f"{hidden_login(seed)!r} is not a URL that can be crawled")
        return found

    def check(self, access: Access, today: float) -> None:
        """Refuse invalid logins, headers and cookies, before anything is written."""
        self.by_origin(access, ())
        if access.cookies != OFF:
            from minicrawl.crawl.cookies import given_cookies

            given_cookies(access, today)

    def by_origin(self, access: Access, seeds: Iterable[str]) -> AccessByOrigin | None:
        """Return the logins and headers by origin, or None if there are none."""
        if not (access.has_secrets or self._found):
            return None
        from minicrawl.fetch.access import access_by_origin

        return access_by_origin(access, seeds, self._found)

    def _take(self, seed: str, found: ResolvedUrl | None) -> None:
        from minicrawl.fetch.access import login_in

        login = login_in(seed.strip()) if found else None
        if login is not None:
            if len(self._found) >= MOST_IN_SEEDS and login[0] not in self._found:
                raise UsageError(f"more than {MOST_IN_SEEDS:,} seeds with logins: use --netrc")
            self._found[login[0]] = login[1]


def cookies_for(
    web_access: WebAccess, settings: Settings, clock: Clock
) -> AbstractAsyncContextManager[WebAccess]:
    """Return web access with cookies, if they are enabled."""
    if settings.access.cookies == OFF:
        return nullcontext(web_access)
    from minicrawl.crawl.cookies import with_cookies

    return with_cookies(web_access, settings.access, settings.storing.store, clock)


# ================================================================ beginning
#
# Seeds and options of a crawl, and checks before anything is written.


class Beginning(NamedTuple):
    """Seeds and options of a crawl, and the command that resumes it."""

    seeds: Iterable[str]
    fresh: bool
    command: str
    logins: SeedLogins

    def is_new(self, store: Path) -> bool:
        """Return whether there is no store to resume."""
        return self.fresh or not store.exists()

    def check(self, settings: Settings, today: float) -> None:
        """Refuse settings that cannot work."""
        check_types(settings.scope)
        check_browser(settings.rendering)
        self.logins.check(settings.access, today)
        if self.is_new(settings.storing.store):
            resume.refuse_contradictions(settings)


# ================================================================ seeds
#
# Seeds: the pages that the user names, and their endowment.
#
# Laws: there may be millions of seeds, so they are handled block by block. The endowment is shared
# once, when all are known. Each seed that is added to a crawl later gets no less than the first
# ones did, even if links led to it before. A page is endowed once.

_AT_ONCE = 50_000
FIRST_SEEDS = "first_seeds"  # a counter: number of seeds that shared the endowment


async def plant(
    recorder: Recorder,
    seeds: Iterable[ResolvedUrl],
    endowment: int,
    tell: Listener = nobody_listens,
) -> int:
    """Make the seeds known and endow them. Return the number of new seeds."""
    before = recorder.seeds.ids()
    named = await _introduce(recorder, iter(seeds), tell)
    new = sorted(named - before)
    if new:
        units = share_of_endowment(recorder, endowment, len(new), is_first=not before)
        recorder.apply_step(Step(StepKind.ENDOWED, spending=Spending(new), amount=units))
        await recorder.committer.commit()
    for page in before | named:
        recorder.frontier.urls.depth[page] = 0
    return len(new)


def share_of_endowment(recorder: Recorder, endowment: int, new: int, *, is_first: bool) -> int:
    """Return the units for the new seeds together."""
    if is_first:
        recorder.counters.add(FIRST_SEEDS, new)
    first = max(int(recorder.counters.number(FIRST_SEEDS)), 1)  # 0 in a damaged store
    return -(-endowment * new // first)


async def _introduce(recorder: Recorder, seeds: Iterator[ResolvedUrl], tell: Listener) -> set[int]:
    pages: set[int] = set()
    while block := dict(islice(seeds, _AT_ONCE)):
        originals = tuple([(url, original) for url, original in block.items() if original])
        meeting = recorder.meet(list(block), 0, originals)
        pages.update(meeting.pages)
        if meeting.urls:
            recorder.apply_step(Step(StepKind.BORN, born=len(meeting.urls)))
        await recorder.committer.commit()
        if len(block) == _AT_ONCE:
            tell(Noted(text=f"{len(pages):,} seeds so far"))
    return pages


# ================================================================ opening

NO_SEED = "there is no seed to start from: give a file of URLs, one per line"


@asynccontextmanager
async def opened_crawl(  # the last arguments are given by name
    agree: Callable[[StoreWriter], Settings],
    path: Path,
    seeds: Iterable[ResolvedUrl],
    tell: Listener = nobody_listens,
    keep: Callable[[StoreWriter, Storing], Keeping] = lambda _store, _storing: NOWHERE,
    *,
    needs_pages: bool = True,
    shard: ShardSetup = WHOLE,
) -> AsyncIterator[Recorder]:
    """Open the store, created if needed, and plant the seeds."""
    with (
        closing(StoreWriter.open(path, shard.replica)) as store,
        translating_sqlite_errors(path, SAFE),
    ):
        settings = agree(store)
        by_siblings = settings.order.strategy == "siblings"
        with (
            closing(keep(store, settings.storing)) as keeping,
            closing(connect(path)) as connection,
            closing(recorder_of(store, connection, keeping, by_siblings=by_siblings)) as recorder,
        ):
            own = shard.join(recorder, seeds)
            await plant(recorder, own, settings.order.endowment, tell)
            if needs_pages and shard.needs_pages and not len(recorder.frontier):
                raise UsageError(NO_SEED)
            yield recorder
        store.compact()


def recorder_of(
    store: StoreWriter,
    connection: tables.Connection,
    keeping: Keeping = NOWHERE,
    *,
    by_siblings: bool = False,
) -> Recorder:
    """Return a recorder of the store, once the store is checked."""
    with reporting_damage(store.path):
        terms = tables.terms(store.connection) or StoreTerms()
        load = partial(load_frontier, store.connection, terms, siblings=by_siblings)
        recorder = Recorder(store, connection, load, keeping)
        verify(recorder.frontier, store.connection)
        if store.was_cut_off:
            for contradiction in contradictions(recorder.frontier, store.connection):
                raise ValueError(contradiction)
        return recorder
