"""Issues that the owner of a site accepts, each with a reason and a day on which that ends.

A file has a line for each, with `#` before a comment; patterns have `*` for any letters:

    # issue            page or target               until       reason
    csp-missing        *                            2027-03-31  the proxy will send it
    link-dead-outside  https://partner.example/*    2026-12-24  they restore it before Christmas

A line that has ended ignores nothing.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date
from fnmatch import translate
from pathlib import Path
from typing import NamedTuple

from minicrawl.errors import UsageError


class Ignore(NamedTuple):
    """An issue that is accepted on the pages, or for the targets, that a pattern matches."""

    issue: str
    pattern: str  # a regular expression
    until: date


def read_ignores(file: Path, is_known: Callable[[str], bool]) -> list[Ignore]:
    """Return the lines of a file; raise UsageError if one is not as it should be."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8") from error
    ignores = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            issue, pattern, until, _ = line.split(maxsplit=3)
            day = date.fromisoformat(until)
        except ValueError as error:
            expected = "write issue, pattern, day such as 2027-03-31, and reason"
            raise UsageError(f"{file}:{number}: {expected}") from error
        if not is_known(issue):
            raise UsageError(f"{file}:{number}: {issue!r} is not an issue")
        ignores.append(Ignore(issue, translate(pattern), day))
    return ignores


def patterns(ignores: Sequence[Ignore], today: date) -> dict[str, re.Pattern[str]]:
    """Return the pattern of what is accepted today, by issue."""
    by_issue = defaultdict[str, list[str]](list)
    for ignore in ignores:
        if ignore.until >= today:
            by_issue[ignore.issue].append(ignore.pattern)
    return {issue: re.compile("|".join(patterns)) for issue, patterns in by_issue.items()}
