"""Statements of RDFa Lite, and of `about`, as expanded JSON-LD, by RDFa 1.1 (section 7.5).

    <p vocab="http://schema.org/" typeof="Person"><b property="name">Ann</b></p>

is {"@id": "_:b0", "@type": ["http://schema.org/Person"],
    "http://schema.org/name": [{"@value": "Ann"}]}

`rel`, `rev`, `datatype` and `inlist` are not read: they are not part of RDFa Lite.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from minicrawl.text.microdata import LONGEST_TEXT, Properties, joined

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

PREFIX = re.compile(r"(\w+):\s*(\S+)")
_OG = "http://ogp.me/ns"
OG_PREFIXES: Mapping[str, str] = MappingProxyType(
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
        **OG_PREFIXES,
    }
)
"""Prefixes that pages need not declare; the rest of RDFa's initial context is rare on pages."""
_USES = "http://www.w3.org/ns/rdfa#usesVocabulary"
_STATES = "[property], [typeof], [vocab], [prefix], [resource], [about], [href], [src]"
_MOST_ELEMENTS, _MOST_NAMES = 10_000, 20
_HIGHEST = 100
"""Ancestors among which the context of an element is sought."""


class _Context(NamedTuple):
    """Context that an element passes on to those inside it."""

    subject: str
    vocabulary: str
    prefixes: Mapping[str, str]


class Rdfa:
    """The statements of a page."""

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
        self._inside[node.mem_id] = here._replace(subject=inside)
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

    def _above(self, node: LexborNode) -> _Context:
        read = (self._inside.get(above.mem_id) for above in islice(_upwards(node), 1, None))
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


def _upwards(node: LexborNode) -> Iterator[LexborNode]:
    above: LexborNode | None = node
    for _ in range(_HIGHEST):
        if above is None:
            return
        yield above
        above = above.parent
