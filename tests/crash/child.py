"""A crawl in a process of its own that may die at any moment.

It is `minicrawl crawl` itself, but for numbers that make what is rare in a crawl of weeks happen in
one of a second, and for a log that tells, before each commit, what there will be after it.
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
from minicrawl.archive import warc_series as warc_files
from minicrawl.cli import crawl_command as command
from minicrawl.cli import crawl_session as session
from minicrawl.cli import main
from minicrawl.crawl import loop
from minicrawl.crawl.settle import committer
from minicrawl.store import writer
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter

WHAT_A_CRAWL_IMPORTS = (app, command, session, loop)
"""So that it is there when the process is forked, and starts in no time."""
_INSTRUCTIONS = 100
_MOST_DESCRIPTORS = 1 << 10


class Amounts(NamedTuple):
    """How many rows there are; a store that only grows is told by them."""

    steps: int
    urls: int
    fetches: int
    documents: int


class Plan(NamedTuple):
    """What the child shall do."""

    arguments: tuple[str, ...]
    commits: Path
    stderr: Path
    fold_every: int = 1000
    """Pages of the write-ahead log after which it is folded into the file."""
    dies_at: int = 0
    """Hundreds of SQLite's instructions after which it dies; 0: not by itself."""
    again_s: float = 0.05
    """Until what had no room is tried again."""


def start(plan: Plan) -> BaseProcess:
    """A child of a process that has no other threads; it has imported all that a crawl needs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    child = context.Process(target=run, args=(plan,))
    child.start()
    return child


def start_alone(plan: Plan) -> subprocess.Popen[bytes]:
    """The same, slower; no process that helps to start others stays behind."""
    script = f"import pickle; from {__name__} import run; run(pickle.loads({pickle.dumps(plan)!r}))"
    return subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[2])


def run(plan: Plan) -> None:
    """Be the child."""
    stderr = os.open(plan.stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stderr, sys.stderr.fileno())
    _shrink(plan)
    _log_commits(plan.commits)
    _let_die(plan)
    sys.exit(main(["crawl", *plan.arguments]))


def _shrink(plan: Plan) -> None:
    committer.COMMIT_EVERY_S = 0.01
    committer.STEPS_A_BATCH = 50
    committer.CHANGES_A_CHECKPOINT = 400
    committer.TRY_AGAIN_S = plan.again_s
    warc_files.FILE_BYTES = 200_000


def _log_commits(path: Path) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    commit = StoreWriter.commit

    def tell(store: StoreWriter, batch: Batch) -> None:
        os.write(log, f"{json.dumps(_amounts_after(store.connection, batch))}\n".encode())
        commit(store, batch)

    vars(writer)["StoreWriter"].commit = tell


def amounts(connection: sqlite3.Connection) -> Amounts:
    """How many rows there are."""
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
    """In the midst of what SQLite does, be it a migration, a commit, a checkpoint or the end."""
    instructions = count(1)

    def watch() -> int:
        if next(instructions) == plan.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    connect = sqlite3.connect

    def connect_and_watch(*place: object, **how: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*place, **how)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA wal_autocheckpoint = {plan.fold_every}")
        connection.set_progress_handler(watch, _INSTRUCTIONS)
        return connection

    writer.sqlite3.connect = connect_and_watch  # type: ignore[attr-defined]
