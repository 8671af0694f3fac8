"""The hosts everybody knows: a directory of all hosts, a portal, and the licence all refer to.

Law: `sheet` of a hub says all its pages by path; what is not among `paths` does not exist. The
portal has other headlines at each visit, the other hubs never change.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from minicrawl.demo.pages import COMMONS, DIRECTORY, LICENCE
from minicrawl.demo.sheet import Anchor, Sheet
from minicrawl.demo.sites import DOMAIN, FRONT, Atlas, Quirk, Site
from minicrawl.demo.words import TOPICS

PORTAL: Final = f"http://www.daybreak-portal{DOMAIN}/"
INDEXED: Final = 2_000  # links on the directory's longest page
_HEADLINES: Final = 15
_FEATURED: Final = 12


class Hub(NamedTuple):
    """A host with few pages: which paths there are, and the page at each for its nth visitor."""

    paths: Sequence[str]
    sheet: Callable[[str, int], Sheet]


def hubs(atlas: Atlas, curiosities: Sequence[Anchor]) -> dict[str, Hub]:
    """The hubs by host; the portal leads to the curiosities, the directory to all sites."""
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
    """Headlines go around the hosts, and from one article to the next at each round."""
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
