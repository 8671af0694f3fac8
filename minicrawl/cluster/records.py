"""Records on the wire: values of the engine's keys, and what shards tell each other.

Law: `T.unpack(key, value.pack()) == value`, and other bytes are refused in one line: nothing from
the wire is trusted. Unknown fields, of later versions, are ignored. `T.of` reads a key.

session     random name of one run of a node: a restarted process has another one
generation  number of times that a shard was taken
facts       numbers that shards tell each other about once a second
idle        no page of the shard can be read, now or later, unless cash arrives, and everything done
            is committed
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import Any, NamedTuple, Self

from minicrawl.errors import MinicrawlError
from minicrawl.opic.ledger.channels import MOST_SHARDS

NODE_PREFIX, LEASE_PREFIX, DRAIN_PREFIX, TOLD_PREFIX = "node.", "lease.", "drain.", "told."
CRAWL_PREFIX = "crawl."
TERMS_KEY, STATE_KEY, GRANTS_KEY = "crawl.terms", "crawl.state", "crawl.grants"
FOLLOWED = (NODE_PREFIX, LEASE_PREFIX, DRAIN_PREFIX, CRAWL_PREFIX)
"""Prefixes of the keys that nodes and watchers follow, except those of facts."""

MOST_BYTES = 1 << 20
"""Limit of a record. NATS messages have at most 1 MiB by default."""
MOST_BINS = 1024
"""More bins than any sketch has: a key has 63 bits."""
_LONGEST_TEXT = 1000
_MOST, _MOST_ATOMS = 1 << 63, 1 << 100

Atoms = int
"""Number of atoms, which may be negative."""


class RecordError(MinicrawlError):
    """The value of a key, or a message, is not one that a node writes."""


class KeyEntry(NamedTuple):
    """A key as of one revision. `value` is None if the key was deleted."""

    key: str
    value: bytes | None
    revision: int


class AddressPart(NamedTuple):
    """A shard's part of an address. `part` is 0 until other shards give some up."""

    part: int
    generation: int


MOST_HOPS = 10
"""Number of shards through which forwarding pages may pass on the same cash.

A longer chain is a circle, or no better than one.
"""
_MOST_DEPTH = 1 << 31


class Transfer(NamedTuple):
    """Cash for one page of another shard.

    `depth` is the page's distance from the seeds in links, as far as the sender knows. `hops`
    counts the shards through which forwarding pages have passed the cash on.
    """

    url: str
    atoms: int
    depth: int = 0
    hops: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Value of a key, or message."""

    def pack(self) -> bytes:
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return json.dumps(named, separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, what: str, content: bytes) -> Self:
        """Decode JSON. Raises RecordError, which says what it is that no node writes."""
        try:
            if len(content) > MOST_BYTES:
                raise ValueError(f"{len(content):,} bytes exceed the limit")
            values, checked = json.loads(content), dict[str, Any]()
            for row in fields(cls):
                if row.name in values or row.default is MISSING:
                    checked[row.name] = _checked(row.type, values[row.name])
            return cls(**checked)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RecordError(f"{what} has an invalid value: {error}") from None

    @classmethod
    def of(cls, entry: KeyEntry | None) -> Self | None:
        """Decode the value of a key, or return None if there is no such key."""
        if entry is None or entry.value is None:
            return None
        return cls.unpack(f"the cluster's key {entry.key}", entry.value)


_CHECKS: Mapping[object, Callable[[Any], bool]] = {
    "bool": lambda value: type(value) is bool,
    "int": lambda value: type(value) is int and 0 <= value < _MOST,
    "Atoms": lambda value: type(value) is int and -_MOST_ATOMS < value < _MOST_ATOMS,
    "float": lambda value: type(value) in (int, float) and 0 <= value < _MOST_ATOMS,
    "str": lambda value: type(value) is str and len(value) <= _LONGEST_TEXT and value.isprintable(),
    "Mapping[str, object]": lambda value: type(value) is dict,
    "Sequence[Transfer]": lambda value: type(value) is list and all(map(_is_transfer, value)),
    "Mapping[int, int]": lambda value: _is_table(value, _CHECKS["int"]),
    "Mapping[int, AddressPart]": lambda value: _is_table(
        value, lambda part: type(part) is list and list(map(_CHECKS["int"], part)) == [True, True]
    ),
}
"""Checks of values, by the annotations of their fields, which are text since nobody evaluates them.
"""


def _checked(kind: object, value: Any) -> Any:
    if not _CHECKS[kind](value):
        raise ValueError(f"{value!a:.60} is not a valid {kind}")
    if kind == "Sequence[Transfer]":
        return [Transfer(*row) for row in value]
    if kind == "Mapping[int, AddressPart]":
        return {int(key): AddressPart(*part) for key, part in value.items()}
    return {int(key): count for key, count in value.items()} if "[int" in str(kind) else value


def _is_transfer(row: Any) -> bool:
    if type(row) is not list or list(map(type, row)) != [str, int, int, int]:
        return False
    url, *numbers = row
    _, depth, hops = numbers
    is_whole = all(map(_CHECKS["int"], numbers)) and depth < _MOST_DEPTH and hops <= MOST_HOPS
    return is_whole and url.isascii() and url != ""


def _is_table(value: Any, is_valid: Callable[[Any], bool]) -> bool:
    """Return whether the keys are numbers of shards or bins, and all values valid."""
    most = len(str(MOST_SHARDS))
    return type(value) is dict and all(
        key.isdecimal() and len(key) <= most and int(key) < MOST_SHARDS and is_valid(count)
        for key, count in value.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord(Record):
    """Sign of life of a node, as the node describes itself."""

    session: str
    beat: int  # its moment by the node's clock, in milliseconds
    version: str
    machine: str
    room: int  # most shards that it may hold
    workers: int  # fetching processes per shard; 0 if shards fetch themselves
    disk_free: int = 0  # bytes, at the moment of the beat


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord(Record):
    """Lease of a shard. It has no session if its holder has given the shard back."""

    node: str
    session: str
    generation: int


class CrawlActivity(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRecord(Record):
    """State of the crawl, its reason, and the number of its run.

    `fetched` is the number of pages that earlier runs have fetched. `ended_with` is that of all
    runs when a node ended the crawl: the last facts of shards may arrive later, or get lost.
    `continued_as` is the name of the crawl that goes on with other shards in this one's place.
    """

    doing: str
    run: int
    reason: str
    fetched: int = 0
    ended_with: int = 0
    continued_as: str = ""

    @property
    def is_over(self) -> bool:
        """True if nodes give up all shards."""
        return self.doing in (CrawlActivity.STOPPED, CrawlActivity.ENDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantsRecord(Record):
    """Total of pages that each shard may fetch, and the generation of its lease, by shard."""

    entry: int  # number in the log of grants
    granted: Mapping[int, int]
    generations: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRecord(Record):
    """Snapshot of a store. `object` is its name in a bucket; empty if the log has its bytes."""

    object: str
    entry: int  # the last entry of the shard's log that the snapshot includes
    size: int  # of the file, before compression


WHOLE = 1 << 20
"""The request rate of an address, of which shards have parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRecord(Record):
    parts: Mapping[int, AddressPart]

    def __post_init__(self) -> None:
        # Anyone who can write to the engine could write this, and the crawl would then exceed the
        # rate that it promises.
        if sum(part.part for part in self.parts.values()) > WHOLE:
            raise ValueError("the parts add up to more than the whole")


@dataclass(frozen=True, slots=True)
class ShardFacts(Record):
    """Facts of one shard as of one moment. Counts cover all runs."""

    shard: int
    fetched: int = 0
    under_way: int = 0
    """Turns of pages and hosts in progress."""
    waiting: int = 0
    """Unread pages, without those that wait for a shorter path."""
    pot: Atoms = 0
    entry: int = 0
    """The last confirmed entry of the shard's log."""
    pace: float = 0
    """Recent requests per second."""
    age_s: float = 0
    """Seconds since the first shard began in this run."""
    wire_bytes: int = 0
    """Bytes of all response bodies."""
    abroad: Atoms = 0
    """Atoms sent, minus atoms received: the sum over all shards is under way."""
    gathered: float = 0
    """Importance of pages that were read, in units; 0 without `--until`."""
    ungathered: float = 0
    """Importance of pages that may still be read, those of other shards in the outbox included."""
    discovery: float = 0
    """New pages per reading, of late."""
    run: int = 0
    """Number of the run of the crawl, which `age_s` is of."""
    sketch: Mapping[int, int] = field(default_factory=dict)
    """Histogram of the richest waiting pages that may be requested soon (`cash_threshold`)."""
    sent: Mapping[int, int] = field(default_factory=dict)
    """Number of the last batch sent, by receiver."""
    received: Mapping[int, int] = field(default_factory=dict)
    """Number of the last batch posted, by sender."""
    is_idle: bool = False
    wants_pages: bool = False
    """True if the shard has spent its grant and has more to read."""

    def __post_init__(self) -> None:
        if self.shard >= MOST_SHARDS:
            raise ValueError(f"{self.shard} is not a valid shard")
        if any(place >= MOST_BINS for place in self.sketch):
            raise ValueError("more cash on waiting pages than can exist")

    @property
    def spent(self) -> int:
        return self.fetched + self.under_way

    @property
    def left(self) -> int:
        """Number of pages that the shard may still fetch, as far as known."""
        return 0 if self.is_idle else self.waiting or int(self.wants_pages)
