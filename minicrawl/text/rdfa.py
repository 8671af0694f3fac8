"""Statements of a page in RDFa Lite, and by `about`, as expanded JSON-LD (RDFa 1.1, 7.5).

    <p vocab="http://schema.org/" typeof="Person"><b property="name">Ann</b></p>

is {"@id": "_:b0", "@type": ["http://schema.org/Person"],
    "http://schema.org/name": [{"@value": "Ann"}]}

`rel`, `rev`, `datatype` and `inlist` are not read: they are not part of RDFa Lite.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from minicrawl.text.hints import words

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

Properties = dict[str, Any]
_Attributes = Mapping[str, str | None]
_Context = tuple[str, str, dict[str, str]]
"""Subject, vocabulary and prefixes, which an element passes on to those inside it."""
PREFIX = re.compile(r"(\w+):\s*(\S+)")
_OG = "http://ogp.me/ns"
_OG_KINDS = ("article", "book", "music", "product", "profile", "video")
OG_PREFIXES = {"og": f"{_OG}#", **{kind: f"{_OG}/{kind}#" for kind in _OG_KINDS}}
_PREFIXES = {
    "_": "_:",
    "cc": "http://creativecommons.org/ns#",
    "dc": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "fb": f"{_OG}/fb#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "http://schema.org/",
    **OG_PREFIXES,
}
"""Prefixes that pages need not declare; the rest of RDFa's initial context is rare on pages."""
_USES = "http://www.w3.org/ns/rdfa#usesVocabulary"
_STATES = words("property typeof vocab prefix resource about href src")
_MOST_ELEMENTS, _MOST_NAMES, LONGEST_TEXT = 10_000, 20, 10_000


def rdfa(tree: LexborHTMLParser, base: str) -> list[Properties]:
    """Return the things that a page says something about, each with its properties."""
    things = defaultdict[str, dict[str, dict[str, object]]](dict)
    for subject, name, value in _statements(tree, base):
        things[subject].setdefault(name, {})[str(value)] = value
    return [
        {"@id": subject, **{name: [*values.values()] for name, values in properties.items()}}
        for subject, properties in things.items()
    ]


def _statements(tree: LexborHTMLParser, base: str) -> Iterator[tuple[str, str, object]]:
    """Yield subjects, each with a property and a value, in the order of the page."""
    is_used = tree.css_first("[property], [typeof]") is not None
    stack: list[tuple[LexborNode | None, _Context]] = [(tree.root, (base, "", _PREFIXES))]
    blanks, read = map("_:b{}".format, count()), 0
    while stack and is_used and read < _MOST_ELEMENTS:
        node, context = stack.pop()
        if node is None:
            continue
        stack.append((node.next, context))
        values = node.attributes
        if not _STATES.isdisjoint(values):
            read += 1
            above, vocabulary, prefixes = context
            if "vocab" in values:
                vocabulary = ""
                if values["vocab"]:
                    vocabulary = _iri(values, base, {}, "vocab") or ""
                    yield base, _USES, {"@id": vocabulary}
            if declared := PREFIX.findall(values.get("prefix") or ""):
                prefixes = prefixes | {name.lower(): whole for name, whole in declared}
            about = _iri(values, base, prefixes, "about")
            resource = _iri(values, base, prefixes, "resource", "href", "src")
            is_typed, has_value = "typeof" in values, "content" in values
            thing = about or resource
            if is_typed and thing is None:
                thing = base if node.tag == "html" else next(blanks)
            subject = about or above if "property" in values and not has_value else thing or above
            inside = thing if is_typed and thing else subject
            for name in _whole(values.get("typeof"), vocabulary, prefixes):
                yield inside, "@type", name
            for name in _whole(values.get("property"), vocabulary, prefixes):
                if has_value:
                    yield subject, name, {"@value": values["content"] or ""}
                elif resource is not None or (is_typed and about is None):
                    yield subject, name, {"@id": inside if resource is None else resource}
                else:
                    yield subject, name, {"@value": node.text()[:LONGEST_TEXT]}
            context = inside, vocabulary, prefixes
        stack.append((node.child, context))


def _iri(values: _Attributes, base: str, prefixes: Mapping[str, str], *names: str) -> str | None:
    """Return the IRI in the first of these attributes, or None."""
    name = next((name for name in names if name in values), None)
    if name is None:
        return None
    written = (values[name] or "").strip()
    if name in ("about", "resource"):
        written = written.removeprefix("[").removesuffix("]")
        prefix, colon, suffix = written.partition(":")
        if colon and prefix.lower() in prefixes:
            return prefixes[prefix.lower()] + suffix
    # urljoin drops an empty fragment, with which many vocabularies end.
    whole = joined(base, written)
    return f"{whole.removesuffix('#')}#" if written.endswith("#") else whole


def _whole(names: str | None, vocabulary: str, prefixes: Mapping[str, str]) -> Iterator[str]:
    """Yield the IRIs of terms and shortened names; terms without a vocabulary say nothing."""
    for name in (names or "").split()[:_MOST_NAMES]:
        prefix, colon, local = name.partition(":")
        if not colon and vocabulary:
            yield vocabulary + name
        elif colon and prefix != "_":
            yield prefixes.get(prefix.lower(), f"{prefix}:") + local


def joined(base: str, written: str) -> str:
    """Return the URL that a page means; what is no URL stays as written."""
    try:
        return urljoin(base, written)
    except ValueError:
        return written
