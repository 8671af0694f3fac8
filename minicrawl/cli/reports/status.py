"""`minicrawl status`: the progress of a crawl."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from minicrawl.cli.common.stores import json_option, percent, store_option
from minicrawl.cli.common.tables import show_facts, show_json
from minicrawl.report import status as report
from minicrawl.report.kept import told
from minicrawl.report.status import mirrors
from minicrawl.wording import counted

_UNKNOWN = "-"
_KIB = 1024


@click.command()
@click.option(
    "--mirrors", "wants_mirrors", is_flag=True, help="Also show hosts that mirror another one."
)
@json_option
@store_option
def status(store: Path, wants_mirrors: bool, as_json: bool) -> None:
    """Show the progress of the crawl, and the command that resumes it.

    All numbers but the mirrors were counted by the crawl, so the answer is immediate. `minicrawl
    check` verifies the store itself.
    """
    found = report.status(store)
    repeating = mirrors(store) if wants_mirrors else []
    if as_json:
        listed = {"mirrors": [mirror._asdict() for mirror in repeating]} if wants_mirrors else {}
        show_json(found.as_json() | listed)
    else:
        show_facts([*_facts(found, store), *(("mirror", str(one)) for one in repeating)])


def _facts(found: report.Status, store: Path) -> Iterator[tuple[str, str]]:
    yield "pages known", f"{found.pages_known:,} on {counted(found.hosts, 'host')}"
    yield "fetched", _count(found.pages_fetched)
    yield "waiting", _count(found.pages_unread)
    yield "duplicates", _counts(found.standing_for_others)
    yield "failed", _counts(found.failures)
    yield "refused", _counts(found.refusals)
    gathered = found.importance_gathered
    yield "importance gathered", _UNKNOWN if gathered is None else percent(gathered)
    yield "importance", told(found.convergence)
    yield "found per fetch", _number(found.found_per_fetch, " pages")
    yield "G", f"{_number(found.g, ' units')}, error factor M/G {_number(found.error_factor)}"
    yield "running time", _duration(found.running_s)
    yield "fetches per second", _number(found.fetches_per_second)
    yield "downloaded", _size(found.bytes)
    yield "store", f"{store}, {_size(found.store_bytes)}"
    if found.command:
        yield "resume with", found.command


def _count(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,}"


def _counts(counts: Mapping[str, int] | None) -> str:
    if counts is None:
        return _UNKNOWN
    listed = ", ".join(f"{name} {number:,}" for name, number in counts.items())
    return f"{sum(counts.values()):,} ({listed})" if counts else "0"


def _number(number: float | None, unit: str = "") -> str:
    return _UNKNOWN if number is None else f"{number:,.2f}{unit}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return _UNKNOWN
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def _size(count: float | None) -> str:
    if count is None:
        return _UNKNOWN
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < _KIB:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= _KIB
    return f"{count:,.1f} TiB"
