"""The ranks of a store, kept beside it by their names."""

import json
import re
import time
from collections.abc import Mapping

from minicrawl.analysis.source import Source
from minicrawl.errors import UsageError
from minicrawl.ranks.scores import Scores
from minicrawl.report.kept import OWN
from minicrawl.store import ranks, tables
from minicrawl.store.ranks import RankRow

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")


def checked_name(name: str) -> str:
    """A name that a rank may have: part of a column's name, and of a list with commas."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"a rank is named by a-z, 0-9, '-', '_' and '.', not {name!r}")
    if name == OWN:
        raise UsageError(f"{OWN} is the rank of the crawl itself: choose another name")
    return name


def keep(
    source: Source, found: Mapping[str, Scores], edges: int, options: Mapping[str, object]
) -> None:
    """Keep the ranks of a store, all of them or none; those of a graph file are not kept.

    `edges` are the links that they were made of.
    """
    if (seen := source.snapshot) is None:
        return
    step = tables.last_step(seen.connection)
    text, now = json.dumps(options, default=str), time.time()
    rows = (
        (
            RankRow(
                name=name,
                options=text,
                made_at=now,
                step=step,
                nodes=len(seen),
                edges=edges,
                iterations=scores.iterations,
                error_bound=scores.error_bound,
                converged=scores.converged,
            ),
            scores.values,
        )
        for name, scores in found.items()
    )
    ranks.keep(seen.path, seen.connection, rows)
