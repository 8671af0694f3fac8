"""Entries: the data that the index stores of a page, for display and ranking.

Laws: `unpacked(packed(entry)).entry` is the entry, except for the end of a very long text.
Ranking a page costs no more than reading its bytes: texts are stored normalized for comparison,
and only the displayed parts are decoded.

layout   three lengths; then title, URL and so on as JSON, the body, the boilerplate, and both
         normalized, if that is not simply lower case
"""

import json
from collections.abc import Iterator
from functools import cached_property
from struct import Struct
from typing import NamedTuple
from urllib.parse import unquote

from minicrawl.web.urls import host
from minicrawl.web.words import comparable, whole, words_of

_LENGTHS = Struct("<III")
_LONGEST_SHOWN = 200_000
"""Maximum characters of a text that snippets are taken from."""
LONGEST_JUDGED, _LITTLE_JUDGED = 100_000, 2_000
"""Maximum bytes of a text, and of its boilerplate, in which words are located."""
_MEANINGLESS = {"http", "https", "www", "html", "htm", "php", "index"}


class PageEntry(NamedTuple):
    """Page in the index. One that was never read has only a URL and anchors."""

    page: int
    url: str
    title: str = ""
    own_title: str = ""
    """Title without the parts that the host repeats."""
    headings: tuple[str, ...] = ()
    body: str = ""
    repeated: str = ""
    anchors: tuple[str, ...] = ()
    language: str = ""
    at: float | None = None
    """Time of its last change; None if it was never read."""
    anchor_sites: tuple[int, ...] = ()
    type: str = "html"


class StoredEntry:
    """Entry as stored in the index, decoded on demand."""

    def __init__(self, about: PageEntry, body: bytes, repeated: bytes, compared: bytes) -> None:
        """`about` has no texts; `compared` is empty if it is the lower case of both."""
        self.about = about
        self._body, self._repeated, self._compared = body, repeated, compared

    @property
    def entry(self) -> PageEntry:
        body, repeated = (text.decode("utf-8", "replace") for text in (self._body, self._repeated))
        return self.about._replace(body=body, repeated=repeated)

    @cached_property
    def title_words(self) -> list[str]:
        return words_of(self.about.own_title)

    @cached_property
    def names(self) -> bytes:
        """Title, headings and the name of the file, as written."""
        texts = self.about.title, *self.about.headings, file_name(self.about.url)
        return "\n".join(texts).encode("utf-8", "replace")

    @cached_property
    def compared_names(self) -> bytes:
        """Title, headings and the name of the file, normalized for comparison."""
        names = self.compared["title"], self.compared["headings"]
        return b"\n".join((*names, comparable(file_name(self.about.url)).encode()))

    @cached_property
    def written(self) -> bytes:
        return _judged(self._body, self._repeated)

    @cached_property
    def compared(self) -> dict[str, bytes]:
        """Fields, normalized for comparison."""
        about = self.about
        texts = {
            "title": about.title,
            "anchor": "\n".join(about.anchors),
            "headings": "\n".join(about.headings),
            "url": unquote(about.url),
        }
        parts = {name: comparable(text).encode() for name, text in texts.items()}
        return parts | {"body": self._compared or self.written.lower()}


def packed(entry: PageEntry) -> bytes:
    """Return the entry in the format of the index."""
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
    """Return the entry from the result of `packed`."""
    lengths = _LENGTHS.unpack_from(content)
    pieces, at = [], _LENGTHS.size
    for length in lengths:
        pieces.append(content[at : at + length])
        at += length
    about = PageEntry(*json.loads(pieces[0]))  # an earlier version had fewer fields
    about = about._replace(
        headings=tuple(about.headings),
        anchors=tuple(about.anchors),
        anchor_sites=tuple(about.anchor_sites),
    )
    return StoredEntry(about, pieces[1], pieces[2], content[at:])


def sites_in(url: str) -> Iterator[str]:
    """Yield the host, with and without its port, and the domains above it."""
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


def host_of(url: str) -> str:
    """Return the host of a URL, with its port."""
    return url.split("/", 3)[2].lower() if "://" in url else ""


def file_name(url: str) -> str:
    """Return the last part of a URL's path, without its suffix.

    It is `overlayfs` for `/filesystems/overlayfs.html`, and `fs` for `/fs/index.html`.
    """
    parts = unquote(url).partition("://")[2].partition("?")[0].partition("#")[0].split("/")[1:]
    names = [part.rpartition(".")[0] or part for part in parts if part]
    return next((name for name in reversed(names) if name not in _MEANINGLESS), "")


def words_of_url(url: str) -> Iterator[str]:
    """Yield the words of a URL, without scheme and file suffixes."""
    return (word for word in words_of(unquote(url)) if word not in _MEANINGLESS)


def _judged(body: bytes, repeated: bytes) -> bytes:
    return body[:LONGEST_JUDGED] + b"\n" + repeated[:_LITTLE_JUDGED]
