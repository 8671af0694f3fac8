"""Dictionaries: zstd is trained on archived pages, so that small pages compress well.

Laws: the first dictionary is trained when there are `TRAINED_AT` pages, on samples from the whole
archive, and the next whenever the archive has grown by the factor `TRAINED_AGAIN`. Each
dictionary is also copied to a file beside the segments, for workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from minicrawl.archive.index import IndexRow
from minicrawl.archive.packing import spare_path
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import pack_dictionary
from minicrawl.archive.segments import Segments, disk_errors
from minicrawl.errors import Damaged

TRAINED_AT, TRAINED_AGAIN = 400, 8
"""Pages before the first dictionary is trained, and growth factor until the next."""
_SAMPLES, _SAMPLE_BYTES = 150, 8_000
_DICTIONARY_BYTES = 112_640
_TRAINING = {"k": 1024, "d": 6, "f": 16, "accel": 8}
"""Training takes 8 ms. Twice the samples take 12 ms and make records of manuals 0.4 % smaller."""


def trained(
    archive: ArchiveReader, number: int, stays: Callable[[IndexRow], bool] = lambda _row: True
) -> bytes | None:
    """Return the record of a new dictionary, or None if there are too few samples.

    Samples are taken from the records that stay.
    """
    import zstandard

    samples: list[bytes | bytearray | memoryview] = list(_samples(archive, stays))
    with suppress(zstandard.ZstdError):
        dictionary = zstandard.train_dictionary(_DICTIONARY_BYTES, samples, **_TRAINING)
        return pack_dictionary(number, dictionary.as_bytes())
    return None


def _samples(archive: ArchiveReader, stays: Callable[[IndexRow], bool]) -> Iterator[bytes]:
    sampled = set()
    for place in archive.segments.spread(_SAMPLES):
        body = archive.index.next_body(place)
        if body is not None and body not in sampled:
            sampled.add(body)
            if not all(map(stays, archive.index.between(body, body + 1))):
                continue
            with suppress(Damaged):
                yield archive.beginning(body, _SAMPLE_BYTES)


def leave_spare(segments: Segments, number: int, record: bytes) -> None:
    """Copy a dictionary to a file of its own, for workers, which do not read segments."""
    path = spare_path(segments.folder, number)
    draft = path.with_suffix(".draft")
    with disk_errors(path):
        draft.write_bytes(record)
        draft.rename(path)
