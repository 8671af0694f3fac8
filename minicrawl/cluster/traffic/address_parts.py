"""Division of an address's request rate among shards. No I/O.

An address that serves hosts of several shards has one record, which all of them read and change.

Laws: the parts of an address never exceed the whole. A shard changes only its own part, and never
uses more than the record says: it takes a part only if that is free, and gives one up in the
record after it has stopped using it. If every shard looks when told to, the parts end up even.

part        share of the rate in 1 / `WHOLE`: a shard with half waits twice as long
generation  how often the shard has changed hands; an earlier holder can change nothing
"""

from collections.abc import Mapping

from minicrawl.cluster.records import WHOLE, AddressPart

AddressParts = Mapping[int, AddressPart]
"""Parts of one address, by shard."""
NO_PARTS: AddressParts = {}


def with_own_part(
    parts: AddressParts, shard: int, generation: int, *, is_used: bool
) -> dict[int, AddressPart]:
    """Return the record with this shard's new part.

    The shard takes an even part if that is free, and else keeps the part that it has. A shard that
    does not use the address is removed.
    """
    foreign = {other: part for other, part in parts.items() if other != shard}
    if not is_used:
        return foreign
    return {**foreign, shard: AddressPart(_new_part(parts, shard), generation)}


def _new_part(parts: AddressParts, shard: int) -> int:
    sharing = {*parts, shard}
    even = WHOLE // len(sharing)
    free = WHOLE - sum(part.part for other, part in parts.items() if other != shard)
    has = parts[shard].part if shard in parts else 0
    # The even part may still be in use by others: until they have given it up, the shard keeps
    # what it has.
    return even if even <= free else has


def shards_to_notify(parts: AddressParts, shard: int) -> list[int]:
    """Return the other shards that would change their parts."""
    return sorted(
        other
        for other, has in parts.items()
        if other != shard and _new_part(parts, other) != has.part
    )
