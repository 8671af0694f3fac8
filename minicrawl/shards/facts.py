"""What the shards of a crawl tell each other of themselves, about once a second, and its bytes.

Laws: `facts_in(as_bytes(facts)) == facts`. Facts may be old: they change the order of pages, which
pots pay which, and when a crawl ends, and no cash.

idle   no page of the shard can be read now or later, unless cash comes from others; all that it
       did is committed, and all that it sent is published

The end of a crawl: when every shard was idle as it told, and each channel had as many batches
posted as sent, then nothing was on its way between what was told, and nothing can happen any more,
even if the shards told at different moments (Mattern's vector counters).
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from minicrawl.shards.batches import BatchError
from minicrawl.shards.levelling import PotTold
from minicrawl.shards.owners import MOST_SHARDS

MOST_FACTS_BYTES = 1 << 20
_MOST = 1 << 100


class ShardFacts(NamedTuple):
    """A shard as of one moment. Numbers are over all its runs, atoms are whole."""

    shard: int
    fetched: int = 0
    under_way: int = 0
    """Turns of pages and hosts."""
    waiting: int = 0
    """Unread pages, but for those that wait for a shorter way to them."""
    outbox: int = 0
    """Foreign pages that hold cash."""
    pot: int = 0
    minted: int = 0
    recorded: int = 0
    entry: int = 0
    """The last entry of its log that was confirmed."""
    pace: float = 0
    """Pages that were asked for in a second, lately."""
    sketch: Mapping[int, int] = {}
    """The richest pages that wait and may be asked for soon, as `water.sketch` tells them."""
    sent: Mapping[int, int] = {}
    """By receiver, the number of the last batch."""
    received: Mapping[int, int] = {}
    """The same by sender, of what was posted."""
    is_idle: bool = False
    wants_pages: bool = False
    """Whether it has fetched as many pages as it may, and has more to read."""
    has_choice: bool = False
    """Whether more hosts may be asked than it asks at a time."""

    @property
    def pot_told(self) -> PotTold:
        """What levelling wants to know."""
        return PotTold(self.pot, self.waiting)


_MOST_BINS = 1024
"""More than any sketch has: a key has 63 bits."""
_TABLES = ("sketch", "sent", "received")


def as_bytes(facts: ShardFacts) -> bytes:
    """The facts as bytes."""
    return json.dumps(facts._asdict(), separators=(",", ":")).encode()


def facts_in(data: bytes) -> ShardFacts:
    """The facts. Raises BatchError if the bytes are none that a shard tells."""
    if len(data) > MOST_FACTS_BYTES:
        raise BatchError(f"{len(data):,} bytes are more than a shard tells")
    try:
        found: dict[str, Any] = json.loads(data)
        tables: dict[str, Any] = {name: _table(found.pop(name)) for name in _TABLES}
        facts = ShardFacts(**found, **tables)
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise BatchError(f"these bytes are no facts of a shard: {error}") from error
    if not _is_pace(found.pop("pace", 0)) or not all(map(_is_number, found.values())):
        raise BatchError("what a shard tells of itself are no numbers that may be")
    if not 0 <= facts.shard < MOST_SHARDS or min(facts.fetched, facts.waiting) < 0:
        raise BatchError("what a shard tells of itself is less than nothing")
    if any(place >= _MOST_BINS for place in facts.sketch):
        raise BatchError("pages wait with more cash than there may be")
    return facts


def _is_pace(value: Any) -> bool:
    """Less than a page a second may be asked for."""
    return isinstance(value, int | float) and 0 <= value < _MOST


def _is_number(value: Any) -> bool:
    """Atoms and pages of the largest crawl are far below."""
    return isinstance(value, int) and -_MOST < value < _MOST


def _table(found: dict[str, Any]) -> dict[int, int]:
    """By shard, or by the bins of a sketch, which are fewer."""
    table = {int(key): value for key, value in found.items()}
    if any(type(value) is not int or not 0 <= value < _MOST for value in table.values()):
        raise ValueError("what a shard tells of itself are whole numbers")
    if any(not 0 <= key < MOST_SHARDS for key in table):
        raise ValueError("a table is by shard")
    return table


def has_ended(told: Mapping[int, ShardFacts], shards: int) -> bool:
    """Whether nothing is left to do in any of so many shards, and nothing is on its way."""
    if len(told) < shards or not all(facts.is_idle for facts in told.values()):
        return False
    sent = {(by, to): count for by, facts in told.items() for to, count in facts.sent.items()}
    posted = {(by, to): count for to, facts in told.items() for by, count in facts.received.items()}
    return sent == posted


def fetched_together(told: Mapping[int, ShardFacts]) -> int:
    """The pages that all shards have fetched."""
    return sum(facts.fetched for facts in told.values())
