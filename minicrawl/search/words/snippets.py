"""Snippets: lines of a page that contain words of a query.

Law: a snippet is text of the page as it stands; marks are offsets in it, not markup.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from minicrawl.web.words import is_single_sign, spans, words_of

ABOUT = 200
"""Characters of a snippet."""
_LONGEST_READ = 60_000
_BEFORE = 60
"""Characters before the first word, in a long line."""
_MOST_PLACES = 500
"""Maximum occurrences of one word at which a passage may begin."""
_CUT = "… "


class Snippet(NamedTuple):
    """Text with the positions of query words."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def marked(self, before: str, behind: str, escape: Callable[[str], str]) -> str:
        """Return the text, escaped, with signs before and behind each query word."""
        pieces, at = list[str](), 0
        for begin, end in self.marks:
            pieces += [escape(self.text[at:begin]), before, escape(self.text[begin:end]), behind]
            at = end
        return "".join((*pieces, escape(self.text[at:])))


def snippet(text: str, words: Collection[str]) -> Snippet:
    """Return the passage with most of these words, or the beginning if it has none."""
    sought = set(words)
    lines = text[:_LONGEST_READ].split("\n")
    passage = " ".join(_best(lines, sought))
    if len(passage) > ABOUT:
        passage = _cut(passage, sought)
    return Snippet(passage, tuple(_marks(passage, sought)))


def _best(lines: Sequence[str], sought: set[str]) -> Sequence[str]:
    """Return consecutive lines with the most words; the first ones among equals."""
    by_line = _words_by_line(lines, sought)
    best, chosen = 0, _passage_at(lines, 0)
    for first in sorted(by_line):
        passage = _passage_at(lines, first)
        passed = range(first, first + len(passage))
        words = set().union(*(by_line[line] for line in passed if line in by_line))
        if len(words) > best:
            best, chosen = len(words), passage
            if best == len(sought):
                break
    return chosen


def _words_by_line(lines: Sequence[str], sought: set[str]) -> dict[int, set[str]]:
    by_line: dict[int, set[str]] = defaultdict(set)
    for number, line in enumerate(lines):
        if not line.isascii() and (words := _wanted_of(words_of(line), sought)):
            by_line[number] |= words
    begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
    # One search for each word in all ASCII lines together, which are most. The other lines are
    # blanked out, not left out, so that offsets stay those of the text.
    plain = "\n".join(line if line.isascii() else "\0" * len(line) for line in lines).lower()
    for word in sought:
        for at in islice(_places(plain, word), _MOST_PLACES):
            by_line[bisect_right(begins, at) - 1].add(word)
    return by_line


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (text[end : end + 1].isalnum() or (at and text[at - 1].isalnum())):
            yield at
        at = text.find(word, end)


def _wanted_of(words: Sequence[str], sought: set[str]) -> set[str]:
    """Return the query words present here; a lone CJK character matches a bigram prefix."""
    in_text = sought.intersection(words)
    singles = set(filter(is_single_sign, sought))
    return in_text | singles.intersection(word[0] for word in words) if singles else in_text


def _passage_at(lines: Sequence[str], first: int) -> Sequence[str]:
    length, last = 0, first
    while last < len(lines) and length < ABOUT:
        length += len(lines[last]) + 1
        last += 1
    return lines[first:last]


def _cut(passage: str, sought: set[str]) -> str:
    """Return about `ABOUT` characters around the place with the most different words."""
    marks = list(_marks(passage, sought))
    starts = [max(begin - _BEFORE, 0) for begin, _ in marks] or [0]

    def density(start: int) -> int:
        within = [mark for mark in marks if start <= mark[0] and mark[1] <= start + ABOUT]
        return len({passage[begin:end].lower() for begin, end in within})

    start = max(starts, key=density)
    if start:
        start = passage.find(" ", start, start + _BEFORE) + 1 or start
    end = start + ABOUT
    if end < len(passage):
        end = max(passage.rfind(" ", start, end), start + ABOUT // 2)
    before = _CUT if start else ""
    after = f" {_CUT.strip()}" if end < len(passage) else ""
    return f"{before}{passage[start:end].strip()}{after}"


def _marks(text: str, sought: set[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of query words, joined where they touch."""
    begin, end = 0, 0
    for span in spans(text):
        if not _wanted_of(span.words, sought):
            continue
        if span.begin > end and end:
            yield begin, end
            begin = span.begin
        elif not end:
            begin = span.begin
        end = span.end
    if end:
        yield begin, end
