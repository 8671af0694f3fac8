"""Scope: which URLs may be fetched. All others are only discovered and ranked.

The answer depends on the rules and the URL alone, so it never changes during a crawl. A URL may be
fetched if it is within reach of the seeds, matches one of `allow` if there are any, matches none of
`deny`, and has no file extension that pages never have, such as `.jpg`.

reach      any | domain: the same site as a seed, on any port; for an IP address, only that address
           | host: the same host and port | prefix: in or below the folder of a seed, on the same
           host and port
server     host and port; http and https on their default ports are one server
"""

import re
from collections.abc import Callable, Iterable, Set

from minicrawl.errors import UsageError
from minicrawl.web.sites import site_or_address
from minicrawl.web.urls import POSTED, host, origin, split

_EXTENSIONS = """
    jpg jpeg png gif bmp tif tiff webp avif heic ico svg svgz psd eps
    mp3 wav ogg oga opus flac m4a aac wma mid midi aif aiff
    mp4 m4v mov avi wmv flv mkv webm mpg mpeg ogv 3gp swf
    pdf ps doc docx xls xlsx ppt pptx odt ods odp rtf epub mobi djvu csv
    zip gz tgz bz2 tbz xz txz zst lzma 7z rar tar jar war
    deb rpm apk msi dmg iso img torrent
    woff woff2 ttf otf eot css rss atom
"""
PROGRAMS = frozenset(("js", "mjs", "exe"))
"""Scripts and programs. A seed may be one of them: the user chose it."""
NOT_HTML = PROGRAMS.union(_EXTENSIONS.split())
"""File extensions that are never HTML.

Extensions that may be HTML are missing: dll and cgi are programs that generate pages; com and app
are domains that a page may be about; txt and json are parts of titles. An exe with a query is HTML.
For these the Content-Type decides, which costs a request but no body.
"""
_TITLE = "/wiki/"
"""Below this path, the last segment is a title: "/wiki/Node.js"."""

Reach = Callable[[str], bool]


def may_be_html(url: str, not_html: frozenset[str] = NOT_HTML) -> bool:
    """Return True if the last segment of the path may be the name of a page."""
    path, query, _ = url.partition("?")
    extension = path.rpartition(".")[2].lower()
    if extension not in not_html:  # as of nearly all URLs
        return True
    stem = path.rpartition("/")[2].rpartition(".")[0]
    if extension in PROGRAMS and (_TITLE in path or (extension == "exe" and query)):
        return True
    # A colon as in a wiki's page about a file: "File:Cat.jpg".
    return not stem or ":" in stem or "%3a" in stem.lower()


def _on_a_site(domains: Set[str]) -> Reach:
    return lambda url: site_or_address(host(url)) in domains


def _on_a_host(origins: Set[str]) -> Reach:
    return lambda url: origin(url) in origins


def _below_a_folder(folders: Set[str]) -> Reach:
    def reach(url: str) -> bool:
        folder = _folder(url)
        while folder not in folders:
            folder = folder[: folder.rfind("/", 0, -1) + 1]
            if not folder:
                return False
        return True

    return reach


def folders(seeds: Iterable[str]) -> list[str]:
    """Return the servers and paths that `prefix` covers, without those inside another one."""
    outermost: list[str] = []
    # Sorted, a folder comes directly before those inside it.
    for folder in sorted(map(_folder, seeds)):
        if not outermost or not folder.startswith(outermost[-1]):
            outermost.append(folder)
    return outermost


def _folder(url: str) -> str:
    """Return the server, and the path up to the last slash."""
    path = split(url)[1].partition("?")[0]
    return _server(url) + path[: path.rindex("/") + 1]


def _server(url: str) -> str:
    """Return host and port, without the default port of the other scheme (:80 or :443)."""
    return origin(url).partition("//")[2].removesuffix(":80").removesuffix(":443")


def _origins(server: str) -> tuple[str, ...]:
    if ":" in server.rpartition("]")[2]:
        return f"http://{server}", f"https://{server}"
    return f"http://{server}", f"https://{server}", f"http://{server}:443", f"https://{server}:80"


REACHES: dict[str, tuple[Callable[[str], Iterable[str]], Callable[[Set[str]], Reach]]] = {
    "any": (lambda _seed: (), lambda _names: lambda _url: True),
    "domain": (lambda seed: (site_or_address(host(seed)),), _on_a_site),
    "host": (lambda seed: _origins(_server(seed)), _on_a_host),
    "prefix": (lambda seed: (_folder(seed),), _below_a_folder),
}
"""For each scope, the names that a seed adds to it, and what makes its reach of all names."""


class ScopeRules:
    """The rules of a scope, prepared for fast checks."""

    def __init__(
        self,
        kind: str,
        seeds: Iterable[str],
        *,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        not_html: frozenset[str] = NOT_HTML,
    ) -> None:
        """Set up for canonical `seeds`, and regular expressions as the user wrote them."""
        if kind not in REACHES:
            raise UsageError(f"scope {kind!r} must be one of {', '.join(REACHES)}")
        self._names_of, reach_of = REACHES[kind]
        self._names = {name for url in seeds for name in self._names_of(url)}
        self.reach, self._not_html = reach_of(self._names), not_html
        self._allow = [_compiled("allow", pattern) for pattern in allow]
        self._deny = [_compiled("deny", pattern) for pattern in deny]

    def widen(self, seed: str) -> None:
        """Add a canonical seed."""
        self._names.update(self._names_of(seed))

    def allows(self, url: str) -> bool:
        """Return whether the canonical `url` may be fetched."""
        return (
            (not self._not_html or may_be_html(url, self._not_html))
            and self.reach(url)
            and not (self._deny and self.denies(url))
            and (not self._allow or any(pattern.search(url) for pattern in self._allow))
        )

    def denies(self, url: str) -> bool:
        """Return True if a pattern of `deny` forbids any request for the canonical `url`."""
        return any(pattern.search(url) for pattern in self._deny)


def pattern_of(written: str) -> str:
    """Return a regular expression for exactly `what`, or, if it ends in `*`, for that prefix."""
    is_prefix = written.endswith("*")
    return rf"\A{re.escape(written[:-1])}" if is_prefix else rf"\A{re.escape(written)}\Z"


def pattern_of_urls(written: str) -> str:
    """Return a regular expression for a URL or prefix, as `pattern_of`, and for POSTs to it."""
    if written.endswith("*"):
        return pattern_of(written)
    return rf"\A{re.escape(written)}(?:{POSTED}|\Z)"


def _compiled(setting: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"{setting} {pattern!r} is not a regular expression: {error}") from None
