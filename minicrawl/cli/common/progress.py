"""Progress of long tasks, on stderr: a bar on a terminal, elsewhere a line from time to time."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import click

QUIET_S = 2.0
"""A task that is done sooner shows no bar."""
LINE_EVERY_S = 30.0


@contextmanager
def progress(label: str) -> Iterator[Callable[[float], None]]:
    """Yield a function to report the share that is done, between 0 and 1."""
    if sys.stderr.isatty():
        with _bar(label) as report:
            yield report
    else:
        yield _lines(label)


@contextmanager
def _bar(label: str) -> Iterator[Callable[[float], None]]:
    """Rich takes time to import, so it is left alone until there is a bar to show."""
    began = time.monotonic()
    with ExitStack() as stack:
        bars: list[Callable[[float], None]] = []

        def report(share: float) -> None:
            if not bars and time.monotonic() - began > QUIET_S:
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


def _lines(label: str) -> Callable[[float], None]:
    last = time.monotonic()

    def report(share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            click.echo(f"{label}: {share:.0%}", err=True)

    return report
