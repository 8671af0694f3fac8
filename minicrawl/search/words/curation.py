"""Synonyms and pins: what the owner of a search knows better than its ranking.

A page with a synonym of a word counts as one with another form of the word. Pinned pages come
first if the query has these words and nothing else. Laws: a pin shows only pages of the index,
and a file with a mistake is refused as a whole.
"""

import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from minicrawl.errors import UsageError
from minicrawl.search.words.query import Phrase, sought_words
from minicrawl.web.words import of_phrase

_CURATED = ("synonyms", "pins", "page")


def file_of(folder: Path) -> Path:
    """Return the file with the synonyms and pins of an index in this folder.

    It is read again when it changes:

        synonyms = [["postgres", "postgresql"], ["ci", "continuous integration"]]

        [pins]
        "getting started" = ["https://example.org/tutorial"]
    """
    return folder.with_name(f"{folder.name}.toml")


def curation(folder: Path) -> tuple[dict[str, tuple[Phrase, ...]], dict[str, tuple[str, ...]]]:
    """Return the synonyms of words, and the URLs that come first for the words of a query.

    Raises UsageError if the file has a mistake.
    """
    file, document = file_of(folder), _document(folder)
    groups, pins = document.get("synonyms", []), document.get("pins", {})
    if not isinstance(groups, list) or not all(map(_is_text_list, groups)):
        raise UsageError(f"{file}: synonyms must be lists of words, such as [['tv', 'television']]")
    if not isinstance(pins, dict) or not all(map(_is_text_list, pins.values())):
        raise UsageError(f"{file}: pins must be lists of URLs")
    pinned = {
        " ".join(dict.fromkeys(sought_words(text))): tuple(urls) for text, urls in pins.items()
    }
    return _synonyms(groups), pinned


def page_table(folder: Path) -> dict[str, Any]:
    """Return the table `page` of the file: what `PageLook` has."""
    table = _document(folder).get("page", {})
    if not isinstance(table, dict) or table.keys() - {"title", "logo", "text", "colors"}:
        raise UsageError(f"{file_of(folder)}: page may have title, logo, text and colors")
    return table


def _document(folder: Path) -> dict[str, Any]:
    file = file_of(folder)
    if not file.is_file():
        return {}
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise UsageError(f"{file}: {error}") from error
    if unknown := document.keys() - set(_CURATED):
        raise UsageError(f"{file}: {min(unknown)!r} is not one of {', '.join(_CURATED)}")
    return document


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _synonyms(groups: list[list[str]]) -> dict[str, tuple[Phrase, ...]]:
    synonyms = defaultdict[str, list[Phrase]](list)
    for group in groups:
        phrases = [phrase for text in group if (phrase := tuple(of_phrase(text)))]
        for phrase in phrases:
            if len(phrase) == 1:
                synonyms[phrase[0]] += (other for other in phrases if other != phrase)
    return {word: tuple(meanings) for word, meanings in synonyms.items()}
