"""Reads what a page declares about itself: author, dates, description and the like.

Pages declare the same thing in many ways: by structured data (JSON-LD), which search engines check,
by Open Graph for social networks, by older names for `meta`, and by elements. Each column tries its
ways from the most to the least reliable, and the first one with a value counts:

    author   JSON-LD author.name, meta article:author, meta author, rel=author, itemprop=author

A date becomes `2026-11-26` or `2026-11-26T09:30:00+00:00`; other texts are left out. A URL
is resolved against that of the page.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from itertools import count, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

from minicrawl.text.main import parse
from minicrawl.web.urls import canonical

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode


_MOST_OBJECTS, _MOST_VALUES = 1000, 20
_LONGEST = 2000
"""Maximum characters of a value; longer values are cut."""
_KINDS = ("Article", "NewsArticle", "BlogPosting", "WebPage", "Product", "Recipe", "Event")
"""Types of JSON-LD that describe a page, best first; other types describe its parts."""
_NUMBERS = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")


class Declared(NamedTuple):
    """Declarations of a page, by name."""

    meta: Mapping[str, list[str]]
    data: list[dict[str, Any]]
    """Objects of JSON-LD, those about the page first."""
    links: Mapping[str, list[str]]
    """Targets by rel."""
    items: Mapping[str, list[str]]
    """Values by itemprop."""

    def of_data(self, *names: str) -> Iterator[str]:
        """Yield the values of these properties of JSON-LD."""
        for thing in self.data:
            for name in names:
                yield from islice(_values(thing.get(name)), _MOST_VALUES)

    def of_meta(self, *names: str) -> Iterator[str]:
        """Yield the contents of `meta` elements with these names."""
        for name in names:
            yield from self.meta.get(name, ())


@lru_cache(1)
def declared(markup: str) -> Declared:
    """Return the declarations of a page, which is read once for several columns."""
    tree = parse(markup)
    meta, links, items = (defaultdict[str, list[str]](list) for _ in range(3))
    for node in tree.css("meta[content]"):
        said = node.attributes
        for attribute in ("name", "property", "itemprop"):
            if name := said.get(attribute):
                meta[name.strip().lower()].append(_tidy(said["content"] or ""))
    for node in tree.css("link[rel][href], a[rel][href]"):
        said = node.attributes
        for rel in (said["rel"] or "").lower().split():
            target = said["href"] or ""
            links[rel].append(_tidy(target if rel != "author" else node.text() or target))
    for node in tree.css("[itemprop]"):
        said = node.attributes
        value = said.get("content") or said.get("datetime") or node.text()
        items[said["itemprop"] or ""].append(_tidy(value))
    return Declared(meta, _about_page(tree), links, items)


def _tidy(text: str) -> str:
    return " ".join(text[:_LONGEST].split())


def _about_page(tree: LexborHTMLParser) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for node in tree.css('script[type="application/ld+json"]'):
        try:
            found += islice(_objects(json.loads(node.text())), _MOST_OBJECTS)
        except (ValueError, RecursionError):
            continue
    return sorted(filter(_kind_of, found), key=_kind_of)


def _objects(data: object) -> Iterator[dict[str, Any]]:
    """Yield the objects at the top of JSON-LD: one, a list of some, or those of a graph."""
    if isinstance(data, list):
        for one in data:
            yield from _objects(one)
    elif isinstance(data, dict):
        yield data
        yield from _objects(data.get("@graph"))


def _kind_of(thing: Mapping[str, Any]) -> int:
    """Return 1 for the best type that describes a page, more for others, and 0 for none."""
    kinds = set(_values(thing.get("@type")))
    return next((place for place, kind in enumerate(_KINDS, 1) if kind in kinds), 0)


def _values(value: object) -> Iterator[str]:
    """Yield the texts of a value of JSON-LD: a text, an object with a name or URL, or a list."""
    if isinstance(value, str):
        yield _tidy(value)
    elif isinstance(value, list):
        for one in value[:_MOST_VALUES]:
            if not isinstance(one, list):
                yield from _values(one)
    elif isinstance(value, dict):
        yield from _values(next(filter(None, map(value.get, ("name", "url", "@id"))), None))


# ================================================================ columns


def _first(found: Iterator[str]) -> str:
    return next(filter(None, found), "")


def author(page: Declared) -> Iterator[str]:
    yield ", ".join(dict.fromkeys(page.of_data("author")))
    names = ("article:author", "citation_author", "author", "dc.creator", "parsely-author")
    for name in names:
        yield ", ".join(value for value in page.meta.get(name, ()) if "://" not in value)
    yield from page.links.get("author", ())
    yield from page.items.get("author", ())


def description(page: Declared) -> Iterator[str]:
    yield from page.of_meta("description", "og:description", "twitter:description")
    yield from page.of_data("description")
    yield from page.of_meta("dc.description")


def site_name(page: Declared) -> Iterator[str]:
    yield from page.of_meta("og:site_name")
    yield from page.of_data("publisher")
    yield from page.of_meta("application-name", "citation_journal_title")


def published(page: Declared) -> Iterator[str]:
    yield from page.of_data("datePublished")
    names = "article:published_time", "citation_publication_date", "dc.date", "date", "pubdate"
    yield from page.of_meta(*names, "parsely-pub-date")
    yield from page.items.get("datePublished", ())


def modified(page: Declared) -> Iterator[str]:
    yield from page.of_data("dateModified")
    yield from page.of_meta("article:modified_time", "og:updated_time", "last-modified")
    yield from page.items.get("dateModified", ())


def image(page: Declared) -> Iterator[str]:
    yield from page.of_meta("og:image", "og:image:url", "twitter:image", "twitter:image:src")
    yield from page.of_data("image")


def licence(page: Declared) -> Iterator[str]:
    yield from page.links.get("license", ())
    yield from page.of_data("license")
    yield from page.of_meta("dc.rights", "dcterms.license", "dc.rights.license")


def canonical_url(page: Declared) -> Iterator[str]:
    yield from page.links.get("canonical", ())
    yield from page.of_meta("og:url")


def _date(text: str) -> str:
    """Return a date in ISO 8601, or "" if the text is not a date."""
    # The strict forms first: a search for three numbers would also find a date in "5/6/2026", and
    # nobody can tell which of the two is the month.
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text)
        except ValueError:
            continue
        is_day = len(text) <= len("2026-11-26")
        return found.date().isoformat() if is_day else found.isoformat(timespec="seconds")
    if numbers := _NUMBERS.search(text):
        try:
            return date(*map(int, numbers.groups())).isoformat()
        except ValueError:
            pass
    return ""


def _column(
    read: Callable[[Declared], Iterator[str]], form: Callable[[str, str], str] | None = None
) -> Callable[[str, str], str]:
    def column(markup: str, url: str) -> str:
        values = read(declared(markup))
        return _first(values if form is None else (form(value, url) for value in values))

    return column


def _as_date(text: str, _url: str) -> str:
    return _date(text)


def _as_url(text: str, url: str) -> str:
    return canonical(text, url) or "" if text else ""


AUTHOR, DESCRIPTION, SITE_NAME = map(_column, (author, description, site_name))
PUBLISHED, MODIFIED = _column(published, _as_date), _column(modified, _as_date)
CANONICAL, IMAGE, LICENCE = (_column(read, _as_url) for read in (canonical_url, image, licence))


# ================================================================ structured data
#
# Structured data of a page: JSON-LD, Open Graph, microdata and RDFa Lite.
#
# The column `data` has each syntax under its usual name, in the shapes of extruct, so that programs
# for extruct can read the column: RDFa Lite is expanded JSON-LD.
#
#     <p vocab="http://schema.org/" typeof="Person"><b property="name">Ann</b></p>
#
#     is {"@id": "_:b0", "@type": ["http://schema.org/Person"],
#         "http://schema.org/name": [{"@value": "Ann"}]}
#
# A property of microdata with several values has a list, and its name stays as written. Of RDFa,
# `rel`, `rev`, `datatype` and `inlist` are not read: they are not part of RDFa Lite.
#
# Laws: an item is written once, at its first reference, so that circular references end. Depth and
# number of items are limited. The text of nested properties is read once for each of them, so call
# this where it can be killed.

_MOST_ITEMS, _DEEPEST, _LONGEST_TEXT = 1000, 20, 10_000
_UNSHOWN = ("script", "style")
_HIGHEST = 100
"""Ancestors among which the context of an element is sought."""
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
        "cc": "http://creativecommons.org/ns#",
        "dc": "http://purl.org/dc/terms/",
        "dcterms": "http://purl.org/dc/terms/",
        "fb": f"{_OG}/fb#",
        "foaf": "http://xmlns.com/foaf/0.1/",
        "schema": "http://schema.org/",
        **_OG_PREFIXES,
    }
)
"""Prefixes that pages need not declare; the rest of RDFa's initial context is rare on pages."""
_USES = "http://www.w3.org/ns/rdfa#usesVocabulary"
_STATES = "[property], [typeof], [vocab], [prefix], [resource], [about], [href], [src]"
_MOST_ELEMENTS, _MOST_NAMES = 10_000, 20
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
        "microdata": list(_Items(tree, base).all()),
        "rdfa": _Rdfa(tree, base).found(),
    }
    return {syntax: objects for syntax, objects in found.items() if objects}


def data(markup: str, url: str) -> str:
    """Return the column `data`: JSON, or "" if there is no structured data."""
    found = structured(markup, url)
    return json.dumps(found) if found else ""


# ---------------------------------------------------------------- JSON-LD, Open Graph


def _json_ld(tree: LexborHTMLParser) -> Iterator[Any]:
    for node in islice(tree.css('script[type="application/ld+json"]'), _MOST_ITEMS):
        found = _loaded(node.text())
        for one in found if isinstance(found, list) else [found]:
            if one:
                yield one


def _loaded(text: str) -> object:
    """Return the value of JSON, which may have control characters and comments, or None."""
    for read in (str, partial(_COMMENT.sub, lambda found: found[1] or "")):
        try:
            return json.loads(read(text), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


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


# ---------------------------------------------------------------- microdata


class _Items:
    """Items of microdata."""

    def __init__(self, tree: LexborHTMLParser, base: str) -> None:
        self._base = base
        self._scopes = tree.css("[itemscope]")[:_MOST_ITEMS]
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
        found: list[tuple[LexborNode | None, bool]] = [(node.child, True)]
        ids = (said.get("itemref") or "").split()
        found += [(self._by_id[one], False) for one in ids[:_MOST_ITEMS] if one in self._by_id]
        for start, has_siblings in found:
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
        is_new = node.mem_id not in self._seen and len(self._seen) < _MOST_ITEMS
        return self._item(node, depth + 1) if is_new and depth < _DEEPEST else None

    def _plain(self, node: LexborNode) -> str:
        said, tag = node.attributes, node.tag or ""
        if tag in _URL_IN:
            return _joined(self._base, (said.get(_URL_IN[tag]) or "").strip())
        if tag in _VALUE_IN and (tag == "meta" or _VALUE_IN[tag] in said):
            return said.get(_VALUE_IN[tag]) or ""
        return said.get("content") or " ".join(_shown(node)[:_LONGEST_TEXT].split())


# ---------------------------------------------------------------- RDFa Lite


class _Context(NamedTuple):
    """Context that an element passes on to those inside it."""

    subject: str
    vocabulary: str
    prefixes: Mapping[str, str]


class _Rdfa:
    """Statements of RDFa Lite, and of `about`, by the rules of RDFa 1.1 (section 7.5)."""

    def __init__(self, tree: LexborHTMLParser, base: str) -> None:
        self._base, self._things = base, dict[str, dict[str, list[Any]]]()
        self._said = set[tuple[str, str, str]]()  # a list of 10,000 values is slow to search
        self._outside, self._inside = _Context(base, "", _PREFIXES), dict[int, _Context]()
        self._blank = map("_:b{}".format, count())
        if tree.css_first("[property], [typeof]") is not None:
            for node in tree.css(_STATES)[:_MOST_ELEMENTS]:
                if node.mem_id not in self._inside:  # one is found once for each selector
                    self._read(node, node.attributes)

    def found(self) -> list[Properties]:
        """Return the things that something is said about, each with its properties."""
        return [{"@id": name, **said} for name, said in self._things.items()]

    def _read(self, node: LexborNode, said: Mapping[str, str | None]) -> None:
        above = self._above(node)
        vocabulary, prefixes = above.vocabulary, above.prefixes
        if "vocab" in said:
            vocabulary = ""
            if written := said["vocab"]:
                vocabulary = self._iri(written)
                self._say(self._base, _USES, {"@id": vocabulary})
        if declared := _PREFIX.findall(said.get("prefix") or ""):
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
        self._inside[node.mem_id] = here._replace(subject=inside)
        for name in self._whole(here, said.get("typeof")):
            self._say(inside, "@type", name)
        for name in self._whole(here, said.get("property")):
            if has_value:
                value = {"@value": said["content"] or ""}
            elif resource is not None or (is_typed and about is None):
                value = {"@id": inside if resource is None else resource}
            else:
                value = {"@value": node.text()[:_LONGEST_TEXT]}
            self._say(subject, name, value)

    def _above(self, node: LexborNode) -> _Context:
        read = (self._inside.get(one.mem_id) for one in islice(_upwards(node), 1, None))
        return next(filter(None, read), self._outside)

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
            prefix, colon, rest = written.partition(":")
            known = here.prefixes.get(prefix.lower()) if colon else None
            if prefix == "_" or known is not None:
                return written if known is None else known + rest
        return self._iri(written)

    def _iri(self, written: str) -> str:
        # urljoin drops an empty fragment, with which many vocabularies end.
        whole = _joined(self._base, written)
        return f"{whole.removesuffix('#')}#" if written.endswith("#") else whole

    def _whole(self, here: _Context, names: str | None) -> Iterator[str]:
        """Yield the IRIs of terms and shortened names; terms without a vocabulary say nothing."""
        for name in (names or "").split()[:_MOST_NAMES]:
            prefix, colon, rest = name.partition(":")
            if not colon and here.vocabulary:
                yield here.vocabulary + name
            elif colon and prefix != "_":
                known = here.prefixes.get(prefix.lower())
                yield name if known is None else known + rest

    def _say(self, subject: str, name: str, value: object) -> None:
        statement = subject, name, str(value)
        if statement not in self._said:
            self._said.add(statement)
            self._things.setdefault(subject, {}).setdefault(name, []).append(value)


def _upwards(node: LexborNode) -> Iterator[LexborNode]:
    above: LexborNode | None = node
    for _ in range(_HIGHEST):
        if above is None:
            return
        yield above
        above = above.parent


def _shown(node: LexborNode) -> str:
    """Return the text of an element without the scripts and styles in it, which are seldom."""
    if node.css_first("script, style") is None:
        return node.text(separator=" ")
    texts = (one for one in node.traverse(include_text=True) if one.tag == "-text")
    shown = (one for one in islice(texts, _MOST_ITEMS) if (one.parent or one).tag not in _UNSHOWN)
    return " ".join(one.text_content or "" for one in shown)


def _joined(base: str, written: str) -> str:
    try:
        return urljoin(base, written)
    except ValueError:
        return written
