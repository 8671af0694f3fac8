"""`minicrawl refine`: replays until the ranks have converged, and how far they moved."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import json_option, store_option
from minicrawl.cli.common.tables import show_facts, show_json
from minicrawl.crawl.refinement import TOP, UNTIL, Refined
from minicrawl.crawl.refinement import refine as refine_store
from minicrawl.errors import Interrupted


@click.command()
@click.option(
    "--until",
    metavar="ERROR",
    type=float,
    default=UNTIL,
    show_default=True,
    help="How far all shares together may be from their limit.",
)
@click.option(
    "--to",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Leave the store alone and refine a copy of it, this new file.",
)
@json_option
@store_option
def refine(store: Path, until: float, to: Path | None, as_json: bool) -> None:
    """Replay without fetching until the ranks have converged.

    Pages spend their cash along the stored links, round after round; a crawl that goes on begins
    from there. Broken off, the same command goes on.
    """
    with _interruptible(), progress("refine") as tell:
        refined = refine_store(store, until=until, to=to, tell=tell)
    if as_json:
        show_json(asdict(refined) | {"store": str(refined.store)})
    else:
        show_facts(_facts(refined))


def _facts(refined: Refined) -> list[tuple[str, str]]:
    return [
        ("store", str(refined.store)),
        ("pages", f"{refined.pages:,}"),
        ("links", f"{refined.links:,}"),
        ("rounds", f"{refined.rounds:,}"),
        ("error", f"{refined.error_bound:.1e} at most, of all shares together"),
        ("moved", f"{refined.moved:.3g} of 2, all shares together"),
        ("stayed", f"{refined.top_kept} of the top {min(TOP, refined.pages)}"),
    ]


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise Interrupted("interrupted: the same command goes on") from interrupt
