"""Hubs, and hosts that are difficult for crawlers.

The hubs are a directory of all sites, a portal, and the host of the licence that most pages refer
to. The portal has new headlines at each visit; the other hubs never change. The difficult hosts,
called curiosities, have short links, redirect loops, an endless calendar and unusual encodings.
Law: such a host is a function from path and visits to response.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from minicrawl.demo.pages import (
    COMMONS,
    DIRECTORY,
    LICENCE,
    MISSING,
    SHORT,
    SPAM,
    Anchor,
    DemoResponse,
    Sheet,
    document,
    html,
    moved,
    page,
)
from minicrawl.demo.sites import DOMAIN, FRONT, Atlas, Quirk, Site
from minicrawl.demo.words import TOPICS

PORTAL: Final = f"http://www.daybreak-portal{DOMAIN}/"
CALENDAR: Final = f"http://calendar.town-hall{DOMAIN}/"
LETTERS: Final = f"http://www.old-letters{DOMAIN}/"
INDEXED: Final = 2_000  # links on the longest page of the directory
_HEADLINES: Final = 15
_FEATURED: Final = 12

SpecialHost = Callable[[str, int], DemoResponse]
"""(path, earlier visits) -> response."""


def special_hosts(
    atlas: Atlas, moved_site: Site, curiosities: Sequence[Anchor]
) -> dict[str, SpecialHost]:
    """Return the special hosts by name; the portal leads to the curiosities."""
    return {
        _host(DIRECTORY): lambda path, _visits: _directory(atlas, path),
        _host(PORTAL): lambda path, visits: _portal(atlas, curiosities, path, visits),
        _host(COMMONS): lambda path, _visits: _commons(atlas, path),
        old_host(moved_site): lambda path, _visits: moved(301, f"{moved_site.url}{path[1:]}"),
        _host(SHORT): lambda path, _visits: _short_link(atlas, path),
        _host(CALENDAR): lambda path, _visits: _town_hall(path),
        _host(LETTERS): lambda path, _visits: _letters(path),
        _host(SPAM): lambda path, _visits: _spam(path),
    }


def _host(url: str) -> str:
    return url.split("/")[2]


def _directory(atlas: Atlas, path: str) -> DemoResponse:
    shelves = [Anchor(f"/{topic.name}/", topic.name.title()) for topic in TOPICS]
    everything = Anchor("/everything", "Everything")
    if path == "/":
        words, anchors = "A lantern for every harbour, garden and shed.", _fronts(atlas.sites[:10])
    elif path == everything.href:
        words, step = "The longest page we have.", max(1, atlas.pages // INDEXED)
        places = map(atlas.find, range(0, atlas.pages, step)[:INDEXED])
        anchors = [_anchor(site, place) for site, place in places]
    elif any(path == shelf.href for shelf in shelves):
        words = "All that is known to us on this subject."
        anchors = _fronts(site for site in atlas.sites if path == f"/{site.topic.name}/")
    else:
        return MISSING
    return page(
        Sheet(
            site="Lantern Directory",
            title=path.strip("/").title() or "Lantern Directory",
            menu=[Anchor("/", "Lantern Directory"), *shelves, everything],
            prose=(words,),
            lists=[("Entries", anchors)],
            footer=(LICENCE,),
        )
    )


def _portal(atlas: Atlas, curiosities: Sequence[Anchor], path: str, visits: int) -> DemoResponse:
    if path != "/":
        return MISSING
    open_sites = [site for site in atlas.sites if site.quirk is not Quirk.SHUT]
    headlines = []
    for number in range(_HEADLINES * visits, _HEADLINES * (visits + 1)):
        # Headlines rotate over the hosts, with another article in each round.
        rounds, turn = divmod(number, len(atlas.sites))
        site = atlas.sites[turn]
        place = site.sections + 1 + rounds % (site.size - site.sections - 1)
        headlines.append(_anchor(site, place))
    return page(
        Sheet(
            site="Daybreak",
            title="Daybreak Portal",
            menu=[Anchor(DIRECTORY, "Directory"), Anchor(COMMONS, "The commons")],
            prose=("Good morning. This is what the little web talks about today.",),
            lists=[
                ("Featured", _fronts(open_sites[:_FEATURED])),
                ("Headlines", headlines),
                ("Curiosities", curiosities),
            ],
            footer=(LICENCE,),
        )
    )


def _commons(atlas: Atlas, path: str) -> DemoResponse:
    if path not in ("/", "/licence"):
        return MISSING
    return page(
        Sheet(
            site="The Open Commons",
            title="Free to copy" if path == "/licence" else "The Open Commons",
            menu=(Anchor("/", "The Open Commons"), Anchor("/licence", "The licence")),
            prose=("Copy it, mend it, pass it on, and say where you have it from.",),
            lists=[("Who does so", _fronts(atlas.sites[:_FEATURED]))],
        )
    )


def _fronts(sites: Iterable[Site]) -> list[Anchor]:
    return [_anchor(site, FRONT) for site in sites]


def _anchor(site: Site, place: int) -> Anchor:
    return Anchor(f"http://{site.host}{site.path(place)}", site.title(place))


_MONTHS: Final = 12
_DAYS: Final = 28
_MONTH: Final = re.compile(r"/([0-9]{1,9})/([0-9]{1,2})(?:/([0-9]{1,2}))?")


def old_host(site: Site) -> str:
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
    is_number = number.isascii() and number.isdigit() and len(number) <= len(str(atlas.pages))
    if is_number and int(number) < atlas.pages:
        return moved(302, atlas.url(int(number)))
    return MISSING


def _town_hall(path: str) -> DemoResponse:
    if path == "/":
        links = [Anchor("/2003/5", "Calendar"), Anchor("/rooms/hall", "Rooms")]
        return _room("Town Hall", "Open on weekdays.", links)
    if path.startswith("/rooms/"):
        doors = [Anchor(f"{path}/{way}", way.title()) for way in ("east", "west", "upstairs")]
        return _room(path.rpartition("/")[2].title(), "It looks like the room before.", doors)
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
