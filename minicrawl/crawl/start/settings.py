"""Settings that a store keeps."""

from contextlib import suppress
from pathlib import Path

from minicrawl.config import Loaded, Settings
from minicrawl.config.settings import told_ignored
from minicrawl.config.sources import from_store
from minicrawl.config.table import TABLE
from minicrawl.config.writing import as_kept
from minicrawl.errors import MissingStoreError, UsageError
from minicrawl.store import tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import reading, real_path
from minicrawl.store.records import Batch, StoreTerms
from minicrawl.store.writer import StoreWriter

_OF_A_RUN = tuple(
    row
    for row in TABLE
    if not row.stored and row.section.name != "budget" and row.name not in ("store", "cluster")
)
"""Settings that each run has to be given, but for its limits and its store."""


def resumed_settings(given: Loaded, connection: tables.Connection) -> Loaded:
    """Return the settings, completed from the store, whose unreadable values are refused."""
    path = given.settings.storing.store
    with reporting_damage(path):
        stored = tables.settings(connection)
    return given.resumed(from_store(path, stored))


def with_stored_settings(loaded: Loaded) -> Loaded:
    with suppress(MissingStoreError), reading(loaded.settings.storing.store) as connection:
        return resumed_settings(loaded, connection)
    return loaded


def keep_settings(store: StoreWriter, loaded: Loaded) -> None:
    """Commit the settings that the next run resumes with, if they are consistent."""
    refuse_contradictions(loaded.settings)
    counters = tables.counters(store.connection)
    names = [row.name for row in _OF_A_RUN if loaded.is_given(row)]
    stored = {tables.SETTINGS: as_kept(loaded), tables.OF_LAST_RUN: names}
    if not all(counters.get(name) == value for name, value in stored.items()):
        store.commit(Batch(counters=counters | stored))


def told_not_inherited(loaded: Loaded, connection: tables.Connection) -> str:
    """Return the line that names all settings of the last run that this one lacks, or nothing."""
    names = tables.counters(connection).get(tables.OF_LAST_RUN)
    lost = [
        row.name
        for row in _OF_A_RUN
        if isinstance(names, list) and row.name in names and not loaded.is_given(row)
        if loaded.settings.value(row) == row.default  # an update sets some itself
    ]
    ignored, path = told_ignored(loaded.ignored.values()), loaded.settings.storing.store
    if lost:
        opening = f"{ignored};" if ignored else f"{path}:"
        ignored = f"{opening} not kept from the last run: {', '.join(lost)}"
    return ignored


def resume_command(command: str, store: Path) -> dict[str, object]:
    place = {tables.BEGUN_IN: str(Path.cwd()), tables.BEGUN_AS: str(real_path(store))}
    return {tables.COMMAND: command, **place}


def refuse_contradictions(settings: Settings) -> None:
    """Refuse contradictory settings. In a resumed crawl, this includes those from the store."""
    refuse_scorers(settings)
    if settings.storing.keep == "links" and not settings.storing.links:
        raise UsageError("--keep links needs stored links: drop --no-links")
    if "assets" in settings.storing.check and settings.storing.keep != "pages":
        raise UsageError("--check assets needs --keep pages")
    if settings.network.raw_bodies and not settings.storing.keeps_failures:
        raise UsageError("--raw-bodies needs --keep pages or --warc")
    if settings.politeness.obey_usage is not None and not settings.politeness.robots:
        raise UsageError("--obey-usage reads robots.txt: drop --ignore-robots")
    if settings.access.sign_requests is not None:
        from minicrawl.fetch.access.signing import key_directory

        key_directory(settings.politeness.contact)
    until = settings.budget.until
    if until is not None and until.needs_links and not settings.storing.links:
        raise UsageError(f"--until '{until}' needs stored links: drop --no-links")


def refuse_scorers(settings: Settings, *, in_python: bool = False) -> None:
    """Refuse scorers that cannot be made, and any scorer in an order that ignores values."""
    order = settings.order
    if (order.score or in_python) and order.strategy != "siblings":
        raise UsageError(f"--score needs --strategy siblings, not {order.strategy}")
    if order.score:
        from minicrawl.crawl.workers.scoring import scorers_of  # most crawls give no values

        scorers_of(order.score)


def agreed(settings: Settings, store: StoreWriter) -> Settings:
    """Return the settings, once the store has the terms that follow from them."""
    store.agree(store_terms(settings))
    return settings


def store_terms(settings: Settings) -> StoreTerms:
    order, storing = settings.order, settings.storing
    return StoreTerms(
        small_edge=order.small_edge,
        window=order.window,
        width=order.width,
        links=storing.links,
        strip_marks=storing.strip_marks,
    )
