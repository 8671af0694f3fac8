"""Dictionaries: what zstd knows of pages before it has seen one.

Laws: a dictionary is trained on pages from all over the archive, when there are enough of them, and
again when there are eight times as many. A copy of each lies beside the segments, for workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from minicrawl.archive.packing import spare_path
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import pack_dictionary
from minicrawl.archive.segments import Segments, disk_errors
from minicrawl.errors import Damaged

TRAINED_AT, TRAINED_AGAIN = 400, 8
"""Pages in the archive when the first dictionary is trained, and the factor to the next time."""
_SAMPLES, _SAMPLE_BYTES = 150, 8_000
_DICTIONARY_BYTES = 112_640
_TRAINING = {"k": 1024, "d": 6, "f": 16, "accel": 8}
"""With the samples 8 ms. Twice as many take 12 ms, and make records of manuals .4 % smaller."""


def trained(archive: ArchiveReader, number: int) -> bytes | None:
    """The record of a new dictionary; None if there is too little to learn from."""
    import zstandard

    samples: list[bytes | bytearray | memoryview] = list(_samples(archive))
    with suppress(zstandard.ZstdError):
        found = zstandard.train_dictionary(_DICTIONARY_BYTES, samples, **_TRAINING)
        return pack_dictionary(number, found.as_bytes())
    return None


def _samples(archive: ArchiveReader) -> Iterator[bytes]:
    seen = set()
    for place in archive.segments.spread(_SAMPLES):
        found = archive.index.next_body(place)
        if found is not None and found not in seen:
            seen.add(found)
            with suppress(Damaged):
                yield archive.beginning(found, _SAMPLE_BYTES)


def leave_spare(segments: Segments, number: int, record: bytes) -> None:
    """For workers, which read no segments."""
    path = spare_path(segments.folder, number)
    draft = path.with_suffix(".draft")
    with disk_errors(path):
        draft.write_bytes(record)
        draft.rename(path)
