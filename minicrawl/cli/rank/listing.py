"""`minicrawl rank list`: the ranks that are kept beside a store."""

import json
import math
from pathlib import Path

import click

from minicrawl.cli.common.stores import json_option, store_option
from minicrawl.cli.common.tables import show_json, show_list
from minicrawl.report.kept import KeptRank, kept
from minicrawl.report.ranks import iso
from minicrawl.store.reader import reading
from minicrawl.wording import counted

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
        iso(row.made_at),
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
