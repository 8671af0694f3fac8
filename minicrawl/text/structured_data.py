"""Structured data of a page: JSON-LD, Open Graph, microdata and RDFa Lite.

The column `data` has each syntax under its usual name, in the shapes of extruct, so that programs
for extruct can read the column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import count, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

from minicrawl.text.boxes import parse
from minicrawl.text.hints import words

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode


PREFIX = re.compile(r"(\w+):\s*(\S+)")
_OG = "http://ogp.me/ns"
_OG_KINDS = ("article", "book", "music", "product", "profile", "video")
OG_PREFIXES: Mapping[str, str] = MappingProxyType(
    {"og": f"{_OG}#", **{kind: f"{_OG}/{kind}#" for kind in _OG_KINDS}}
)
_PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "cc": "http://creativecommons.org/ns#",
        "dc": "http://purl.org/dc/terms/",
        "dcterms": "http://purl.org/dc/terms/",
        "fb": f"{_OG}/fb#",
        "foaf": "http://xmlns.com/foaf/0.1/",
        "schema": "http://schema.org/",
        **OG_PREFIXES,
    }
)
"""Prefixes that pages need not declare; the rest of RDFa's initial context is rare on pages."""
_USES = "http://www.w3.org/ns/rdfa#usesVocabulary"
_STATES = words("property typeof vocab prefix resource about href src")
_MOST_ELEMENTS, _MOST_NAMES = 10_000, 20


class _Context(NamedTuple):
    """Context that an element passes on to those inside it."""

    subject: str
    vocabulary: str
    prefixes: Mapping[str, str]


class Rdfa:
    """The statements of a page in RDFa Lite, and of `about`, as expanded JSON-LD (RDFa 1.1, 7.5).

        <p vocab="http://schema.org/" typeof="Person"><b property="name">Ann</b></p>

    is {"@id": "_:b0", "@type": ["http://schema.org/Person"],
        "http://schema.org/name": [{"@value": "Ann"}]}

    `rel`, `rev`, `datatype` and `inlist` are not read: they are not part of RDFa Lite.
    """

    def __init__(self, tree: LexborHTMLParser, base: str) -> None:
        self._base, self._things = base, dict[str, dict[str, list[Any]]]()
        self._said = set[tuple[str, str, str]]()  # a list of 10,000 values is slow to search
        self._blank = map("_:b{}".format, count())
        is_used = tree.css_first("[property], [typeof]") is not None
        stack = [(tree.root, _Context(base, "", _PREFIXES))] if is_used else []
        read = 0
        while stack and read < _MOST_ELEMENTS:
            node, above = stack.pop()
            if node is not None:
                stack.append((node.next, above))
                if not _STATES.isdisjoint(node.attributes):
                    above = self._read(node, node.attributes, above)
                    read += 1
                stack.append((node.child, above))

    def found(self) -> list[Properties]:
        """Return the things that something is said about, each with its properties."""
        return [{"@id": name, **said} for name, said in self._things.items()]

    def _read(self, node: LexborNode, said: Mapping[str, str | None], above: _Context) -> _Context:
        """Read what an element says, and return the context of those inside it."""
        vocabulary, prefixes = above.vocabulary, above.prefixes
        if "vocab" in said:
            vocabulary = ""
            if written := said["vocab"]:
                vocabulary = self._iri(written)
                self._say(self._base, _USES, {"@id": vocabulary})
        if declared := PREFIX.findall(said.get("prefix") or ""):
            prefixes = {**prefixes, **{name.lower(): whole for name, whole in declared}}
        here = _Context(above.subject, vocabulary, prefixes)
        about, resource = self._named(here, said, ("about",)), self._named(here, said)
        is_typed, has_value = "typeof" in said, "content" in said
        inside = about or resource
        if is_typed and inside is None:
            inside = self._base if node.tag == "html" else next(self._blank)
        if "property" in said and not has_value:
            subject = about or above.subject
            inside = inside if is_typed and inside else subject
        else:
            subject = inside = inside or above.subject
        for name in self._whole(here, said.get("typeof")):
            self._say(inside, "@type", name)
        for name in self._whole(here, said.get("property")):
            if has_value:
                value = {"@value": said["content"] or ""}
            elif resource is not None or (is_typed and about is None):
                value = {"@id": inside if resource is None else resource}
            else:
                value = {"@value": node.text()[:LONGEST_TEXT]}
            self._say(subject, name, value)
        return here._replace(subject=inside)

    def _named(
        self,
        here: _Context,
        said: Mapping[str, str | None],
        names: Iterable[str] = ("resource", "href", "src"),
    ) -> str | None:
        """Return the IRI in the first of these attributes, or None."""
        name = next((name for name in names if name in said), None)
        if name is None:
            return None
        written = (said[name] or "").strip()
        if name in ("about", "resource"):
            written = written.removeprefix("[").removesuffix("]")
            prefix, colon, suffix = written.partition(":")
            known = here.prefixes.get(prefix.lower()) if colon else None
            if prefix == "_" or known is not None:
                return written if known is None else known + suffix
        return self._iri(written)

    def _iri(self, written: str) -> str:
        # urljoin drops an empty fragment, with which many vocabularies end.
        whole = joined(self._base, written)
        return f"{whole.removesuffix('#')}#" if written.endswith("#") else whole

    def _whole(self, here: _Context, names: str | None) -> Iterator[str]:
        """Yield the IRIs of terms and shortened names; terms without a vocabulary say nothing."""
        for name in (names or "").split()[:_MOST_NAMES]:
            prefix, colon, local = name.partition(":")
            if not colon and here.vocabulary:
                yield here.vocabulary + name
            elif colon and prefix != "_":
                known = here.prefixes.get(prefix.lower())
                yield name if known is None else known + local

    def _say(self, subject: str, name: str, value: object) -> None:
        statement = subject, name, str(value)
        if statement not in self._said:
            self._said.add(statement)
            self._things.setdefault(subject, {}).setdefault(name, []).append(value)


MOST_ITEMS, LONGEST_TEXT = 1000, 10_000
_DEEPEST = 20
_UNSHOWN = ("script", "style")
_BLOCKS = words("br dd div dt h1 h2 h3 h4 h5 h6 li p section td th")
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
    """Items of microdata, which say what the texts and URLs of a page mean.

        <p itemscope itemtype="http://schema.org/Person"><b itemprop="name">Ann</b></p>

    is {"type": "http://schema.org/Person", "properties": {"name": "Ann"}}. A property with several
    values has a list. An item is written once, at its first reference, so that circular references
    end. The text of nested properties is read once for each of them, so call this where it can be
    killed.
    """

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
        ids = (said.get("itemref") or "").split()[:MOST_ITEMS]
        elsewhere = (self._by_id[one] for one in ids if one in self._by_id)
        for one in _properties([*node.iter(), *elsewhere]):
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
        return said.get("content") or " ".join(shown(node)[:LONGEST_TEXT].split())


def _properties(nodes: list[LexborNode]) -> Iterator[LexborNode]:
    """Yield the elements with properties in and among these, without those of items inside them."""
    stack = nodes[::-1]
    while stack:
        node = stack.pop()
        said = node.attributes
        if "itemprop" in said:
            yield node
        if "itemscope" not in said:
            stack.extend(reversed([*node.iter()]))


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


def joined(base: str, written: str) -> str:
    """Return the URL that a page means; what is no URL stays as written."""
    try:
        return urljoin(base, written)
    except ValueError:
        return written


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
        "microdata": list(Items(tree, base).all()),
        "rdfa": Rdfa(tree, base).found(),
    }
    return {syntax: objects for syntax, objects in data.items() if objects}


def data(markup: str, url: str) -> str:
    """Return the column `data`: JSON, or "" if there is no structured data."""
    by_syntax = structured(markup, url)
    return json.dumps(by_syntax) if by_syntax else ""


def json_ld(tree: LexborHTMLParser) -> Iterator[Any]:
    """Yield the values of the JSON-LD of a page; those of a list each for itself."""
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
