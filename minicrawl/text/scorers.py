"""Scorers for `crawl --score`: values of read pages, from 0 to 1.

Each function makes a scorer from the arguments after its name, as in
`--score words:harbour,museum`.
"""

import re
from collections import Counter
from fnmatch import fnmatchcase
from math import hypot
from pathlib import Path

from minicrawl.crawl.workers.scoring import PageRead, Scorer
from minicrawl.errors import UsageError
from minicrawl.text.main import language_of
from minicrawl.web.html.thin import visible_text
from minicrawl.web.words import words_of

_ENOUGH = 0.02
"""Share of the words at which a text has the value 1."""
_OF_TITLE = 0.5
"""Minimum value of a page with a word in its title or URL."""
_LONGEST = 200_000
"""Maximum characters of a page to read."""


def words(arguments: str) -> Scorer:
    """Value pages by the share of their words that are among these; 2 % is worth 1."""
    topic = frozenset(words_of(arguments))
    if not topic:
        raise UsageError("name words, as in words:harbour,museum")

    def score(page: PageRead) -> float:
        page_words = words_of(_text(page))
        count = sum(word in topic for word in page_words) / max(len(page_words), 1) / _ENOUGH
        is_named = not topic.isdisjoint(words_of(f"{page.title} {page.url}"))
        return min(max(count, _OF_TITLE * is_named), 1.0)

    return score


def language(arguments: str) -> Scorer:
    """Value pages in these languages, such as de,fr, as 1."""
    languages = _listed(arguments, "language:de,fr")
    language_of("a text long enough to load the model, which may not be installed")
    return lambda page: float(language_of(_text(page)) in languages)


def media_type(arguments: str) -> Scorer:
    """Value pages of these media types as 1; * stands for any characters."""
    patterns = _listed(arguments, "type:application/pdf")
    return lambda page: float(any(fnmatchcase(_media_type(page), pattern) for pattern in patterns))


def url(arguments: str) -> Scorer:
    """Value pages whose URL matches a regular expression as 1."""
    if not arguments:
        raise UsageError("name a regular expression, as in url:/recipes/")
    search = re.compile(arguments).search
    return lambda page: float(search(page.url) is not None)


def likeness(arguments: str) -> Scorer:
    """Value pages by their likeness to one of these files: the cosine of their words."""
    files = _listed(arguments, "likeness:example.html")
    try:
        texts = [Path(name).read_text(errors="replace")[:_LONGEST] for name in files]
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error

    examples = [Counter(words_of(visible_text(text))) for text in texts]

    def score(page: PageRead) -> float:
        own = Counter(words_of(f"{page.title} {_text(page)}"))
        return min(max(_cosine(own, example) for example in examples), 1.0)

    return score


def _listed(arguments: str, example: str) -> list[str]:
    names = [value.strip() for value in arguments.split(",") if value.strip()]
    if not names:
        raise UsageError(f"lacks its arguments, as in {example}")
    return names


def _media_type(page: PageRead) -> str:
    content_type = page.headers.get("content-type", "text/html")
    return content_type.partition(";")[0].strip().lower()


def _text(page: PageRead) -> str:
    """Return the visible text of HTML, or other text; "" for other media types."""
    name = _media_type(page)
    text = page.text[:_LONGEST]
    if "html" in name:
        return visible_text(text)
    return text if name.startswith("text/") else ""


def _cosine(words: Counter[str], other: Counter[str]) -> float:
    common = sum(count * other[word] for word, count in words.items())
    return common / (hypot(*words.values()) * hypot(*other.values())) if common else 0.0
