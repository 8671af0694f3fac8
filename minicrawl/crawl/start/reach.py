"""Checks before the first request: the ways to servers, and the browsers that a crawl needs.

Reports which limits hold, and refuses settings that cannot work: a broken proxy, a document type
without a reader, a browser that is missing or does not start.

Law: a crawl that renders nothing imports nothing of `crawl.rendering`.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager

from minicrawl.config import Network, Scope, Settings
from minicrawl.config.parts.selection import FILES
from minicrawl.config.table import BY_NAME
from minicrawl.config.values.access import host_and_file
from minicrawl.config.values.kinds import AUTO, key_file
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.events import Listener, Noted, Warned
from minicrawl.crawl.hosts.addresses import is_loopback
from minicrawl.crawl.hosts.politeness import resolve_targets
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.errors import UsageError
from minicrawl.fetch.reach import check_network
from minicrawl.own_files import exposure
from minicrawl.store.reader import archive_folder
from minicrawl.web.urls import host
from minicrawl.wording import counted

Attach = Callable[[Crawler], None]


def check_browser(settings: Settings) -> None:
    """Check options of rendering and the browser, before writing; raises `UsageError`."""
    if settings.rendering.screenshots:
        if not settings.is_rendering:
            raise UsageError("--screenshots needs --render: only rendered pages are drawn")
        if not settings.storing.keeps_failures:
            raise UsageError("--screenshots needs --keep pages or --warc")
    if settings.is_rendering:
        from minicrawl.crawl.rendering.pool import find_browser

        find_browser(settings.rendering.browser)


@asynccontextmanager
async def browsers_for(settings: Settings, recorder: Recorder) -> AsyncIterator[Attach]:
    """Open the browsers, and yield a function that attaches them; raises `UsageError`.

    The end of a crawl for an archive tells how many pages lack what scripts make.
    """
    crawlers = list[Crawler]()
    if not settings.is_rendering:
        yield crawlers.append
    else:
        from minicrawl.crawl.rendering.pool import open_render_pool
        from minicrawl.crawl.rendering.renderer import PageRenderer

        is_kept = recorder.keeping.archive is not None
        archive = archive_folder(settings.storing.store) if is_kept else None
        async with open_render_pool(settings, archive) as pool:

            def attach(crawler: Crawler) -> None:
                context, parts = crawler.context, crawler.parts
                novelty = parts.traps.novelty
                renderer = PageRenderer(context, parts.onboarding, parts.slots, novelty, pool)
                context.renderer = renderer
                crawlers.append(crawler)

            yield attach
    for crawler in crawlers if settings.storing.is_for_replay else ():
        if number := crawler.parts.settler.script_made:
            pages = counted(number, "page that looks", "pages that look")
            why = "too large or broken off" if settings.is_rendering else "--render auto"
            crawler.context.emit(Noted(text=f"not rendered: {pages} made by scripts ({why})"))


_FOLDERS_SHOWN = 5


def check_types(scope: Scope) -> None:
    """Refuse types without a document to find links in, and PDF without its package."""
    if scope.types == (FILES,):
        raise UsageError("--types files leaves nothing to find files in: name a document type, too")
    if "pdf" not in scope.types:
        return
    from minicrawl.web.documents.pdf import PDF_MISSING, can_read_pdf

    if not can_read_pdf():
        raise UsageError(PDF_MISSING)


_VARY = ("for", "until", "hours", "refresh", "continuous", "cluster")
"""Settings whose effects depend on a clock or on other machines."""


def refuse_what_varies(settings: Settings) -> None:
    """Refuse --deterministic with settings whose effects differ from run to run."""
    if not settings.order.deterministic:
        return
    rows = (BY_NAME[name] for name in _VARY)
    varying = [row.flag for row in rows if settings.value(row) != row.default]
    if settings.politeness.delay_s == AUTO:
        varying.append("--delay auto")
    if settings.is_rendering:
        varying.append("--render")
    if varying:
        raise UsageError(
            f"--deterministic and {varying[0]} cannot be combined: it varies with time"
        )


def exposed_keys(settings: Settings) -> Iterator[str]:
    """Yield a warning for each private key that other users can read or replace."""
    files = [file for _, file in map(host_and_file, settings.network.client_cert)]
    if settings.access.sign_requests:
        files.append(key_file(settings.access.sign_requests)[0])
    yield from filter(None, map(exposure, files))


async def check_reach(network: Network, emit: Listener, *, is_given: bool) -> None:
    """Check how servers are reached, unless by a transport of a program; raises `UsageError`."""
    if is_given:
        return
    notes, warnings = await check_network(network)
    for text in notes:
        emit(Noted(text=text))
    for text in warnings:
        emit(Warned(text=text))


def limits(settings: Settings, gate: ScopeGate, seeds: Iterable[str]) -> Iterator[str]:
    """Yield notes on the limits of the scope and the pace that the user chose."""
    if folders := gate.folders:
        left_out = len(folders) - _FOLDERS_SHOWN
        more = f" and {left_out:,} more" if left_out > 0 else ""
        yield f"--scope prefix: only pages below {', '.join(folders[:_FOLDERS_SHOWN])}{more}"
    if FILES in settings.scope.types and settings.storing.keep != "pages":
        yield "--types files keeps linked files only with --keep pages"
    polite = settings.politeness
    delay_s, apart_s = polite.delay_s, polite.address_delay_s
    if isinstance(delay_s, str) or delay_s >= apart_s:
        return
    names = (host(url).strip("[]") for url in seeds)
    are_here = all(is_loopback(name) or f".{name}".endswith(".localhost") for name in names)
    if delay_s or not (resolve_targets(settings) or are_here):
        yield (
            f"--delay {delay_s:g} s is less than --address-delay {apart_s:g} s, which holds: "
            "requests to one address are that far apart"
        )
