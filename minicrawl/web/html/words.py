"""The words of a link, of its anchor and around it, and whether it is emphasised.

Law: whatever the markup is, only so many characters of it are read for a link.
"""

import re
from functools import cache

from minicrawl.web.html.tokens import ATTRIBUTES, STOP, attributes, decoded
from minicrawl.web.html.written import LONGEST_TEXT, AnchorTag

CHARS_AROUND = 50
"""Characters of text on each side of a link that are around it; a word that is cut is left out."""

MARKUP_AROUND = 600  # characters in which these are
ANCHOR_READ = 2000  # characters after which an unclosed anchor ends
_ANCHOR_ENDS = re.compile(rf"</?a{STOP}", re.IGNORECASE | re.ASCII)
_NOT_TEXT = re.compile(
    r"^[^<>]*>"  # the rest of a tag that begins before the text
    r"|<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1[^>]*+>|\Z)|<[^>]*+(?:>|\Z)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


_EMPHASIS = re.compile(rf"<(?P<closing>/?)(?:b|strong|h[1-6]){STOP}", re.IGNORECASE | re.ASCII)
_EMPHASIS_BEFORE = 300  # characters before a link in which it may begin


def is_emphasised(text: str, start: int, end: int) -> bool:
    """Whether the anchor with the start tag `text[start:end]` is in bold, or in a heading.

    As far as tags say: no style sheet is read, and a tag that is far before it is not seen.
    """
    depth = 0
    for tag in _EMPHASIS.finditer(text, max(start - _EMPHASIS_BEFORE, 0), start):
        depth = max(depth - 1, 0) if tag["closing"] else depth + 1
    inside = _EMPHASIS.search(text, end, _close(text, end))
    return depth > 0 or bool(inside and not inside["closing"])


def _close(text: str, end: int) -> int:
    """Where the content of an anchor ends that begins there."""
    limit = end + ANCHOR_READ
    closing = _ANCHOR_ENDS.search(text, end, limit)
    return closing.start() if closing else min(limit, len(text))


def words_around(text: str, start: int, end: int) -> str:
    """The words of the anchor with the start tag `text[start:end]`, and those around it."""
    close = _close(text, end)
    before = _last(_plain_words(text[max(start - MARKUP_AROUND, 0) : start]))
    after = _first(_plain_words(text[close : close + MARKUP_AROUND]))
    return " ".join(filter(None, [before, *_plain_words(text[end:close]), after]))


def _first(words: list[str]) -> str:
    """As many of the words as there is room for around a link."""
    text = " ".join(words)
    if len(text) > CHARS_AROUND:
        text = text[: CHARS_AROUND + 1].rpartition(" ")[0]
    return text


def _last(words: list[str]) -> str:
    """The same from the end."""
    text = " ".join(words)
    if len(text) > CHARS_AROUND:
        text = text[-CHARS_AROUND - 1 :].partition(" ")[2]
    return text


def _plain_words(markup: str) -> list[str]:
    return decoded(_NOT_TEXT.sub(" ", markup)).split()


@cache
def _image() -> re.Pattern[str]:
    """Compiled when it is needed, since most crawls start without it."""
    return re.compile(rf"<img{STOP}({ATTRIBUTES})", re.IGNORECASE | re.ASCII)


def anchor_of(text: str, written: str, tag: re.Match[str]) -> AnchorTag:
    """What the anchor with this start tag says; without a text, that of its image."""
    said = {} if tag["plain"] else attributes(tag["said"])
    rel = _said(said.get("rel", ""))
    if not tag["plain"] and tag["name"].lower() == "area":
        return AnchorTag(written, _said(said.get("alt", "")), rel)
    content = text[tag.end() : _close(text, tag.end())]
    words = " ".join(_plain_words(content))[:LONGEST_TEXT]
    image = None if words else _image().search(content)
    return AnchorTag(written, _said(attributes(image[1]).get("alt", "")) if image else words, rel)


def _said(value: str) -> str:
    return " ".join(decoded(value).split())[:LONGEST_TEXT]
