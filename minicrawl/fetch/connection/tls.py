"""TLS: which certificates are trusted, and which one we show.

The authorities are those that browsers trust, or those of the environment:

SSL_CERT_FILE and SSL_CERT_DIR   name other authorities, as they do for OpenSSL: a file of
                                 certificates, and folders of them separated by colons
"""

import os
import ssl
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from minicrawl.config import Network
from minicrawl.config.values.by_host import host_and_file
from minicrawl.errors import UsageError

FILE, FOLDERS = "SSL_CERT_FILE", "SSL_CERT_DIR"


def default_tls() -> ssl.SSLContext:
    """Return a context that checks certificates and their hosts, and offers HTTP/1.1 only."""
    file, folders = os.environ.get(FILE), os.environ.get(FOLDERS)
    if not (file or folders):
        import certifi  # many crawls ask no https server, or none in this process

        file = certifi.where()
    context = ssl.create_default_context(cafile=file or None, capath=folders or None)
    context.set_alpn_protocols(["http/1.1"])
    return context


_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
HTTP1, HTTP1_AND_2 = ("http/1.1",), ("h2", "http/1.1")


class ClientPair(NamedTuple):
    """A certificate of ours and its key, which may be in the same file."""

    certificate: Path
    key: Path | None

    def load_into(self, context: ssl.SSLContext) -> None:
        """Have servers that ask see it."""
        context.load_cert_chain(self.certificate, self.key, _no_password)


EVERYWHERE = ""
"""In place of a host: what is for all hosts that have nothing of their own."""


def client_pairs(network: Network) -> dict[str, ClientPair]:
    """What we show, by host or pattern."""
    keys = dict(map(host_and_file, network.client_key))
    certificates = dict(map(host_and_file, network.client_cert))
    for host, key in keys.items():
        if host not in certificates:
            named = f"{host}=" if host else ""
            raise UsageError(f"--client-key {named}{key}: needs --client-cert {named}FILE")
    return {host: ClientPair(file, keys.get(host)) for host, file in certificates.items()}


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
        self._pairs = client_pairs(network)
        self._made: dict[tuple[bool, str | None], ssl.SSLContext] = {}

    def __call__(self, host: str) -> ssl.SSLContext:
        is_checked = not any(_covers(pattern, host) for pattern in self._unchecked_hosts)
        wanted = is_checked, self._shown_to(host) if self._pairs else None
        context = self._made.get(wanted)
        if context is None:
            context = self._made[wanted] = self._context(*wanted)
        return context

    def _shown_to(self, host: str) -> str | None:
        """For whom the certificate is that this host sees: of several, the most specific one."""
        covering = (one for one in self._pairs if one == EVERYWHERE or _covers(one, host))
        return max(covering, key=_specificity, default=None)

    def _context(self, is_checked: bool, shown: str | None) -> ssl.SSLContext:
        if is_checked:
            context = self._given or default_tls()
            # A host is one of the alternative names, as in browsers, and never the common name.
            context.hostname_checks_common_name = False
        else:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(self._alpn)
        context.minimum_version = _VERSIONS[self._network.min_tls]
        if self._network.ca is not None:
            context.load_verify_locations(self._network.ca)
        if shown is not None:
            self._pairs[shown].load_into(context)
        return context


def _specificity(pattern: str) -> tuple[bool, int]:
    is_whole = bool(pattern) and not pattern.startswith("*")
    return is_whole, len(pattern)


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
    for host, pair in client_pairs(network).items():
        _check_pair(f"{host}=" if host else "", pair)


def _check_pair(host: str, pair: ClientPair) -> None:
    certificate, key = pair
    named = f"--client-cert {host}{certificate}" + (f" --client-key {host}{key}" if key else "")
    for file in filter(None, pair):
        if not file.is_file():
            why = "not a file" if file.exists() else "No such file or directory"
            raise UsageError(f"{named}: {file}: {why}")
    try:
        pair.load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
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
