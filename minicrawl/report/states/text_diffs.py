"""Words that came to a page and went from it, as git's --word-diff shows them.

    The tide table of [-May-]{+June+} … at the harbour [-office.-]

Laws: only words count, not the space between them. Words around a change are shown, and `…` stands
for the others. A passage longer than `MOST_WORDS` is one change: finding the words that stayed
would take time in proportion to the square of its length.
"""

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from html import escape
from typing import TYPE_CHECKING

from minicrawl.wording import visible

if TYPE_CHECKING:
    from minicrawl.report.states.changes import Change

SAME, GONE, NEW = "=", "-", "+"
Parts = list[tuple[str, str]]
"""Texts, each with what became of it: `SAME`, `GONE` or `NEW`."""
MOST_WORDS = 5000
_PAGE = """\
<!doctype html><html lang="en"><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ font: 16px/1.5 system-ui; margin: 2rem auto; max-width: 60rem }}
del {{ background: #fdd }} ins {{ background: #dfd; text-decoration: none }}</style>
<h1>{title}</h1>
{items}
</html>
"""
_AROUND = 8
"""Words shown on each side of a change."""
_MARKS = {SAME: ("", ""), GONE: ("[-", "-]"), NEW: ("{+", "+}")}
_TAGS = {SAME: ("", ""), GONE: ("<del>", "</del>"), NEW: ("<ins>", "</ins>")}


def text_diff(before: str, now: str) -> Parts:
    """Return the changes of a text, with the words around them."""
    changes = list(_changes(before.split(), now.split()))
    parts: Parts = []
    for place, (kind, words) in enumerate(changes):
        is_first, is_last = place == 0, place == len(changes) - 1
        is_far = len(changes) > 1 and kind == SAME
        if is_far and len(words) > _AROUND * (2 - is_first - is_last):
            head = [] if is_first else words[:_AROUND]
            tail = [] if is_last else words[-_AROUND:]
            parts.append((kind, " ".join((*head, "…", *tail))))
        else:
            parts.append((kind, " ".join(words)))
    return parts


def _changes(before: list[str], now: list[str]) -> Iterator[tuple[str, list[str]]]:
    start = 0
    while start < min(len(before), len(now)) and before[start] == now[start]:
        start += 1
    old, new = before[start:], now[start:]
    end = 0
    while end < min(len(old), len(new)) and old[-1 - end] == new[-1 - end]:
        end += 1
    after, old, new = old[len(old) - end :], old[: len(old) - end], new[: len(new) - end]
    if start:
        yield SAME, before[:start]
    if max(len(old), len(new)) > MOST_WORDS:
        yield GONE, old
        yield NEW, new
    else:
        for kind, first, last, begin, until in SequenceMatcher(None, old, new).get_opcodes():
            if kind == "equal":
                yield SAME, old[first:last]
                continue
            if first < last:
                yield GONE, old[first:last]
            if begin < until:
                yield NEW, new[begin:until]
    if after:
        yield SAME, after


def as_plain(parts: Parts) -> str:
    """Return the changes as git's plain word diff."""
    return " ".join(f"{_MARKS[kind][0]}{text}{_MARKS[kind][1]}" for kind, text in parts if text)


def page(name: str, changes: "Iterable[tuple[Change, Parts]]") -> str:
    """Return a page of HTML with the changes of pages, and their texts with `del` and `ins`."""
    items = []
    for row, parts in changes:
        shown = ((_TAGS[kind], escape(visible(text))) for kind, text in parts if text)
        text = " ".join(f"{begin}{words}{end}" for (begin, end), words in shown)
        url, title = escape(visible(row.url)), escape(visible(row.title))
        items.append(f"<h2>{title or url}</h2><p>{row.what} at {row.at}: {url}</p><p>{text}</p>")
    return _PAGE.format(title=f"Changes of {escape(visible(name))}", items="\n".join(items))
