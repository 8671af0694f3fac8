"""`minicrawl refine`: converged ranks of a crawl, and their change."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from minicrawl.cli import handling
from minicrawl.cli.output import show_facts, show_json, warn
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option, store_option
from minicrawl.errors import Interrupted
from minicrawl.frontier.importance import UNTIL


@click.command()
@click.option(
    "--until",
    metavar="ERROR",
    type=float,
    default=UNTIL,
    show_default=True,
    help="Stop when the error, summed over all shares of importance, is at most this.",
)
@click.option(
    "--to",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Copy the store to this new file, and write the ranks beside the copy.",
)
@json_option
@store_option
def refine(store: Path, until: float, to: Path | None, as_json: bool) -> None:
    """Compute converged ranks of all known pages, without fetching.

    A crawl does the same when it ends and while it is idle. refine spends all cash again along the
    stored links, round after round, until the ranks converge. The result is saved beside the store
    and does not affect the order of a resumed crawl. Repeat the command to continue an interrupted
    run.
    """
    from minicrawl.crawl.refinement.converged_ranks import TOP, refine as refine_store
    from minicrawl.store.derived.file import SET_ASIDE, mend

    if aside := mend(store):
        warn(SET_ASIDE.format(aside))
    with _while_undisturbed() as goes_on, progress("refine") as advance:
        refined = refine_store(store, until=until, to=to, progress=advance, goes_on=goes_on)
    if refined is None or not refined.converged:
        if refined is None or not refined.is_kept:
            why = "interrupted before the ranks were worth keeping: run the same command again"
            raise Interrupted(why)
        raise Interrupted(
            f"interrupted; ranks with an error of at most {refined.error_bound:.1e} are kept: "
            "run the same command to resume"
        )
    if as_json:
        show_json(refined)
        return
    show_facts(
        [
            ("store", str(refined.store)),
            ("pages", f"{refined.pages:,}"),
            ("links", f"{refined.links:,}"),
            ("rounds", f"{refined.rounds:,}"),
            ("error", f"at most {refined.error_bound:.1e}, summed over all shares"),
            ("moved", f"{refined.moved:.3g} of at most 2, summed over all shares"),
            ("unchanged", f"{refined.top_kept} of the top {min(TOP, refined.pages)} pages"),
        ]
    )


@contextmanager
def _while_undisturbed() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True until a signal arrives. The second signal kills."""
    signals: list[int] = []

    def remember(number: int, _frame: FrameType | None) -> None:
        signals.append(number)
        signal.signal(number, signal.SIG_DFL)

    with handling(remember, signal.SIGINT, signal.SIGTERM):
        yield lambda: not signals
