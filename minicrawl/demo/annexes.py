"""What ordinary hosts have beside their pages: robots.txt, a sitemap, files, closed rooms.

Law: nothing here is part of the link graph. Pages of the attic are in the sitemap and nowhere
else; pages for members are linked, but where robots.txt closes them they must never be asked for.
"""

import re
from collections.abc import Callable
from typing import Final

from minicrawl.demo.pages import forbids_members, has_search
from minicrawl.demo.sheet import MISSING, Anchor, DemoResponse, Sheet, document, page, refused, text
from minicrawl.demo.sites import Quirk, Site

CRAWL_DELAY_S: Final = 0.1
_ATTIC: Final = 5  # pages that only the sitemap knows
_SITEMAP_EVERY: Final = 4
_NUMBERED: Final = re.compile(r"(/(?:attic|download|picture)/|/members/letter-)([0-9]{1,9})")


def annex(site: Site, path: str) -> DemoResponse:
    """The answer to a path at which none of the site's pages stands."""
    if path in _SINGLE:
        return _SINGLE[path](site)
    if numbered := _NUMBERED.fullmatch(path):
        return _SERIES[numbered[1]](site, int(numbered[2]))
    return MISSING


def attic(site: Site) -> tuple[str, ...]:
    """The pages that no link leads to; none where there is no sitemap either."""
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


def _letter(site: Site, number: int) -> DemoResponse:
    return page(_note(site, f"Letter {number} to the members", "Please do not pass this on."))


def _report(site: Site, number: int) -> DemoResponse:
    return document(
        "application/pdf", f"%PDF-1.4\n% {site.name}, report {number}\n%%EOF\n".encode()
    )


def _photograph(site: Site, number: int) -> DemoResponse:
    return document("image/png", b"\x89PNG\r\n\x1a\n%b %d" % (site.host.encode(), number))


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
    "/picture/": _photograph,
    "/members/letter-": _letter,
}
