"""Digests: by which bodies are known, so that a body is kept once.

Laws: bodies with one digest are one body. Two bodies may share hash and length, by chance or
because somebody made them so: then their numbers differ, and only the bodies themselves decide.

hash      the one by which crawls tell contents apart: a body is hashed once, as a hash of its own
          for the archive would take a fifth of the time that it takes to pack it
digest    the hash, the length, and a number
"""

from enum import IntEnum
from hashlib import blake2b, sha256

HASH_BYTES = 8
_LENGTH_BYTES, _NUMBER_BYTES = 6, 2
_NUMBER_OFFSET = HASH_BYTES + _LENGTH_BYTES
DIGEST_BYTES = _NUMBER_OFFSET + _NUMBER_BYTES


class DigestKind(IntEnum):
    """How a digest was made. The numbers are in archives."""

    SHA256 = 0  # half of it: as archives were written at first
    CONTENT = 1


def digest_of(body: bytes, content: int | None = None) -> bytes:
    """The first digest of a body; `content` is its hash, if that is known."""
    if content is None:
        code = blake2b(body, digest_size=HASH_BYTES).digest()
    else:
        code = content.to_bytes(HASH_BYTES, "little", signed=True)
    return code + len(body).to_bytes(_LENGTH_BYTES + _NUMBER_BYTES, "little")


EMPTY = digest_of(b"")
"""The digest of a body without bytes."""


def next_digest(digest: bytes) -> bytes:
    """For another body with the same hash and length."""
    number = int.from_bytes(digest[_NUMBER_OFFSET:], "little") + 1
    return digest[:_NUMBER_OFFSET] + number.to_bytes(_NUMBER_BYTES, "little")


class BodyHasher:
    """Takes a body piece by piece, to compare it with a digest of a kind."""

    def __init__(self, kind: int) -> None:
        self._is_content = kind != DigestKind.SHA256
        self._hash = blake2b(digest_size=HASH_BYTES) if self._is_content else sha256()
        self._length = 0

    def add(self, piece: bytes) -> None:
        """The next bytes of the body."""
        self._hash.update(piece)
        self._length += len(piece)

    def has_made(self, digest: bytes) -> bool:
        """Whether this may be the digest of all that came."""
        code = self._hash.digest()
        if not self._is_content:
            return digest == code[:DIGEST_BYTES]
        return digest[:_NUMBER_OFFSET] == code + self._length.to_bytes(_LENGTH_BYTES, "little")
