"""Body digests: they identify equal bodies, so that each body is stored once.

Laws: bodies with the same digest are the same body. Two bodies may share hash and length, by
chance or by an attacker's design; they then get different numbers, and only comparing the bodies
themselves decides which number applies.

hash      the content hash that the crawl computes anyway; a second hash just for the archive
          would make the packing of a body a fifth slower
digest    the hash, the length and a number
"""

from __future__ import annotations

from enum import IntEnum
from hashlib import blake2b, sha256

HASH_BYTES = 8
_LENGTH_BYTES, _NUMBER_BYTES = 6, 2
NUMBER_OFFSET = HASH_BYTES + _LENGTH_BYTES
DIGEST_BYTES = NUMBER_OFFSET + _NUMBER_BYTES


class DigestKind(IntEnum):
    """Algorithm of a digest. The values are stored in archives and must not change."""

    SHA256 = 0  # the first half of a SHA-256; only the oldest archives have it
    CONTENT = 1


def digest_of(body: bytes, content: int | None = None) -> bytes:
    """Return the digest with number 0 of a body. `content` is its hash, if already known."""
    if content is None:
        code = blake2b(body, digest_size=HASH_BYTES).digest()
    else:
        code = content.to_bytes(HASH_BYTES, "little", signed=True)
    return code + len(body).to_bytes(_LENGTH_BYTES + _NUMBER_BYTES, "little")


EMPTY = digest_of(b"")
"""Digest of the empty body."""


def next_digest(digest: bytes) -> bytes:
    """Return the digest with the next number, for another body with the same hash and length."""
    number = int.from_bytes(digest[NUMBER_OFFSET:], "little") + 1
    return digest[:NUMBER_OFFSET] + number.to_bytes(_NUMBER_BYTES, "little")


class BodyHasher:
    """Incremental hash of a body, for comparison with a digest of the given kind."""

    def __init__(self, kind: int) -> None:
        self._is_content = kind != DigestKind.SHA256
        self._hash = blake2b(digest_size=HASH_BYTES) if self._is_content else sha256()
        self._length = 0

    def add(self, piece: bytes) -> None:
        """Feed the next bytes of the body."""
        self._hash.update(piece)
        self._length += len(piece)

    @property
    def made(self) -> bytes:
        """Digest with number 0 of the bytes fed so far."""
        return self._hash.digest() + self._length.to_bytes(_LENGTH_BYTES + _NUMBER_BYTES, "little")

    def has_made(self, digest: bytes) -> bool:
        """Return True if `digest`, apart from its number, fits the bytes fed so far."""
        code = self._hash.digest()
        if not self._is_content:
            return digest == code[:DIGEST_BYTES]
        return digest[:NUMBER_OFFSET] == code + self._length.to_bytes(_LENGTH_BYTES, "little")
