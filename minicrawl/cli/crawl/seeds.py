"""The seeds of a crawl: URLs, files of URLs, and stdin.

Law: a list of seeds may have any length and is never held in memory. A line that is not a URL is
reported and skipped.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from errno import ENOENT
from itertools import chain
from typing import IO

import click

from minicrawl.cli.output import warn
from minicrawl.config.values.networks import hidden_login
from minicrawl.errors import UsageError
from minicrawl.wording import counted

STDIN = "-"
SHOWN_COMPLAINTS = 10
_SHOWN_TEXT = 60
_SCHEMES = ("http://", "https://")


def seeds_of(arguments: Sequence[str], stack: ExitStack) -> Iterator[str]:
    """Return the seeds of all arguments. Files are opened now and read on demand."""
    urls = [text for text in arguments if _is_url(text)]
    files = [text for text in arguments if text not in urls]
    lists = [
        ("stdin" if file == STDIN else file, stack.enter_context(_opened(file))) for file in files
    ]
    return chain(urls, _listed(lists, may_be_empty=bool(urls or not lists)))


def _is_url(text: str) -> bool:
    """Return whether the text is a URL, with or without a scheme, and not a file."""
    if text.lower().startswith(_SCHEMES):
        return True
    from minicrawl.web.sites import has_public_suffix, is_address
    from minicrawl.web.urls import canonical_seed, host_of

    url = canonical_seed(text, strip_marks=False)
    if url is None or text == STDIN or os.path.lexists(text):
        return False
    host = host_of(url)
    return host == "localhost" or is_address(host) or has_public_suffix(host)


def _opened(file: str) -> IO[str]:
    if not file:
        raise UsageError("an empty seed: give a URL, or a file of URLs, one per line")
    try:
        # With surrogateescape, bytes that are not UTF-8 spoil only their own line.
        return click.open_file(file, encoding="utf-8-sig", errors="surrogateescape")
    except OSError as error:
        hint = "; a URL begins with https://" if error.errno == ENOENT else ""
        if "://" in file:
            raise UsageError(f"{file}: only http:// and https:// are crawled") from None
        raise UsageError(f"{file}: {error.strerror}{hint}") from None


def _listed(lists: Sequence[tuple[str, Iterable[str]]], *, may_be_empty: bool) -> Iterator[str]:
    from minicrawl.web.urls import read_seeds

    urls = 0
    for name, lines in lists:
        bad = 0

        def complain(number: int, text: str, name: str = name) -> None:
            """Report the first lines that are not URLs; the others are counted."""
            nonlocal bad
            bad += 1
            if bad <= SHOWN_COMPLAINTS:
                text = hidden_login(text)
                shown = text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}…"
                warn(f"{name}:{number}: not a URL: {shown}")

        for url in read_seeds(lines, complain, with_logins=True):
            urls += 1
            yield url
        if bad > SHOWN_COMPLAINTS:
            hidden = bad - SHOWN_COMPLAINTS
            more = counted(hidden, "more line is not a URL", "more lines are not URLs")
            warn(f"{name}: {more}")
    if not urls and not may_be_empty:
        raise UsageError(f"{', '.join(name for name, _ in lists)}: no URL to start from")
