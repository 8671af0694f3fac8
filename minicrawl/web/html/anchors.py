"""The words of a link, in its anchor and around it.

Whatever the markup, a bounded number of characters is read for each link.
"""

import re
from typing import NamedTuple

from minicrawl.web.html.attributes import ATTRIBUTES, STOP, attributes, decoded

LONGEST_TEXT = 200
"""Most characters of the text of a link."""

CHARS_AROUND = 50
"""Most characters of text that are kept on each side of a link. Words are never cut."""

MARKUP_AROUND = 600  # characters of markup searched for these
ANCHOR_READ = 2000  # characters after which an unclosed anchor ends
_ANCHOR_ENDS = re.compile(rf"</?a{STOP}", re.IGNORECASE | re.ASCII)
_NOT_TEXT = re.compile(
    r"^[^<>]*>"  # the rest of a tag that begins before the text
    r"|<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1[^>]*+>|\Z)|<[^>]*+(?:>|\Z)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)

_IMAGE = rf"<img{STOP}({ATTRIBUTES})"
"""Pattern that is compiled on demand, as most crawls do not need it."""


def _close(text: str, end: int) -> int:
    """Return the end of the anchor content that begins at `end`."""
    limit = end + ANCHOR_READ
    closing = _ANCHOR_ENDS.search(text, end, limit)
    return closing.start() if closing else min(limit, len(text))


def words_around(text: str, start: int, end: int) -> str:
    """Return the words of the anchor with the start tag `text[start:end]`, and those around it."""
    close = _close(text, end)
    before = " ".join(_plain_words(text[max(start - MARKUP_AROUND, 0) : start]))
    if len(before) > CHARS_AROUND:
        before = before[-CHARS_AROUND - 1 :].partition(" ")[2]
    after = " ".join(_plain_words(text[close : close + MARKUP_AROUND]))
    if len(after) > CHARS_AROUND:
        after = after[: CHARS_AROUND + 1].rpartition(" ")[0]
    return " ".join(filter(None, [before, *_plain_words(text[end:close]), after]))


def _plain_words(markup: str) -> list[str]:
    return decoded(_NOT_TEXT.sub(" ", markup)).split()


class AnchorTag(NamedTuple):
    """First anchor of a page with this href as written. A link without an anchor has no text."""

    written: str
    text: str = ""
    rel: str = ""


def anchor_of(text: str, tag: re.Match[str]) -> AnchorTag:
    """Return the anchor with this start tag; its text may be the alt text of its image."""
    said = attributes(tag["plain"] or tag["said"])
    written = decoded(said.get("href", ""))
    rel = _said(said.get("rel", ""))
    if not tag["plain"] and tag["name"].lower() == "area":
        return AnchorTag(written, _said(said.get("alt", "")), rel)
    content = text[tag.end() : _close(text, tag.end())]
    words = " ".join(_plain_words(content))[:LONGEST_TEXT]
    image = None if words else re.search(_IMAGE, content, re.IGNORECASE | re.ASCII)
    return AnchorTag(written, _said(attributes(image[1]).get("alt", "")) if image else words, rel)


def _said(value: str) -> str:
    return " ".join(decoded(value).split())[:LONGEST_TEXT]
