"""Entries: what the index has of a page to show, and to judge how well it answers.

Law: `unpacked(packed(entry)).entry` is the entry, but for the end of a very long text. To judge a
page costs no more than its bytes: a text lies there as it is compared, and only what is shown of it
is decoded.

layout   three lengths; then title, URL and the like as JSON, the body, the boilerplate, and both
         as they are compared, if that is not simply their small letters
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from struct import Struct
from typing import NamedTuple
from urllib.parse import unquote

from minicrawl.search.words import comparable, whole, words_of
from minicrawl.web.urls import host

_LENGTHS = Struct("<III")
_LONGEST_SHOWN = 200_000
"""Characters of the text of a page that snippets are taken from."""
LONGEST_JUDGED, _LITTLE_JUDGED = 100_000, 2_000
"""Bytes of a text, and of its boilerplate, in which words are looked for by their places."""
_NOTHING_SAID = {"http", "https", "www", "html", "htm", "php", "index"}


class Entry(NamedTuple):
    """A page. One that was never read has only a URL and anchors."""

    page: int
    url: str
    title: str = ""
    own_title: str = ""
    """The title without what all pages of the site have."""
    headings: tuple[str, ...] = ()
    body: str = ""
    repeated: str = ""
    anchors: tuple[str, ...] = ()
    language: str = ""
    at: float | None = None
    """When it changed last; None if it was never read."""
    anchor_sites: tuple[int, ...] = ()
    """The site that has each of the anchors."""


class StoredEntry:
    """An entry as it lies in the index."""

    def __init__(self, about: Entry, body: bytes, repeated: bytes, compared: bytes) -> None:
        """`about` has no texts; `compared` is empty if it is the small letters of both."""
        self.about = about
        self._body, self._repeated, self._compared = body, repeated, compared

    @property
    def entry(self) -> Entry:
        """All of it."""
        body, repeated = (text.decode("utf-8", "replace") for text in (self._body, self._repeated))
        return self.about._replace(body=body, repeated=repeated)

    @cached_property
    def title_words(self) -> list[str]:
        """Of the title of its own."""
        return words_of(self.about.own_title)

    @cached_property
    def names(self) -> bytes:
        """The title and the headings as they are written."""
        return "\n".join((self.about.title, *self.about.headings)).encode("utf-8", "replace")

    @cached_property
    def compared_names(self) -> bytes:
        """The same as they are compared."""
        return self.compared["title"] + b"\n" + self.compared["headings"]

    @cached_property
    def written(self) -> bytes:
        """The text as it is written."""
        return _judged(self._body, self._repeated)

    @cached_property
    def compared(self) -> dict[str, bytes]:
        """The fields as they are compared."""
        about = self.about
        texts = {
            "title": about.title,
            "anchor": "\n".join(about.anchors),
            "headings": "\n".join(about.headings),
            "url": unquote(about.url),
        }
        found = {name: comparable(text).encode() for name, text in texts.items()}
        return found | {"body": self._compared or self.written.lower()}


def packed(entry: Entry) -> bytes:
    """The entry as the index keeps it."""
    body, repeated = (
        whole(text[:_LONGEST_SHOWN]).encode() for text in (entry.body, entry.repeated)
    )
    about = json.dumps(entry._replace(body="", repeated="")).encode()
    written = _judged(body, repeated)
    compared = b"" if written.isascii() else comparable(written.decode("utf-8", "ignore")).encode()
    return b"".join(
        (_LENGTHS.pack(len(about), len(body), len(repeated)), about, body, repeated, compared)
    )


def unpacked(content: bytes) -> StoredEntry:
    """What `packed` made."""
    lengths = _LENGTHS.unpack_from(content)
    pieces, at = [], _LENGTHS.size
    for length in lengths:
        pieces.append(content[at : at + length])
        at += length
    about = Entry(*json.loads(pieces[0]))  # an earlier version had fewer fields
    about = about._replace(
        headings=tuple(about.headings),
        anchors=tuple(about.anchors),
        anchor_sites=tuple(about.anchor_sites),
    )
    return StoredEntry(about, pieces[1], pieces[2], content[at:])


def sites_in(url: str) -> Iterator[str]:
    """The host, with and without its port, and the domains above it."""
    if "://" not in url:
        return
    authority = url.split("/", 3)[2].lower()
    yield authority
    name = host(url).lower()
    if name != authority:
        yield name
    while "." in name and not name[-1].isdigit():
        name = name.partition(".")[2]
        yield name


def words_of_url(url: str) -> Iterator[str]:
    """What a URL says: no scheme, and not how the page is made."""
    return (word for word in words_of(unquote(url)) if word not in _NOTHING_SAID)


def _judged(body: bytes, repeated: bytes) -> bytes:
    return body[:LONGEST_JUDGED] + b"\n" + repeated[:_LITTLE_JUDGED]
