"""An archive of kept pages in an object store, of headers alone: a move reads nothing else."""

import json
from hashlib import sha256
from pathlib import Path
from random import Random
from struct import Struct
from typing import NamedTuple

from minicrawl.archive.record import HEADER_BYTES, Header, with_header
from minicrawl.archive.segments import place_at
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.replica.entries import Entry, EntryKind
from minicrawl.cluster.replica.shard_log import LogWriter, mark_taken

SEGMENTS = 160
PAGE_BYTES, HEAD_BYTES = 20_000, 300
_AT = 1e9
_ROW = Struct(f"<Q{HEADER_BYTES}s")


class KeptArchive(NamedTuple):
    stubs: dict[str, str]
    end: int
    """Place after all pages."""


def kept_archive(bucket: Path, pages: int) -> KeptArchive:
    """Write the headers of so many pages into a bucket, and return what a shard's log has."""
    random, stubs = Random(1), dict[str, str]()
    for segment in range(1, SEGMENTS + 1):
        rows, size = bytearray(), 0
        for _ in range(pages // SEGMENTS):
            url, digest = random.getrandbits(62), random.randbytes(16)
            header = Header(1, 1, 1, PAGE_BYTES, HEAD_BYTES, url, _AT, digest)
            rows += _ROW.pack(place_at(segment, size), with_header(header, b""))
            size += PAGE_BYTES + HEADER_BYTES
        name = f"segment-{segment:06}"
        contents = ((f"{name}.pages", b"", size), (f"{name}.headers", bytes(rows), len(rows)))
        for file, content, length in contents:
            key = sha256(content).hexdigest()
            (bucket / key).mkdir(parents=True, exist_ok=True)
            (bucket / key / file).write_bytes(content)
            stub = {"url": bucket.as_uri(), "sha256": key, "length": length}
            stubs[f"{file}.object"] = json.dumps(stub)
    return KeptArchive(stubs, place_at(SEGMENTS + 1, 0))


async def name_in_log(engine: ClusterEngine, shard: int, archive: KeptArchive) -> None:
    """Append to the shard's log of kept pages that all of the archive was moved."""
    log = LogWriter(engine.pages, shard, await mark_taken(engine.pages, shard))
    await log.append(Entry(EntryKind.MOVED, archive.end, json.dumps(archive.stubs).encode()))
