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
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from minicrawl.text.boxes import parse
from minicrawl.web.urls import canonical

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser


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
    objects: list[dict[str, Any]] = []
    for node in tree.css('script[type="application/ld+json"]'):
        try:
            objects += islice(_objects(json.loads(node.text())), _MOST_OBJECTS)
        except (ValueError, RecursionError):
            continue
    return sorted(filter(_kind_of, objects), key=_kind_of)


def _objects(data: object) -> Iterator[dict[str, Any]]:
    """Yield the objects at the top of JSON-LD: one, a list of some, or those of a graph."""
    if isinstance(data, list):
        for item in data:
            yield from _objects(item)
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
        for item in value[:_MOST_VALUES]:
            if not isinstance(item, list):
                yield from _values(item)
    elif isinstance(value, dict):
        yield from _values(next(filter(None, map(value.get, ("name", "url", "@id"))), None))


def _first(values: Iterator[str]) -> str:
    return next(filter(None, values), "")


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
            moment = read(text)
        except ValueError:
            continue
        is_day = len(text) <= len("2026-11-26")
        return moment.date().isoformat() if is_day else moment.isoformat(timespec="seconds")
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
