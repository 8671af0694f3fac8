"""The command that goes on with a crawl whose budget is spent, or whose --until has ended it."""

import re
import shlex

from minicrawl.config.values.quantities import as_size, size, whole_number
from minicrawl.report.progress.crawl_status import Status

_VALUE = r"'[^']*'|[^\s']+"


def with_larger_budget(
    command: str, status: Status, pages: int | None = None, body_bytes: int | None = None
) -> str:
    """Return the command with larger limits for those that the crawl has reached.

    The limits may come from a file of settings; those of the command's own options prevail.
    """
    pages = whole_number(_value(command, "--pages")) or pages
    body_bytes = size(_value(command, "--bytes")) or body_bytes
    fetched, received = status.pages_fetched or 0, status.bytes or 0
    if pages is not None and fetched >= pages:
        command = _with_option(command, "--pages", str(2 * max(pages, fetched)))
    if body_bytes is not None and received >= body_bytes:
        larger = body_bytes * (1 + received // body_bytes)
        command = _with_option(command, "--bytes", as_size(larger))
    if status.goes_on_until:
        command = _with_option(command, "--until", status.goes_on_until)
    return command


def _value(command: str, name: str) -> str | None:
    given = re.search(rf"(?<= ){name}[ =]({_VALUE})", command)
    return given and given[1]


def _with_option(command: str, name: str, value: str) -> str:
    option = f"{name} {shlex.quote(value)}"
    given = rf"(?<= )(?:{name}[ =](?:{_VALUE})|'{name}=[^']*')"  # a shell may quote either
    changed, count = re.subn(given, option, command)
    return changed if count else f"{command} {option}"
