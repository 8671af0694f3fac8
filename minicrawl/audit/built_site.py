"""A built folder as a site, served as static hosts do, without a server.

    /            index.html
    /about       about, else about.html; a folder leads to /about/
    /about/      about/index.html
    /missing     404.html, with status 404
    /notes.md    a Markdown file, whose links are checked; no page needs to lead to it

The addresses of pages begin with a base, such as https://example.org/docs/, so that absolute links,
canonical URLs and sitemaps of the build lead into the folder. Nothing outside of it is read.
"""

import re
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

_MOVED, _MISSING = 301, 404


class BuiltSite:
    """Answers requests from the files of a folder."""

    def __init__(self, folder: Path, base: str) -> None:
        self._folder, self.base = folder.resolve(), f"{base.rstrip('/')}/"

    def file_of(self, url: str) -> Path | None:
        """Return the file of a page, relative to the folder; None if there is none."""
        base, page = urlsplit(self.base), urlsplit(url)
        path = unquote(page.path)
        if base.netloc != page.netloc or not path.startswith(base.path):
            return None
        file = (self._folder / path[len(base.path) :].lstrip("/")).resolve()
        names = [file, file.parent / f"{file.name}.html"]
        if path.endswith("/"):
            names = [file / "index.html"]
        for name in names:
            if name.is_relative_to(self._folder) and name.is_file():
                return name.relative_to(self._folder)
        return None

    def location(self, url: str) -> str:
        """Return the relative URI of the file of a page, or of the one that is missing."""
        path = self.file_of(url) or unquote(url.removeprefix(self.base)) or "index.html"
        return quote(str(path))

    def markdown(self) -> list[str]:
        files = [file for file in sorted(self._folder.rglob("*.md")) if file.is_file()]
        return [f"{self.base}{quote(str(file.relative_to(self._folder)))}" for file in files]

    def answer(self, url: str) -> tuple[int, dict[str, str], bytes]:
        """Return the status, the headers and the body of a URL."""
        status, file = 200, self.file_of(url)
        if file is None and self.file_of(f"{url}/") is not None:
            return _MOVED, {"location": f"{url}/"}, b""
        if file is None:
            status, file = _MISSING, self.file_of(f"{self.base}404.html")
        if file is None:
            return _MISSING, {}, b""
        kind = guess_type(file.name)[0] or "application/octet-stream"
        return status, {"content-type": kind}, (self._folder / file).read_bytes()


OF_A_SERVER = {
    *("hsts-missing", "csp-missing", "uncompressed", "uncached", "slow", "slow-first-byte"),
    *("cookie-weak", "charset-conflict", "noindex-header", "page-on-http"),
}
"""Checks that judge a server, which a folder does not have."""


def crawl_site(site: str, base: str, store: Path, *, requisites: bool = False) -> BuiltSite | None:
    """Read a site, or a built folder, into a store; one that exists is brought up to date.

    Return the folder as a site, or None for one on a server.
    """
    from minicrawl.app import Crawl
    from minicrawl.config import Settings
    from minicrawl.fetch.client.httpx_transport import answering

    chosen = dict[str, Any](store=store, scope="host", sitemaps=True, requisites=requisites)
    if store.exists():
        chosen["refresh"] = 1.0
    if not Path(site).is_dir():
        Crawl([site], Settings.of(**chosen, check="external,assets")).run()
        return None
    built = BuiltSite(Path(site), base)
    chosen |= {"check": "assets", "delay": 0, "address_delay": 0, "workers": 0}
    # What is elsewhere is left alone: a build is checked on its own, often without a network.
    chosen["deny"] = [f"^(?!{re.escape(built.base)})"]
    notes = built.markdown()
    chosen |= {"types": "html,markdown"} if notes else {}
    seeds = notes if notes and built.file_of(built.base) is None else [built.base, *notes]
    Crawl(seeds, Settings.of(**chosen), transport=answering(built.answer)).run()
    return built
