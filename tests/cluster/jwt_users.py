"""Operators, accounts and users of NATS as `nsc` creates them: JWTs signed with nkeys."""

import base64
import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import nkeys

_UNLIMITED = {
    **dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1),
    **dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1),
    "wildcards": True,
}


class Identity(NamedTuple):
    """A key pair: its seed, and its public key, which is its name."""

    seed: bytes
    public: str

    def signed(self, subject: str, claims: dict[str, Any], *, valid_s: int | None = None) -> str:
        now = int(time.time())
        body = {"iat": now, "iss": self.public, "name": "n", "sub": subject, "nats": claims}
        if valid_s is not None:
            body["exp"] = now + valid_s
        parts = ".".join(_encoded(json.dumps(one).encode()) for one in (_HEADER, body))
        return f"{parts}.{_encoded(nkeys.from_seed(bytearray(self.seed)).sign(parts.encode()))}"


_HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}


def identity(kind: int) -> Identity:
    seed = bytes(nkeys.encode_seed(os.urandom(32), kind))
    return Identity(seed, bytes(nkeys.from_seed(bytearray(seed)).public_key).decode())


class SignedUsers:
    """An operator, its system account, and an account whose users may crawl."""

    def __init__(self) -> None:
        self._operator = identity(nkeys.PREFIX_BYTE_OPERATOR)
        self._system, self._account = (identity(nkeys.PREFIX_BYTE_ACCOUNT) for _ in range(2))

    @property
    def config(self) -> str:
        """Configuration of a server that trusts the operator."""
        operator = self._operator
        trusted = operator.signed(operator.public, {"type": "operator", "version": 2})
        claims = {"type": "account", "version": 2, "limits": _UNLIMITED}
        plain = {**claims, "limits": {**_UNLIMITED, "mem_storage": 0, "disk_storage": 0}}
        accounts = [(self._system.public, plain), (self._account.public, claims)]
        known = "".join(f"{name}: {operator.signed(name, what)}\n" for name, what in accounts)
        return (
            f"operator: {trusted}\nsystem_account: {self._system.public}\n"
            f"resolver: MEMORY\nresolver_preload: {{\n{known}}}"
        )

    def write_creds(self, file: Path, *, valid_s: int | None = None) -> Path:
        """Write the credentials of a new user as `nsc` does, and return the file."""
        user = identity(nkeys.PREFIX_BYTE_USER)
        limits = {"subs": -1, "data": -1, "payload": -1}
        claims = {"type": "user", "version": 2, **limits}
        jwt = self._account.signed(user.public, claims, valid_s=valid_s)
        file.write_text(
            f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
            "************************* IMPORTANT *************************\n"
            f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n"
            "------END USER NKEY SEED------\n",
            encoding="ascii",
        )
        return file


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
