"""JSON Feed: its title and the URLs of its entries, however broken the rest is.

The text is scanned once, in linear time; nesting takes no memory. Only relevant strings are
decoded. A value of the wrong type counts as absent. A broken string is lost, but none before or
after it, and no URL is guessed.

entry   an object in the list "items" of the outermost object
"""

import json
import re
from collections.abc import Mapping

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)("|\\?\Z)|([{}\[\]:,])', re.DOTALL)
_OF_AN_ENTRY = ("url", "external_url", "id")
"""Keys for the URL of an entry: the first that holds a URL counts. An id usually is one."""
ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
_IN_FEED, _IN_ITEMS, _IN_ENTRY = 1, 2, 3
"""Nesting depth of the feed, its items, and an entry."""


def read_json_feed(text: str, most_urls: int) -> tuple[str, list[str]]:
    """Return title and URLs of a feed, as written; it is read up to its first `most_urls` URLs."""
    title, urls, entry = "", list[str](), dict[str, str]()
    place = _Place()
    for token in _TOKEN.finditer(text):
        written, end, mark = token.groups()
        if mark is not None:
            if place.move(mark):  # the open entry has ended
                urls += _url_of(entry)
                entry.clear()
                if len(urls) >= most_urls:
                    break
            continue
        if end != '"':
            written = ""
        if place.is_key:
            place.key, place.is_key = _value(written), False
        elif place.key in _OF_AN_ENTRY and place.key not in entry and place.is_in_entry:
            entry[place.key] = _value(written)
        elif place.key == "title" and not title and place.is_in_feed:
            title = _value(written)
    return title, urls + _url_of(entry)


def _url_of(entry: Mapping[str, str]) -> list[str]:
    values = (entry.get(name, "").strip() for name in _OF_AN_ENTRY)
    return [url for url in values if ABSOLUTE.match(url)][:1]


class _Place:
    """Position of the next string in a feed."""

    def __init__(self) -> None:
        self.key = ""  # key of the next value, in the innermost object that matters
        self.is_key = False
        self._depth = 0
        self._opened = ["", "", "", ""]  # opening bracket at each depth that matters
        self._is_in_items = False

    @property
    def is_in_feed(self) -> bool:
        return self._depth == _IN_FEED and self._opened[_IN_FEED] == "{"

    @property
    def is_in_entry(self) -> bool:
        is_object = self._depth == _IN_ENTRY and self._opened[_IN_ENTRY] == "{"
        return is_object and self._is_in_items

    def move(self, mark: str) -> bool:
        """Process a bracket, colon or comma; return True if an entry has ended."""
        self.is_key = mark == "{"
        if mark in "{[":
            self._depth += 1
            if self._depth == _IN_ITEMS:
                is_in_feed = self._opened[_IN_FEED] == "{"
                self._is_in_items = mark == "[" and self.key == "items" and is_in_feed
            if self._depth <= _IN_ENTRY:
                self._opened[self._depth] = mark
        elif mark in "}]":
            self._depth = max(self._depth - 1, 0)
            return self._depth == _IN_ITEMS and self._is_in_items
        elif mark == ",":
            self.is_key = self._depth <= _IN_ENTRY and self._opened[self._depth] == "{"
        return False


def _value(written: str) -> str:
    """Decode a string; return "" for an invalid one."""
    if "\\" not in written:  # the common case: the JSON parser takes 3 µs for a string
        return written
    try:
        value: str = json.loads(f'"{written}"', strict=False)
        value.encode()
    except ValueError:
        return ""
    return value
