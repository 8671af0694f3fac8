"""Oracle of crawls of real sites: the link graph of a manual, computed from its files.

Law: no code of minicrawl is used. lxml parses the pages, urllib joins the URLs, and paths lead to
files as in nginx.

rel=canonical is ignored: only the Python manual has it, and it names a host outside of the crawl.

end     the page that a URL leads to: the target of its redirects, or the first page with the same
        content
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import cast
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

import networkx as nx
from lxml import html
from lxml.etree import _Element

ALPHA = 0.85

_HTML = frozenset({".html", ".htm", ".shtml"})
_LINKING = "//a[@href] | //area[@href] | //link[@href] | //frame[@src] | //iframe[@src]"
_RELATIONS = frozenset({"next", "prev", "alternate"})
_REFRESH = re.compile(r"\s*[01]\s*[;,]\s*(?:url\s*=\s*)?(.+)", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9.-]+(:[0-9]+)?")
_IN_PATHS = "!$%&'()*+,/:;=@[]^_|~"
_IN_QUERIES = "!$%&()*+,/:;=?@[]^_`{|}~\\"


@dataclass(slots=True)
class DocGraph:
    """Pages that links reach from the front page, and their links."""

    links: dict[str, Sequence[str]] = field(default_factory=dict)
    """Distinct links of each page, in order."""
    moves: dict[str, str] = field(default_factory=dict)
    _first_with: dict[bytes, str] = field(default_factory=dict)

    def read(self, url: str, answer: bytes | str | None) -> Sequence[str]:
        """Add the response for a URL; return the URLs that it leads to."""
        match answer:
            case None:
                return ()
            case str():
                self.moves[url] = answer
                return (answer,)
        page = _Page(answer, url)
        if target := page.refresh():
            self.moves[url] = target
            return (target,)
        first = self._first_with.setdefault(answer, url)
        if first != url:
            self.moves[url] = first
        self.links[url] = list(dict.fromkeys(page.links()))
        return self.links[url]

    def end(self, url: str) -> str:
        """Return the page that the URL leads to."""
        while url in self.moves:
            url = self.moves[url]
        return url

    def pagerank(self) -> dict[str, float]:
        """Return the PageRank of all known pages, fetched or not. URLs with one end are merged."""
        graph = nx.DiGraph()
        for url, links in self.links.items():
            graph.add_edges_from((self.end(url), end) for end in map(self.end, links))
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        ranks: dict[str, float] = nx.pagerank(graph, alpha=ALPHA, tol=1e-10, max_iter=1000)
        return ranks


@cache
def doc_graph(root: Path, origin: str) -> DocGraph:
    """Return the graph of the files below `root`, served at `origin`."""
    graph = DocGraph()
    front = f"{origin}/"
    known, waiting = {front}, deque([front])
    while waiting:
        url = waiting.popleft()
        for target in graph.read(url, _answer(root, origin, url)):
            if target.startswith(front) and target not in known:
                known.add(target)
                waiting.append(target)
    return graph


def _answer(root: Path, origin: str, url: str) -> bytes | str | None:
    """Return the body of a page, or the target of a redirect, or None."""
    path = unquote(urlsplit(url).path)
    file = root / path.lstrip("/")
    if file.is_dir():
        if not path.endswith("/"):
            return urljoin(origin, quote(f"{path}/"))
        file /= "index.html"
    elif path.endswith("/"):
        return None
    return file.read_bytes() if file.suffix.lower() in _HTML and file.is_file() else None


class _Page:
    """Parsed page."""

    def __init__(self, body: bytes, url: str) -> None:
        parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
        self._tree = html.document_fromstring(body, parser=parser)
        self._url = url
        bases = [base.get("href", "") for base in self._elements("//base[@href]")]
        self._base = urljoin(url, bases[0] if bases else "")

    def refresh(self) -> str | None:
        """Return the target of an immediate meta refresh."""
        for meta in self._elements("//meta[@content]"):
            refresh = _REFRESH.fullmatch(meta.get("content", ""))
            if refresh and meta.get("http-equiv", "").lower() == "refresh":
                return _absolute(refresh[1], self._base)
        return None

    def links(self) -> Iterator[str]:
        """Yield the targets of all links to other pages, with repetitions."""
        for element in self._elements(_LINKING):
            relations = set(element.get("rel", "").lower().split())
            if element.tag == "link" and relations.isdisjoint(_RELATIONS):
                continue
            reference = element.get("href") or element.get("src") or ""
            target = _absolute(reference, self._base)
            if target and target != self._url and "nofollow" not in relations:
                yield target

    def _elements(self, path: str) -> list[_Element]:
        """Find elements by XPath, which also finds those after the end of <html>."""
        return cast("list[_Element]", self._tree.xpath(path))


def _absolute(href: str, base: str) -> str | None:
    """Return the URL as browsers spell it, without credentials; None if it is no HTTP URL."""
    parts = urlsplit(urljoin(base, href.strip().replace("\\", "/")))
    host = parts.netloc.rpartition("@")[2].lower()
    if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(host):
        return None
    path, query = quote(parts.path or "/", _IN_PATHS), quote(parts.query, _IN_QUERIES)
    return urlunsplit((parts.scheme, host, path, query, ""))
