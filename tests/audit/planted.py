"""A site with one planted fault for each issue; without them, the site is clean.

Every page has its own text and is linked from two others, so that nothing but the planted faults is
wrong. `FAULTS` has a function for each issue, which plants the fault and returns its page.
"""

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

HOST, ELSEWHERE = "https://shop.example", "https://other.example"
_WORDS = [
    *("amber", "birch", "cedar", "dune", "ember", "fjord", "grove"),
    *("heath", "inlet", "knoll", "larch", "marsh", "nook"),
]
_NOINDEX = '<meta name="robots" content="noindex">'
_CANONICAL = '<link rel="canonical" href="{}">'
GONE = "We looked everywhere but this page is gone."
GOOD_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "max-age=600",
    "strict-transport-security": "max-age=1000",
    "content-security-policy": "default-src 'self'",
}


@dataclass
class Page:
    """Page with the parts of its markup and its response."""

    path: str
    title: str | None = None
    description: str | None = None
    h1: str | None = None
    head: str = ""
    body: str = ""
    start: str = "<!doctype html><html lang=en>"
    viewport: str = '<meta name="viewport" content="width=device-width">'
    text: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: dict(GOOD_HEADERS))
    is_compressed: bool = True
    is_listed: bool = True
    links: tuple[str, ...] = ("/", "/all")
    lastmod: str = "2024-01-01"

    def markup(self) -> str:
        """Return the HTML of the page."""
        name = self.path.strip("/") or "home"
        title = f"All about {name} in our shop" if self.title is None else self.title
        description = f"What our shop has to say about {name}, its price, its uses and its history."
        description = description if self.description is None else self.description
        h1 = f"About {name}" if self.h1 is None else self.h1
        text = " ".join(f"{word} of {name}" for word in _WORDS) if self.text is None else self.text
        links = "".join(f'<a href="{link}">to {link}</a> ' for link in self.links)
        head = "".join(
            (
                f"<title>{title}</title>" if title else "",
                f'<meta name="description" content="{description}">' if description else "",
                self.viewport,
                self.head,
            )
        )
        h1 = f"<h1>{h1}</h1>" if h1 else ""
        body = f"<body>{h1}<p>{text}</p>{self.body}{links}</body>"
        return f"{self.start}<head>{head}</head>{body}</html>"


class PlantedSite:
    """Site of pages by path, and a handler for `httpx.MockTransport`."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.lists = [Page("/"), Page("/all")]
        self.files: dict[str, httpx.Response] = {}
        self.http: dict[str, Page] = {}
        self.forbidden: list[str] = []
        self.sitemap: dict[str, str] = {}
        for page in self.lists:
            self.pages[page.path] = page
        for number in range(8):
            self.add(f"/good-{number}")
        self.add("/img.png", is_linked=False, status=200, headers={"content-type": "image/png"})

    def add(self, path: str, *, is_linked: bool = True, **said: object) -> Page:
        """Add a page, linked from both lists."""
        page = self.pages[path] = Page(path, **said)  # type: ignore[arg-type]
        if is_linked:
            for one in self.lists:
                one.links += (path,)
        return page

    def moved(self, path: str, target: str, status: int = 301, *, is_linked: bool = True) -> str:
        """Add a redirect."""
        self.add(path, is_linked=is_linked, status=status, headers={"location": target})
        return path

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        path = request.url.raw_path.decode()
        if path == "/robots.txt":
            rules = "".join(f"Disallow: {one}\n" for one in self.forbidden) or "Disallow:\n"
            return httpx.Response(200, text=f"Sitemap: {HOST}/sitemap.xml\nUser-agent: *\n{rules}")
        if request.url.host != "shop.example":
            return httpx.Response(404 if "gone" in path else 200, html="<title>Other</title>")
        if path == "/sitemap.xml":
            return httpx.Response(200, text=self._sitemap())
        pages = self.http if request.url.scheme == "http" else self.pages
        if path.startswith("/soft/"):  # soft 404s: every page here has status 200
            pages = {path: Page(path, text=GONE)} | pages
        if (page := pages.get(path)) is None:
            return httpx.Response(404, html="<title>gone</title>")
        if page.headers.get("content-type", "text/html").startswith("image"):
            content = (page.text or "x" * 100).encode()
            return httpx.Response(page.status, headers=page.headers, content=content)
        body, headers = page.markup().encode(), dict(page.headers)
        if page.is_compressed:
            body, headers["content-encoding"] = gzip.compress(body), "gzip"
        return httpx.Response(page.status, headers=headers, content=body)

    def _sitemap(self) -> str:
        listed = {
            path: page.lastmod
            for path, page in self.pages.items()
            if page.is_listed and page.status == 200 and "noindex" not in page.head
        } | self.sitemap
        entries = "".join(
            f"<url><loc>{HOST}{path}</loc><lastmod>{date}</lastmod></url>"
            for path, date in listed.items()
            if not path.endswith(".png")
        )
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


Plant = Callable[[PlantedSite], str]


def _page(name: str, **said: object) -> Plant:
    return lambda site: site.add(f"/{name}", **said).path  # type: ignore[arg-type]


def _without_header(name: str, **others: str) -> Plant:
    headers = {key: value for key, value in GOOD_HEADERS.items() if key != name} | others
    return _page(f"without-{name}", headers=headers)


def _twins(field_name: str, text: str) -> Plant:
    def plant(site: PlantedSite) -> str:
        site.add(f"/twin-{field_name}", **{field_name: text})  # type: ignore[arg-type]
        return site.add(f"/{field_name}-twin", **{field_name: text}).path  # type: ignore[arg-type]

    return plant


def _canonical(name: str, target: str) -> Plant:
    return _page(name, head=_CANONICAL.format(target), is_listed=False)


def _alternates(*pairs: tuple[str, str]) -> str:
    return "".join(f'<link rel="alternate" hreflang="{code}" href="{to}">' for code, to in pairs)


def _canonical_loop(site: PlantedSite) -> str:
    _canonical("loop-1", "/loop-2")(site)
    return _canonical("loop-2", "/loop-1")(site)


def _version(name: str, **said: object) -> Plant:
    """Plant a page with a French version that has a fault."""

    def plant(site: PlantedSite) -> str:
        one, other = f"/{name}", f"/{name}-fr"
        both = _alternates(("en", one), ("fr", other))
        head = str(said.pop("head", ""))
        if said.get("status") == 301:
            site.moved(other, "/good-1")
        elif said.get("status") != 404:
            site.add(other, head=both + head, is_listed="canonical" not in head, **said)  # type: ignore[arg-type]
        return site.add(one, head=both).path

    return plant


def _body(markup: str) -> Plant:
    return lambda site: site.add(f"/has-{len(site.pages)}", body=markup).path


def _large_image(site: PlantedSite) -> str:
    kind = {"content-type": "image/png"}
    site.add("/big.png", is_linked=False, headers=kind, text="x" * 500_001)
    return _body('<img alt="x" src="/big.png">')(site)


def _linked(site: PlantedSite, path: str) -> str:
    """Add a page that links to a path, and return the path."""
    site.add(f"/leads-{len(site.pages)}", links=("/", "/all", path))
    return path


def _moved(path: str, target: str, status: int = 301) -> Plant:
    return lambda site: site.moved(_linked(site, path), target, status, is_linked=False)


def _redirect_chain(site: PlantedSite) -> str:
    site.moved("/hop-2", "/good-1", is_linked=False)
    return _moved("/hop-1", "/hop-2")(site)


def _links(name: str, *targets: str) -> Plant:
    return _page(name, links=("/", "/all", *targets))


def _canonical_redirect(site: PlantedSite) -> str:
    return _canonical("names-moved", site.moved("/old", "/good-4", is_linked=False))(site)


def _link_to_redirect(site: PlantedSite) -> str:
    return _links("leads-to-was", site.moved("/was", "/good-1", is_linked=False))(site)


def _orphan(site: PlantedSite) -> str:
    return site.add("/orphan", is_linked=False).path


def _deep(site: PlantedSite) -> str:
    for number in range(6):
        site.add(
            f"/deep-{number}", is_linked=False, is_listed=False, links=(f"/deep-{number + 1}", "/")
        )
    _linked(site, "/deep-0")
    return site.add("/deep-6", is_linked=False, is_listed=False).path


def _blocked(site: PlantedSite) -> str:
    site.forbidden.append("/secret")
    return _links("leads-to-secret", "/secret")(site)


def _listed(site: PlantedSite, path: str) -> str:
    """Add a path to the sitemap, and return the path."""
    site.sitemap[path] = "2024-01-01"
    return path


def _blocked_in_sitemap(site: PlantedSite) -> str:
    site.forbidden.append("/hidden")
    return _listed(site, "/hidden")


def _listed_page(name: str, head: str) -> Plant:
    return lambda site: site.add(_listed(site, f"/{name}"), head=head).path


def _listed_redirect(site: PlantedSite) -> str:
    return site.moved(_listed(site, "/listed-moved"), "/good-2", is_linked=False)


def _on_http(site: PlantedSite) -> str:
    site.http["/plain"] = Page("/plain")
    _links("leads-to-http", "http://shop.example/plain")(site)
    return "http://shop.example/plain"


def _noindex_target(site: PlantedSite) -> str:
    site.add("/hide-me", is_linked=False, head=_NOINDEX)
    return _canonical("names-noindex", "/hide-me")(site)


def _link_to_noindex(site: PlantedSite) -> str:
    site.add("/unseen", is_linked=False, head=_NOINDEX)
    return _links("leads-to-unseen", "/unseen")(site)


def _one_link(site: PlantedSite) -> str:
    return _linked(site, site.add("/lonely", is_linked=False).path)


def _copy_link(site: PlantedSite) -> str:
    site.add("/copy", is_linked=False, is_listed=False, head=_CANONICAL.format("/good-3"))
    return _links("leads-to-copy", "/copy")(site)


def _same(site: PlantedSite) -> str:
    for path in ("/one", "/same"):
        site.add(
            path, title="Twice the same page", h1="Twice", description="d " * 40, text="t " * 99
        )
    return "/one"


def _chain_of_canonicals(site: PlantedSite) -> str:
    site.add("/second", is_listed=False, head=_CANONICAL.format("/good-2"))
    return _canonical("first", "/second")(site)


def _pages(site: PlantedSite) -> str:
    site.add("/page-2")
    return site.add("/page-1", head='<link rel="next" href="/page-2">').path


def _session(site: PlantedSite) -> str:
    mark = "PHPSESSID=0123456789abcdef0123456789abcdef"
    site.add("/leads-to-session", links=("/", "/all", f"/visit?{mark}"))
    site.pages[f"/visit?{mark}"] = site.add("/visit", is_linked=False, is_listed=False)
    return "/visit"


def _names_blocked(site: PlantedSite) -> str:
    site.forbidden.append("/shut")
    return _canonical("names-shut", "/shut")(site)


def _soft(site: PlantedSite) -> str:
    for number in range(3):
        site.add(f"/soft/page-{number}")
    site.add("/soft/lost", text=GONE)
    return "/soft/lost"


FAULTS: dict[str, Plant] = {
    "title-missing": _page("no-title", title=""),
    "title-duplicate": _twins("title", "The title of two pages"),
    "title-long": _page("long-title", title="A very long title " * 6),
    "title-short": _page("short-title", title="Hi"),
    "title-several": _page("titles", head="<title>Another title of it</title>"),
    "description-missing": _page("no-description", description=""),
    "description-duplicate": _twins(
        "description", "The description of two pages of our shop, word by word."
    ),
    "description-long": _page("long-description", description="words and " * 30),
    "description-short": _page("short-description", description="Too short."),
    "description-several": _page(
        "descriptions", head='<meta name="description" content="more of it">'
    ),
    "h1-missing": _page("no-h1", h1=""),
    "h1-duplicate": _twins("h1", "The h1 of two pages"),
    "h1-long": _page("long-h1", h1="A long heading " * 8),
    "h1-short": _page("short-h1", h1="X"),
    "h1-several": _page("h1s", body="<h1>Another one</h1>"),
    "heading-order": _page("headings", body="<h2>two</h2><h4>four</h4>"),
    "image-without-alt": _body('<img src="/img.png">'),
    "language-missing": _page("no-lang", start="<!doctype html><html>"),
    "viewport-missing": _page("no-viewport", viewport=""),
    "charset-missing": _without_header("content-type", **{"content-type": "text/html"}),
    "doctype-missing": _page("no-doctype", start="<html lang=en>"),
    "structured-data-broken": _page(
        "json", head='<script type="application/ld+json">{"a": </script>'
    ),
    "meta-refresh": _page("refresh", head='<meta http-equiv="refresh" content="60; url=/good-1">'),
    "text-thin": _page("thin", text="Nothing."),
    "text-filler": _page("filler", text="Lorem ipsum dolor sit amet " * 9),
    "duplicate": _same,
    "duplicate-near": _twins("text", "the same words of two pages " * 20),
    "noindex-meta": _page("noindex", head=_NOINDEX),
    "noindex-header": _page(
        "noindex-sent", is_listed=False, headers=GOOD_HEADERS | {"x-robots-tag": "noindex"}
    ),
    "nofollow-page": _page("nofollow", head='<meta name="robots" content="nofollow">'),
    "nofollow-links": _page("nofollows", body='<a rel="nofollow" href="/good-1">no</a>'),
    "link-to-noindex": _link_to_noindex,
    "link-to-blocked": _blocked,
    "canonical-several": _page("canonicals", head='<link rel="canonical" href="/canonicals">' * 2),
    "canonical-dead": _canonical("names-dead", "/never-was"),
    "canonical-redirect": _canonical_redirect,
    "canonical-noindex": _noindex_target,
    "canonical-blocked": _names_blocked,
    "canonical-chain": _chain_of_canonicals,
    "canonical-loop": _canonical_loop,
    "canonical-elsewhere": _canonical("names-other", f"{ELSEWHERE}/page"),
    "hreflang-unknown": _page("lang-unknown", head=_alternates(("en-UK", "/lang-unknown"))),
    "hreflang-twice": _page(
        "lang-twice", head=_alternates(("en", "/lang-twice"), ("en", "/lang-twice"))
    ),
    "hreflang-without-self": _page("no-self", head=_alternates(("fr", "/good-5"))),
    "hreflang-without-return": _page(
        "no-return", head=_alternates(("en", "/no-return"), ("fr", "/good-6"))
    ),
    "hreflang-dead": _version("version-dead", status=404),
    "hreflang-redirect": _version("version-moved", status=301),
    "hreflang-not-canonical": _version("version-copy", head=_CANONICAL.format("/good-7")),
    "hreflang-noindex": _version("version-noindex", head=_NOINDEX),
    "pagination-dead-next": _page("next-dead", head='<link rel="next" href="/next-gone">'),
    "pagination-dead-prev": _page("prev-dead", head='<link rel="prev" href="/prev-gone">'),
    "pagination-without-return": _pages,
    "mixed-content": _body('<img alt="x" src="http://shop.example/img.png">'),
    "form-insecure": _page("form", body='<form action="http://shop.example/send"></form>'),
    "link-to-http": lambda site: (_on_http(site), "/leads-to-http")[1],
    "page-on-http": _on_http,
    "hsts-missing": _without_header("strict-transport-security"),
    "csp-missing": _without_header("content-security-policy"),
    "page-large": _page("large", body=f"<p>{'many words ' * 60_000}</p>"),
    "image-large": _large_image,
    "uncompressed": _page(
        "uncompressed", is_compressed=False, body=f"<p>{'many words ' * 600}</p>"
    ),
    "uncached": _without_header("cache-control"),
    "link-dead": _links("leads-nowhere", "/nowhere"),
    "link-dead-outside": _links("leads-out", f"{ELSEWHERE}/gone"),
    "link-to-redirect": _link_to_redirect,
    "link-to-copy": _copy_link,
    "link-single": _one_link,
    "links-none": _page("end", links=()),
    "anchor-missing": _links("leads-to-anchor", "/good-1#nowhere"),
    "image-missing": _body('<img alt="x" src="/lost.png">'),
    "style-missing": _body('<link rel="stylesheet" href="/lost.css">'),
    "script-missing": _body('<script src="/lost.js"></script>'),
    "media-missing": _body('<video src="/lost.mp4"></video>'),
    "page-missing": lambda site: _linked(site, "/lost"),
    "server-error": lambda site: site.add("/fails", status=500).path,
    "soft-404": _soft,
    "redirect-loop": _moved("/round", "/round"),
    "redirect-chain": _redirect_chain,
    "redirect-temporary": _moved("/for-now", "/good-1", 302),
    "redirect-to-dead": _moved("/to-dead", "/no-more"),
    "orphan": _orphan,
    "deep": _deep,
    "sitemap-dead": lambda site: _listed(site, "/listed-dead"),
    "sitemap-redirect": _listed_redirect,
    "sitemap-noindex": _listed_page("listed-noindex", _NOINDEX),
    "sitemap-blocked": _blocked_in_sitemap,
    "sitemap-copy": _listed_page("listed-copy", _CANONICAL.format("/good-2")),
    "sitemap-without": _page("unlisted", is_listed=False),
    "sitemap-future": _page("future", lastmod="2099-01-01"),
    "url-upper-case": _page("Upper"),
    "url-session": _session,
    "url-long": _page("long-" + "x" * 100),
    "url-non-ascii": _page("caf%C3%A9"),
    "url-double-slash": _page("a//b"),
    "url-space": _page("a%20b"),
    "url-parameters": _page("list?a=1&b=2&c=3&d=4&e=5"),
}
