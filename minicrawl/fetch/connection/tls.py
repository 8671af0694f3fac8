"""TLS: which certificates are trusted, and which one we show.

The authorities are those that browsers trust, or those of the environment:

SSL_CERT_FILE and SSL_CERT_DIR   name other authorities, as they do for OpenSSL: a file of
                                 certificates, and folders of them separated by colons
"""

import os
import ssl
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import certifi

from minicrawl.config import Network
from minicrawl.errors import UsageError

FILE, FOLDERS = "SSL_CERT_FILE", "SSL_CERT_DIR"


def default_tls() -> ssl.SSLContext:
    """Checks certificates and their hosts; offers HTTP/1.1 only."""
    file, folders = os.environ.get(FILE), os.environ.get(FOLDERS)
    if not (file or folders):
        file = certifi.where()
    context = ssl.create_default_context(cafile=file or None, capath=folders or None)
    context.set_alpn_protocols(["http/1.1"])
    return context


_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
HTTP1, HTTP1_AND_2 = ("http/1.1",), ("h2", "http/1.1")


class TlsContexts:
    """A context for each host, as the settings want it; each is made when it is needed.

    `alpn` are the protocols that a server may choose from. A context that is `given` is for all.
    """

    def __init__(
        self,
        network: Network,
        alpn: Sequence[str] = HTTP1,
        given: ssl.SSLContext | None = None,
    ) -> None:
        self._network, self._alpn, self._given = network, list(alpn), given
        self._unchecked_hosts = [host.strip("[]").lower() for host in network.insecure]

    def __call__(self, host: str) -> ssl.SSLContext:
        if any(_covers(pattern, host) for pattern in self._unchecked_hosts):
            return self._unchecked
        return self._checked

    @cached_property
    def _checked(self) -> ssl.SSLContext:
        return self._configured(self._given or default_tls())

    @cached_property
    def _unchecked(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return self._configured(context)

    def _configured(self, context: ssl.SSLContext) -> ssl.SSLContext:
        network = self._network
        context.set_alpn_protocols(self._alpn)
        context.minimum_version = _VERSIONS[network.min_tls]
        if network.ca is not None:
            context.load_verify_locations(network.ca)
        if network.client_cert is not None:
            context.load_cert_chain(network.client_cert, network.client_key, _no_password)
        return context


def _covers(pattern: str, host: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def _no_password() -> str:
    raise _EncryptedKeyError


class _EncryptedKeyError(Exception):
    """OpenSSL would ask for the password on the terminal."""


def check_tls(network: Network) -> None:
    """Refuse files of the settings that hold no certificate, or no key for it."""
    if network.ca is not None:
        _check_file(network.ca, "--ca ")
    certificate, key = network.client_cert, network.client_key
    if certificate is None:
        if key is not None:
            raise UsageError(f"--client-key {key}: needs --client-cert")
        return
    _check_pair(certificate, key)


def _check_pair(certificate: Path, key: Path | None) -> None:
    named = f"--client-cert {certificate}" + (f" --client-key {key}" if key else "")
    for file in filter(None, (certificate, key)):
        if not file.is_file():
            why = "not a file" if file.exists() else "No such file or directory"
            raise UsageError(f"{named}: {file}: {why}")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key, _no_password)
    except _EncryptedKeyError:
        file = key or certificate
        helps = f"`openssl pkey -in {file} -out FILE` writes it without its password"
        raise UsageError(f"{named}: the key is encrypted: {helps}") from None
    except ssl.SSLError as error:
        raise UsageError(f"{named}: {_why_no_pair(error, key)}") from None
    except OSError as error:
        raise UsageError(f"{named}: {error.strerror}") from None


def _why_no_pair(error: ssl.SSLError, key: Path | None) -> str:
    if "KEY_VALUES_MISMATCH" in (error.reason or ""):
        return "the key is not that of the certificate"
    missing = "" if key else ", or it holds no key: --client-key FILE"
    return f"no certificate and key can be read{missing}"


def check_authorities(environ: Mapping[str, str] = os.environ) -> None:
    """Refuse variables that name no authorities: no certificate would be trusted."""
    if file := environ.get(FILE):
        _check_file(Path(file))
    for folder in _folders(environ.get(FOLDERS, "")):
        try:
            next(Path(folder).iterdir(), None)
        except OSError as error:
            raise _unfit(f"{FOLDERS}=", folder, str(error.strerror)) from error


def _folders(text: str) -> Iterator[str]:
    return filter(None, text.split(os.pathsep))


def _check_file(file: Path, named: str = f"{FILE}=") -> None:
    if file.exists() and not file.is_file():
        raise _unfit(named, str(file), "not a file")  # a pipe would be read once, and then no more
    try:
        ssl.create_default_context(cafile=file)
    except ssl.SSLError as error:
        raise _unfit(named, str(file), "holds no certificates that can be read") from error
    except OSError as error:
        raise _unfit(named, str(file), str(error.strerror)) from error


def _unfit(named: str, value: str, why: str) -> UsageError:
    return UsageError(f"{named}{value}: {why}")
