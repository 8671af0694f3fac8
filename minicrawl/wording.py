"""Text for people: numbers and times in sentences, and text of strangers made harmless.

Laws: a spreadsheet's cell never begins like a formula, wherever a spreadsheet looks for one.
Control characters, line breaks and bidirectional marks are replaced by their names, such as \\x1b.
Plain text is not changed.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: `1 page`, `2,000 pages`, `1 index`, `2 indices`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def as_duration(seconds: float) -> str:
    """Format a duration as h:mm:ss, preceded by days: `0:01:30`, `1 day, 2:00:00`."""
    return str(timedelta(seconds=round(seconds)))


@lru_cache(maxsize=1)  # most pages were fetched once, so both their times are the same
def iso(at: float) -> str:
    """Format a time as ISO 8601 in UTC, to the second."""
    return f"{datetime.fromtimestamp(int(at), UTC).isoformat()[:-6]}Z"


_NEARLY_ALL = 0.999


def percentage(share: float | None) -> str:
    """Format a share in percent, or "-" if it is unknown: `41.2%`. Only a whole is `100.0%`."""
    if share is None:
        return "-"
    return f"{share if share >= 1 else min(share, _NEARLY_ALL):.1%}"


def at_least(share: float) -> str:
    """Format a lower bound in percent, rounded down: `at least 41.2%`."""
    return f"at least {math.floor(1000 * share) / 10}%"


def rate(per_second: float) -> str:
    """Format a rate, to two digits if small: 1,234/s, 12/s, 0.25/s."""
    figures = f"{per_second:,.0f}" if per_second >= 9.5 else f"{per_second:.2g}"  # noqa: PLR2004
    return f"{figures}/s"


# Characters that Excel, LibreOffice and Google accept as the start of a formula, full-width and
# small forms included, after any characters that they skip or strip.
_FORMULA = "[\\s\ufeff\u200b-\u200d\u2060]*[=+\\-@\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20]"
_BEGINS_LIKE_FORMULA = re.compile(_FORMULA)
# Where the decimal separator is a comma, spreadsheets split the cells of a file at semicolons.
_BEFORE_FORMULA = re.compile(f";(?={_FORMULA})")

_LONGEST_PILE = 4
"""Maximum combining marks in a row: no script needs more, and thousands cover nearby lines."""
_PILE = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
    f"{{{_LONGEST_PILE},}}"
)
_JOINERS = "\u200c\u200d"  # Persian and emoji need these, and they do not move text


def visible(text: str) -> str:
    """Return the text with non-printing characters shown by name."""
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(c if c.isprintable() or c in _JOINERS else _name(c) for c in text)
    return _PILE.sub(lambda pile: pile[0][:_LONGEST_PILE], shown)


def _name(character: str) -> str:
    """Return a space for any kind of space, otherwise the escape that Python uses."""
    return " " if unicodedata.category(character) == "Zs" else ascii(character)[1:-1]


def all_harmless(texts: Sequence[str]) -> Sequence[str]:
    """Return the texts as spreadsheet cells (see `harmless`).

    A column whose texts are all plain, as most are, takes a single check.
    """
    text, starts = "".join(texts), "".join([text[:1] for text in texts])
    if text.isascii() and text.isprintable() and starts.isalnum() and ";" not in text:
        return texts
    return list(map(harmless, texts))


def harmless(text: str) -> str:
    """Return the text as a spreadsheet cell that no program takes for a formula."""
    if not text or (
        text[0].isalnum() and text.isascii() and text.isprintable() and ";" not in text
    ):
        return text
    cell = visible(_BEFORE_FORMULA.sub(";'", text))
    return f"'{cell}" if _BEGINS_LIKE_FORMULA.match(text) or text[0] in "\t\r" else cell


def at_most(error: float) -> str:
    """Format the bound of an error: `error at most 1.2e-07`, or `exact` if it is 0."""
    return f"error at most {error:.1e}" if error else "exact"
