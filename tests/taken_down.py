"""A site with URLs of all kinds to take down, crawls that tell what they ask for, and texts left.

Other pages' own words stay: their HTML, with relative links here, and their texts of links.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from minicrawl.archive.reader import ArchiveReader
from minicrawl.store.reader import archive_folder
from tests.checking.test_requisites import kept
from tests.webs import crawl_web

HOST = "http://a.example"
TEXT = "quokka"
"""A word of all texts of the URLs that are taken down."""
KINDS = ("page", "file.bin", "picture.png", "missing", "moved", "same", "denied", "hidden", "way")
"""URLs to take down, by what becomes of them."""
MOVES = {"moved": "/zebra-page", "way": "/other"}


def url_of(kind: str) -> str:
    return f"{HOST}/zebra-{kind}"


PAGE = url_of("page")


def answer(request: httpx.Request) -> httpx.Response:
    name = request.url.path.removeprefix("/zebra-")
    if name in ("/", "/other"):
        named = ((one, one.partition(".")[0]) for one in KINDS)
        links = "".join(f"<a href=/zebra-{one}>anchor {word}</a>" for one, word in named)
        image = "<img src=/zebra-picture.png><img src=/zebra-lost.png>"
        others = "<a href=/other>o</a><a href=http://b.example/b>b</a>"
        return httpx.Response(200, html=f"<title>Home</title>{links}{image}{others}")
    if name == "/b":
        return httpx.Response(200, html=f"<title>B</title><a href={HOST}/>to A</a>")
    if target := MOVES.get(name):
        return httpx.Response(302, headers={"location": target})
    if "." in name and name != "lost.png":
        media = "image/png" if name.endswith("png") else "application/octet-stream"
        return httpx.Response(200, content=TEXT.encode() * 9, headers={"content-type": media})
    if name not in KINDS or name == "missing":
        return httpx.Response(404)
    noindex = "<meta name=robots content=noindex>" if name == "hidden" else ""
    canonical = f"<link rel=canonical href={PAGE}>" if name == "same" else ""
    html = f"<title>{TEXT}</title>{noindex}{canonical}<a href=/>{TEXT}</a><p>{TEXT} of a page"
    return httpx.Response(200, html=html, headers={"etag": TEXT})


def crawled(path: Path, **more: Any) -> set[str]:
    """Crawl the site, and return the requested URLs."""
    kinds: dict[str, Any] = {"types": ("html", "files"), "deny": ("-denied$",), "keep": "pages"}
    return requested(path, answer, [HOST, PAGE, "http://b.example/b"], **kinds, **more)


def requested(
    path: Path,
    web: Callable[[httpx.Request], httpx.Response],
    seeds: Sequence[str],
    **chosen: Any,
) -> set[str]:
    """Crawl a web, and return the requested URLs."""
    urls = set[str]()

    def note(request: httpx.Request) -> httpx.Response:
        urls.add(str(request.url))
        return web(request)

    crawl_web(path, note, seeds, robots=False, **chosen)
    return urls


def places_of(path: Path, text: str, *urls: str) -> list[str]:
    """Return files, dictionaries and kept responses that have the text, or these parts of URLs."""
    wanted = [one.encode() for one in (text, *urls)]
    found = [
        str(file)
        for file in path.parent.rglob("*")
        if file.is_file() and any(one in file.read_bytes() for one in wanted)
    ]
    with closing(ArchiveReader(archive_folder(path))) as archive:
        for number, _ in archive.index.dictionaries():
            if wanted[0] in archive.dictionary(number):
                found.append(f"dictionary {number}")
    return found + [
        url
        for url, one in kept(path).items()
        if wanted[0] in one.body or any(part in url for part in urls)
    ]
