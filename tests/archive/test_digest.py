"""Digests of bodies: equal bodies are kept once, and different ones never confused."""

from contextlib import closing
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Self

import pytest

from minicrawl.archive import record
from minicrawl.archive.joining import JoinedArchive
from minicrawl.archive.pruning import PruneRules, Pruning
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import DigestKind, RecordKind, digest_of, header_of, with_digest_of
from minicrawl.archive.segments import Segments
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.web.html.hashes import content_hash
from tests.archive.archives import NOON, confirmed, damage, kept, kinds, read, url, written

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
def collisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "blake2b", CollidingHash)


def test_a_digest_can_be_made_from_the_content_hash_of_the_crawl() -> None:
    for body in (*BODIES, b""):
        assert digest_of(body, content_hash(body)) == digest_of(body)


@pytest.mark.usefixtures("collisions")
def test_bodies_with_equal_hashes_are_kept_apart(folder: Path) -> None:
    first = [kept(url(number), body, NOON) for number, body in enumerate(BODIES)]
    again = [kept(url(number), body, NOON + 1) for number, body in enumerate(BODIES)]
    unchanged = [confirmed(url(number), NOON + 2) for number in range(4)]
    written(folder, first, again[::-1], unchanged)
    assert kinds(folder) == [RecordKind.PAGE] * 4 + [RecordKind.REVISIT] * 8
    assert read(folder) == {url(number): [body] * 3 for number, body in enumerate(BODIES)}


@pytest.mark.usefixtures("collisions")
def test_bodies_with_equal_digests_keep_their_own_revisits_when_joined(folder: Path) -> None:
    with closing(JoinedArchive(folder)) as joined:
        for number, body in enumerate(BODIES):
            source = folder.with_name(str(number))
            end = written(source, [kept(url(number), body)], [kept(url(number), body, NOON + 1)])
            joined.add(str(number), Segments(source), end)
    assert kinds(folder).count(RecordKind.REVISIT) == len(BODIES)
    assert read(folder) == {url(number): [body] * 2 for number, body in enumerate(BODIES)}


def test_a_body_is_kept_again_if_its_only_record_is_damaged(folder: Path) -> None:
    end = written(folder, [kept(url(1), BODIES[1])])
    damage(folder, end - 1)
    end = written(folder, [kept(url(2), BODIES[1])], [kept(url(3), BODIES[1])], begin=end)
    with closing(ArchiveReader(folder, end)) as reader:
        found = [reader.versions(url(number))[-1] for number in (2, 3)]
        assert [row.kind for row in found] == [RecordKind.PAGE, RecordKind.REVISIT]
        assert [reader.answer(row.place).body for row in found] == [BODIES[1]] * 2


def test_archives_with_sha_256_digests_are_read_verified_and_pruned(folder: Path) -> None:
    first, own = kept(url(1), BODIES[1]), sha256(BODIES[1]).digest()[:16]
    old = header_of(first.record)._replace(digest_kind=DigestKind.SHA256, digest=own)
    answer = first._replace(record=with_digest_of(first.record, old))
    end = written(folder, [answer], [confirmed(url(1), NOON + 1)])
    assert read(folder) == {url(1): [BODIES[1]] * 2}
    with closing(ArchiveWriter(folder, end)) as archive:
        archive.prune(Pruning(archive.reader, PruneRules(before=NOON + 1)).keeps)
        archive.confirm()
    assert read(folder, archive.end) == {url(1): [BODIES[1]]}
