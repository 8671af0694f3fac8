"""Words: what is said of a link, in its anchor and around it."""

import re

from minicrawl.web.html.tags import STOP, decoded

_WORDS_AROUND = 10
_MARKUP_AROUND = 600  # characters in which they are looked for
_ANCHOR_READ = 2000  # characters of markup before an anchor that is left open ends for us
_ANCHOR_ENDS = re.compile(rf"</?a{STOP}", re.IGNORECASE | re.ASCII)
_NO_WORDS = re.compile(
    r"^[^<>]*>"  # the rest of a tag that begins before the window
    r"|<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1[^>]*+>|\Z)|<[^>]*+(?:>|\Z)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


def words(text: str, start: int, end: int) -> str:
    """What the anchor says whose start tag is `text[start:end]`, with the words around it."""
    limit = end + _ANCHOR_READ
    closing = _ANCHOR_ENDS.search(text, end, limit)
    close = closing.start() if closing else min(limit, len(text))
    before = _plain_words(text[max(start - _MARKUP_AROUND, 0) : start])[-_WORDS_AROUND:]
    after = _plain_words(text[close : close + _MARKUP_AROUND])[:_WORDS_AROUND]
    return " ".join([*before, *_plain_words(text[end:close]), *after])


def _plain_words(markup: str) -> list[str]:
    return decoded(_NO_WORDS.sub(" ", markup)).split()
