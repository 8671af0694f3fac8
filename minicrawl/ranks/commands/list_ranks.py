"""`minicrawl rank` alone: the ranks saved beside a store."""

import json
import math
from pathlib import Path

import click

from minicrawl.cli.output import short_time, show_json, show_list
from minicrawl.errors import UsageError
from minicrawl.report.saved_ranks import saved_ranks
from minicrawl.store import questions, tables
from minicrawl.store.derived.ranks import RankRow, drop_rank
from minicrawl.store.reader import reading
from minicrawl.wording import counted, iso

LIST_HEADINGS = ("nodes", "links", "iterations", "error", "made at", "name", "options and state")
NO_RANKS = "no ranks: `minicrawl rank pagerank` makes one"


def list_ranks(store: Path, removed: tuple[str, ...], as_json: bool) -> None:
    """Delete `removed` ranks, then list the others with their options and state."""
    with reading(store) as connection:
        known = {rank.name for rank in saved_ranks(store, connection)} if removed else set()
        if unknown := [name for name in removed if name not in known]:
            saved = ", ".join(sorted(known)) or "none"
            raise UsageError(f"rank {unknown[0]!r} is not saved; saved: {saved}")
        for name in removed:
            drop_rank(store, connection, name)
        pages, last = questions.pages_known(connection), tables.last_step(connection)
        # A rank is older than the store if that has newer steps, and so other links.
        ranks = [
            (row, pages - row.nodes, row.step == last) for row in saved_ranks(store, connection)
        ]
    if as_json:
        show_json([_document(*rank) for rank in ranks])
    elif ranks:
        show_list(LIST_HEADINGS, [_line(*rank) for rank in ranks], texts=2)
    else:
        click.echo(NO_RANKS)


def _document(row: RankRow, unranked: int, is_current: bool) -> dict[str, object]:
    return {
        "name": row.name,
        "options": json.loads(row.options),
        "made_at": iso(row.made_at),
        "nodes": row.nodes,
        "edges": row.edges,
        "iterations": row.iterations,
        "error_bound": row.error_bound if math.isfinite(row.error_bound) else None,
        "converged": row.converged,
        "current": is_current,
        "unranked": unranked,
    }


def _line(row: RankRow, unranked: int, is_current: bool) -> tuple[str, ...]:
    options = json.loads(row.options).items()
    notes = [f"{name} {value}" for name, value in options if value not in (None, False)]
    if not row.converged:
        notes.append("not converged")
    if not is_current:
        pages = counted(unranked, "page has", "pages have")
        notes.append(f"older than the store: {pages} no score")
    return (
        f"{row.nodes:,}",
        f"{row.edges:,}",
        f"{row.iterations:,}",
        f"{row.error_bound:.1e}" if math.isfinite(row.error_bound) else "-",
        short_time(iso(row.made_at)),
        row.name,
        "; ".join(notes),
    )
