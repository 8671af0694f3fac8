"""Reads what a page declares about itself: author, dates, description and the like.

Pages declare the same thing in many ways: by structured data (JSON-LD), which search engines check,
by Open Graph for social networks, by older names for `meta`, and by elements. Each column tries its
ways from the most to the least reliable, and the first one with a value counts:

    author   JSON-LD author.name, meta article:author, meta author, rel=author, itemprop=author

A date becomes `2026-11-26` or `2026-11-26T09:30:00+00:00`; other texts are left out. A URL
is resolved against that of the page.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from minicrawl.text.boxes import parse
from minicrawl.text.structured_data import json_ld
from minicrawl.web.urls import canonical

_MOST_OBJECTS, _MOST_VALUES = 1000, 20
_LONGEST = 2000
"""Maximum characters of a value; longer values are cut."""
_KINDS = ("Article", "NewsArticle", "BlogPosting", "WebPage", "Product", "Recipe", "Event")
"""Types of JSON-LD that describe a page, best first; other types describe its parts."""
_NUMBERS = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")


@lru_cache(1)
def _declared(markup: str) -> Mapping[str, Mapping[str, list[Any]]]:
    """Return the declarations of a page by source and name; it is read once for several columns."""
    tree = parse(markup)
    data, meta, links, items = (defaultdict[str, list[Any]](list) for _ in range(4))
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        for kind in ("name", "property", "itemprop"):
            if name := attributes.get(kind):
                meta[name.strip().lower()].append(attributes["content"] or "")
    for node in tree.css("link[rel][href], a[rel][href]"):
        attributes = node.attributes
        for rel in (attributes["rel"] or "").lower().split():
            target = attributes["href"] or ""
            links[rel].append(target if rel != "author" else node.text() or target)
    for node in tree.css("[itemprop]"):
        attributes = node.attributes
        value = attributes.get("content") or attributes.get("datetime") or node.text()
        items[attributes["itemprop"] or ""].append(value[:_LONGEST])
    objects = islice(_objects(json_ld(tree)), _MOST_OBJECTS)
    for thing in sorted(filter(_kind_of, objects), key=_kind_of):  # those about the page first
        for name, value in thing.items():
            data[name].append(value)
    return {"data": data, "meta": meta, "links": links, "items": items}


def said(markup: str, source: str, *names: str) -> Iterator[str]:
    """Yield what a page says by these names of JSON-LD (`data`), `meta`, `rel` or `itemprop`."""
    for name in names:
        for value in _declared(markup)[source].get(name, ()):
            yield from islice(_values(value), _MOST_VALUES)


def _objects(values: Iterable[object]) -> Iterator[dict[str, Any]]:
    """Yield the objects at the top of JSON-LD, and those of lists and graphs, in order."""
    stack = [*values][::-1]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += reversed(value)
        elif isinstance(value, dict):
            yield value
            stack.append(value.get("@graph"))


def _kind_of(thing: Mapping[str, Any]) -> int:
    """Return 1 for the best type that describes a page, more for others, and 0 for none."""
    kinds = set(_values(thing.get("@type")))
    return next((place for place, kind in enumerate(_KINDS, 1) if kind in kinds), 0)


def _values(value: object) -> Iterator[str]:
    """Yield the texts of a value of JSON-LD: a text, an object with a name or URL, or a list."""
    if isinstance(value, str):
        yield " ".join(value[:_LONGEST].split())
    elif isinstance(value, list):
        for item in value[:_MOST_VALUES]:
            if not isinstance(item, list):
                yield from _values(item)
    elif isinstance(value, dict):
        yield from _values(next(filter(None, map(value.get, ("name", "url", "@id"))), None))


def author(markup: str, _url: str) -> str:
    """Return the authors; several names of one source are joined."""
    names = ("article:author", "citation_author", "author", "dc.creator", "parsely-author")
    texts = ([text for text in said(markup, "meta", name) if "://" not in text] for name in names)
    of_data = ", ".join(dict.fromkeys(said(markup, "data", "author")))
    of_elements = said(markup, "links", "author"), said(markup, "items", "author")
    return next(filter(None, chain((of_data,), map(", ".join, texts), *of_elements)), "")


def _as_date(text: str, _url: str) -> str:
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


def _as_url(text: str, url: str) -> str:
    return canonical(text, url) or "" if text else ""


def _column(
    *ways: tuple[str, ...], form: Callable[[str, str], str] = lambda text, _url: text
) -> Callable[[str, str], str]:
    """Return the column of the first of these ways, sources with names, that has a value."""

    def column(markup: str, url: str) -> str:
        values = (form(text, url) for way in ways for text in said(markup, *way))
        return next(filter(None, values), "")

    return column


AUTHOR = author
DESCRIPTION = _column(
    ("meta", "description", "og:description", "twitter:description"),
    ("data", "description"),
    ("meta", "dc.description"),
)
SITE_NAME = _column(
    ("meta", "og:site_name"),
    ("data", "publisher"),
    ("meta", "application-name", "citation_journal_title"),
)
PUBLISHED = _column(
    ("data", "datePublished"),
    ("meta", "article:published_time", "citation_publication_date", "dc.date", "date", "pubdate"),
    ("meta", "parsely-pub-date"),
    ("items", "datePublished"),
    form=_as_date,
)
MODIFIED = _column(
    ("data", "dateModified"),
    ("meta", "article:modified_time", "og:updated_time", "last-modified"),
    ("items", "dateModified"),
    form=_as_date,
)
IMAGE = _column(
    ("meta", "og:image", "og:image:url", "twitter:image", "twitter:image:src"),
    ("data", "image"),
    form=_as_url,
)
LICENCE = _column(
    ("links", "license"),
    ("data", "license"),
    ("meta", "dc.rights", "dcterms.license", "dc.rights.license"),
    form=_as_url,
)
CANONICAL = _column(("links", "canonical"), ("meta", "og:url"), form=_as_url)
