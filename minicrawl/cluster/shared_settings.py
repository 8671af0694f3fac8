"""Settings of a crawl that its nodes share, and those that each node has of its own.

Law: the engine has no secrets of users, and no setting that touches a node's machine or weakens
politeness, since anybody with write access to the engine can change the terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from minicrawl.cluster.records import TERMS_KEY, Record, RecordError
from minicrawl.config import Loaded, Settings, load
from minicrawl.config.parts.selection import Budget
from minicrawl.config.settings import harmless, told_ignored
from minicrawl.config.sources import from_store
from minicrawl.config.table import BY_NAME, TABLE
from minicrawl.config.values.quantities import span_s
from minicrawl.config.writing import plain
from minicrawl.errors import UsageError
from minicrawl.opic.ledger.channels import MOST_SHARDS


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsRecord(Record):
    """Terms of a crawl. Only `settings` ever change."""

    id: str
    format: int
    schema: int
    version: str
    shards: int
    settings: Mapping[str, object]  # by name, as JSON values
    seeds: str  # name of the keys with one seed per line

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= MOST_SHARDS:
            raise ValueError(f"{self.shards} is not a valid number of shards")
        if not self.id.isalnum():  # it is part of file names
            raise ValueError(f"{self.id!a} is not a valid id")

    @property
    def limits(self) -> Budget:
        """Limits of the whole crawl, over all shards. Raises RecordError."""
        names = ("pages", "until", *OF_A_RUN)
        try:
            return loaded_by_name({name: self.settings.get(name) for name in names}).settings.budget
        except UsageError as error:
            raise RecordError(f"the cluster's key {TERMS_KEY} has a wrong limit: {error}") from None


_OF_A_NODE = frozenset(
    (
        *("store", "workers", "proxy", "ca", "client-cert"),
        *("bind-address", "name-server", "browser", "render-workers", "cookies"),
        *("warc", "objects", "dedupe-with"),
        "host-setting",  # it may have the login of a proxy
    )
)
OF_A_RUN = ("new-pages", "for", "bytes")
"""Limits of one run, over all shards. The next run has only those that it is given."""
_OF_ONE_MACHINE = {
    "check": "gather, then continue the gathered store with it",
    "requisites": "gather, then continue the gathered store with it",
    "links": "without links the log of a shard is cut, and batches are sent again from it",
    "notify": "no machine knows all that a run has changed",
    "deterministic": "the order depends on when batches of other shards arrive",
}
"""Settings that a cluster refuses, and why."""
USUAL: dict[str, object] = {"keep": "none"}
"""Defaults that differ in a cluster: archived pages would all go through the servers."""
LIVE = frozenset(("pages", *OF_A_RUN))
"""Settings that may change while the crawl runs."""


def loaded_by_name(values: Mapping[str, object]) -> Loaded:
    return load({BY_NAME[name].argument: value for name, value in values.items()}, {}, None)


def settings_of_crawl(loaded: Loaded) -> dict[str, object]:
    """Return the given settings that all nodes share, by name, as JSON values."""
    refuse_what_needs_one_machine(loaded.settings)
    return {name: value for name, value in _given(loaded) if _is_shared(name)}


def settings_of_node(loaded: Loaded) -> dict[str, object]:
    """Return the settings given to this node, by name, as JSON values."""
    left_out = ("cluster", "store", "workers", *_OF_ONE_MACHINE, *OF_A_RUN)
    return {name: value for name, value in _given(loaded) if name not in left_out}


def _given(loaded: Loaded) -> Iterator[tuple[str, object]]:
    for row in TABLE:
        if loaded.is_given(row) or loaded.settings.value(row) != row.default:
            yield row.name, plain(loaded.settings, row)


def _is_shared(name: str) -> bool:
    """Return whether all nodes have the same value of a setting, which their terms name."""
    return BY_NAME[name].section.name not in ("access", "cluster") and name not in _OF_A_NODE


def effective_settings(
    terms: TermsRecord, own: Mapping[str, object]
) -> tuple[dict[str, object], str]:
    """Return the settings that a node obeys, and a line about ignored ones, which may be empty.

    `own` has the settings given to the node itself. They allow the terms to weaken politeness as
    far as they do themselves.
    """
    named = from_store("the terms of this cluster", terms.settings)
    shared = {
        name: given
        for name, given in named.items()
        if name in BY_NAME and _is_shared(name) and name not in OF_A_RUN
    }
    counting, _ = harmless(shared, loaded_by_name(own).settings)
    known = (*counting, *OF_A_RUN)
    ignored = [given.place for name, given in named.items() if name not in known]
    return {name: given.value for name, given in counting.items()}, told_ignored(ignored)


def check_terms(terms: TermsRecord, own: Mapping[str, object]) -> Settings:
    """Return the settings of the shards of this node, whose own settings are `own`.

    Raises UsageError for settings that contradict each other, or for which this machine lacks a
    package: else each shard would fail again and again.
    """
    from minicrawl.crawl.start.reach import check_browser, check_types
    from minicrawl.crawl.start.settings import refuse_contradictions

    settings = loaded_by_name({**own, **effective_settings(terms, own)[0]}).settings
    refuse_what_needs_one_machine(settings)
    refuse_contradictions(settings)
    check_types(settings.scope)
    check_browser(settings)
    if settings.storing.dedupe_with is not None and settings.storing.warc is None:
        raise UsageError(
            "--dedupe-with needs --warc on a node: pages that --keep keeps are compared when you "
            "say it to minicrawl cluster gather"
        )
    return settings


def workers_of_node(loaded: Loaded) -> int:
    """Return the fetching processes per shard. `auto` is 0, as each shard is a process already."""
    workers = loaded.settings.network.workers
    return workers if isinstance(workers, int) else 0


def refuse_what_needs_one_machine(settings: Settings) -> None:
    refused = {
        row.off if row.default is True else row.flag: why
        for name, why in _OF_ONE_MACHINE.items()
        if settings.value(row := BY_NAME[name]) != row.default
    }
    if (until := settings.budget.until) is not None and until.why_one_machine:
        refused[f"--until '{until}'"] = f"{until.why_one_machine}; say a share, such as 90%"
    if span_s(settings.order.window.partition(":")[2]) is not None:
        refused["--window NAME:TIME"] = "shards have clocks of their own: say fixed:19"
    if isinstance(settings.storing.keep_versions, int):
        refused["--keep-versions N"] = "in a cluster say all or changed"
    for flag, why in refused.items():
        raise UsageError(f"{flag} is for a crawl on one machine: {why}")
