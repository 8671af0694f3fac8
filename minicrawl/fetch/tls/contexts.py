"""Trusted certificates and client certificates, by host.

The trusted authorities are those of browsers, unless the environment names others:

SSL_CERT_FILE, SSL_CERT_DIR   a file of certificates, and folders of them separated by colons, as
                              for OpenSSL
"""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

from minicrawl.config import Network
from minicrawl.config.values.access import host_and_file
from minicrawl.errors import UsageError

_ALPN = ["http/1.1"]
FILE, FOLDERS = "SSL_CERT_FILE", "SSL_CERT_DIR"


def default_tls() -> ssl.SSLContext:
    """Return a context that verifies certificates and host names, and offers HTTP/1.1 only."""
    file, folders = os.environ.get(FILE), os.environ.get(FOLDERS)
    if not (file or folders):
        import certifi  # deferred: many crawls, and processes, need no TLS

        file = certifi.where()
    context = ssl.create_default_context(cafile=file or None, capath=folders or None)
    context.set_alpn_protocols(_ALPN)
    return context


_OLDEST = ssl.TLSVersion.TLSv1_2
"""Oldest accepted version of TLS, as in browsers (RFC 8996)."""
_LEGACY_SERVERS = 0x4  # SSL_OP_LEGACY_SERVER_CONNECT, which Python names since 3.12
"""Option to connect, as browsers do, to servers without secure renegotiation (RFC 5746)."""

EVERYWHERE = ""
"""Key of the settings for all hosts without settings of their own."""


class TlsContexts:
    """TLS contexts by host, created on demand. A context that is `given` is used for all hosts."""

    def __init__(self, network: Network, given: ssl.SSLContext | None = None) -> None:
        self._network, self._given = network, given
        self._unchecked_hosts = [host.strip("[]").lower() for host in network.insecure]
        # Files with their keys, by host or pattern.
        self._certificates = dict(map(host_and_file, network.client_cert))
        self._made: dict[tuple[bool, str | None], ssl.SSLContext] = {}

    def __call__(self, host: str) -> ssl.SSLContext:
        is_checked = not any(covers(pattern, host) for pattern in self._unchecked_hosts)
        shown = None
        # The most specific pattern counts: the name itself, or else the longest pattern.
        for pattern in sorted(self._certificates, key=len):
            if pattern == EVERYWHERE or covers(pattern, host):
                shown = pattern
        key = is_checked, host if host in self._certificates else shown
        context = self._made.get(key)
        if context is None:
            context = self._made[key] = self._context(*key)
        return context

    def _context(self, is_checked: bool, shown: str | None) -> ssl.SSLContext:
        if is_checked:
            context = self._given or default_tls()
            # As in browsers, the host must be among the alternative names; the common name is
            # ignored.
            context.hostname_checks_common_name = False
        else:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(_ALPN)
        context.minimum_version = _OLDEST
        context.options |= _LEGACY_SERVERS
        if self._network.ca is not None:
            context.load_verify_locations(self._network.ca)
        if shown is not None:
            context.load_cert_chain(self._certificates[shown], password=_no_password)
        return context


def covers(pattern: str, host: str) -> bool:
    """Return whether a pattern, in lower case, is this host or a `*.NAME` above it."""
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def _no_password() -> str:
    raise _EncryptedKeyError


class _EncryptedKeyError(Exception):
    """Raised because OpenSSL would ask for the password on the terminal."""


def check_tls(network: Network) -> None:
    """Raise UsageError for files that hold no certificates, or a certificate without its key."""
    if network.ca is not None:
        _check_file(network.ca, "--ca ")
    for host, file in map(host_and_file, network.client_cert):
        named = f"--client-cert {host}={file}" if host else f"--client-cert {file}"
        if not file.is_file():
            why = "not a file" if file.exists() else "No such file or directory"
            raise UsageError(f"{named}: {why}")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(file, password=_no_password)
        except _EncryptedKeyError:
            helps = f"`openssl pkey -in {file} -out FILE` writes it without its password"
            raise UsageError(f"{named}: the key is encrypted: {helps}") from None
        except ssl.SSLError as error:
            why = "no certificate can be read, or it holds no key: "
            why += "`cat CERTIFICATE KEY > FILE` makes one"
            if "KEY_VALUES_MISMATCH" in (error.reason or ""):
                why = "the key is not that of the certificate"
            raise UsageError(f"{named}: {why}") from None
        except OSError as error:
            raise UsageError(f"{named}: {error.strerror}") from None


def check_authorities(environ: Mapping[str, str]) -> None:
    """Raise UsageError if authorities that the environment names cannot be read."""
    if file := environ.get(FILE):
        _check_file(Path(file))
    for folder in filter(None, environ.get(FOLDERS, "").split(os.pathsep)):
        try:
            next(Path(folder).iterdir(), None)
        except OSError as error:
            raise _unfit(f"{FOLDERS}=", folder, str(error.strerror)) from error


def _check_file(file: Path, named: str = f"{FILE}=") -> None:
    if file.exists() and not file.is_file():
        raise _unfit(named, str(file), "not a file")  # a pipe could be read only once
    try:
        ssl.create_default_context(cafile=file)
    except ssl.SSLError as error:
        raise _unfit(named, str(file), "holds no certificates that can be read") from error
    except OSError as error:
        raise _unfit(named, str(file), str(error.strerror)) from error


def _unfit(named: str, value: str, why: str) -> UsageError:
    return UsageError(f"{named}{value}: {why}")
