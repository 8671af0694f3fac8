"""Views for people who open the store with sqlite3: names instead of numbers.

Law: states, cash, links and redirects are as of the last checkpoint, which a crawl makes while it
runs and when it ends; titles, times and requests are as of the last commit.

pages      one row per page: URL, state, depth, cash and history in units, last response; without
           pages of other shards
links      one row per link of each page that was read, as written: redirects are not followed,
           and links of duplicates, and of a page to itself, are included
redirects  one row per page that stands for another, with its target
requests   one row per request, with its URL and time
states     numbers and names of states

A migration that changes a table makes all views anew. After a change here, or of a state, the
script is one more migration: see `schema.MIGRATIONS`.
"""

from minicrawl.states import State

VIEWS = ("pages", "links", "redirects", "requests", "states")
"""Views that are documented; `docs/how-to/read-a-store-with-sqlite.md` lists their columns."""

_STATES = ", ".join(f"({state:d}, '{state.label}')" for state in State)

# A blob is a sequence of numbers, seven bits per byte, least significant first: the number of
# links, the extras, then the link ids as differences. SQL can access a byte only through `hex`. In
# a row of `byte`, `octet` is not yet part of `number`, and `target` is the sum of the differences
# so far.
_DIGITS = "'123456789ABCDEF'"
_OCTET = f"""
    16 * instr({_DIGITS}, substr(hex(substr(spending, {{0}}, 1)), 1, 1))
    + instr({_DIGITS}, substr(hex(substr(spending, {{0}}, 1)), 2, 1))
"""
# The first number of the array is 1 if the page links to itself, else 0; the targets follow. The
# blob of a page that stands for another has one link without weights or focus, then the number of
# unpaid links, then these links.
_TARGETS = f"""
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
_ENDS = """
CROSS JOIN urls AS giver ON giver.id = source
CROSS JOIN hosts AS givers ON givers.id = giver.host
CROSS JOIN urls AS taker ON taker.id = target
CROSS JOIN hosts AS takers ON takers.id = taker.host
CROSS JOIN frontier AS reached ON reached.id = target
LEFT JOIN states ON states.id = reached.state
"""

MAKE_VIEWS = f"""
{"".join(f"DROP VIEW IF EXISTS {name};" for name in (*VIEWS, "spendings"))}
CREATE VIEW states (id, name) AS VALUES {_STATES};
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
WHERE frontier.state != 6;
CREATE VIEW spendings AS
SELECT
    frontier.id AS source, frontier.state AS state,
    iif(target.key, target.value, frontier.id) AS target, target.key AS nth
FROM frontier
JOIN steps ON seq = spent AND spending IS NOT NULL
CROSS JOIN json_each(({_TARGETS})) AS target
WHERE target.key OR target.value;
CREATE VIEW links AS
SELECT
    source AS source_id, target AS target_id,
    givers.origin || giver.path AS source, takers.origin || taker.path AS target,
    states.name AS target_state
FROM spendings
{_ENDS}
WHERE spendings.state = 1 OR (spendings.state IN (3, 4) AND nth != 1);
CREATE VIEW redirects AS
SELECT
    source AS page_id, target AS target_id, kinds.name AS kind,
    givers.origin || giver.path AS url, takers.origin || taker.path AS target,
    states.name AS target_state
FROM spendings
CROSS JOIN states AS kinds ON kinds.id = spendings.state
{_ENDS}
WHERE spendings.state IN (2, 3, 4, 5) AND nth = 1;
CREATE VIEW requests AS
SELECT
    fetches.id, page AS page_id, origin || path AS url, datetime(at, 'unixepoch') AS at, outcome,
    status, wire_bytes, elapsed_s, detail, first_byte_s
FROM fetches
JOIN urls ON urls.id = page
JOIN hosts ON hosts.id = host;
"""
"""Script that drops the views, even those of earlier versions, and makes them."""
