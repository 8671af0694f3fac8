"""Items of microdata, which say what the texts and URLs of a page mean.

    <p itemscope itemtype="http://schema.org/Person"><b itemprop="name">Ann</b></p>

is {"type": "http://schema.org/Person", "properties": {"name": "Ann"}}. A property with several
values has a list, and its name stays as written.

Laws: an item is written once, at its first reference, so that circular references end. Depth and
number of items are limited. The text of nested properties is read once for each of them, so call
this where it can be killed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MOST_ITEMS, LONGEST_TEXT = 1000, 10_000
_DEEPEST = 20
_UNSHOWN = ("script", "style")
_URL_IN: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src")
    | dict.fromkeys(("a", "area", "link"), "href")
    | {"object": "data"}
)
_VALUE_IN: Mapping[str, str] = MappingProxyType(
    {"meta": "content", "data": "value", "meter": "value", "time": "datetime"}
)
Properties = dict[str, Any]


class Items:
    """Items of microdata."""

    def __init__(self, tree: LexborHTMLParser, base: str) -> None:
        self._base = base
        self._scopes = tree.css("[itemscope]")[:MOST_ITEMS]
        self._seen = set[int]()
        self._by_id: dict[str, LexborNode] = {}
        if tree.css_first("[itemref]") is not None:
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
        said, item = node.attributes, Properties()
        if types := (said.get("itemtype") or "").split():
            item["type"] = types[0] if len(types) == 1 else types
            if name := (said.get("itemid") or "").strip():
                item["id"] = name
        values: dict[str, list[Any]] = {}
        starts: list[tuple[LexborNode | None, bool]] = [(node.child, True)]
        ids = (said.get("itemref") or "").split()
        starts += [(self._by_id[one], False) for one in ids[:MOST_ITEMS] if one in self._by_id]
        for start, has_siblings in starts:
            for one in self._properties(start, has_siblings=has_siblings):
                value = self._value(one, depth)
                if value is not None:
                    for name in (one.attributes["itemprop"] or "").split():
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
            if "itemprop" in said:
                yield node
            if "itemscope" not in said:
                stack.append((node.child, True))

    def _value(self, node: LexborNode, depth: int) -> object:
        """Return the value of a property; None for an item that was met before, or too deep."""
        if "itemscope" not in node.attributes:
            return self._plain(node)
        is_new = node.mem_id not in self._seen and len(self._seen) < MOST_ITEMS
        return self._item(node, depth + 1) if is_new and depth < _DEEPEST else None

    def _plain(self, node: LexborNode) -> str:
        said, tag = node.attributes, node.tag or ""
        if tag in _URL_IN:
            return joined(self._base, (said.get(_URL_IN[tag]) or "").strip())
        if tag in _VALUE_IN and (tag == "meta" or _VALUE_IN[tag] in said):
            return said.get(_VALUE_IN[tag]) or ""
        return said.get("content") or " ".join(_shown(node)[:LONGEST_TEXT].split())


def _shown(node: LexborNode) -> str:
    """Return the text of an element without the scripts and styles in it, which are seldom."""
    if node.css_first("script, style") is None:
        return node.text(separator=" ")
    texts = (
        text_node for text_node in node.traverse(include_text=True) if text_node.tag == "-text"
    )
    shown = (
        text_node
        for text_node in islice(texts, MOST_ITEMS)
        if (text_node.parent or text_node).tag not in _UNSHOWN
    )
    return " ".join(text_node.text_content or "" for text_node in shown)


def joined(base: str, written: str) -> str:
    """Return the URL that a page means; what is no URL stays as written."""
    try:
        return urljoin(base, written)
    except ValueError:
        return written
