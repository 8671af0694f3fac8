"""Schema of the store: tables, version, and migrations of older stores.

Laws: the version of a store is in `user_version`. An older store is upgraded version by version;
a newer one is refused. A released migration never changes its tables. Page ids are dense, in the
order of discovery.

steps       append-only log: every step that moved cash, and where the cash went
frontier    checkpoint of the log: one row per page. `meta` has the watermark, which is the last
            step in the rows, the totals at that step, and the channel ends of a shard
originals   URLs as written, where they differ from the page's URL
scored      values of pages by step: a part of the log, in a table of its own because most crawls
            give no values
own_requests  headers and bodies of requests that a program enqueued; never any login
siblings    state of the siblings order as of the checkpoint; empty with other orders
written     link attributes, if they are kept: see `written_links`
refinement  used by earlier versions, which refined in the store; otherwise empty
pages       and other views for people: see `views`
"""

import sqlite3

from minicrawl.errors import UsageError
from minicrawl.store.views import MAKE_VIEWS

APPLICATION_ID = 0x6D637277

_VERSION_1 = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE hosts (
    id INTEGER PRIMARY KEY,
    origin TEXT NOT NULL,
    robots TEXT,            -- the rules that concern us, as they were understood
    robots_until REAL,      -- when they must be asked for again
    wait_until REAL         -- when it may be asked again, where it asked for a long pause
);
CREATE TABLE urls (
    id INTEGER PRIMARY KEY,
    host INTEGER NOT NULL,
    path TEXT NOT NULL,
    depth INTEGER NOT NULL  -- links away from the seeds when it became known
);
CREATE TABLE steps (
    seq INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    page INTEGER NOT NULL,
    state INTEGER NOT NULL, -- of the page, from here on
    born INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    spending BLOB
);
CREATE TABLE frontier (
    id INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,
    key INTEGER NOT NULL,      -- atoms; see the view pages for what they mean
    history INTEGER NOT NULL,  -- atoms, as the window counts them
    g_time INTEGER NOT NULL,   -- G when it was last read, or born, in ticks of 2^16 atoms
    inlinks INTEGER NOT NULL,
    spent INTEGER NOT NULL,    -- the step that says where its cash goes, or 0
    measures BLOB              -- of windows that keep them
);
CREATE TABLE fetches (
    id INTEGER PRIMARY KEY,
    page INTEGER NOT NULL,
    at REAL NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    wire_bytes INTEGER NOT NULL,
    elapsed_s REAL NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX fetches_of_page ON fetches (page);
CREATE TABLE documents (
    page INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    status INTEGER NOT NULL,
    etag TEXT,
    last_modified TEXT,
    content INTEGER NOT NULL,  -- 64 bits of a hash of the body
    noindex INTEGER NOT NULL,
    first_at REAL NOT NULL,
    last_at REAL NOT NULL,
    checks INTEGER NOT NULL,   -- how often it was asked for again
    changes INTEGER NOT NULL   -- and how often it had changed
);
CREATE TABLE mirrors (
    host INTEGER NOT NULL,
    of_host INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    PRIMARY KEY (host, of_host)
) WITHOUT ROWID;
CREATE TABLE refinement (
    seq INTEGER PRIMARY KEY,   -- the last step that it knows of
    rounds INTEGER NOT NULL,
    history BLOB NOT NULL,     -- a float for each page
    cash BLOB NOT NULL
);
"""

_VERSION_2 = """
ALTER TABLE hosts ADD COLUMN trouble TEXT;  -- why it could not be asked, the last time that was so
CREATE TABLE originals (   -- of pages whose URL had marks of a visit when it became known
    page INTEGER PRIMARY KEY,
    url TEXT NOT NULL
);
"""

_STAYS_GREEDY = """
UPDATE meta SET value = json_set(value, '$.settings.strategy', 'greedy')  -- as it was by default
WHERE name = 'counters' AND json_type(value, '$.settings') = 'object'
    AND json_type(value, '$.settings.strategy') IS NULL;
"""

_VERSION_3 = """
CREATE TABLE siblings (    -- what siblings have shown, as of the last checkpoint: arrays by name
    name TEXT PRIMARY KEY,
    data BLOB NOT NULL
);
"""

_VERSION_6 = """
CREATE TABLE written (     -- what links say, of pages that are compressed together
    id INTEGER PRIMARY KEY,
    closed INTEGER NOT NULL,
    pages BLOB NOT NULL,
    data BLOB NOT NULL
);
"""

_VERSION_8 = """
UPDATE meta SET value = json_set(value, '$.settings.keep', 'none')  -- as it was by default
WHERE name = 'counters' AND json_type(value, '$.settings') = 'object'
    AND json_type(value, '$.settings.keep') IS NULL;
"""

_VERSION_11 = """
CREATE TABLE scored (      -- values that a scorer gave to pages, by the step that read the page
    seq INTEGER PRIMARY KEY,
    page INTEGER NOT NULL,
    value INTEGER NOT NULL -- from 0 to 65535
);
CREATE INDEX scored_page ON scored (page);
"""

_VERSION_12 = """
CREATE TABLE own_requests ( -- of pages that a program wants by more than a plain GET
    page INTEGER PRIMARY KEY,
    method TEXT NOT NULL,
    headers TEXT NOT NULL,  -- a JSON object
    body BLOB NOT NULL
);
"""

_VERSION_13 = """
ALTER TABLE fetches ADD COLUMN first_byte_s REAL;  -- from the request to the head of the response
"""

MIGRATIONS: tuple[str, ...] = (
    *(_VERSION_1, _VERSION_2, _VERSION_3 + _STAYS_GREEDY, "", "", _VERSION_6, "", _VERSION_8),
    *(_STAYS_GREEDY, "", _VERSION_11, _VERSION_12, _VERSION_13 + MAKE_VIEWS),
)
"""Migrations: the n-th script upgrades version n - 1 to version n. The empty ones changed views."""

VERSION = len(MIGRATIONS)


def prepare(connection: sqlite3.Connection, name: str) -> None:
    """Upgrade a store to the current version. Refuse newer ones and files of other kinds.

    A new store is created in one transaction, so that no reader sees an old version of it.
    """
    version = check_version(connection, name)
    while version < VERSION:
        end = version + 1 if version else VERSION
        script = f"BEGIN;{''.join(MIGRATIONS[version:end])}"
        script += f"PRAGMA application_id = {APPLICATION_ID};PRAGMA user_version = {end};COMMIT;"
        connection.executescript(script)
        version = end


def check_version(connection: sqlite3.Connection, name: str) -> int:
    """Return the version of the store; 0 for a new file."""
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise  # I/O errors and damage do not tell whose file it is
        raise UsageError(f"{name} is not a minicrawl store: {error}") from error
    if tables and application != APPLICATION_ID:
        raise UsageError(f"{name} is an SQLite database, but not a minicrawl store")
    if version > VERSION:
        raise UsageError(
            f"{name} has schema version {version}, but this minicrawl knows only {VERSION}: "
            "upgrade minicrawl"
        )
    return int(version)
