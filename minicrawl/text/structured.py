"""Reads the structured data of a page: JSON-LD, Open Graph, microdata and RDFa Lite.

The column `data` has each syntax under its usual name, in the shapes of extruct, so that programs
for extruct can read the column. RDFa Lite has the shape of microdata:

    <p vocab="http://schema.org/" typeof="Person"><b property="name">Ann</b></p>

    {"type": "http://schema.org/Person", "properties": {"name": "Ann"}}

A property with several values has a list. Names of properties stay as written.

Laws: an item is written once, at its first reference, so that circular references end. Depth and
number of items are limited. The text of nested properties is read once for each of them, so call
this where it can be killed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

from minicrawl.text.main import parse

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_MOST_ITEMS, _DEEPEST, _LONGEST = 1000, 20, 10_000
_HIGHEST = 100
"""Ancestors among which the vocabulary of an element is sought."""
_COMMENT = re.compile(
    r'("(?:[^"\\]|\\.)*+")|//[^\n]*+|<!--(?:[^-]|-(?!->))*+(?:-->|\Z)'
    r"|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|,(?=\s*[]}])",
    re.DOTALL,
)
"""String, which stays, or a comment or trailing comma, which is removed."""
_PREFIX = re.compile(r"(\w+):\s*(\S+)")
_OG = "http://ogp.me/ns"
_OG_PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "og": f"{_OG}#",
        "article": f"{_OG}/article#",
        "book": f"{_OG}/book#",
        "music": f"{_OG}/music#",
        "product": f"{_OG}/product#",
        "profile": f"{_OG}/profile#",
        "video": f"{_OG}/video#",
    }
)
_PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "dc": "http://purl.org/dc/terms/",
        "foaf": "http://xmlns.com/foaf/0.1/",
        "schema": "http://schema.org/",
        **_OG_PREFIXES,
    }
)
"""Prefixes that pages need not declare; the rest of RDFa's initial context is rare on pages."""
_URL_IN: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src")
    | dict.fromkeys(("a", "area", "link"), "href")
    | {"object": "data"}
)
_VALUE_IN: Mapping[str, str] = MappingProxyType(
    {"meta": "content", "data": "value", "meter": "value", "time": "datetime"}
)

Properties = dict[str, Any]


def structured(markup: str, url: str) -> dict[str, list[Any]]:
    """Return the objects of each syntax that the page at a URL uses."""
    tree = parse(markup)
    base = url
    for node in islice(tree.css("base[href]"), 1):
        base = _joined(url, node.attributes["href"] or "")
    found = {
        "json-ld": list(_json_ld(tree)),
        "opengraph": list(_open_graph(tree)),
        "microdata": list(_Items(tree, base, _MICRODATA).all()),
        "rdfa": list(_Items(tree, base, _RDFA).all()),
    }
    return {syntax: objects for syntax, objects in found.items() if objects}


def data(markup: str, url: str) -> str:
    """Return the column `data`: JSON, or "" if there is no structured data."""
    found = structured(markup, url)
    return json.dumps(found) if found else ""


DATA = data


# ---------------------------------------------------------------- JSON-LD, Open Graph


def _json_ld(tree: LexborHTMLParser) -> Iterator[Any]:
    for node in islice(tree.css('script[type="application/ld+json"]'), _MOST_ITEMS):
        found = _loaded(node.text())
        for one in found if isinstance(found, list) else [found]:
            if one:
                yield one


def _loaded(text: str) -> object:
    """Return the value of JSON, which may have control characters and comments, or None."""
    for read in (str, _without_comments):
        try:
            return json.loads(read(text), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda found: found[1] or "", text)


def _open_graph(tree: LexborHTMLParser) -> Iterator[Properties]:
    prefixes: dict[str, str] = {}
    for node in tree.css("html[prefix], head[prefix]"):
        prefixes |= dict(_PREFIX.findall(node.attributes["prefix"] or ""))
    said: list[tuple[str, str]] = []
    for node in islice(tree.css("head > meta[property][content]"), _MOST_ITEMS):
        name = node.attributes["property"] or ""
        prefix = name.partition(":")[0]
        if prefix in _OG_PREFIXES:
            prefixes[prefix] = _OG_PREFIXES[prefix]
        if prefix in prefixes:
            said.append((name, node.attributes["content"] or ""))
    if said:
        yield {"namespace": prefixes, "properties": said}


# ---------------------------------------------------------------- microdata, RDFa Lite


class _Syntax(NamedTuple):
    """Names of attributes, and rules for types and values."""

    scope: str
    type: str
    property: str
    id: str
    refers: str
    types: Callable[[LexborNode, Mapping[str, str]], Iterable[str]]
    has_content_first: bool


def _microdata_types(node: LexborNode, _prefixes: Mapping[str, str]) -> Iterable[str]:
    return (node.attributes.get("itemtype") or "").split()


def _rdfa_types(node: LexborNode, prefixes: Mapping[str, str]) -> Iterator[str]:
    vocabulary = next(
        (one.attributes["vocab"] for one in _upwards(node) if "vocab" in one.attributes), None
    )
    for name in (node.attributes.get("typeof") or "").split():
        prefix, colon, rest = name.partition(":")
        if colon:
            yield prefixes[prefix] + rest if prefix in prefixes else name
        else:
            yield (vocabulary or "") + name


def _upwards(node: LexborNode) -> Iterator[LexborNode]:
    above: LexborNode | None = node
    for _ in range(_HIGHEST):
        if above is None:
            return
        yield above
        above = above.parent


_MICRODATA = _Syntax(
    *("itemscope", "itemtype", "itemprop", "itemid", "itemref"), _microdata_types, False
)
_RDFA = _Syntax("typeof", "typeof", "property", "resource", "", _rdfa_types, True)


class _Items:
    """Items of a page in one syntax."""

    def __init__(self, tree: LexborHTMLParser, base: str, syntax: _Syntax) -> None:
        self._base, self._syntax = base, syntax
        self._scopes = tree.css(f"[{syntax.scope}]")[:_MOST_ITEMS]
        self._seen = set[int]()
        self._prefixes = dict(_PREFIXES)
        self._by_id: dict[str, LexborNode] = {}
        if self._scopes:
            for node in tree.css("[prefix]"):
                self._prefixes |= dict(_PREFIX.findall(node.attributes["prefix"] or ""))
        if syntax.refers and tree.css_first(f"[{syntax.refers}]") is not None:
            for node in tree.css("[id]"):
                self._by_id.setdefault(node.attributes["id"] or "", node)

    def all(self) -> Iterator[Properties]:
        """Yield the items that are no other item's property."""
        for node in self._scopes:
            if node.mem_id not in self._seen:
                yield self._item(node, 1)

    def _item(self, node: LexborNode, depth: int) -> Properties:
        # Marked before its properties are read: they may refer back to it.
        self._seen.add(node.mem_id)
        syntax, said = self._syntax, node.attributes
        item: Properties = {}
        if types := list(syntax.types(node, self._prefixes)):
            item["type"] = types[0] if len(types) == 1 else types
            if name := (said.get(syntax.id) or "").strip():
                item["id"] = name
        values: dict[str, list[Any]] = {}
        found: list[tuple[LexborNode | None, bool]] = [(node.child, True)]
        if syntax.refers:
            ids = (said.get(syntax.refers) or "").split()
            found += [(self._by_id[one], False) for one in ids[:_MOST_ITEMS] if one in self._by_id]
        for start, has_siblings in found:
            for one in self._properties(start, has_siblings=has_siblings):
                value = self._value(one, depth)
                if value is not None:
                    for name in (one.attributes[syntax.property] or "").split():
                        values.setdefault(name, []).append(value)
        if values:
            item["properties"] = {
                name: said[0] if len(said) == 1 else said for name, said in values.items()
            }
        else:
            item["value"] = self._plain(node)
        return item

    def _properties(self, start: LexborNode | None, *, has_siblings: bool) -> Iterator[LexborNode]:
        """Yield the elements with properties of an item, without those of items inside it."""
        stack = [(start, has_siblings)]
        while stack:
            node, goes_on = stack.pop()
            if node is None:
                continue
            if goes_on:
                stack.append((node.next, True))
            said = node.attributes
            if self._syntax.property in said:
                yield node
            if self._syntax.scope not in said:
                stack.append((node.child, True))

    def _value(self, node: LexborNode, depth: int) -> object:
        """Return the value of a property; None for an item that was met before, or too deep."""
        if self._syntax.scope not in node.attributes:
            return self._plain(node)
        is_new = node.mem_id not in self._seen and len(self._seen) < _MOST_ITEMS
        return self._item(node, depth + 1) if is_new and depth < _DEEPEST else None

    def _plain(self, node: LexborNode) -> str:
        said, tag = node.attributes, node.tag or ""
        if self._syntax.has_content_first and "content" in said:
            return said["content"] or ""
        if tag in _URL_IN and (not self._syntax.has_content_first or _URL_IN[tag] in said):
            return _joined(self._base, (said.get(_URL_IN[tag]) or "").strip())
        if tag in _VALUE_IN and (tag == "meta" or _VALUE_IN[tag] in said):
            return said.get(_VALUE_IN[tag]) or ""
        return said.get("content") or " ".join(node.text(separator=" ")[:_LONGEST].split())


def _joined(base: str, written: str) -> str:
    try:
        return urljoin(base, written)
    except ValueError:
        return written
