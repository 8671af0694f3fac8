"""Good and bad certificates for servers, made on demand."""

import ssl
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import trustme

_DAY = timedelta(days=1)


class Certificates:
    """Certificate authority that the crawl trusts, and certificates of servers."""

    def __init__(self) -> None:
        self.authority = trustme.CA()

    def context(self, kind: str, host: str) -> ssl.SSLContext:
        """Return the TLS context of a server at this host, with a certificate of this kind."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._certificate(kind, host)(context)
        if kind == "old":
            _use_an_old_protocol(context)
        if kind == "client certificate":
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _certificate(self, kind: str, host: str) -> Callable[[ssl.SSLContext], None]:
        now = datetime.now(UTC)
        match kind:
            case "expired":
                leaf = self.authority.issue_cert(host, not_after=now - _DAY)
            case "early":
                leaf = self.authority.issue_cert(host, not_before=now + _DAY)
            case "other host":
                leaf = self.authority.issue_cert("somebody-else.example")
            case "unknown":
                leaf = trustme.CA().issue_cert(host)
            case "self-signed":
                return _signed_by_itself
            case _:
                leaf = self.authority.issue_cert(host)
        return leaf.configure_cert


def _signed_by_itself(context: ssl.SSLContext) -> None:
    authority = trustme.CA()
    with authority.cert_pem.tempfile() as certificate, authority.private_key_pem.tempfile() as key:
        context.load_cert_chain(certificate, key)


def _use_an_old_protocol(context: ssl.SSLContext) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
