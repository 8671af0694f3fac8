"""A web of traps: healthy sites that link to each other, and traps on and between them.

Law: a response is a function of the URL alone. The pages in `healthy` are healthy; every other URL
except robots.txt belongs to a trap, which `kind_of` names.

calendar       endless months, and their days
session        a shop that puts a new id into the path of every link
deeper         rooms that lead to ever more rooms
repeated       a relative link that should be absolute: /a/b/b/b/b
permutations   filters in any order, with a counter that changes nothing
soft-404       missing pages with status 200 that link to more missing pages
mirror         other names of a healthy site
chain          endless redirects
farm           a hundred thousand hosts of one domain that link to each other
babble         one host with endless pages of random words
"""

from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Final, NamedTuple

from minicrawl.demo.pages import MISSING, DemoResponse, document, moved, text

FARM_HOSTS: Final = 100_000
MIRRORS: Final = [f"mirror{number}.example" for number in range(3)]
_SITES: Final = 65
_SMALLEST, _LARGEST = 15, 170
_SEEDS: Final = 6
_MIRRORED: Final = 30
_GOODS: Final = 12
_SYLLABLES: Final = tuple(
    "bacedifoguhajekilomunaperisotuvawexiyozu"[n : n + 2] for n in range(0, 40, 2)
)

ON_HEALTHY_SITES: Final = {
    "calendar": "/calendar/2003/5",
    "session": "/s/0/item/0",
    "deeper": "/rooms/hall",
    "repeated": "/docs/",
    "permutations": "/list?colour=red",
    "soft-404": "/gone/astray",
    "chain": "/doors",
}
"""First target of each trap on a healthy site; each trap has a site of its own."""
_FIRST_TRAPPED: Final = 10
_FILTERS: Final = ("colour=red", "colour=blue", "size=small", "size=large", "kind=old", "kind=new")
_KINDS_BY_FOLDER: Final = {
    target.split("/")[1].partition("?")[0]: kind for kind, target in ON_HEALTHY_SITES.items()
}
_KINDS_BY_HOST: Final = dict.fromkeys(MIRRORS, "mirror") | {"www.babble.example": "babble"}
_WAYS_IN: Final = [
    *(
        f"http://www.site{site}.example{target}"
        for site, target in enumerate(ON_HEALTHY_SITES.values(), _FIRST_TRAPPED)
    ),
    *(f"http://{host}/" for host in ("www.babble.example", "h0.farm.example", *MIRRORS)),
]


class Healthy(NamedTuple):
    """Page of a healthy site."""

    site: int
    place: int

    @property
    def url(self) -> str:
        return f"http://www.site{self.site}.example{path_of(self.place)}"


def path_of(place: int) -> str:
    """Return the path of a page: in folders, as a date, with parameters, or as a number."""
    match place % 4:
        case 0:
            return f"/part{place // 40}/{_name(place)}.html" if place else "/"
        case 1:
            return f"/{2000 + place // 12}/{place % 12 + 1:02}/"
        case 2:
            return f"/view?board={place % 3}&topic={place}"
        case _:
            return f"/article/{place}"


class TrapWeb:
    """All hosts of the web."""

    def __init__(self, seed: int = 2003) -> None:
        rng = Random(seed)
        sizes = [rng.randint(_SMALLEST, _LARGEST) for _ in range(_SITES)]
        self._sizes = sizes
        self.healthy = frozenset(
            Healthy(site, place).url for site, size in enumerate(sizes) for place in range(size)
        )
        self._places = {
            (f"www.site{site}.example", path_of(place)): Healthy(site, place)
            for site, size in enumerate(sizes)
            for place in range(size)
        }
        self._mirrored = dict.fromkeys(MIRRORS, f"www.site{_MIRRORED}.example")
        self.seeds = [Healthy(site, 0).url for site in range(_SEEDS)]

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        if target == "/robots.txt":
            return text("")
        page = self._places.get((self._mirrored.get(host, host), target))
        if page is not None:
            return self._healthy_page(page)
        kind = _kind_of(host, target)
        return MISSING if kind is None else _TRAPS[kind](host, target)

    def kind_of(self, url: str) -> str:
        """Return `healthy`, or the trap that the URL belongs to."""
        _, _, host, target = url.split("/", 3)
        kind = None if url in self.healthy else _kind_of(host, f"/{target}")
        return kind or "healthy"

    def _healthy_page(self, page: Healthy) -> DemoResponse:
        site, place = page
        rng = Random(f"{site} {place}")
        size = self._sizes[site]
        near = {2 * place + 1, 2 * place + 2, place + 1, rng.randrange(size)}
        ways = [path_of(other) for other in sorted(near) if other < size]
        for _ in range(2):
            other = rng.randrange(_SITES)
            ways.append(Healthy(other, int(self._sizes[other] * rng.random() ** 3)).url)
        if place % 40 == 5:
            ways.append(rng.choice(_WAYS_IN))
        return _page(f"{_name(place)} of {_name(site)}", _prose(rng), ways)


def _kind_of(host: str, target: str) -> str | None:
    """Return the trap that a target belongs to, or None."""
    if host.endswith(".farm.example"):
        return "farm"
    folder = target.split("/")[1].partition("?")[0]
    return _KINDS_BY_HOST.get(host) or _KINDS_BY_FOLDER.get(folder)


def _calendar(_: str, target: str) -> DemoResponse:
    _, _, year, month, *day = [*target.split("/"), "", ""][: 4 + target.count("/") - 3]
    number = 12 * int(year) + int(month)
    after, before = divmod(number, 12), divmod(number - 2, 12)
    ways = [f"/calendar/{y}/{m + 1}" for y, m in (after, before)]
    if not day:
        ways += [f"{target}/{number}" for number in range(1, 29)]
    return _page(f"Calendar {year} {month} {''.join(day)}", "Nothing is on that day.", ways)


def _shop(_: str, target: str) -> DemoResponse:
    """Link to items under a new session id with every page."""
    item = target.rpartition("/")[2]
    number = int(item) if item.isdecimal() else 0
    others = [(number * step + 1) % _GOODS for step in range(1, 8)]
    rng = Random(target)
    ways = [f"/s/{rng.getrandbits(128):032x}/item/{other}" for other in others]
    return _page(f"Shop: {_name(number)}", _prose(Random(number)), ways)


def _castle(_: str, target: str) -> DemoResponse:
    ways = [f"{target}/{way}" for way in ("east", "west", "upstairs")]
    return _page(target.rpartition("/")[2], "It looks like the room before.", ways)


def _slip(_: str, target: str) -> DemoResponse:
    rng = Random(target)
    return _page(f"Docs {_prose(rng, 3)}", _prose(rng), ["guide/", "guide/part/", "/docs/"])


def _filters(_: str, target: str) -> DemoResponse:
    """Link to filters in random order, with and without a random visit counter."""
    parts = target.partition("?")[2].split("&")
    chosen = sorted(part for part in parts if not part.startswith("visit"))
    goods, order = Random(str(chosen)), Random(target)
    names = {part.partition("=")[0] for part in chosen}
    choices = [
        chosen,
        *([*chosen, more] for more in _FILTERS if more.partition("=")[0] not in names),
    ]
    ways = [order.sample(choice, len(choice)) for choice in choices]
    visits = [f"/list?{'&'.join(way)}&visit={order.randrange(10**6)}" for way in ways]
    plain = [f"/list?{'&'.join(way)}" for way in ways]
    return _page(f"Goods: {_prose(goods, 2)}", _prose(goods), [*plain, *visits])


def _never_missing(_: str, target: str) -> DemoResponse:
    rng = Random(target)
    ways = [f"/gone/{_prose(rng, 2).replace(' ', '-')}" for _ in range(5)]
    return _page("Oh!", "What you look for is not here. Perhaps one of these?", ways)


def _doors(_: str, target: str) -> DemoResponse:
    number, _, hop = target.rpartition("/")
    if hop.isdecimal():
        return moved(302, f"{number}/{int(hop) + 1}")
    page = int(target.partition("?page=")[2] or 1)
    ways = [f"/doors/{page}-{door}/0" for door in range(20)]
    return _page("Doors", _prose(Random(target)), [*ways, f"/doors?page={page + 1}"])


def _farm(host: str, target: str) -> DemoResponse:
    rng = Random(host + target)
    ways = [f"http://h{rng.randrange(FARM_HOSTS)}.farm.example/" for _ in range(30)]
    return _page(_prose(rng, 4), _prose(rng), [*ways, f"/offer-{rng.randrange(1000)}"])


def _babble(_: str, target: str) -> DemoResponse:
    rng = Random(target)
    ways = [f"/{_name(rng.randrange(10**6))}/{_name(rng.randrange(10**6))}" for _ in range(10)]
    return _page(_prose(rng, 4), _prose(rng), ways)


def _missing(_host: str, _target: str) -> DemoResponse:
    return MISSING


_TRAPS: Final = {
    "calendar": _calendar,
    "session": _shop,
    "deeper": _castle,
    "repeated": _slip,
    "permutations": _filters,
    "soft-404": _never_missing,
    "chain": _doors,
    "farm": _farm,
    "babble": _babble,
    "mirror": _missing,
}

KINDS: Final = tuple(_TRAPS)


@cache
def _name(number: int) -> str:
    """Return a word that is different for each number."""
    rest, word = number + 20, ""
    while rest:
        rest, syllable = divmod(rest, 20)
        word += _SYLLABLES[syllable]
    return word


def _prose(rng: Random, words: int = 60) -> str:
    return " ".join(_name(rng.randrange(8000)) for _ in range(words))


def _page(title: str, prose: str, ways: list[str]) -> DemoResponse:
    links = "\n".join(f'<li><a href="{way}">on</a></li>' for way in ways)
    body = f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{prose}</p><ul>{links}</ul>"
    return document("text/html; charset=utf-8", body.encode())
