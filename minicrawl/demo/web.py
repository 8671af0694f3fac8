"""A small web, generated on demand: hosts, pages and responses.

Laws: a response depends only on the seed, the URL, the validators of the request and the number of
earlier requests for the URL. The order of requests does not matter, so an interrupted crawl finds
the same web when it resumes. Only the list of hosts is stored. An annex is not part of the link
graph.

site         an ordinary host; all sites together have the requested number of pages
hub          a host that leads to many others
annex        response of a site for a path that is none of its pages: robots.txt, files, closed
             sections. Pages of the attic are only in the sitemap. Pages for members are linked, but
             must not be requested where robots.txt forbids them.
curiosity    a difficult host: redirects, loops, traps, strange encodings
"""

import asyncio
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from email.utils import formatdate
from functools import cache
from http import HTTPStatus
from random import Random
from threading import Thread
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, Self

from minicrawl.config import Loaded, Settings
from minicrawl.config.parts import DEMO_STORE, DEMO_USUAL, TABLE
from minicrawl.config.settings import DEFAULT
from minicrawl.demo.small_web import (
    COMMONS,
    DIRECTORY,
    DOMAIN,
    FRONT,
    LICENCE,
    MISSING,
    SHORT,
    SPAM,
    TOPICS,
    Anchor,
    Atlas,
    Author,
    DemoResponse,
    Quirk,
    Sheet,
    Site,
    document,
    forbids_members,
    has_search,
    html,
    moved,
    page,
    refused,
    text,
)

# ================================================================ special hosts
#
# Hubs, and hosts that are difficult for crawlers.
#
# The hubs are a directory of all sites, a portal, and the host of the licence that most pages refer
# to. Law: only the `paths` of a hub exist, and `sheet` gives the page of each. The portal has new
# headlines at each visit; the other hubs never change.
#
# The difficult hosts have short links, redirect loops, an endless calendar and unusual encodings.
# Law: such a host is a function from path to response, and its pages are not in the link graph.

PORTAL: Final = f"http://www.daybreak-portal{DOMAIN}/"
INDEXED: Final = 2_000  # links on the longest page of the directory
_HEADLINES: Final = 15
_FEATURED: Final = 12


class Hub(NamedTuple):
    """A host with few pages: its paths, and the page of each for a visitor."""

    paths: Sequence[str]
    sheet: Callable[[str, int], Sheet]


def hubs(atlas: Atlas, curiosities: Sequence[Anchor]) -> dict[str, Hub]:
    """Return the hubs by host; the portal leads to the curiosities, the directory to all sites."""
    topics = [f"/{topic.name}/" for topic in TOPICS]
    return {
        _host(DIRECTORY): Hub(
            ["/", "/everything", *topics], lambda path, _visits: _directory(atlas, path)
        ),
        _host(PORTAL): Hub(["/"], lambda _path, visits: _portal(atlas, curiosities, visits)),
        _host(COMMONS): Hub(["/", "/licence"], lambda path, _visits: _commons(atlas, path)),
    }


def _host(url: str) -> str:
    return url.split("/")[2]


def _directory(atlas: Atlas, path: str) -> Sheet:
    shelves = [Anchor(f"/{topic.name}/", topic.name.title()) for topic in TOPICS]
    everything = Anchor("/everything", "Everything")
    if path == "/":
        words, found = "A lantern for every harbour, garden and shed.", _fronts(atlas.sites[:10])
    elif path == everything.href:
        words, found = "The longest page we have.", _everything(atlas)
    else:
        words = "All that is known to us on this subject."
        found = _fronts(site for site in atlas.sites if path == f"/{site.topic.name}/")
    return Sheet(
        site="Lantern Directory",
        title=path.strip("/").title() or "Lantern Directory",
        menu=[Anchor("/", "Lantern Directory"), *shelves, everything],
        prose=(words,),
        lists=[("Entries", found)],
        footer=(LICENCE,),
    )


def _everything(atlas: Atlas) -> list[Anchor]:
    step = max(1, atlas.pages // INDEXED)
    found = [atlas.find(page) for page in range(0, atlas.pages, step)[:INDEXED]]
    return [
        Anchor(f"http://{site.host}{site.path(place)}", site.title(place)) for site, place in found
    ]


def _portal(atlas: Atlas, curiosities: Sequence[Anchor], visits: int) -> Sheet:
    open_sites = [site for site in atlas.sites if site.quirk is not Quirk.SHUT]
    return Sheet(
        site="Daybreak",
        title="Daybreak Portal",
        menu=[Anchor(DIRECTORY, "Directory"), Anchor(COMMONS, "The commons")],
        prose=("Good morning. This is what the little web talks about today.",),
        lists=[
            ("Featured", _fronts(open_sites[:_FEATURED])),
            ("Headlines", [_headline(atlas, _HEADLINES * visits + i) for i in range(_HEADLINES)]),
            ("Curiosities", curiosities),
        ],
        footer=(LICENCE,),
    )


def _headline(atlas: Atlas, number: int) -> Anchor:
    """Return a headline. Headlines rotate over the hosts, with another article in each round."""
    rounds, turn = divmod(number, len(atlas.sites))
    site = atlas.sites[turn]
    place = site.sections + 1 + rounds % (site.size - site.sections - 1)
    return Anchor(f"http://{site.host}{site.path(place)}", site.title(place))


def _commons(atlas: Atlas, path: str) -> Sheet:
    return Sheet(
        site="The Open Commons",
        title="Free to copy" if path == "/licence" else "The Open Commons",
        menu=(Anchor("/", "The Open Commons"), Anchor("/licence", "The licence")),
        prose=("Copy it, mend it, pass it on, and say where you have it from.",),
        lists=[("Who does so", _fronts(atlas.sites[:_FEATURED]))],
    )


def _fronts(sites: Iterable[Site]) -> list[Anchor]:
    return [Anchor(site.url, site.title(FRONT)) for site in sites]


CALENDAR: Final = f"http://calendar.town-hall{DOMAIN}/"
LETTERS: Final = f"http://www.old-letters{DOMAIN}/"
_MONTHS: Final = 12
_DAYS: Final = 28
_MONTH: Final = re.compile(r"/([0-9]{1,9})/([0-9]{1,2})(?:/([0-9]{1,2}))?")

Curiosity = Callable[[str], DemoResponse]


def curiosities(atlas: Atlas, moved_site: Site) -> dict[str, Curiosity]:
    """Return the difficult hosts by name."""
    return {
        old_host(moved_site): lambda path: moved(301, f"{moved_site.url}{path[1:]}"),
        f"go.short-links{DOMAIN}": lambda path: _short_link(atlas, path),
        f"calendar.town-hall{DOMAIN}": _town_hall,
        f"www.old-letters{DOMAIN}": _letters,
        f"www.cheap-anchors{DOMAIN}": _spam,
    }


def old_host(site: Site) -> str:
    """Return the host name of a site before it moved."""
    return f"old.{site.host.partition('.')[2]}"


def ways_in(moved_site: Site) -> list[Anchor]:
    """Return links to all curiosities but the spam host, whose links are nofollow."""
    return [
        Anchor(f"http://{old_host(moved_site)}/", f"{moved_site.name}, at its old address"),
        Anchor(f"{SHORT}chain/1", "Three doors, one room"),
        Anchor(f"{SHORT}round", "Round and round"),
        Anchor(CALENDAR, "What is on at the town hall"),
        Anchor(LETTERS, "Old letters"),
    ]


_DOORS: Final = {
    "/chain/1": (301, f"{SHORT}chain/2"),
    "/chain/2": (302, "/chain/3"),
    "/chain/3": (301, DIRECTORY),
    "/round": (302, "/and-round"),
    "/and-round": (302, "/round"),
}


def _short_link(atlas: Atlas, path: str) -> DemoResponse:
    if path in _DOORS:
        return moved(*_DOORS[path])
    number = path[1:]
    if number.isascii() and number.isdigit() and len(number) <= len(str(atlas.pages)):
        return moved(302, atlas.url(int(number))) if int(number) < atlas.pages else MISSING
    return MISSING


def _town_hall(path: str) -> DemoResponse:
    if path == "/":
        links = [Anchor("/2003/5", "Calendar"), Anchor("/rooms/hall", "Rooms")]
        return _room("Town Hall", "Open on weekdays.", links)
    if path.startswith("/rooms/"):
        doors = [Anchor(f"{path}/{way}", way.title()) for way in ("east", "west", "upstairs")]
        return _room(path.rpartition("/")[2].title(), "It looks like the room before.", doors)
    return _calendar(path)


def _calendar(path: str) -> DemoResponse:
    parts = _MONTH.fullmatch(path)
    if parts is None or not 1 <= int(parts[2]) <= _MONTHS:
        return MISSING
    month = _MONTHS * int(parts[1]) + int(parts[2]) - 1
    ways = [Anchor(_month_path(month + 1), "Next month"), Anchor("/", "Town Hall")]
    if month:
        ways.append(Anchor(_month_path(month - 1), "The month before"))
    if parts[3] is None:
        ways += [Anchor(f"{path}/{day}", f"Day {day}") for day in range(1, _DAYS + 1)]
    return _room(f"Calendar {path[1:]}", "Nothing is on.", ways)


def _month_path(month: int) -> str:
    year, before = divmod(month, _MONTHS)
    return f"/{year}/{before + 1}"


def _room(title: str, words: str, ways: list[Anchor]) -> DemoResponse:
    return page(Sheet(site="Town Hall", title=title, prose=(words,), lists=[("Ways", ways)]))


def _letters(path: str) -> DemoResponse:
    if path == "/":
        links = [
            Anchor("/latin", "A letter from the café"),
            Anchor("/wide", "A letter in wide ink"),
        ]
        return page(_letter("Old Letters", "Kept as they were written.", links))
    if path == "/latin":
        sheet = _letter("Déjà vu", "Le garçon a oublié la crème brûlée.", [], "iso-8859-1")
        return document("text/html", html(sheet).replace("–", "-").encode("latin-1"))
    if path == "/wide":
        links = [Anchor("/wide/answer", "The answer")]
        wide = html(_letter("Wide ink", "Two bytes for every sign.", links, "utf-16"))
        return document("text/html", wide.encode("utf-16"))
    if path == "/wide/answer":
        return page(_letter("The answer", "If you can read this, you have read the wide ink.", []))
    return MISSING


def _letter(title: str, words: str, links: list[Anchor], charset: str = "utf-8") -> Sheet:
    return Sheet(
        site="Old Letters", title=title, prose=(words,), lists=[("", links)], charset=charset
    )


def _spam(path: str) -> DemoResponse:
    offers = [Anchor(f"{SPAM}offer-{number}", "An offer") for number in range(1, 30)]
    return page(Sheet(site="Cheap Anchors", title=path[1:].title(), lists=[("Offers", offers)]))


# ================================================================ web

CRAWL_DELAY_S: Final = 0.1
_ATTIC: Final = 5  # pages that are only in the sitemap
_SITEMAP_EVERY: Final = 4
_NUMBERED: Final = re.compile(r"(/(?:attic|download|picture)/|/members/letter-)([0-9]{1,9})")


def annex(site: Site, path: str) -> DemoResponse:
    """Return the response for a path that is none of the site's pages."""
    if path in _SINGLE:
        return _SINGLE[path](site)
    if numbered := _NUMBERED.fullmatch(path):
        return _SERIES[numbered[1]](site, int(numbered[2]))
    return MISSING


def attic(site: Site) -> tuple[str, ...]:
    """Return the URLs of the pages that only the sitemap names; none if the site has no sitemap."""
    if site.number % _SITEMAP_EVERY:
        return ()
    return tuple(f"{site.url}attic/{number}" for number in range(1, _ATTIC + 1))


def _robots(site: Site) -> DemoResponse:
    if site.quirk is Quirk.SHUT:
        return refused(503, "Closed for winter.")
    lines = ["Disallow: /members/"] if forbids_members(site) else []
    if site.quirk is Quirk.PATIENT:
        lines.append(f"Crawl-delay: {CRAWL_DELAY_S}")
    if attic(site):
        lines.append(f"Sitemap: {site.url}sitemap.xml")
    return text("\n".join(["User-agent: *", *lines, ""])) if lines else MISSING


def _sitemap(site: Site) -> DemoResponse:
    if not attic(site):
        return MISSING
    entries = "".join(f"<url><loc>{url}</loc></url>\n" for url in (site.url, *attic(site)))
    return document(
        "application/xml",
        b'<?xml version="1.0" encoding="UTF-8"?>\n'
        b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        b"%b</urlset>\n" % entries.encode(),
    )


def _search(site: Site) -> DemoResponse:
    if not has_search(site):
        return MISSING
    words = "Type a word above; most people look for the way back."
    return page(_note(site, "Search", words, '<meta name="robots" content="noindex, follow">\n'))


def _from_the_attic(site: Site, number: int) -> DemoResponse:
    if number not in range(1, len(attic(site)) + 1):
        return MISSING
    return page(_note(site, f"Box {number} from the attic", "Nobody has linked to this for years."))


def _report(site: Site, number: int) -> DemoResponse:
    return document(
        "application/pdf", f"%PDF-1.4\n% {site.name}, report {number}\n%%EOF\n".encode()
    )


def _note(site: Site, title: str, words: str, head: str = "") -> Sheet:
    home = (Anchor("/", site.name),)
    return Sheet(site=site.name, title=title, menu=home, prose=(words,), head=head)


_SINGLE: Final[dict[str, Callable[[Site], DemoResponse]]] = {
    "/robots.txt": _robots,
    "/sitemap.xml": _sitemap,
    "/search": _search,
}
_SERIES: Final[dict[str, Callable[[Site, int], DemoResponse]]] = {
    "/attic/": _from_the_attic,
    "/download/": _report,
    "/picture/": lambda site, number: document(
        "image/png", b"\x89PNG\r\n\x1a\n%b %d" % (site.host.encode(), number)
    ),
    "/members/letter-": lambda site, number: page(
        _note(site, f"Letter {number} to the members", "Please do not pass this on.")
    ),
}


SLOW_S: Final = 0.5
RETRY_AFTER_S: Final = 1
_SEED_SITES: Final = slice(1, 8)  # links must be followed to find the largest host
_MOVED: Final = 0  # number of the site that has an old name as well
_MIRRORED: Final = 7  # number of the site that has a mirror
_VISITS_PER_FAILURE: Final = 5  # a flaky page fails at its first visit, and again after this many
_PUBLISHED: Final = 1_053_388_800  # 20 May 2003
_DAY_S: Final = 86_400


class DemoWeb:
    """A small web of `pages` ordinary pages, with special hosts beside them."""

    __slots__ = ("_author", "_curiosities", "_hubs", "_site_of_host", "_sites")

    def __init__(self, pages: int, seed: int = 2003) -> None:
        rng = Random(seed)
        atlas = Atlas(pages, rng)
        moved_site, mirrored = atlas.sites[_MOVED], atlas.sites[_MIRRORED]
        mirror = f"mirror.{mirrored.host.partition('.')[2]}"
        oddities = [*ways_in(moved_site), Anchor(f"http://{mirror}/", f"{mirrored.name}, a copy")]
        self._author = Author(atlas, rng)
        self._sites = atlas.sites
        self._site_of_host = {**{site.host: site for site in atlas.sites}, mirror: mirrored}
        self._hubs = hubs(atlas, oddities)
        self._curiosities = curiosities(atlas, moved_site)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names that are served."""
        return (*self._site_of_host, *self._hubs, *self._curiosities)

    @property
    def seeds(self) -> tuple[str, ...]:
        """URLs from which every page of the link graph can be reached."""
        return (PORTAL, *(site.url for site in self._sites[_SEED_SITES]))

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int
    ) -> DemoResponse:
        """Answer a GET by a visitor who comes after `visits` others; header names in lower case."""
        path, _, query = target.partition("?")
        return _unless_known(self._answer(host, path, query, visits), headers)

    def _answer(self, host: str, path: str, query: str, visits: int) -> DemoResponse:
        if site := self._site_of_host.get(host):
            return self._answer_of_site(site, path, query, visits)
        if hub := self._hubs.get(host):
            return page(hub.sheet(path, visits)) if path in hub.paths else MISSING
        if curiosity := self._curiosities.get(host):
            return curiosity(path)
        return refused(421, "This host is not served here.")

    def _answer_of_site(self, site: Site, path: str, query: str, visits: int) -> DemoResponse:
        place = FRONT if path == "/index.html" else site.place(path)
        if place is None:
            answer = annex(site, path)
        elif site.quirk is Quirk.FLAKY and visits % _VISITS_PER_FAILURE == 0:
            answer = _failure(place)
        else:
            answer = self._page(site, place, query, visits)
        return answer._replace(delay_s=SLOW_S) if site.quirk is Quirk.SLOW else answer

    def _page(self, site: Site, place: int, query: str, visits: int) -> DemoResponse:
        canonical = f"http://{site.host}{site.path(place)}"
        head = f'<link rel="canonical" href="{canonical}">\n' if query == "print" else ""
        version = self._author.version(site, place, visits)
        sheet = self._author.sheet(site, place, version, head)
        return page(sheet, {"Last-Modified": _modified(version)})


def _failure(place: int) -> DemoResponse:
    if place % 2:
        return refused(500, "Something crackled.")
    return refused(503, "One moment, please.", Retry_After=str(RETRY_AFTER_S))


def _unless_known(answer: DemoResponse, headers: Mapping[str, str]) -> DemoResponse:
    """Return a 304 for a page that the visitor has; an ETag takes precedence over a date."""
    etag = answer.headers.get("ETag")
    if etag is None:
        return answer
    if asked := headers.get("if-none-match"):
        is_known = etag in (tag.strip().removeprefix("W/") for tag in asked.split(","))
    else:
        date = answer.headers.get("Last-Modified")
        is_known = date is not None and date == headers.get("if-modified-since")
    return answer._replace(status=304, body=b"") if is_known else answer


@cache
def _modified(version: int) -> str:
    """Return the date of a version: the first is as old as OPIC's paper, others follow daily."""
    return formatdate(_PUBLISHED + version * _DAY_S, usegmt=True)


# ================================================================ server
#
# An HTTP/1.1 server on loopback, in a thread with an event loop of its own.
#
# Law: whatever it sends, a client gets responses in the order of its requests, or an error after
# which the connection is closed. Leaving the `with` block ends every connection and the thread.
# Only the line and the headers of a request are read: a GET has no body, and methods other than GET
# and HEAD are refused. Each server counts visits from 0, so pages that change begin with version 0.

_LONGEST_HEAD: Final = 16_384
_BACKLOG: Final = 1_024
_REQUEST_LINE: Final = re.compile(r"([A-Z]+) (/[!-~]*) HTTP/1\.([01])")
_METHODS: Final = ("GET", "HEAD")
_END_OF_HEAD: Final = b"\r\n\r\n"


class ServedWeb(Protocol):
    """A web that can be served."""

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        """Answer a GET by a visitor who comes after `visits` others."""


class _Request(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str]  # by lower-case name
    keeps_alive: bool


class DemoServer:
    """Server of a web, as a context manager; `requests` counts requests by URL."""

    address: str
    """Address of the server, as host:port; known inside the `with` block."""

    def __init__(self, web: ServedWeb) -> None:
        self.requests: Counter[str] = Counter()
        self._web = web

    def __enter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = Thread(target=self._run, args=(listener,), name="demo web", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _answer(self, request: _Request) -> DemoResponse:
        """Count the visit, and return the web's response."""
        host = request.headers["host"].partition(":")[0].lower()
        url = f"http://{host}{request.target}"
        visits = self.requests[url]
        self.requests[url] = visits + 1
        return self._web.answer(host, request.target, request.headers, visits)

    def _run(self, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        open_connections: set[_Connection] = set()
        server = await self._loop.create_server(
            lambda: _Connection(self._answer, open_connections), sock=listener, backlog=_BACKLOG
        )
        async with server:
            await self._stop.wait()
            server.close()
            # A connection that is being accepted is not in the set yet: wait for its task.
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
            for connection in open_connections:
                connection.abort()
            # The transports release their sockets in the next turn of the loop.
            await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """A connection: received bytes without a response yet, and the pending response."""

    def __init__(
        self, answer: Callable[[_Request], DemoResponse], open_connections: set["_Connection"]
    ) -> None:
        self._answer = answer
        self._open_connections = open_connections
        self._received = bytearray()
        self._delayed: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open_connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._open_connections.discard(self)
        if self._delayed:
            self._delayed.cancel()

    def data_received(self, received: bytes) -> None:
        self._received += received
        self._answer_what_is_there()

    def abort(self) -> None:
        self._transport.abort()

    def _answer_what_is_there(self) -> None:
        """Answer received requests until one is delayed or incomplete, or the connection closes."""
        while self._delayed is None and not self._transport.is_closing():
            end = self._received.find(_END_OF_HEAD)
            length = len(self._received) if end < 0 else end
            if length > _LONGEST_HEAD:
                self._refuse(refused(431, "That is too long."))
            elif end < 0:
                return
            else:
                head = self._received[:end].decode("latin-1")
                del self._received[: end + len(_END_OF_HEAD)]
                self._take(head)

    def _take(self, head: str) -> None:
        request = _parsed(head)
        if isinstance(request, DemoResponse):
            self._refuse(request)
            return
        answer = self._answer(request)
        if answer.delay_s:
            loop = asyncio.get_running_loop()
            self._delayed = loop.call_later(answer.delay_s, self._send_late, request, answer)
        else:
            self._send(request, answer)

    def _send_late(self, request: _Request, answer: DemoResponse) -> None:
        self._delayed = None
        self._send(request, answer)
        self._answer_what_is_there()

    def _send(self, request: _Request, answer: DemoResponse) -> None:
        self._transport.write(
            _written(answer, has_body=request.method == "GET", is_last=not request.keeps_alive)
        )
        if not request.keeps_alive:
            self._transport.close()

    def _refuse(self, answer: DemoResponse) -> None:
        """Send an error and close: after a malformed request the next one cannot be found."""
        self._transport.write(_written(answer, has_body=True, is_last=True))
        self._transport.close()


def _parsed(head: str) -> _Request | DemoResponse:
    """Parse a request, or return the response to one that cannot be served."""
    line, *fields = head.split("\r\n")
    match = _REQUEST_LINE.fullmatch(line)
    headers = {name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)}
    if match is None or "host" not in headers:
        return refused(400, "This is not a request.")
    method, target, minor_version = match.groups()
    if method not in _METHODS:
        return refused(405, "One can only read here.", Allow=", ".join(_METHODS))
    connection = headers.get("connection", "").lower()
    keeps_alive = minor_version == "1" and connection != "close"
    return _Request(method, target, headers, keeps_alive)


def _written(answer: DemoResponse, *, has_body: bool, is_last: bool) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    if answer.status != HTTPStatus.NOT_MODIFIED:
        lines.append(f"Content-Length: {len(answer.body)}")
    if is_last:
        lines.append("Connection: close")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1")
    return head + answer.body if has_body else head


# ================================================================ settings


def demo_settings(loaded: Loaded, pages: int, address: str) -> Loaded:
    """Return settings for the demo: no delays, since the server is our own, and a small endowment.

    The endowment is small because nobody chose the seeds. Flags of the command line count; other
    settings are defaults.
    """
    usual: dict[str, Any] = {
        **DEMO_USUAL,
        "pages": pages,
        "per_address": loaded.settings.politeness.concurrency,
        "store": str(DEMO_STORE),
    }
    is_flag = {name: origin.startswith("--") for name, origin in loaded.origins.items()}
    flags = {
        setting.argument: loaded.settings.value(setting)
        for setting in TABLE
        if is_flag[setting.name]
    }
    return Loaded(
        settings=Settings.of(
            **usual | flags | {"resolve": [f"*={address}"], "allow_private": True, "proxy": "none"}
        ),
        origins={
            name: origin if is_flag[name] else DEFAULT for name, origin in loaded.origins.items()
        },
    )
