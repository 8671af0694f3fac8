"""Challenges of 401 responses (RFC 9110, 11.6), and replies by digest authentication.

Digest authentication is RFC 7616: the algorithms MD5, SHA-256 and SHA-512-256, with `-sess` or
without, and quality of protection `auth` or none. The code is pure: the client nonce is an
argument.

Laws: a header that cannot be parsed is not a challenge, and parsing takes linear time.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_PART = re.compile(
    rf'[\t ,]*+(?:({_TOKEN})[\t ]*+=[\t ]*+(?:"((?:[^"\\]++|\\.)*+)"|({_TOKEN}))'
    rf"|({_TOKEN})(?:[\t ]++[!-~]*?=+(?=[\t ,]|\Z))?)",
    re.DOTALL,
)
_LONGEST = 8192
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_HASHES = {"md5": "md5", "sha-256": "sha256", "sha-512-256": "sha512_256"}
_BEST_FIRST = ("sha-512-256", "sha-256", "md5")


class Challenge(NamedTuple):
    """Authentication scheme in lower case, with its parameters by lower-case name."""

    scheme: str
    parameters: Mapping[str, str]


def challenges(header: str) -> list[Challenge]:
    fields: list[tuple[str, dict[str, str]]] = []
    at, header = 0, header[:_LONGEST]
    while part := _PART.match(header, at):
        name, quoted, plain, scheme = part.groups()
        at = part.end()
        if scheme:
            fields.append((scheme.lower(), {}))
        elif fields:
            value = _ESCAPED.sub(r"\1", quoted) if quoted is not None else plain
            fields[-1][1].setdefault(name.lower(), value)
    return [Challenge(scheme, parameters) for scheme, parameters in fields]


def basic(user: str, password: str) -> bytes:
    """Return the value of the Authorization header for basic authentication."""
    return b"Basic " + b64encode(f"{user}:{password}".encode())


class Digest(NamedTuple):
    """Digest challenge that this client can answer."""

    realm: str
    nonce: str
    algorithm: str  # as the server wrote it
    qop: str  # "auth" or ""
    opaque: str | None = None
    is_stale: bool = False

    @classmethod
    def best_of(cls, offers: list[Challenge]) -> "Digest | None":
        """Return the challenge with the strongest supported algorithm, or None."""
        digests = list[Digest]()
        for scheme, parameters in offers:
            if scheme != "digest" or "nonce" not in parameters:
                continue
            options = [option.strip().lower() for option in parameters.get("qop", "").split(",")]
            digest = cls(
                realm=parameters.get("realm", ""),
                nonce=parameters["nonce"],
                algorithm=parameters.get("algorithm", "MD5"),
                qop="auth" if "auth" in options else "",
                opaque=parameters.get("opaque"),
                is_stale=parameters.get("stale", "").lower() == "true",
            )
            # Quality of protection by `auth-int` alone is not supported.
            if digest.base in _HASHES and (digest.qop or options == [""]):
                digests.append(digest)
        return min(digests, key=lambda digest: _BEST_FIRST.index(digest.base), default=None)

    @property
    def base(self) -> str:
        """Name of the algorithm without -sess, in lower case."""
        return self.algorithm.lower().removesuffix("-sess")

    def answer(  # one argument for each part of the formula
        self, user: str, password: str, method: str, path: str, count: int, cnonce: str
    ) -> bytes:
        """Return the value of the Authorization header.

        `count` is the number of requests with this nonce, this one included.
        """
        secret = self._hash(f"{user}:{self.realm}:{password}")
        if self.algorithm.lower().endswith("-sess"):
            secret = self._hash(f"{secret}:{self.nonce}:{cnonce}")
        hashed, uses = self._hash(f"{method}:{path}"), f"{count:08x}"
        middle = f"{self.nonce}:{uses}:{cnonce}:{self.qop}" if self.qop else self.nonce
        fields = {
            "username": _quoted(user),
            "realm": _quoted(self.realm),
            "nonce": _quoted(self.nonce),
            "uri": _quoted(path),
            "response": _quoted(self._hash(f"{secret}:{middle}:{hashed}")),
            "algorithm": self.algorithm,
        }
        if self.opaque is not None:
            fields["opaque"] = _quoted(self.opaque)
        if self.qop:
            fields |= {"qop": self.qop, "nc": uses}
        if self.qop or self.algorithm.lower().endswith("-sess"):
            fields["cnonce"] = _quoted(cnonce)
        return b"Digest " + ", ".join(f"{name}={text}" for name, text in fields.items()).encode()

    def _hash(self, text: str) -> str:
        return hashlib.new(_HASHES[self.base], text.encode(), usedforsecurity=False).hexdigest()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
