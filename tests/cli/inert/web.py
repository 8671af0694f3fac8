"""Small web with something for each command; each run crawls the same pages of it.

Each host has pages, redirects, copies, broken links and orphan pages.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import httpx

from minicrawl import Crawl, Settings

HOSTS = ("sea.example", "www.hill.example", "shop.hill.example", "wood.example")
SEEDS = [f"http://{host}/" for host in HOSTS]
LINKED, LINKING, ODD = (f"http://sea.example/{name}" for name in ("p1", "", "p2"))
"""Pages with many in-links, with many links, and with bytes that outputs must escape."""
PAGES = 12
_WORDS = "the wide ink of a sea and the old harbour by night where boats are wide and ink is blue"
_MOVED = {"/old": "/p1", "/older": "/old", "/oldest": "/older", "/round": "/round"}
_LINKED_ONLY = ("gone", "lost", "old", "older", "oldest", "round", "private/a")
_NAMES = ("", *(f"p{number}" for number in range(1, PAGES)))
_SPECIAL = ("copy", "print", "like1", "like2", "search")
_LONELY = ("lonely", "lonelier")


def crawl_twice(store: Path, meanwhile: Callable[[], None]) -> None:
    """Crawl some of the web, change it, and crawl it again."""
    given = {"strategy": "breadth-first", "concurrency": 1, "delay": 0, "keep": "pages"}
    for is_changed, more in ((False, {"pages": 60}), (True, {"pages": 80, "refresh": 0.5})):
        settings = Settings.of(store=store, sitemaps=True, **given, **more)  # type: ignore[arg-type]
        transport = httpx.MockTransport(lambda request, new=is_changed: _answer(request, new=new))
        Crawl(SEEDS, settings, transport=transport).run()
        if not is_changed:
            meanwhile()


def _answer(request: httpx.Request, *, new: bool) -> httpx.Response:
    host, path = request.url.host, request.url.path
    if path == "/robots.txt":
        rules = "User-agent: *\nDisallow: /private/\nContent-Usage: /p7 train-ai=n\n"
        return httpx.Response(200, text=f"{rules}Sitemap: http://{host}/map.xml")
    if path == "/map.xml":
        urls = "".join(f"<url><loc>http://{host}/{name}</loc></url>" for name in _LONELY)
        return httpx.Response(
            200, text=f"<urlset>{urls}</urlset>", headers={"content-type": "application/xml"}
        )
    if path in _MOVED:
        return httpx.Response(301, headers={"location": _MOVED[path]})
    name = path.removeprefix("/")
    is_there = name in (*_NAMES, *_SPECIAL, *_LONELY) and not (new and name == "p3")
    return httpx.Response(200, html=_page(host, name, new=new)) if is_there else _GONE


_GONE = httpx.Response(404)


def _page(host: str, name: str, *, new: bool) -> str:
    original = {"copy": "p4", "like2": "like1"}.get(name, name)
    rng = Random(f"{host} {original}")
    title, heading = (_text(rng, 3) for _ in range(2))
    head = ""
    if name == "print":
        head = '<link rel="canonical" href="/p5">'
    if name == "search":
        head = '<meta name="robots" content="noindex">'
    body = _text(rng, 120 if original == "like1" else rng.randrange(20, 60))
    body += " afterwards" * (name == "like2") + " lately" * (new and name in ("", "p1", "p2"))
    if name == "p2":
        body += " \x1b[31m \u202e"
    links = "".join(f'<a href="{url}">{_text(rng, 2)}</a>' for url in _links(host, original, rng))
    return f"<title>{title}</title>{head}<h1>{heading}</h1><p>{body}</p>{links}"


def _links(host: str, name: str, rng: Random) -> Iterator[str]:
    """Yield links to some other pages; a home page also links to all special pages."""
    if name == "":
        yield from (f"/{other}" for other in (*_LINKED_ONLY, *_SPECIAL))
    for _ in range(6):
        other = rng.choice(HOSTS) if rng.random() < 0.3 else host
        yield f"http://{other}/{_NAMES[int(PAGES * rng.random() ** 2)]}"
    if rng.random() < 0.3:
        yield f"http://{rng.choice(HOSTS)}/{rng.choice(_LINKED_ONLY)}"


def _text(rng: Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS.split(), k=words))
