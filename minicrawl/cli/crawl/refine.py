"""`minicrawl refine`: replays until the ranks converge, and how far they moved."""

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
    help="Stop when the error, summed over all shares, is at most this.",
)
@click.option(
    "--to",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Refine a copy of the store, this new file, and leave the store as it is.",
)
@json_option
@store_option
def refine(store: Path, until: float, to: Path | None, as_json: bool) -> None:
    """Replay a crawl without fetching until its ranks converge.

    Pages spend their cash along the stored links, round after round. A crawl that is resumed
    continues from the result. If refine is interrupted, the same command resumes it.
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
        ("error", f"at most {refined.error_bound:.1e}, summed over all shares"),
        ("moved", f"{refined.moved:.3g} of at most 2, summed over all shares"),
        ("unchanged", f"{refined.top_kept} of the top {min(TOP, refined.pages)} pages"),
    ]


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise Interrupted("interrupted: run the same command to resume") from interrupt
