"""A crawl in a child process that may die at any moment.

The child runs `minicrawl crawl` with smaller limits, so that events that are rare in a crawl of
weeks happen within a second. Before each commit it logs the numbers of rows that the store will
have afterwards.
"""

import json
import multiprocessing
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

from minicrawl import app
from minicrawl.cli import main
from minicrawl.cli.crawl import command, session
from minicrawl.crawl import loop
from minicrawl.crawl.record import commits
from minicrawl.store import writer
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter

PRELOADED = (app, command, session, loop)
"""Modules of a crawl, imported before the process is forked, so that it starts at once."""
_INSTRUCTIONS = 100


class Amounts(NamedTuple):
    """Numbers of rows. They identify a commit, because a crawl only adds rows."""

    steps: int
    urls: int
    fetches: int
    documents: int


class Plan(NamedTuple):
    """Arguments and limits of the child."""

    arguments: tuple[str, ...]
    commits: Path
    stderr: Path
    checkpoint_every: int = 1000
    """Pages of the write-ahead log after which SQLite copies them into the main file."""
    dies_at: int = 0
    """Hundreds of SQLite instructions after which the child kills itself; 0: never."""
    retry_s: float = 0.05
    """Wait before a write that failed on a full disk is tried again."""


def start(plan: Plan) -> BaseProcess:
    """Fork a child from a server process without threads that has imported all modules."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    child = context.Process(target=run, args=(plan,))
    child.start()
    return child


def start_alone(plan: Plan) -> subprocess.Popen[bytes]:
    """Start a child without a fork server: slower, but no other process stays behind."""
    script = f"import pickle; from {__name__} import run; run(pickle.loads({pickle.dumps(plan)!r}))"
    return subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[3])


def run(plan: Plan) -> None:
    """Run the crawl in this process."""
    stderr = os.open(plan.stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stderr, sys.stderr.fileno())
    _shrink(plan)
    _log_commits(plan.commits)
    _let_die(plan)
    sys.exit(main(["crawl", *plan.arguments]))


def _shrink(plan: Plan) -> None:
    commits.COMMIT_EVERY_S = 0.01
    commits.STEPS_A_BATCH = 50
    commits.CHANGES_A_CHECKPOINT = 400
    commits.TRY_AGAIN_S = plan.retry_s


def _log_commits(path: Path) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    commit = StoreWriter.commit

    def log_and_commit(store: StoreWriter, batch: Batch) -> None:
        os.write(log, f"{json.dumps(_amounts_after(store.connection, batch))}\n".encode())
        commit(store, batch)

    vars(writer)["StoreWriter"].commit = log_and_commit


def amounts(connection: sqlite3.Connection) -> Amounts:
    found = connection.execute(
        "SELECT (SELECT count(*) FROM steps), (SELECT count(*) FROM urls), "
        "(SELECT count(*) FROM fetches), (SELECT count(*) FROM documents)"
    )
    return Amounts._make(found.fetchone())


def _amounts_after(connection: sqlite3.Connection, batch: Batch) -> Sequence[int]:
    before = amounts(connection)
    known = {page for (page,) in connection.execute("SELECT page FROM documents")}
    return Amounts(
        before.steps + len(batch.steps),
        before.urls + len(batch.urls),
        before.fetches + len(batch.fetches),
        len(known | {document.page for document in batch.documents}),
    )


def _let_die(plan: Plan) -> None:
    """Let the process die inside SQLite: in a migration, a commit, a checkpoint or a close."""
    instructions = count(1)

    def watch() -> int:
        if next(instructions) == plan.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    connect = sqlite3.connect

    def connect_and_watch(*args: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA wal_autocheckpoint = {plan.checkpoint_every}")
        connection.set_progress_handler(watch, _INSTRUCTIONS)
        return connection

    writer.sqlite3.connect = connect_and_watch  # type: ignore[attr-defined]
