"""Credentials for the servers: passwords, tokens, JWTs, nkeys and certificates.

Law: a file that cannot be used is refused in one line, before any server is asked; no line
contains a secret. Files are checked here because nats-py loops for ever on a file without a JWT.
"""

import ssl
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

import nkeys

from minicrawl.cluster.access import ClusterAccess
from minicrawl.errors import UsageError

_SEED_OF_USER = "SU"
_JWT, _SEED = "BEGIN NATS USER JWT", "BEGIN USER NKEY SEED"
_MOST_BYTES = 1 << 20


def authentication(settings: ClusterAccess) -> dict[str, Any]:
    """Return the options of nats-py for user, password, token or credentials.

    User and password are taken out of the URL: servers discovered later have URLs without them.
    """
    options: dict[str, Any] = {}
    for url in settings.urls:
        parts = urlsplit(url)
        if parts.username and parts.password:
            options |= {"user": unquote(parts.username), "password": unquote(parts.password)}
        elif parts.username:
            options["token"] = unquote(parts.username)
    if (creds := settings.creds) is None:
        return options
    try:
        with creds.open(encoding="ascii") as file:
            lines = [line.strip() for line in file.read(_MOST_BYTES).splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"NATS_CREDS={creds} cannot be read: {error}") from error
    first = next(filter(None, lines), "")
    is_plain = first.startswith(_SEED_OF_USER)
    seed = first if is_plain else _after(_SEED, lines)
    if not is_plain and not (_after(_JWT, lines) and seed):
        raise UsageError(
            f"NATS_CREDS={creds} has no credentials: it needs the JWT and the seed of a user, "
            "as nsc writes them, or a seed alone"
        )
    try:
        nkeys.from_seed(bytearray(seed.encode())).wipe()
    except (nkeys.NkeysError, ValueError):
        raise UsageError(f"NATS_CREDS={creds}: the seed of its user is damaged") from None
    return options | {"nkeys_seed" if is_plain else "user_credentials": str(creds)}


def _after(mark: str, lines: list[str]) -> str:
    """Return the line after the first one that contains `mark`, or an empty string."""
    next_lines = (after for line, after in pairwise(lines) if mark in line)
    return next(next_lines, "")


def encryption(settings: ClusterAccess) -> dict[str, Any]:
    """Return the options of nats-py for TLS; empty if encryption is not required."""
    if settings.key is not None and settings.cert is None:
        raise UsageError(f"NATS_KEY={settings.key} needs its NATS_CERT")
    if not settings.wants_tls:
        return {}
    try:
        context = ssl.create_default_context(cafile=settings.ca)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"the certificates in {settings.ca} cannot be read: {error}") from error
    if settings.cert is not None:
        try:
            context.load_cert_chain(settings.cert, settings.key, lambda: "")  # nobody can be asked
        except (OSError, ssl.SSLError) as error:
            raise UsageError(
                f"NATS_CERT={settings.cert} and its key cannot be used: {error}"
            ) from error
    return {"tls": context}
