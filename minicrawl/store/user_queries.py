"""Queries that users write in SQL, over the views of a store.

Laws: a query reads the views and the tables behind them, but no setting, command line or cookie
that the store keeps. It changes nothing, and it ends: rows, the size of a value, memory and time
are limited.

A query runs in a process of its own, which an alarm ends. SQLite can be interrupted between its own
instructions alone: one call of `rtrim`, `instr` or `printf` with long values takes any time.

    python -m minicrawl.store.user_queries STORE ROWS SECONDS < QUERY > ANSWER
"""

import marshal
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from minicrawl.errors import UsageError
from minicrawl.memory.child_interpreter import OWN_PYTHON
from minicrawl.memory.limits import MOST_BYTES, limit_memory
from minicrawl.store.reader import connect, reading
from minicrawl.store.views import VIEWS

_READ_BY_VIEWS = {"documents", "fetches", "frontier", "hosts", "meta", "steps", "urls", "spendings"}
"""Tables and a view that `VIEWS` read. SQLite does not say reliably which view reads which."""
LONGEST_VALUE = 1 << 18
"""Bytes of a value, so that all rows of an answer are 50 MB at most."""
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_META = re.compile(r"\bmeta\b", re.IGNORECASE)
"""Table of settings, of which `pages` reads three numbers: a query that names it is refused."""
_QUOTED = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/", re.DOTALL
)
"""Texts, quoted names and comments, any of which may contain the quotes of the others."""


class SqlAnswer(NamedTuple):
    """Result of a query; `is_cut` is True if there are more rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_cut: bool


def query_views(store: Path, sql: str, most: int = 200, seconds: float = 5.0) -> SqlAnswer:
    """Return the first `most` rows of a query over the views; raise UsageError if it fails."""

    def without_text(quoted: re.Match[str]) -> str:
        # SQLite takes 'meta' for the name of a table, where it expects one.
        is_text = quoted[0].startswith("'") and quoted[0].lower() != "'meta'"
        return "''" if is_text else quoted[0]

    if _META.search(_QUOTED.sub(without_text, sql)):
        raise UsageError(f"'meta' is not a view: query {', '.join(VIEWS)}")
    with reading(store):  # it removes the log that a process leaves behind when it is ended
        done = subprocess.run(
            [*OWN_PYTHON, "-m", __name__, str(store), str(most), str(seconds)],
            input=sql.encode(errors="surrogatepass"),
            capture_output=True,
            check=False,
        )
    if done.returncode == -signal.SIGALRM:
        raise UsageError(f"the query took more than {seconds:g} s: ask for less")
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise UsageError(f"the query failed: {why or f'exit status {done.returncode}'}")
    columns, rows, error = marshal.loads(done.stdout)
    if error:
        raise UsageError(error)
    return SqlAnswer(columns, rows[:most], len(rows) > most)


def _run(store: Path, sql: str, rows: int) -> tuple[list[str], list[Any], str]:
    with closing(connect(store)) as connection:
        connection.execute("PRAGMA temp_store = MEMORY")  # a sort could fill the disk
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        names = connection.execute("SELECT name FROM sqlite_master").fetchall()
        hidden = {name for (name,) in names} - _READ_BY_VIEWS - {*VIEWS}

        def permit(action: int, name: str | None, *_others: str | None) -> int:
            """Authorize reads of every table except the hidden ones and SQLite's own."""
            may_read = name is not None and name not in hidden and not name.startswith("sqlite_")
            is_permitted = action in _ALLOWED or (action == sqlite3.SQLITE_READ and may_read)
            return sqlite3.SQLITE_OK if is_permitted else sqlite3.SQLITE_DENY

        connection.set_authorizer(permit)
        try:
            with closing(connection.execute(sql)) as cursor:
                columns = [column[0] for column in cursor.description or ()]
                return columns, cursor.fetchmany(rows + 1), ""
        except (sqlite3.Error, UnicodeError) as error:
            return [], [], _message(error)
        except MemoryError:
            return [], [], f"the query took more than {MOST_BYTES >> 20} MiB of memory"


def _message(error: Exception) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_AUTH or "prohibited" in str(error):
        return f"{error}: only SELECT from {', '.join(VIEWS)} is allowed"
    return f"the query failed: {error}"


def main() -> None:
    """Answer one query. The alarm's default action ends the process in the middle of a call."""
    store, rows, seconds = sys.argv[1:]
    sql = sys.stdin.buffer.read().decode(errors="surrogatepass")
    limit_memory()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, float(seconds))
    sys.stdout.buffer.write(marshal.dumps(_run(Path(store), sql, int(rows))))


if __name__ == "__main__":
    main()
