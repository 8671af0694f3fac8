"""Hubs, and hosts that are difficult for crawlers.

The hubs are a directory of all sites, a portal, and the host of the licence that most pages refer
to. Law: only the `paths` of a hub exist, and `sheet` gives the page of each. The portal has new
headlines at each visit; the other hubs never change.

The difficult hosts have short links, redirect loops, an endless calendar and unusual encodings.
Law: such a host is a function from path to response, and its pages are not in the link graph.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

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
        words, anchors = "A lantern for every harbour, garden and shed.", _fronts(atlas.sites[:10])
    elif path == everything.href:
        words, anchors = "The longest page we have.", _everything(atlas)
    else:
        words = "All that is known to us on this subject."
        anchors = _fronts(site for site in atlas.sites if path == f"/{site.topic.name}/")
    return Sheet(
        site="Lantern Directory",
        title=path.strip("/").title() or "Lantern Directory",
        menu=[Anchor("/", "Lantern Directory"), *shelves, everything],
        prose=(words,),
        lists=[("Entries", anchors)],
        footer=(LICENCE,),
    )


def _everything(atlas: Atlas) -> list[Anchor]:
    step = max(1, atlas.pages // INDEXED)
    places = [atlas.find(page) for page in range(0, atlas.pages, step)[:INDEXED]]
    return [
        Anchor(f"http://{site.host}{site.path(place)}", site.title(place)) for site, place in places
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
