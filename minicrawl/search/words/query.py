"""Queries: parsing of user input.

Law: every text is a query or is refused with a reason; no character in it is syntax of the index.

    words           all of them, in any order; some pages may lack a few
    "exact phrase"  these words, adjacent and in order
    -without        not this word; also -"a phrase", but `--all` is a word
    site:example.org, title:word, url:word, lang:en, type:pdf, year:2024, after:2024-05-01
    -site:...       not these; also -title:, -url:, -lang: and -type:
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from minicrawl.errors import UsageError
from minicrawl.web.words import is_single_sign, of_phrase, spans, words_of

MOST_WORDS = 32
"""Maximum words of a query; further ones are ignored."""
MOST_RESPELT = 8
MOST_SIGNS = 6
"""Maximum CJK characters that stand alone: each is sought as a regular expression in all fields."""
_MOST_FILTERS = 32

Phrase = tuple[str, ...]

_PART = re.compile(
    r'((?:-(?!-))?)(?:(site|title|url|lang|type|year|after):)?(?:"([^"]*)(?:"|\Z)|(\S+))',
    re.IGNORECASE,
)
_WITH_WORDS = ("", "title", "url")
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_SITE = re.compile(r"(?:https?://)?([^/\s?#]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Parsed query. Words are in the form that the index uses."""

    words: tuple[str, ...] = ()
    compounds: tuple[Phrase, ...] = ()
    """Words that the user wrote as one, such as `os.path`; pages with them adjacent rank first."""
    phrases: tuple[Phrase, ...] = ()
    without: tuple[Phrase, ...] = ()
    within: tuple[tuple[str, Phrase], ...] = ()
    """Fields, with what each must contain."""
    not_within: tuple[tuple[str, Phrase], ...] = ()
    sites: tuple[str, ...] = ()
    not_sites: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    not_languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    not_types: tuple[str, ...] = ()
    years: tuple[int, ...] = ()
    after: float | None = None
    synonyms: Mapping[str, tuple[Phrase, ...]] = field(default_factory=dict)
    written: str = ""
    """Words and phrases as the user wrote them."""
    ignored: int = 0
    """Number of words beyond `MOST_WORDS`."""

    @property
    def is_plain(self) -> bool:
        """True if it has nothing but words: no phrase, filter or exclusion."""
        return self == Query(
            words=self.words,
            compounds=self.compounds,
            synonyms=self.synonyms,
            written=self.written,
            ignored=self.ignored,
        )

    @property
    def sought(self) -> tuple[str, ...]:
        """Words that a page should have, each once, in order."""
        inner = chain.from_iterable(phrase for _, phrase in self.within)
        return tuple(dict.fromkeys(chain(self.words, *self.phrases, inner)))


def parse(text: str) -> Query:
    """Parse a query. Raises UsageError if it has nothing to search for."""
    parts, after = defaultdict[str, list[Any]](list), None
    for minus, filter_, quoted, plain in _PART.findall(text):
        name, value = filter_.lower(), quoted or plain
        phrase = tuple(of_phrase(value)[:MOST_WORDS])
        if minus and name in ("after", "year"):
            raise UsageError(f"-{name}:{_shown(value)} is not a filter: {name}: takes no minus")
        if name == "after":
            after = _moment(value)
        elif name in _FILTERS:
            of, read = _FILTERS[name]
            parts[f"not_{of}" if minus else of].append(read(value))
        elif name:
            parts["not_within" if minus else "within"] += [(name, phrase)] if phrase else []
        elif minus:
            parts["without"] += [phrase] if phrase else []
        elif quoted and len(phrase) > 1:
            parts["phrases"].append(phrase)
            parts["written"].append(value)
        else:
            parts["written"].append(value)
            parts["words"] += sought_words(value)
            parts["compounds"] += [phrase] if len(phrase) > 1 else []
    words, written = list(dict.fromkeys(parts.pop("words", ()))), parts.pop("written", [])
    signs = list(filter(is_single_sign, words))
    words = [word for word in words if word not in signs[MOST_SIGNS:]]
    fields: dict[str, Any] = {of: tuple(values[:_MOST_FILTERS]) for of, values in parts.items()}
    query = Query(
        words=tuple(words[:MOST_WORDS]),
        after=after,
        written=" ".join(written[:MOST_WORDS]),
        ignored=max(len(words) - MOST_WORDS, 0) + len(signs[MOST_SIGNS:]),
        **fields,
    )
    filters = query.sites, query.languages, query.types, query.years, query.after
    if not (query.sought or any(filters)):
        raise UsageError(f"{_shown(text)} has no word to search for")
    return query


def respelt(text: str, change: Callable[[Phrase], Sequence[str]]) -> str:
    """Return the query with its words changed, except in quotes and filters such as site:.

    `change` gets the words that were written as one, and returns as many. Quotes are how a user
    insists on a spelling. Words after the first `MOST_RESPELT` stay, since changes take time: each
    is a search among the words of an index.
    """
    left = MOST_RESPELT

    def part(match: re.Match[str]) -> str:
        name, plain = (match[2] or "").lower(), match[4]
        if not plain or name not in _WITH_WORDS:
            return match[0]
        nonlocal left
        begin = len(match[0]) - len(plain)
        pieces, at = [match[0][:begin]], 0
        single = [span for span in spans(plain) if len(span.words) == 1][:left]
        left -= len(single)
        words = tuple(span.words[0] for span in single)
        for span, old, new in zip(single, words, change(words) if words else (), strict=True):
            if new != old:
                is_upper = plain[span.begin : span.end].isupper()
                pieces += [plain[at : span.begin], new.upper() if is_upper else new]
                at = span.end
        return "".join((*pieces, plain[at:]))

    return _PART.sub(part, text)


def sought_words(text: str) -> Iterator[str]:
    """Yield the words to search for; of a run of CJK characters, only the bigrams."""
    words = words_of(text)
    for place, word in enumerate(words):
        is_end_of_run = place > 0 and is_single_sign(word) and words[place - 1].endswith(word)
        if not is_end_of_run:
            yield word


def _site(value: str) -> str:
    match = _SITE.match(value)
    return match[1].lower().rstrip(".") if match else value.lower()


def _moment(value: str) -> float:
    match = _DATE.fullmatch(value)
    try:
        year, month, day = match.groups() if match else ("", None, None)
        return datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC).timestamp()
    except ValueError as error:
        raise UsageError(f"after:{_shown(value)} is not a date such as 2024-05-01") from error


def _year(value: str) -> int:
    if not re.fullmatch("[0-9]{4}", value):
        raise UsageError(f"year:{_shown(value)} is not a year such as 2024")
    return int(value)


def _shown(text: str) -> str:
    short = text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]}..."
    return ascii(short) if not short.isprintable() else repr(short)


_FILTERS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "lang": ("languages", lambda value: value.lower().partition("-")[0]),
    "type": ("types", str.lower),
    "year": ("years", _year),
    "site": ("sites", _site),
}
"""Filters: the field of a query, and what reads the value."""
