"""Progress of long tasks on stderr: a bar on a terminal, elsewhere a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import click

QUIET_S = 2.0
"""Shorter tasks show no bar."""
LINE_EVERY_S = 30.0


@contextmanager
def progress(
    label: str, now: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[float], None]]:
    """Yield a function to report the share that is done, between 0 and 1."""
    if not sys.stderr.isatty():
        yield _lines(label, now)
        return
    began = now()
    bars: list[Callable[[float], None]] = []
    with ExitStack() as stack:

        def report(share: float) -> None:
            # rich is imported late, because that takes time.
            if not bars and now() - began > QUIET_S:
                bars.append(_shown(label, began, stack))
            for show in bars:
                show(share)

        yield report


def _shown(label: str, began: float, stack: ExitStack) -> Callable[[float], None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bar = stack.enter_context(
        Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
    )
    task = bar.add_task(label, total=1.0)
    bar.tasks[0].start_time = began
    return lambda share: bar.update(task, completed=share)


def _lines(label: str, now: Callable[[], float]) -> Callable[[float], None]:
    last = now()

    def report(share: float) -> None:
        nonlocal last
        if now() - last >= LINE_EVERY_S:
            last = now()
            click.echo(f"{label}: {share:.0%}", err=True)

    return report
