"""The tables, their version, and the migrations.

Law: the version of a store is in `user_version`. An older store is upgraded version by version, a
newer one is refused. Page ids are dense, in the order in which pages were found.

steps      the log, append-only: every step that moved cash, and where the cash went
frontier   the checkpoint of the log: a row a page. `meta` has the watermark, which is the last step
           in the rows, the totals at that step, and of a shard the ends of its channels
originals  URLs as they were written, where the URL of the page differs
siblings   what the order by siblings knows, as of the checkpoint; empty for another order
written    what links say, for who wants to keep that: see `written_links`
refinement of earlier versions, which refined in the store; otherwise empty
pages      and other views for people: see `views`
"""

import sqlite3

from minicrawl.errors import UsageError
from minicrawl.store.schema.views import VERSION_4, VERSION_5, VERSION_7, VERSION_10

APPLICATION_ID = 0x6D637277
"""Marks an SQLite file as a store."""

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
CREATE VIEW pages AS
SELECT
    urls.id, origin || path AS url, depth, state, inlinks,
    (key + CASE WHEN state = 0 THEN pot / max(unread, 1) ELSE dividend END) / 4294967296.0 AS cash,
    history / 4294967296.0 AS history,
    title, documents.status, last_at
FROM frontier
JOIN urls USING (id)
JOIN hosts ON hosts.id = host
LEFT JOIN documents ON documents.page = urls.id
CROSS JOIN (
    SELECT
        CAST((SELECT value FROM meta WHERE name = 'pot') AS INTEGER) AS pot,
        CAST((SELECT value FROM meta WHERE name = 'unread') AS INTEGER) AS unread,
        CAST((SELECT value FROM meta WHERE name = 'dividend') AS INTEGER) AS dividend
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

MIGRATIONS: tuple[str, ...] = (
    *(_VERSION_1, _VERSION_2, _VERSION_3 + _STAYS_GREEDY, VERSION_4, VERSION_5, _VERSION_6),
    VERSION_7,
    _VERSION_8,
    _STAYS_GREEDY,
    VERSION_10,
)
"""The n-th script upgrades version n - 1 to version n."""

VERSION = len(MIGRATIONS)


def prepare(connection: sqlite3.Connection, name: str) -> None:
    """Upgrade a store to the current version. Refuse newer ones and files of other kinds."""
    version = check_version(connection, name)
    for number in range(version, VERSION):
        script = f"BEGIN;{MIGRATIONS[number]}PRAGMA application_id = {APPLICATION_ID};"
        connection.executescript(f"{script}PRAGMA user_version = {number + 1};COMMIT;")


def check_version(connection: sqlite3.Connection, name: str) -> int:
    """The version of the store; 0 for a new file."""
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise  # an error of the disk, or damage of an SQLite file, does not say whose it is
        raise UsageError(f"{name} is not a minicrawl store: {error}") from error
    if tables and application != APPLICATION_ID:
        raise UsageError(f"{name} is an SQLite database, but not a minicrawl store")
    if version > VERSION:
        raise UsageError(
            f"{name} has schema version {version}, but this minicrawl knows only {VERSION}: "
            "upgrade minicrawl"
        )
    return int(version)
