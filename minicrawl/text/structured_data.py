"""Structured data of a page: JSON-LD, Open Graph, microdata and RDFa Lite.

The column `data` has each syntax under its usual name, in the shapes of extruct, so that programs
for extruct can read the column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from minicrawl.text.boxes import parse
from minicrawl.text.hints import words
from minicrawl.text.rdfa import LONGEST_TEXT, OG_PREFIXES, PREFIX, Properties, joined, rdfa

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_MOST_ITEMS, _MOST_ELEMENTS, _DEEPEST = 1000, 10_000, 20
_UNSHOWN = ("script", "style")
_BLOCKS = words("br dd div dt h1 h2 h3 h4 h5 h6 li p section td th")
_URLS = ("src", "href", "data")
_VALUE_IN = dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src")
_VALUE_IN |= dict.fromkeys(("a", "area", "link"), "href")
_VALUE_IN |= {"meta": "content", "object": "data", "data": "value", "meter": "value"}
_VALUE_IN |= {"time": "datetime"}
"""Attributes with the value of a property, by element."""


def _microdata(tree: LexborHTMLParser, base: str) -> list[Properties]:
    """Return the items of microdata that are no property of another.

        <p itemscope itemtype="http://schema.org/Person"><b itemprop="name">Ann</b></p>

    is {"type": "http://schema.org/Person", "properties": {"name": "Ann"}}. A property with several
    values has a list. An item is written once, at its first reference, so that circular references
    end. The text of nested properties is read once for each of them, so call this where it can be
    killed.
    """
    by_id: dict[str, LexborNode] = {}
    if tree.css_first("[itemref]") is not None:
        by_id = {node.attributes["id"] or "": node for node in reversed(tree.css("[id]"))}
    items: dict[int, tuple[LexborNode, Properties, dict[str, list[Any]]]] = {}
    outer, values = list[Properties](), dict[str, list[Any]]()
    stack = [(node, values, 0) for node in reversed(tree.css("[itemscope]")[:_MOST_ITEMS])]
    while stack:
        node, values, depth = stack.pop()
        attributes, inside = node.attributes, [*node.iter()]
        names = (attributes.get("itemprop") or "").split() if depth else []
        if "itemscope" not in attributes:
            for name in names:
                values.setdefault(name, []).append(_plain(node, base))
        elif node.mem_id in items or len(items) == _MOST_ITEMS:
            continue
        else:
            item = Properties()
            if types := (attributes.get("itemtype") or "").split():
                name = (attributes.get("itemid") or "").strip()
                item = {"type": _lone(types)} | ({"id": name} if name else {})
            if "itemprop" not in attributes or depth in (0, _DEEPEST):
                outer.append(item)
                names, depth = [], 0
            for name in names:
                values.setdefault(name, []).append(item)
            values = {}
            items[node.mem_id] = node, item, values
            depth += 1
            ids = (attributes.get("itemref") or "").split()[:_MOST_ITEMS]
            inside += (by_id[name] for name in ids if name in by_id)
        stack += ((child, values, depth) for child in reversed(inside))
    for node, item, values in items.values():
        if values:
            item["properties"] = {name: _lone(texts) for name, texts in values.items()}
        else:
            item["value"] = _plain(node, base)
    return outer


def _lone(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _plain(node: LexborNode, base: str) -> str:
    attributes, name = node.attributes, _VALUE_IN.get(node.tag or "", "")
    if name in _URLS:
        return joined(base, (attributes.get(name) or "").strip())
    if name in attributes or node.tag == "meta":
        return attributes.get(name) or ""
    return attributes.get("content") or " ".join(shown(node)[:LONGEST_TEXT].split())


def shown(node: LexborNode) -> str:
    """Return the text of an element without the scripts and styles in it, which are seldom.

    Blocks are parted: `$<b>12</b>.50` is one word, and two items of a list are not.
    """
    is_unshown, texts = node.tag in _UNSHOWN, list[str]()
    for inner in islice(node.traverse(include_text=True), _MOST_ELEMENTS):
        if inner.tag in _BLOCKS or (inner.prev is not None and inner.prev.tag in _BLOCKS):
            texts.append(" ")
        if inner.tag == "-text" and (is_unshown or (inner.parent or inner).tag not in _UNSHOWN):
            texts.append(inner.text_content or "")
    return "".join(texts)


_COMMENT = re.compile(
    r'("(?:[^"\\]|\\.)*+")|//[^\n]*+|<!--(?:[^-]|-(?!->))*+(?:-->|\Z)'
    r"|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|,(?=\s*[]}])",
    re.DOTALL,
)
"""String, which stays, or a comment or trailing comma, which is removed."""


def structured(markup: str, url: str) -> dict[str, list[Any]]:
    """Return the objects of each syntax that the page at a URL uses."""
    tree = parse(markup)
    base = url
    for node in islice(tree.css("base[href]"), 1):
        base = joined(url, node.attributes["href"] or "")
    data = {
        "json-ld": list(json_ld(tree)),
        "opengraph": list(_open_graph(tree)),
        "microdata": _microdata(tree, base),
        "rdfa": rdfa(tree, base),
    }
    return {syntax: objects for syntax, objects in data.items() if objects}


def data(markup: str, url: str) -> str:
    """Return the column `data`: JSON, or "" if there is no structured data."""
    by_syntax = structured(markup, url)
    return json.dumps(by_syntax) if by_syntax else ""


def json_ld(tree: LexborHTMLParser) -> Iterator[Any]:
    """Yield the values of the JSON-LD of a page; those of a list each for itself."""
    for node in islice(tree.css('script[type="application/ld+json"]'), _MOST_ITEMS):
        objects = _loaded(node.text())
        for item in objects if isinstance(objects, list) else [objects]:
            if item:
                yield item


def _loaded(text: str) -> object:
    """Return the value of JSON, which may have control characters and comments, or None."""
    for read in (str, partial(_COMMENT.sub, lambda match: match[1] or "")):
        try:
            return json.loads(read(text), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _open_graph(tree: LexborHTMLParser) -> Iterator[Properties]:
    prefixes: dict[str, str] = {}
    for node in tree.css("html[prefix], head[prefix]"):
        prefixes |= dict(PREFIX.findall(node.attributes["prefix"] or ""))
    properties: list[tuple[str, str]] = []
    for node in islice(tree.css("head > meta[property][content]"), _MOST_ITEMS):
        name = node.attributes["property"] or ""
        prefix = name.partition(":")[0]
        if prefix in OG_PREFIXES:
            prefixes[prefix] = OG_PREFIXES[prefix]
        if prefix in prefixes:
            properties.append((name, node.attributes["content"] or ""))
    if properties:
        yield {"namespace": prefixes, "properties": properties}
