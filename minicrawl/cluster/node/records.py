"""What nodes say of themselves and of their leases, as values and as bytes.

Law: `T.unpack(value.pack()) == value`, and bytes that are no such value are refused in one line:
nothing that came over the wire is trusted.

session     a number for one life of a node: another process with the same name has another one
generation  how often a shard has changed hands
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Self

from minicrawl.errors import MinicrawlError
from minicrawl.shards.owners import MOST_SHARDS

NODE_PREFIX, LEASE_PREFIX, DRAIN_PREFIX, WORKERS_PREFIX = "node.", "lease.", "drain.", "workers."
TOLD_PREFIX = "told."
CRAWL_PREFIX = "crawl."
TERMS_KEY, STATE_KEY, GRANTS_KEY = "crawl.terms", "crawl.state", "crawl.grants"
REBALANCE_KEY = "crawl.rebalance"
_LONGEST_TEXT = 1000
_MOST_NUMBER = 1 << 63
_LONGEST_KEY = 10


class RecordError(MinicrawlError):
    """The value of a key is not what a node writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A value of a key."""

    def pack(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, key: str, content: bytes) -> Self:
        """Raises RecordError. Fields that a later version has added are left out."""
        try:
            found = json.loads(content)
            return cls(**{one.name: _checked(one.type, found[one.name]) for one in fields(cls)})
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RecordError(f"the cluster's key {key} has no value of ours: {error}") from None


def _checked(kind: Any, value: object) -> object:
    """Annotations are text here, since they are not evaluated."""
    wanted: Mapping[str, type] = {"str": str, "int": int, "float": float}
    if kind in wanted:
        if kind == "float" and type(value) is int:
            return float(value)
        if type(value) is not wanted[kind] or not _is_sane(value):
            raise ValueError(f"{value!a:.60} is no {kind}")
        return value
    if not isinstance(value, dict):
        raise ValueError(f"{value!a:.60} is no table")
    if "int" in str(kind) and not all(map(_counts, value, value.values())):
        raise ValueError(f"{value!a:.60} is no table of numbers")
    return value


def _is_sane(value: object) -> bool:
    """What a terminal can show, and a number that a machine can have."""
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT and value.isprintable()
    return not isinstance(value, int) or 0 <= value < _MOST_NUMBER


def _counts(key: str, value: object) -> bool:
    """Whether something is counted by shard."""
    return key.isdecimal() and len(key) < _LONGEST_KEY and type(value) is int and _is_sane(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord(Record):
    """What a node says of itself. It says it again and again: `beat` counts how often."""

    session: str
    beat: int
    version: str
    machine: str
    pid: int
    room: int  # the most shards that it can hold
    workers: int  # fetching processes of each of its shards; 0 if the shard fetches itself
    disk_free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BeatRecord(Record):
    """That a node is there, said a second time, where another server leads."""

    session: str
    beat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord(Record):
    """Who holds a shard. Without a session nobody does: it was given back."""

    node: str
    session: str
    generation: int

    @property
    def is_free(self) -> bool:
        """Whether it was given back."""
        return not self.session


class Doing(StrEnum):
    """What the crawl of the whole cluster does."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRecord(Record):
    """What the crawl of the whole cluster does, why, and how often it was begun."""

    doing: str
    run: int
    reason: str

    @property
    def is_over(self) -> bool:
        """Whether no shard is to be crawled."""
        return self.doing in (Doing.STOPPED, Doing.ENDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantsRecord(Record):
    """How many pages each shard may fetch in all, and under which lease: by shard, as text."""

    entry: int  # of the log of grants
    granted: Mapping[str, int]
    generations: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WishRecord(Record):
    """What a user wants of one node, or how often something was wanted."""

    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsRecord(Record):
    """What all nodes of a crawl have in common. Only `settings` ever change."""

    id: str
    format: int
    schema: int
    version: str
    shards: int
    settings: Mapping[str, object]  # by name, as JSON has them
    seeds: str  # the name of the object that has them, one a line

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= MOST_SHARDS:
            raise ValueError(f"{self.shards} shards")
        if not self.id.isalnum():  # files are named after it
            raise ValueError(f"the name {self.id!a}")
