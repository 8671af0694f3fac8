"""`minicrawl status`: how far a crawl has come."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from minicrawl.cli.stores import json_option, percent, store_option
from minicrawl.cli.tables import show_facts, show_json
from minicrawl.report import status as report
from minicrawl.report.snapshot import snapshot

_UNKNOWN = "-"
_KIB = 1024


@click.command()
@json_option
@store_option
def status(store: Path, as_json: bool) -> None:
    """Show how far the crawl has come, and the command that goes on with it."""
    with snapshot(store) as seen:
        found = report.status(seen)
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(_facts(found, store))


def _facts(found: report.Status, store: Path) -> Iterator[tuple[str, str]]:
    yield "pages known", f"{found.pages_known:,} on {found.hosts:,} hosts"
    yield "fetched", f"{found.pages_fetched:,}"
    yield "waiting", f"{found.pages_unread:,}"
    yield "stand for others", _counts(found.standing_for_others)
    yield "failed", _counts(found.failures)
    yield "refused", _counts(found.refusals)
    yield "importance gathered", percent(found.importance_gathered)
    yield "found per fetch", _number(found.found_per_fetch, " pages")
    yield "G", f"{found.g:,.2f} units; error factor N/G {_number(found.error_factor)}"
    yield "cash", "exact, to the atom" if found.cash_exact else "NOT exact: run `minicrawl check`"
    yield "running time", _duration(found.running_s)
    yield "fetches per second", _number(found.fetches_per_second)
    yield "downloaded", _size(found.bytes)
    yield "store", f"{store}, {_size(found.store_bytes)}"
    for mirror in found.mirrors:
        yield "mirror", f"{mirror.host} repeats {mirror.of_host} ({mirror.pages:,} pages)"
    if found.command:
        yield "go on with", found.command


def _counts(counts: Mapping[str, int]) -> str:
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


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < _KIB:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= _KIB
    return f"{count:,.1f} TiB"
