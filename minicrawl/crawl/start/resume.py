"""The settings of a crawl that goes on: the store keeps those that define it.

Laws: what is given now counts before what the store keeps, and that before the defaults. What was
given is committed before anything is asked for, so that what was forbidden survives a kill.
"""

from minicrawl.config import Loaded
from minicrawl.config.sources import from_store
from minicrawl.config.writing import as_kept
from minicrawl.store import tables
from minicrawl.store.records import Batch
from minicrawl.store.trouble import reporting_damage
from minicrawl.store.writer import Store


def resumed(given: Loaded, connection: tables.Connection) -> Loaded:
    """With what the store keeps; a value that cannot be read is refused, unless another counts."""
    path = given.settings.storing.store
    with reporting_damage(path):
        kept = tables.settings(connection)
    return given.resumed(from_store(path, kept))


def keep(store: Store, loaded: Loaded) -> None:
    """Commit what the next run will go on with."""
    counters, kept = tables.counters(store.connection), as_kept(loaded)
    if counters.get(tables.SETTINGS) != kept:
        store.commit(Batch(counters=counters | {tables.SETTINGS: kept}))
