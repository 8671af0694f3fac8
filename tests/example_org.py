"""Demo web for the examples of `docs/explanation/five-users.md`: example.org and a neighbour.

It has the faults of an old site: broken links, redirects, an orphan page, a duplicate, a link into
a private network, images and styles. Two pages change after the first visit: /news has another
text, and /sale is gone.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer

ORIGIN = "http://example.org"
SEEDS = f"{ORIGIN}/\n"
_HOSTS = ("example.org", "shop.example.net")
_HTML = "text/html; charset=utf-8"
_ROBOTS = f"User-agent: *\nDisallow: /private\nSitemap: {ORIGIN}/sitemap.xml\n"
_STYLE = (
    "@font-face { font-family: Duck; src: url(/duck.woff2) } body { background: url(/pond.png) }"
)
_DUCKS = (
    "A rubber duck floats because it is hollow. Engineers talk to a rubber duck to find faults."
)
_DRAKES = "The drake of the mallard has a green head and says less than the duck does."


def _listed(*paths: str) -> str:
    urls = "".join(f"<url><loc>{ORIGIN}{path}</loc></url>" for path in paths)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'


def _page(title: str, words: str, *links: tuple[str, str]) -> str:
    items = "".join(f'<li><a href="{url}">{text}</a></li>' for url, text in links)
    return (
        f'<!doctype html><html lang="en"><head><title>{title}</title>'
        f'<link rel="stylesheet" href="/style.css"></head><body><img src="/logo.png" alt="Duck">'
        f"<h1>{title}</h1><p>{words}</p><ul>{items}</ul></body></html>"
    )


_HOME, _DOCS = ("/", "Home"), ("/docs/", "The guide")
_ABOUT = _page("About us", "We are three friends with a pond, a dog and nine ducks.", _HOME)
_PAGES: dict[str, str] = {
    "/": _page(
        "The Duck Site",
        "All about ducks, for people who have one and for people who want one.",
        *(_DOCS, ("/news", "News"), ("/sale", "The sale"), ("/about", "About us")),
        *(("/old-guide", "The old guide"), ("/fotos", "Our photos"), ("/about.html", "Imprint")),
        ("http://shop.example.net/ducks", "The shop"),
        ("http://shop.example.net/gone", "The other shop"),
        ("http://10.0.0.1/statistics", "Statistics"),
        ("/private/drafts", "Drafts"),
    ),
    "/docs/": _page(
        "The guide to ducks",
        "What a duck needs, and what it can do for you in return, in two chapters.",
        *(_HOME, ("/docs/rubber", "The rubber duck"), ("/docs/drakes", "Drakes")),
    ),
    "/docs/rubber": _page("The rubber duck", _DUCKS, _DOCS, ("/docs/drakes#heads", "Heads")),
    "/docs/drakes": _page("Drakes", _DRAKES, _DOCS, ("/docs/feathers", "Feathers")),
    "/about": _ABOUT,
    "/about.html": _ABOUT,
    "/thanks": _page("Thanks", "Thank you for your order. The duck is on its way to you.", _HOME),
}
_OTHERS = {
    "/robots.txt": ("text/plain", _ROBOTS),
    "/sitemap.xml": ("application/xml", _listed("/", "/docs/", "/thanks")),
    "/style.css": ("text/css", _STYLE),
    "/logo.png": ("image/png", "\x89PNG of a duck"),
    "/pond.png": ("image/png", "\x89PNG of a pond"),
    "/duck.woff2": ("font/woff2", "wOF2 of a duck"),
}
_MOVED = {"/old-guide": "/guide", "/guide": "/docs/", "/fotos": "/photos"}


class ExampleOrg:
    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        """Return the response to a request that follows `visits` others for the same URL."""
        if host != _HOSTS[0]:
            return _answer(200, "Ducks for sale") if target == "/ducks" else _answer(404)
        if target in _MOVED:
            return DemoResponse(301, {"Location": _MOVED[target]}, b"")
        if target == "/news":
            words = f"Bulletin {visits + 1}: the pond has {'thawed' if visits else 'frozen'} again."
            return _answer(200, _page("News of the pond", words, _HOME))
        if target == "/sale" and not visits:
            return _answer(200, _page("Sale", "Today only: ducks.", _HOME))
        if target in _OTHERS:
            kind, content = _OTHERS[target]
            return _answer(200, content, kind)
        return _answer(200, _PAGES[target]) if target in _PAGES else _answer(404)


def _answer(status: int, content: str = "", kind: str = _HTML) -> DemoResponse:
    return DemoResponse(status, {"Content-Type": kind}, content.encode("latin-1"))


@contextmanager
def serving_example_org() -> Iterator[dict[str, str]]:
    """Serve the web. Yields environment variables that lead minicrawl there and nowhere else."""
    with DemoServer(ExampleOrg()) as server:
        yield {
            "MINICRAWL_RESOLVE": "\n".join(f"{host}={server.address}" for host in _HOSTS),
            "MINICRAWL_DELAY": "0",
            "MINICRAWL_ADDRESS_DELAY": "0",
            "MINICRAWL_CONTACT": "owner@example.org",
            "MINICRAWL_PROXY": "none",
        }
