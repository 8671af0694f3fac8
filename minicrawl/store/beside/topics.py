"""The pages of topics whose ranks are kept: in the file of derived data beside a store.

Law: topics of one name are replaced together, as their ranks are.

family   the name that the ranks of some topics have in common: NAME-TOPIC is the rank of a topic
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from minicrawl.store.beside.derived import has_table, reading_beside, writing_beside
from minicrawl.store.tables import Connection

_SCHEMA = """
CREATE TABLE IF NOT EXISTS topics (
    family TEXT NOT NULL, topic TEXT NOT NULL, pages BLOB NOT NULL,
    PRIMARY KEY (family, topic)
) WITHOUT ROWID
"""

Topics = dict[str, list[int]]
"""The pages of each topic."""


def keep_topics(
    store: Path, connection: Connection, family: str, topics: Mapping[str, Sequence[int]]
) -> None:
    """Replace the topics of this family."""
    with writing_beside(store, connection, _SCHEMA) as derived:
        derived.execute("DELETE FROM topics WHERE family = ?", (family,))
        rows = ((family, topic, np.array(some).tobytes()) for topic, some in topics.items())
        derived.executemany("INSERT INTO topics VALUES (?, ?, ?)", rows)


def kept_topics(store: Path, connection: Connection) -> dict[str, Topics]:
    """The topics of each family."""
    found: dict[str, Topics] = {}
    with reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "topics"):
            return found
        rows = derived.execute("SELECT family, topic, pages FROM topics ORDER BY family, topic")
        for family, topic, blob in rows:
            found.setdefault(family, {})[topic] = np.frombuffer(blob, np.int64).tolist()
    return found
