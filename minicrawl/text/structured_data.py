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
from minicrawl.text.microdata import MOST_ITEMS, Items, Properties, joined
from minicrawl.text.rdfa import OG_PREFIXES, PREFIX, Rdfa

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

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
        "json-ld": list(_json_ld(tree)),
        "opengraph": list(_open_graph(tree)),
        "microdata": list(Items(tree, base).all()),
        "rdfa": Rdfa(tree, base).found(),
    }
    return {syntax: objects for syntax, objects in data.items() if objects}


def data(markup: str, url: str) -> str:
    """Return the column `data`: JSON, or "" if there is no structured data."""
    by_syntax = structured(markup, url)
    return json.dumps(by_syntax) if by_syntax else ""


def _json_ld(tree: LexborHTMLParser) -> Iterator[Any]:
    for node in islice(tree.css('script[type="application/ld+json"]'), MOST_ITEMS):
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
    said: list[tuple[str, str]] = []
    for node in islice(tree.css("head > meta[property][content]"), MOST_ITEMS):
        name = node.attributes["property"] or ""
        prefix = name.partition(":")[0]
        if prefix in OG_PREFIXES:
            prefixes[prefix] = OG_PREFIXES[prefix]
        if prefix in prefixes:
            said.append((name, node.attributes["content"] or ""))
    if said:
        yield {"namespace": prefixes, "properties": said}
