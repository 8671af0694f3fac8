"""Schema of the store.

migrations  the tables, their version, and upgrades of older stores
views       views for people who use sqlite3, with names instead of numbers
"""

import sqlite3

from minicrawl.errors import UsageError

# ================================================================ views
#
# Views for people who open the store with sqlite3: names instead of numbers.
#
# Law: states, cash, links and redirects are as of the last checkpoint, which a crawl makes while it
# runs and when it ends; titles, times and requests are as of the last commit.
#
# pages      one row per page: URL, state, depth, cash and history in units, last response; without
#            pages of other shards
# links      one row per link of each page that was read, as written: redirects are not followed,
#            and links of duplicates, and of a page to itself, are included
# redirects  one row per page that stands for another, with its target
# requests   one row per request, with its URL and time
#
# A released migration never changes, and so neither do these scripts.

_STATES = """
    (0, 'unread'), (1, 'fetched'), (2, 'moved'), (3, 'canonical'), (4, 'alias'), (5, 'twin'),
    (10, 'robots'), (11, 'scope'), (12, 'depth'), (13, 'host-budget'), (14, 'address'),
    (15, 'type'), (16, 'trap'), (17, 'allowance'), (20, 'dns'), (21, 'connect'), (22, 'tls'),
    (23, 'timeout'), (24, 'reset'), (25, 'protocol'), (26, 'encoding'), (27, 'too-large'),
    (28, 'throttled'), (29, 'server-error'), (30, 'not-found'), (31, 'client-error'),
    (32, 'bad-status'), (33, 'bad-redirect'), (34, 'lost'), (35, 'crowded'),
    (36, 'interrupted')
"""

# A blob is a sequence of numbers, seven bits per byte, least significant first: the number of
# links, the extras, then the link ids as differences. SQL can access a byte only through `hex`. In
# a row of `byte`, `octet` is not yet part of `number`, and `target` is the sum of the differences
# so far.
_DIGITS = "'123456789ABCDEF'"
_OCTET = f"""
    16 * instr({_DIGITS}, substr(hex(substr(spending, {{0}}, 1)), 1, 1))
    + instr({_DIGITS}, substr(hex(substr(spending, {{0}}, 1)), 2, 1))
"""
_TARGETS = f"""
    WITH RECURSIVE byte(place, octet, number, shift, nth, links, target, found) AS (
        SELECT 1, {_OCTET.format("1")}, 0, 0, 0, 0, 0, NULL
        UNION ALL
        SELECT
            place + 1,
            {_OCTET.format("place + 1")},
            iif(octet < 128, 0, number + ((octet & 127) << shift)),
            iif(octet < 128, 0, shift + 7),
            nth + (octet < 128),
            iif(nth = 0 AND octet < 128, number + (octet << shift), links),
            iif(nth > 1 AND octet < 128, target + number + (octet << shift), target),
            iif(nth > 1 AND octet < 128, target + number + (octet << shift), NULL)
        FROM byte
        WHERE place <= length(spending) AND (nth < 2 OR nth < links + 2)
    )
    SELECT json_group_array(found) FROM byte WHERE found IS NOT NULL
"""

_PAGES = """
CREATE VIEW pages AS
SELECT
    urls.id, origin || path AS url, states.name AS state, depth, inlinks,
    (key + CASE WHEN state = 0 THEN pot / max(unread, 1) ELSE dividend END) / 4294967296.0 AS cash,
    history / 4294967296.0 AS history,
    title, documents.status, datetime(first_at, 'unixepoch') AS first_fetched,
    datetime(last_at, 'unixepoch') AS last_fetched
FROM frontier
JOIN urls USING (id)
JOIN hosts ON hosts.id = host
LEFT JOIN states ON states.id = state
LEFT JOIN documents ON documents.page = urls.id
CROSS JOIN (
    SELECT
        CAST((SELECT value FROM meta WHERE name = 'pot') AS INTEGER) AS pot,
        CAST((SELECT value FROM meta WHERE name = 'unread') AS INTEGER) AS unread,
        CAST((SELECT value FROM meta WHERE name = 'dividend') AS INTEGER) AS dividend
)
"""

_LINKS = """\
CREATE VIEW links AS
SELECT
    source AS source_id, target AS target_id,
    givers.origin || giver.path AS source, takers.origin || taker.path AS target,
    states.name AS target_state
FROM spendings
CROSS JOIN urls AS giver ON giver.id = source
CROSS JOIN hosts AS givers ON givers.id = giver.host
CROSS JOIN urls AS taker ON taker.id = target
CROSS JOIN hosts AS takers ON takers.id = taker.host
CROSS JOIN frontier AS reached ON reached.id = target
LEFT JOIN states ON states.id = reached.state
"""
_REDIRECTS = """\
CREATE VIEW redirects AS
SELECT
    source AS page_id, target AS target_id, kinds.name AS kind,
    givers.origin || giver.path AS url, takers.origin || taker.path AS target,
    states.name AS target_state
FROM spendings
CROSS JOIN states AS kinds ON kinds.id = spendings.state
CROSS JOIN urls AS giver ON giver.id = source
CROSS JOIN hosts AS givers ON givers.id = giver.host
CROSS JOIN urls AS taker ON taker.id = target
CROSS JOIN hosts AS takers ON takers.id = taker.host
CROSS JOIN frontier AS reached ON reached.id = target
LEFT JOIN states ON states.id = reached.state
"""

VERSION_4 = f"""
CREATE VIEW states (id, name) AS VALUES {_STATES};
DROP VIEW pages;
{_PAGES};
CREATE VIEW spendings AS
SELECT frontier.id AS source, frontier.state AS state, target.value AS target
FROM frontier
JOIN steps ON seq = spent AND spending IS NOT NULL
CROSS JOIN json_each(({_TARGETS})) AS target;
{_LINKS}WHERE spendings.state = 1;
{_REDIRECTS}WHERE spendings.state IN (2, 3, 4, 5);
CREATE VIEW requests AS
SELECT
    fetches.id, page AS page_id, origin || path AS url, datetime(at, 'unixepoch') AS at, outcome,
    status, wire_bytes, elapsed_s, detail
FROM fetches
JOIN urls ON urls.id = page
JOIN hosts ON hosts.id = host;
"""

_ALL_STATES = f"{_STATES}, (18, 'focus'), (37, 'proxy')"

VERSION_5 = f"""
DROP VIEW states;
CREATE VIEW states (id, name) AS VALUES {_ALL_STATES};
"""

_WITH_FOREIGN = f"{_ALL_STATES}, (6, 'foreign')"

VERSION_7 = f"""
DROP VIEW states;
CREATE VIEW states (id, name) AS VALUES {_WITH_FOREIGN};
DROP VIEW pages;
{_PAGES}WHERE frontier.state != 6;
"""

# The first number of the array is 1 if the page links to itself, else 0; the targets follow. The
# blob of a page that stands for another has one link without weights or focus, then the number of
# unpaid links, then these links.
_WITH_UNPAID = f"""
    WITH RECURSIVE byte(place, octet, number, shift, nth, links, extras, target, found) AS (
        SELECT 1, {_OCTET.format("1")}, 0, 0, 0, 0, 0, 0, NULL
        UNION ALL
        SELECT
            place + 1,
            {_OCTET.format("place + 1")},
            iif(octet < 128, 0, number + ((octet & 127) << shift)),
            iif(octet < 128, 0, shift + 7),
            nth + (octet < 128),
            iif(nth = 0 AND octet < 128, number + (octet << shift), links),
            iif(nth = 1, octet, extras),
            CASE
                WHEN octet > 127 OR nth < 2 THEN target
                WHEN nth = links + 2 THEN 0
                ELSE target + number + (octet << shift)
            END,
            CASE
                WHEN nth = 1 THEN (octet & 4) / 4
                WHEN octet < 128 AND nth > 1 AND nth != links + 2
                THEN target + number + (octet << shift)
            END
        FROM byte
        WHERE place <= length(spending) AND (nth < 2 OR nth < links + 2 OR extras & 8)
    )
    SELECT json_group_array(found) FROM byte WHERE found IS NOT NULL
"""

VERSION_10 = f"""
DROP VIEW links;
DROP VIEW redirects;
DROP VIEW spendings;
CREATE VIEW spendings AS
SELECT
    frontier.id AS source, frontier.state AS state,
    iif(target.key, target.value, frontier.id) AS target, target.key AS nth
FROM frontier
JOIN steps ON seq = spent AND spending IS NOT NULL
CROSS JOIN json_each(({_WITH_UNPAID})) AS target
WHERE target.key OR target.value;
{_LINKS}WHERE spendings.state = 1 OR (spendings.state IN (3, 4) AND nth != 1);
{_REDIRECTS}WHERE spendings.state IN (2, 3, 4, 5) AND nth = 1;
"""


VERSION_13 = """
ALTER TABLE fetches ADD COLUMN first_byte_s REAL;  -- from the request to the head of the response
DROP VIEW requests;
CREATE VIEW requests AS
SELECT
    fetches.id, page AS page_id, origin || path AS url, datetime(at, 'unixepoch') AS at, outcome,
    status, wire_bytes, elapsed_s, detail, first_byte_s
FROM fetches
JOIN urls ON urls.id = page
JOIN hosts ON hosts.id = host;
"""


# ================================================================ migrations
#
# Tables, schema version and migrations.
#
# Laws: the version of a store is in `user_version`. An older store is upgraded version by version;
# a newer one is refused. Page ids are dense, in the order of discovery.
#
# steps       append-only log: every step that moved cash, and where the cash went
# frontier    checkpoint of the log: one row per page. `meta` has the watermark, which is the last
#             step in the rows, the totals at that step, and the channel ends of a shard
# originals   URLs as written, where they differ from the page's URL
# scored      values of pages by step: a part of the log, in a table of its own because most crawls
#             give no values
# own_requests  headers and bodies of requests that a program enqueued; never any login
# siblings    state of the siblings order as of the checkpoint; empty with other orders
# written     link attributes, if they are kept: see `written_links`
# refinement  used by earlier versions, which refined in the store; otherwise empty
# pages       and other views for people: see above

APPLICATION_ID = 0x6D637277
"""SQLite `application_id` of stores."""

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

MIGRATIONS: tuple[str, ...] = (
    *(_VERSION_1, _VERSION_2, _VERSION_3 + _STAYS_GREEDY, VERSION_4, VERSION_5, _VERSION_6),
    VERSION_7,
    _VERSION_8,
    _STAYS_GREEDY,
    VERSION_10,
    _VERSION_11,
    _VERSION_12,
    VERSION_13,
)
"""Migrations: the n-th script upgrades version n - 1 to version n."""

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
