"""Digests of bodies: equal bodies are kept once, and different ones never confused."""

from contextlib import closing
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Self

import pytest

from minicrawl.archive import record as digest
from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.archive.record import (
    DigestKind,
    RecordKind,
    digest_of,
    header_of,
    with_digest_of,
)
from minicrawl.archive.segments import Segments, offset_of
from minicrawl.archive.writer import ArchiveWriter, PruneRules, Pruning
from minicrawl.web.html_page import content_hash
from tests.archive.archives import NOON, bodies, confirmed, kept, url, written

BODIES = [f"page {number}".encode() for number in range(4)]
"""Bodies of equal length."""


class CollidingHash:
    """Hash that is equal for all bodies, but not for URLs."""

    def __init__(self, content: bytes = b"", digest_size: int = 0) -> None:
        is_url = content.startswith(b"http")
        self._digest = blake2b(content, digest_size=digest_size).digest() if is_url else bytes(8)

    def update(self, _piece: bytes) -> None:
        """Ignore more content, so that digests collide."""

    def digest(self) -> bytes:
        return self._digest

    def copy(self) -> Self:
        return self


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db-pages"


def kinds(reader: ArchiveReader) -> list[int]:
    return [row.kind for row in reader.index.rows(reader.end)]


def test_a_digest_can_be_made_from_the_content_hash_of_the_crawl() -> None:
    for body in (*BODIES, b""):
        assert digest_of(body, content_hash(body)) == digest_of(body)


def test_bodies_with_equal_hashes_are_kept_apart(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest, "blake2b", CollidingHash)
    first = [kept(url(number), body, NOON) for number, body in enumerate(BODIES)]
    again = [kept(url(number), body, NOON + 1) for number, body in enumerate(BODIES)]
    unchanged = [confirmed(url(number), NOON + 2) for number in range(4)]
    end = written(folder, first, again[::-1], unchanged)
    with closing(ArchiveReader(folder, end)) as reader:
        assert kinds(reader) == [RecordKind.PAGE] * 4 + [RecordKind.REVISIT] * 8
        assert bodies(reader) == {url(number): [body] * 3 for number, body in enumerate(BODIES)}
        assert list(verify(reader)) == []


def test_a_body_is_kept_again_if_its_only_record_is_damaged(folder: Path) -> None:
    end = written(folder, [kept(url(1), BODIES[1])])
    content = bytearray(Segments(folder).path(1).read_bytes())
    content[offset_of(end) - 1] ^= 1
    Segments(folder).path(1).write_bytes(content)
    with closing(ArchiveWriter(folder, end)) as archive:
        archive.append([kept(url(2), BODIES[1])])
        archive.confirm()
        archive.append([kept(url(3), BODIES[1])])
        archive.confirm()
        archive.reader.go_on_to(archive.end)
        found = [archive.reader.versions(url(number))[-1] for number in (2, 3)]
        assert [row.kind for row in found] == [RecordKind.PAGE, RecordKind.REVISIT]
        assert [archive.reader.answer(row.place).body for row in found] == [BODIES[1]] * 2


def test_archives_with_sha_256_digests_are_read_verified_and_pruned(folder: Path) -> None:
    first, own = kept(url(1), BODIES[1]), sha256(BODIES[1]).digest()[:16]
    old = header_of(first.record)._replace(digest_kind=DigestKind.SHA256, digest=own)
    answer = first._replace(record=with_digest_of(first.record, old))
    end = written(folder, [answer], [confirmed(url(1), NOON + 1)])
    with closing(ArchiveWriter(folder, end)) as archive:
        archive.reader.go_on_to(end)
        assert list(verify(archive.reader)) == []
        assert bodies(archive.reader) == {url(1): [BODIES[1]] * 2}
        archive.prune(Pruning(archive.reader, PruneRules(before=NOON + 1)).keeps)
        archive.confirm()
        archive.reader.go_on_to(archive.end)
        assert list(verify(archive.reader)) == []
        assert bodies(archive.reader) == {url(1): [BODIES[1]]}
