"""Readers of the messages of a cluster: batches, facts, records, entries of logs.

Law: a reader refuses a foreign message with the error that it declares. A message that it accepts
does no harm where it is used: nothing else is raised, and every sum stays finite.
"""

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import zstandard

from minicrawl.cluster import records
from minicrawl.cluster.cash_threshold import TELL_S, cash_threshold, pages_to_admit
from minicrawl.cluster.channels.batches import MOST_TRANSFERS, TransferBatch
from minicrawl.cluster.conclusions import fetched_together, gathered_together, has_ended
from minicrawl.cluster.engine import EngineError
from minicrawl.cluster.node.crawl_state import CrawlState
from minicrawl.cluster.node.leases import ClusterView, plan
from minicrawl.cluster.overview import ClusterWatch
from minicrawl.cluster.records import (
    WHOLE,
    AddressPart,
    AddressRecord,
    KeyEntry,
    Record,
    RecordError,
    ShardFacts,
    SnapshotRecord,
    Transfer,
)
from minicrawl.cluster.replica.entries import (
    PIECE_BYTES,
    Entry,
    EntryKind,
    pack,
    unpack,
)
from minicrawl.cluster.replica.restoring import Folding
from minicrawl.cluster.shared_settings import TermsRecord
from minicrawl.cluster.traffic.address_parts import shards_to_notify, with_own_part
from minicrawl.cluster.traffic.pots import levelling_transfers
from minicrawl.errors import UsageError
from minicrawl.json_values import to_json
from tests.cluster.fake_engine import FakeEngine
from tests.proofs.fuzz.mutation import mutated

SHARDS = 4
_HOSTILE: list[Any] = [
    *(None, True, -1, 0, 10**30, -(10**30), 1 << 63, 1e308, float("inf"), float("nan"), 0.5),
    *("", "x" * 3000, "\ud800", "9" * 40, "-1", "\u0661", [], {}, [[]], {"a": {}}, [1, 2, 3]),
]
_KEYS = ("1", "01", "-1", "99999999999", "a", "", "\u0661", "9" * 5000)


def _broken(value: Any, random: Random) -> Any:
    """Return the value with a hostile part."""
    if random.random() < 0.2:
        return random.choice(_HOSTILE)
    if isinstance(value, dict):
        return _broken_table(dict(value), random)
    if isinstance(value, list) and value:
        place = random.randrange(len(value))
        return [*value[:place], _broken(value[place], random), *value[place + 1 :]]
    return random.choice(_HOSTILE)


def _broken_table(table: dict[str, Any], random: Random) -> dict[str, Any]:
    if not table or random.random() < 0.2:
        return {**table, random.choice(_KEYS): random.choice(_HOSTILE)}
    key = random.choice(sorted(table))
    match random.randrange(4):
        case 0:
            del table[key]
        case 1:
            table[random.choice(_KEYS)] = table.pop(key)
        case _:
            table[key] = _broken(table[key], random)
    return table


def _hostile(seeds: list[bytes], body: bytes, random: Random) -> bytes:
    """Return the body itself, a mutated seed, or the JSON of a seed with hostile values."""
    match random.randrange(4):
        case 0:
            return body
        case 1:
            return mutated(seeds, random)
        case _:
            found = json.loads(random.choice(seeds))
            for _ in range(random.randrange(1, 4)):
                found = _broken(found, random)
            return json.dumps(found).encode()


FACTS = ShardFacts(*(1, 10, 2, 5, 1, 7, 4), sketch={60: 3, 61: 2}, sent={0: 3}, received={2: 5})
_TRANSFERS = [Transfer("http://a.example/", 5), Transfer("http://b/", 0, 3, 1)]
BATCHES = [TransferBatch(0, 1, 1, _TRANSFERS).pack(), TransferBatch(2, 3, 9, [], 7).pack()]
ENTIRE = [FACTS.pack(), ShardFacts(2, is_idle=True).pack()]
SHARED = [
    AddressRecord(parts={1: AddressPart(WHOLE, 3)}).pack(),
    AddressRecord(parts={0: AddressPart(9, 1)}).pack(),
]


def read_batch(body: bytes, random: Random) -> None:
    try:
        batch = TransferBatch.unpack("a batch", _hostile(BATCHES, body, random))
    except RecordError:
        return
    assert TransferBatch.unpack("a batch", batch.pack()) == batch
    assert len(batch.transfers) <= MOST_TRANSFERS
    assert all(0 <= transfer.atoms < 1 << 80 for transfer in batch.transfers)
    assert 0 <= batch.to_pot < 1 << 80


def read_facts(body: bytes, random: Random) -> None:
    """Read facts, and use them as shards do: threshold, transfers of pots, end of the crawl."""
    try:
        facts = ShardFacts.unpack("told", _hostile(ENTIRE, body, random))
    except RecordError:
        return
    facts_of = {facts.shard: facts, 0: ShardFacts(0, pot=5, waiting=2)}
    admitted = pages_to_admit(facts_of.values(), TELL_S)
    np.int64(cash_threshold([one.sketch for one in facts_of.values()], admitted))
    sent = levelling_transfers(0, facts_of)
    assert 0 <= sum(sent.values()) <= 5
    assert has_ended(facts_of, SHARDS) is False
    assert fetched_together(facts_of) >= 0
    assert 0 <= gathered_together(facts_of, SHARDS) <= 1


def read_parts(body: bytes, random: Random) -> None:
    try:
        parts = AddressRecord.unpack("address.a", _hostile(SHARED, body, random)).parts
    except RecordError:
        return
    after = with_own_part(parts, 1, 4, is_used=True)
    assert sum(one.part for one in after.values()) <= WHOLE
    assert set(shards_to_notify(after, 1)) <= set(after)


_TERMS = TermsRecord(
    id="a", format=1, schema=1, version="1", shards=SHARDS, settings={"pages": 9}, seeds="s"
)
_NODE = records.NodeRecord(
    session="s", beat=1, version="1", machine="m", room=4, workers=0, disk_free=9
)
RECORDS: dict[str, Record] = {
    "node.a": _NODE,
    "lease.1": records.LeaseRecord(node="a", session="s", generation=2),
    records.STATE_KEY: records.StateRecord(doing="running", run=1, reason=""),
    records.GRANTS_KEY: records.GrantsRecord(entry=1, granted={1: 20}, generations={1: 2}),
    records.TERMS_KEY: _TERMS,
}


def read_keys(body: bytes, random: Random) -> None:
    """Read keys as nodes and the overview of a cluster do."""
    state, view, seen = (
        CrawlState(FakeEngine(), _TERMS),
        ClusterView(SHARDS),
        ClusterWatch(FakeEngine()),
    )
    for revision, (key, record) in enumerate(RECORDS.items(), 2):
        packed = record.pack()
        content = _hostile([packed], body, random) if random.random() < 0.5 else packed
        entry = KeyEntry(key, content, revision)
        seen.hear(entry, 1.0)
        with suppress(RecordError):
            _hear(state, view, entry)
    key = f"{records.TOLD_PREFIX}1"
    state.hear(KeyEntry(key, _hostile(ENTIRE, body, random), 90))
    plan(view, ("a", "s"), [1], 3.0)
    state.orders(1, 2)
    assert state.end in ("", "budget spent")
    try:
        json.dumps(to_json(seen.status(1.0)))
    except UsageError:
        return


def _hear(state: CrawlState, view: ClusterView, entry: KeyEntry) -> None:
    if not view.hear(entry, 1.0):
        state.hear(entry)


_PIECE = zstandard.ZstdCompressor().compress(b"a page of a store" * 99)
ENTRIES = [
    pack(Entry(EntryKind.FIRST, 0, _PIECE)),
    pack(Entry(EntryKind.TAKEN)),
]


def read_entry(body: bytes, random: Random) -> None:
    """Read an entry of a log, sometimes a forged one with a valid checksum."""
    packed = random.choice((body, mutated(ENTRIES, random)))
    with suppress(EngineError), TemporaryDirectory() as folder:
        if random.random() < 0.7:
            kind = random.choice((EntryKind.FIRST, EntryKind.MORE))
            packed = pack(Entry(kind, random.choice((0, len(body))), packed[14:]))
        path = Path(folder) / "crawl.db"
        Folding(path).add(unpack(packed), 1)
        assert sum(file.stat().st_size for file in path.parent.iterdir()) <= PIECE_BYTES


def read_snapshots(body: bytes, random: Random) -> None:
    named = SnapshotRecord(object="shard-1-7-a", entry=7, size=4096).pack()
    try:
        found = SnapshotRecord.unpack("of a snapshot", _hostile([named], body, random))
    except RecordError:
        return
    assert min(found.entry, found.size) >= 0


WIRE_READERS = {
    "batches": read_batch,
    "facts": read_facts,
    "parts of addresses": read_parts,
    "keys": read_keys,
    "entries of logs": read_entry,
    "names of snapshots": read_snapshots,
}
