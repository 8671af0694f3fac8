"""The views of a store, for people who open it with sqlite3: all names instead of numbers.

Law: a view is as of the last checkpoint, which a crawl makes when it ends and while it runs.

pages      a row a page: URL, state, depth, cash and history in units, what it answered. Pages of
           other shards are not among them
links      a row a link of each page that was read, as it was written: redirects are not followed,
           links of duplicates and of a page to itself are there
redirects  a row a page that stands for another one, and what it stands for
requests   a row a request, with its URL and its time

A migration is never changed once it was released, so these scripts are not either.
"""

_STATES = """
    (0, 'unread'), (1, 'fetched'), (2, 'moved'), (3, 'canonical'), (4, 'alias'), (5, 'twin'),
    (10, 'robots'), (11, 'scope'), (12, 'depth'), (13, 'host-budget'), (14, 'address'),
    (15, 'type'), (16, 'trap'), (17, 'allowance'), (20, 'dns'), (21, 'connect'), (22, 'tls'),
    (23, 'timeout'), (24, 'reset'), (25, 'protocol'), (26, 'encoding'), (27, 'too-large'),
    (28, 'throttled'), (29, 'server-error'), (30, 'not-found'), (31, 'client-error'),
    (32, 'bad-status'), (33, 'bad-redirect'), (34, 'lost'), (35, 'crowded'),
    (36, 'interrupted')
"""

# A blob is a row of numbers, each of seven bits a byte, the lowest first: how many links, what
# else there is, and the page ids of the links as differences. `hex` is how SQL gets at a byte. In
# a row of `byte` the octet is not worked in yet; `target` is the sum of the differences before.
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

# The first number is 1 if the page links to itself, else 0; the pages follow. Behind the links are
# how many unpaid ones a page has that stands for another one, and these: it has one link, and
# neither weights nor focus.
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
