"""`minicrawl rank list` and `rank rm`: the ranks that are kept beside a store."""

import json
import math
from pathlib import Path

import click

from minicrawl.cli.common.stores import json_option, store_option
from minicrawl.cli.common.tables import short_time, show_json, show_list
from minicrawl.errors import UsageError
from minicrawl.report.kept import KeptRank, kept
from minicrawl.store.beside.derived import drop_rank
from minicrawl.store.reader import reading
from minicrawl.wording import counted, iso

HEADINGS = ("nodes", "links", "iterations", "error", "made at", "name", "options and state")
NOTHING = "no ranks: make one with `minicrawl rank`"


@click.command("list")
@json_option
@store_option
def list_ranks(store: Path, as_json: bool) -> None:
    """List the ranks that were made, with their options, and whether they are up to date."""
    with reading(store) as connection:
        found = kept(store, connection)
    if as_json:
        show_json([_document(one) for one in found])
    elif found:
        show_list(HEADINGS, map(_line, found), texts=2)
    else:
        click.echo(NOTHING)


@click.command("rm")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@store_option
def remove_ranks(store: Path, names: tuple[str, ...]) -> None:
    """Delete ranks that were made, by their names in `minicrawl rank list`."""
    with reading(store) as connection:
        known = {one.row.name for one in kept(store, connection)}
        if unknown := [name for name in names if name not in known]:
            there = ", ".join(sorted(known)) or "none"
            raise UsageError(f"no rank {unknown[0]} is kept; there are {there}")
        for name in names:
            drop_rank(store, connection, name)


def _document(kept: KeptRank) -> dict[str, object]:
    row = kept.row
    return {
        "name": row.name,
        "options": json.loads(row.options),
        "made_at": iso(row.made_at),
        "nodes": row.nodes,
        "edges": row.edges,
        "iterations": row.iterations,
        "error_bound": row.error_bound if math.isfinite(row.error_bound) else None,
        "converged": row.converged,
        "current": kept.is_current,
        "unranked": kept.unranked,
    }


def _line(kept: KeptRank) -> tuple[str, ...]:
    row = kept.row
    return (
        f"{row.nodes:,}",
        f"{row.edges:,}",
        f"{row.iterations:,}",
        f"{row.error_bound:.1e}" if math.isfinite(row.error_bound) else "-",
        short_time(iso(row.made_at)),
        row.name,
        "; ".join((*_options(json.loads(row.options)), *_caveats(kept))),
    )


def _options(options: dict[str, object]) -> list[str]:
    return [f"{name} {value}" for name, value in options.items() if value not in (None, False)]


def _caveats(kept: KeptRank) -> list[str]:
    caveats = [] if kept.row.converged else ["not converged"]
    if not kept.is_current:
        pages = counted(kept.unranked, "page has", "pages have")
        caveats.append(f"older than the store: {pages} no score")
    return caveats
