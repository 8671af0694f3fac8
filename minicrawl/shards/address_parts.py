"""Which shard has which part of the pace of an address.

Laws: the parts of an address are never more than the whole. A shard changes its own part only, and
uses no more than what the record says; so it takes a part that is free, and gives one up only after
it has stopped using it. Shards that look whenever they are told to look end with even parts.

part         of `WHOLE`: who has a half waits twice as long between two requests to the address
generation   how often the shard has changed hands: a holder from before changes nothing any more
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

WHOLE = 1 << 20
MOST_RECORD_BYTES = 1 << 18


class AddressPart(NamedTuple):
    """What a shard has of an address; 0 if it waits for others to give some up."""

    part: int
    generation: int


AddressParts = Mapping[int, AddressPart]
"""By shard."""


class AddressRecordError(ValueError):
    """A record that no shard has written."""


def with_own(
    parts: AddressParts, shard: int, generation: int, *, is_used: bool
) -> dict[int, AddressPart]:
    """The record as this shard leaves it: with an even part of its own if so much is free, or else
    with what it has; without it, if it does not use the address.
    """
    others = {other: part for other, part in parts.items() if other != shard}
    if not is_used:
        return others
    return {**others, shard: AddressPart(_own(parts, shard), generation)}


def _own(parts: AddressParts, shard: int) -> int:
    sharing = {*parts, shard}
    even = WHOLE // len(sharing)
    free = WHOLE - sum(part.part for other, part in parts.items() if other != shard)
    has = parts[shard].part if shard in parts else 0
    return even if even <= free else has


def who_looks(parts: AddressParts, shard: int) -> list[int]:
    """The other shards that would change their parts."""
    return sorted(
        other for other, has in parts.items() if other != shard and _own(parts, other) != has.part
    )


def parts_as_bytes(parts: AddressParts) -> bytes:
    """The record as bytes."""
    return json.dumps({str(shard): list(part) for shard, part in sorted(parts.items())}).encode()


def parts_in(data: bytes, shards: int) -> dict[int, AddressPart]:
    """The record. Raises AddressRecordError if the bytes are none of so many shards."""
    if len(data) > MOST_RECORD_BYTES:
        raise AddressRecordError(f"{len(data):,} bytes are more than a record of an address has")
    try:
        found = {int(key): AddressPart(*value) for key, value in json.loads(data).items()}
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise AddressRecordError(f"these bytes are no record of an address: {error}") from error
    numbers = [number for one in found.values() for number in one]
    if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers):
        raise AddressRecordError("parts of an address are whole numbers")
    if not all(0 <= shard < shards for shard in found):
        raise AddressRecordError(f"a shard is none of {shards}")
    if sum(one.part for one in found.values()) > WHOLE:
        raise AddressRecordError("the parts of an address are more than the whole")
    return found
