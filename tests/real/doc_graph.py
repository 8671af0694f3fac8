"""What a crawl of a manual must find, computed from its files: the oracle of the real sites.

Law: nothing here comes from minicrawl. lxml parses the pages, urllib joins the URLs, and files are
answered with as nginx would.

A rel=canonical is found in the Python manual alone and names another host, where a crawl of this
one does not go: it does not count.

end     the page that a URL turns out to be: that of a redirect, or the first one of its content
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
    """The pages that links reach from the front page, and what they link to."""

    links: dict[str, Sequence[str]] = field(default_factory=dict)
    """Of each page, in its order, each once."""
    moves: dict[str, str] = field(default_factory=dict)
    _first_with: dict[bytes, str] = field(default_factory=dict)

    def read(self, url: str, answer: bytes | str | None) -> Sequence[str]:
        """Take in what came for the URL; says where that leads to."""
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
        """The page that the URL turns out to be."""
        while url in self.moves:
            url = self.moves[url]
        return url

    def pagerank(self) -> dict[str, float]:
        """Of all that is known, pages that are never fetched too; URLs of one end are one."""
        graph = nx.DiGraph()
        for url, links in self.links.items():
            graph.add_edges_from((self.end(url), end) for end in map(self.end, links))
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        ranks: dict[str, float] = nx.pagerank(graph, alpha=ALPHA, tol=1e-10, max_iter=1000)
        return ranks


@cache
def doc_graph(root: Path, origin: str) -> DocGraph:
    """The graph of the files below `root`, as they are served at `origin`."""
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
    """A page, or where to go, or neither."""
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
    """A page, parsed."""

    def __init__(self, body: bytes, url: str) -> None:
        parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
        self._tree = html.document_fromstring(body, parser=parser)
        self._url = url
        bases = [base.get("href", "") for base in self._elements("//base[@href]")]
        self._base = urljoin(url, bases[0] if bases else "")

    def refresh(self) -> str | None:
        """Where it sends its reader at once."""
        for meta in self._elements("//meta[@content]"):
            said = _REFRESH.fullmatch(meta.get("content", ""))
            if said and meta.get("http-equiv", "").lower() == "refresh":
                return _absolute(said[1], self._base)
        return None

    def links(self) -> Iterator[str]:
        """Other pages, as often as it links to them."""
        for element in self._elements(_LINKING):
            relations = set(element.get("rel", "").lower().split())
            if element.tag == "link" and relations.isdisjoint(_RELATIONS):
                continue
            reference = element.get("href") or element.get("src") or ""
            target = _absolute(reference, self._base)
            if target and target != self._url and "nofollow" not in relations:
                yield target

    def _elements(self, path: str) -> list[_Element]:
        """By XPath, which also finds what follows on the end of the page: lxml has it beside."""
        return cast("list[_Element]", self._tree.xpath(path))


def _absolute(href: str, base: str) -> str | None:
    """As browsers spell it, without a password; None if it is no address of a page."""
    parts = urlsplit(urljoin(base, href.strip().replace("\\", "/")))
    host = parts.netloc.rpartition("@")[2].lower()
    if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(host):
        return None
    path, query = quote(parts.path or "/", _IN_PATHS), quote(parts.query, _IN_QUERIES)
    return urlunsplit((parts.scheme, host, path, query, ""))
