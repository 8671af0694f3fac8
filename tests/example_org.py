"""The web that the examples of `docs/explanation/five-users.md` crawl: example.org and a neighbour.

It has what a site of some years has: links that are broken, redirects, a page that nobody links to,
a page twice, a link into somebody's own network, images and styles. Of two pages, the second
visitor gets another one than the first: the news change, and the sale is over.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from minicrawl.demo.small_web import DemoResponse
from minicrawl.demo.web import DemoServer

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
    "/about": _page("About us", "We are three friends with a pond, a dog and nine ducks.", _HOME),
    "/about.html": _page(
        "About us", "We are three friends with a pond, a dog and nine ducks.", _HOME
    ),
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
    """Both hosts."""

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        """What is at a URL, for a visitor after so many others."""
        if host != _HOSTS[0]:
            return _answer(200, "Ducks for sale") if target == "/ducks" else _answer(404)
        if target in _MOVED:
            return DemoResponse(301, {"Location": _MOVED[target]}, b"")
        if target == "/news":
            words = f"Bulletin {visits + 1}: the pond has {'thawed' if visits else 'frozen'} again."
            return _answer(200, _page("News of the pond", words, _HOME))
        if target == "/sale":
            is_over = visits > 0
            return (
                _answer(404)
                if is_over
                else _answer(200, _page("Sale", "Today only: ducks.", _HOME))
            )
        if target in _OTHERS:
            kind, content = _OTHERS[target]
            return _answer(200, content, kind)
        return _answer(200, _PAGES[target]) if target in _PAGES else _answer(404)


def _answer(status: int, content: str = "", kind: str = _HTML) -> DemoResponse:
    return DemoResponse(status, {"Content-Type": kind}, content.encode("latin-1"))


@contextmanager
def serving_example_org() -> Iterator[dict[str, str]]:
    """Serve it; gives the variables with which minicrawl goes there, and nowhere else."""
    with DemoServer(ExampleOrg()) as server:
        yield {
            "MINICRAWL_RESOLVE": "\n".join(f"{host}={server.address}" for host in _HOSTS),
            "MINICRAWL_DELAY": "0",
            "MINICRAWL_ADDRESS_DELAY": "0",
            "MINICRAWL_CONTACT": "owner@example.org",
            "MINICRAWL_PROXY": "none",
        }
