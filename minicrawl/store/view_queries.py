"""Queries that users write in SQL, over the views of a store.

Laws: a query reads the views and the tables behind them, but no setting, command line or cookie
that the store keeps. It changes nothing, and it ends: rows, the size of a value and time are
limited.
"""

import re
import sqlite3
import time
from collections.abc import Sequence, Set
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from minicrawl.errors import UsageError
from minicrawl.store.reader import reading

VIEWS = ("pages", "links", "redirects", "requests", "states")
"""Views that are documented; `docs/how-to/read-a-store-with-sqlite.md` lists their columns."""
_READ_BY_VIEWS = {"documents", "fetches", "frontier", "hosts", "meta", "steps", "urls", "spendings"}
"""Tables and a view that `VIEWS` read. SQLite does not say reliably which view reads which."""
_LONGEST_VALUE = 1 << 20
_STEPS_A_LOOK = 10_000
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_META = re.compile(r"\bmeta\b", re.IGNORECASE)
"""Table of settings, of which `pages` reads three numbers: a query that names it is refused."""
_QUOTED = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/", re.DOTALL
)
"""Texts, quoted names and comments, any of which may contain the quotes of the others."""


class SqlLimits(NamedTuple):
    """Limits of one query."""

    rows: int = 200
    seconds: float = 5.0


USUAL = SqlLimits()


class SqlAnswer(NamedTuple):
    """Result of a query; `is_cut` is True if there are more rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_cut: bool


def _without_text(quoted: re.Match[str]) -> str:
    """Leave out a text. SQLite takes 'meta' for the name of a table, where it expects one."""
    is_text = quoted[0].startswith("'") and quoted[0].lower() != "'meta'"
    return "''" if is_text else quoted[0]


def query_views(store: Path, sql: str, limits: SqlLimits = USUAL) -> SqlAnswer:
    """Return the first rows of a query over the views; raise UsageError if it fails."""
    if _META.search(_QUOTED.sub(_without_text, sql)):
        raise UsageError(f"'meta' is not a view: query {', '.join(VIEWS)}")
    with reading(store) as connection:
        ends = time.monotonic() + limits.seconds
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        connection.set_progress_handler(lambda: time.monotonic() > ends, _STEPS_A_LOOK)
        names = connection.execute("SELECT name FROM sqlite_master").fetchall()
        hidden = {name for (name,) in names} - _READ_BY_VIEWS - {*VIEWS}
        connection.set_authorizer(partial(_permit, hidden))
        try:
            with closing(connection.execute(sql)) as cursor:
                columns = [column[0] for column in cursor.description or ()]
                rows = cursor.fetchmany(limits.rows + 1)
        except sqlite3.Error as error:
            raise UsageError(_message(error, limits)) from error
        finally:
            connection.set_authorizer(None)
            connection.set_progress_handler(None, 0)
        return SqlAnswer(columns, rows[: limits.rows], len(rows) > limits.rows)


def _permit(hidden: Set[str], action: int, name: str | None, *_others: str | None) -> int:
    """Authorize reads of every table except the hidden ones and SQLite's own."""
    may_read = name is not None and name not in hidden and not name.startswith("sqlite_")
    is_permitted = action in _ALLOWED or (action == sqlite3.SQLITE_READ and may_read)
    return sqlite3.SQLITE_OK if is_permitted else sqlite3.SQLITE_DENY


def _message(error: sqlite3.Error, limits: SqlLimits) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_INTERRUPT:
        return f"the query took more than {limits.seconds:g} s: ask for less"
    if code == sqlite3.SQLITE_AUTH or "prohibited" in str(error):
        return f"{error}: only SELECT from {', '.join(VIEWS)} is allowed"
    return f"the query failed: {error}"
