"""Records of addresses in the engine's keys, read and changed by the holders of shards.

Laws: a record changes only by compare-and-set on its revision. A broadcast tells a shard to examine
an address. It may be lost, so shards examine shared addresses from time to time unasked.
"""

from collections.abc import Callable, Iterable
from urllib.parse import quote

from minicrawl.cluster.assignment import AddressParts
from minicrawl.cluster.engine import ClusterEngine, KeyTaken
from minicrawl.cluster.node.following import listen, until_answered
from minicrawl.cluster.records import AddressRecord, KeyEntry, RecordError
from minicrawl.opic.ledger.channels import ShardPlace

ADDRESS_PREFIX, LOOK_PREFIX = "address.", "look."
_LONGEST_NAME = 64


class AddressRecords:
    """Parts of addresses, as the holder of a shard reads and changes them. Calls are retried."""

    def __init__(self, engine: ClusterEngine, place: ShardPlace, generation: int) -> None:
        self._engine, self._place, self.generation = engine, place, generation

    async def read(self, address: str) -> tuple[AddressParts, int]:
        """Return the parts and the revision of the record, or revision 0 if there is none."""
        entry = await until_answered(lambda: self._engine.get(_key(address)))
        if entry is None or (record := AddressRecord.of(entry)) is None:
            return {}, 0
        if (last := max(record.parts, default=0)) >= self._place.of:
            raise RecordError(f"the cluster's key {entry.key} names shard {last}")
        return record.parts, entry.revision

    async def write(self, address: str, parts: AddressParts, revision: int) -> bool:
        """Change the record if this is its revision. Return False if it is not."""
        content = AddressRecord(parts=parts).pack()
        try:
            await until_answered(lambda: self._engine.update(_key(address), content, revision))
        except KeyTaken:
            return False
        return True

    async def notify(self, address: str, shards: Iterable[int]) -> None:
        """Tell the current holders of these shards to examine the address."""
        for shard in shards:
            await self._engine.broadcast(f"{LOOK_PREFIX}{shard}.at", address.encode())

    async def listen(self, hear: Callable[[str], None]) -> None:
        """Call `hear` with each address that the shard is told to examine, for ever."""

        def hear_name(told: KeyEntry) -> None:
            name = (told.value or b"").decode(errors="replace")
            if len(name) <= _LONGEST_NAME:
                hear(name)

        await listen(self._engine, f"{LOOK_PREFIX}{self._place.number}.", hear_name)


def _key(address: str) -> str:
    return f"{ADDRESS_PREFIX}{quote(address, safe=':')}"
