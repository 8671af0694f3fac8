"""A query: what a user asks for, as words.

Law: every text is a query or is refused with a reason; no character of it is syntax for the index.

    words           all of them, in any order; pages with some of them come after
    "exact phrase"  these words, one behind the other
    -without        not this word; also -"a phrase", but `--all` is a word
    site:example.org, title:word, url:word, lang:en, after:2024-05-01
    -site:...       not these; also -title:, -url: and -lang:
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

from minicrawl.errors import UsageError
from minicrawl.search.words import is_single_sign, of_phrase, words_of

MOST_WORDS = 32
"""Words of a query; the others are ignored."""
_MOST_FILTERS = 32

Phrase = tuple[str, ...]

_PART = re.compile(
    r'((?:-(?!-))?)(?:(site|title|url|lang|after):)?(?:"([^"]*)(?:"|\Z)|(\S+))', re.IGNORECASE
)
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_SITE = re.compile(r"(?:https?://)?([^/\s?#]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked for. Words are in the form in which the index has them."""

    words: tuple[str, ...] = ()
    compounds: tuple[Phrase, ...] = ()
    """Words that the user wrote as one, such as `os.path`: pages that do so too come first."""
    phrases: tuple[Phrase, ...] = ()
    without: tuple[Phrase, ...] = ()
    within: tuple[tuple[str, Phrase], ...] = ()
    """A field, and what it must have."""
    not_within: tuple[tuple[str, Phrase], ...] = ()
    sites: tuple[str, ...] = ()
    not_sites: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    not_languages: tuple[str, ...] = ()
    after: float | None = None
    written: str = ""
    """The words and phrases as the user wrote them."""
    ignored: int = 0
    """Words beyond `MOST_WORDS`."""

    @property
    def sought(self) -> tuple[str, ...]:
        """All words that a page should have, each once, in order."""
        inner = chain.from_iterable(phrase for _, phrase in self.within)
        return tuple(dict.fromkeys(chain(self.words, *self.phrases, inner)))


@dataclass(slots=True)
class _Parts:
    words: list[str] = field(default_factory=list)
    compounds: list[Phrase] = field(default_factory=list)
    phrases: list[Phrase] = field(default_factory=list)
    without: list[Phrase] = field(default_factory=list)
    within: list[tuple[str, Phrase]] = field(default_factory=list)
    not_within: list[tuple[str, Phrase]] = field(default_factory=list)
    sites: list[str] = field(default_factory=list)
    not_sites: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    not_languages: list[str] = field(default_factory=list)
    after: float | None = None
    written: list[str] = field(default_factory=list)


def parse(text: str) -> Query:
    """The query that a user wrote."""
    parts = _Parts()
    for minus, name, quoted, plain in _PART.findall(text):
        if minus:
            _leave_out(parts, name.lower(), quoted or plain)
        else:
            _add(parts, name.lower(), quoted or plain, is_phrase=bool(quoted))
    words = list(dict.fromkeys(parts.words))
    found = Query(
        words=tuple(words[:MOST_WORDS]),
        compounds=tuple(parts.compounds[:_MOST_FILTERS]),
        phrases=tuple(parts.phrases[:_MOST_FILTERS]),
        without=tuple(parts.without[:_MOST_FILTERS]),
        within=tuple(parts.within[:_MOST_FILTERS]),
        not_within=tuple(parts.not_within[:_MOST_FILTERS]),
        sites=tuple(parts.sites[:_MOST_FILTERS]),
        not_sites=tuple(parts.not_sites[:_MOST_FILTERS]),
        languages=tuple(parts.languages[:_MOST_FILTERS]),
        not_languages=tuple(parts.not_languages[:_MOST_FILTERS]),
        after=parts.after,
        written=" ".join(parts.written[:MOST_WORDS]),
        ignored=max(len(words) - MOST_WORDS, 0),
    )
    if not (found.sought or found.sites or found.languages or found.after):
        raise UsageError(f"{_shown(text)} has no word to search for")
    return found


def _add(parts: _Parts, name: str, value: str, *, is_phrase: bool) -> None:
    phrase = tuple(of_phrase(value)[:MOST_WORDS])
    if name == "after":
        parts.after = _moment(value)
    elif name == "lang":
        parts.languages.append(_language(value))
    elif name == "site":
        parts.sites.append(_site(value))
    elif name:
        parts.within += [(name, phrase)] if phrase else []
    elif is_phrase and len(phrase) > 1:
        parts.phrases.append(phrase)
        parts.written.append(value)
    else:
        parts.written.append(value)
        parts.words += _words(value)
        parts.compounds += [phrase] if len(phrase) > 1 else []


def _leave_out(parts: _Parts, name: str, value: str) -> None:
    """Pages with this are not wanted."""
    phrase = tuple(of_phrase(value)[:MOST_WORDS])
    if name == "after":
        raise UsageError(f"-after:{_shown(value)} is no filter: after: has no minus")
    if name == "lang":
        parts.not_languages.append(_language(value))
    elif name == "site":
        parts.not_sites.append(_site(value))
    elif name:
        parts.not_within += [(name, phrase)] if phrase else []
    else:
        parts.without += [phrase] if phrase else []


def _words(text: str) -> Iterator[str]:
    """The words to look for: of a run of signs only the pairs."""
    found = words_of(text)
    for place, word in enumerate(found):
        is_end_of_run = place > 0 and is_single_sign(word) and found[place - 1].endswith(word)
        if not is_end_of_run:
            yield word


def _language(value: str) -> str:
    return value.lower().partition("-")[0]


def _site(value: str) -> str:
    found = _SITE.match(value)
    return found[1].lower().rstrip(".") if found else value.lower()


def _moment(value: str) -> float:
    found = _DATE.fullmatch(value)
    try:
        year, month, day = found.groups() if found else ("", None, None)
        return datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC).timestamp()
    except ValueError as error:
        raise UsageError(f"after:{_shown(value)} is not a date such as 2024-05-01") from error


def _shown(text: str) -> str:
    short = text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]}..."
    return ascii(short) if not short.isprintable() else repr(short)
