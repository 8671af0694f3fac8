"""The TLS context: trusts the authorities that browsers trust, or those of the environment.

SSL_CERT_FILE and SSL_CERT_DIR   name other authorities, as they do for OpenSSL: a file of
                                 certificates, and folders of them separated by colons
"""

import os
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

import certifi

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


def check_authorities(environ: Mapping[str, str] = os.environ) -> None:
    """Refuse variables that name no authorities: no certificate would be trusted."""
    if file := environ.get(FILE):
        _check_file(Path(file))
    for folder in _folders(environ.get(FOLDERS, "")):
        try:
            next(Path(folder).iterdir(), None)
        except OSError as error:
            raise _unfit(FOLDERS, folder, str(error.strerror)) from error


def _folders(text: str) -> Iterator[str]:
    return filter(None, text.split(os.pathsep))


def _check_file(file: Path) -> None:
    if file.exists() and not file.is_file():
        raise _unfit(FILE, str(file), "not a file")  # a pipe would be read once, and then no more
    try:
        ssl.create_default_context(cafile=file)
    except ssl.SSLError as error:
        raise _unfit(FILE, str(file), "holds no certificates that can be read") from error
    except OSError as error:
        raise _unfit(FILE, str(file), str(error.strerror)) from error


def _unfit(variable: str, value: str, why: str) -> UsageError:
    return UsageError(f"{variable}={value}: {why}")
