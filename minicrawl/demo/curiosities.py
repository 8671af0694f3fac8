"""The hosts that crawlers stumble over: short links, loops, a calendar without end, old letters.

Law: a host is a function from a path to its answer, whoever asks and however often. None of their
pages is part of the link graph.
"""

import re
from collections.abc import Callable
from typing import Final

from minicrawl.demo.pages import DIRECTORY, SHORT, SPAM
from minicrawl.demo.sheet import MISSING, Anchor, DemoResponse, Sheet, document, html, moved, page
from minicrawl.demo.sites import DOMAIN, Atlas, Site

CALENDAR: Final = f"http://calendar.town-hall{DOMAIN}/"
LETTERS: Final = f"http://www.old-letters{DOMAIN}/"
_MONTHS: Final = 12
_DAYS: Final = 28
_MONTH: Final = re.compile(r"/([0-9]{1,9})/([0-9]{1,2})(?:/([0-9]{1,2}))?")

Curiosity = Callable[[str], DemoResponse]


def curiosities(atlas: Atlas, moved_site: Site) -> dict[str, Curiosity]:
    """The curious hosts by name."""
    return {
        old_host(moved_site): lambda path: moved(301, f"{moved_site.url}{path[1:]}"),
        f"go.short-links{DOMAIN}": lambda path: _short_link(atlas, path),
        f"calendar.town-hall{DOMAIN}": _town_hall,
        f"www.old-letters{DOMAIN}": _letters,
        f"www.cheap-anchors{DOMAIN}": _spam,
    }


def old_host(site: Site) -> str:
    """Where a site stood before it moved."""
    return f"old.{site.host.partition('.')[2]}"


def ways_in(moved_site: Site) -> list[Anchor]:
    """Links that lead to all curiosities but the one that asks not to be followed."""
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
        return page(_letter("The answer", "Whoever reads this has read the wide ink.", []))
    return MISSING


def _letter(title: str, words: str, links: list[Anchor], charset: str = "utf-8") -> Sheet:
    return Sheet(
        site="Old Letters", title=title, prose=(words,), lists=[("", links)], charset=charset
    )


def _spam(path: str) -> DemoResponse:
    offers = [Anchor(f"{SPAM}offer-{number}", "An offer") for number in range(1, 30)]
    return page(Sheet(site="Cheap Anchors", title=path[1:].title(), lists=[("Offers", offers)]))
