"""What settings and servers say of certificates, and what users are told of it."""

import asyncio
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from minicrawl.config import Network, Politeness
from minicrawl.errors import UsageError
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.tls import HTTP1_AND_2, TlsContexts, check_tls
from minicrawl.model import Failed, FailureKind, FetchResult, Request, Response
from tests.fetch.wire import answer, wire
from tests.hostile.certificates import Certificates

HOST = "a.example"


def ask(served: ssl.SSLContext, network: Network) -> FetchResult:
    async def meeting() -> FetchResult:
        async with wire(answer(b"<html>"), tls=served) as server:
            rules = Network(resolve=(f"{HOST}=127.0.0.1:{server.port}",)).resolve
            fields = {name: getattr(network, name) for name in network.__slots__}
            asked = Network(**{**fields, "resolve": rules})
            async with HttpFetcher(asked, Politeness()) as asker:
                return await asker.fetch(Request(url=f"https://{HOST}/"))

    return asyncio.run(meeting())


@pytest.fixture
def authority(tmp_path: Path) -> tuple[Certificates, Path]:
    certificates, file = Certificates(), tmp_path / "authority.pem"
    certificates.authority.cert_pem.write_to_path(str(file))
    return certificates, file


def test_an_authority_of_a_file_is_trusted_beside_the_others(
    authority: tuple[Certificates, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates, file = authority
    other, usual = Certificates(), tmp_path / "usual.pem"
    other.authority.cert_pem.write_to_path(str(usual))
    monkeypatch.setenv("SSL_CERT_FILE", str(usual))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    for each in (certificates, other):
        assert isinstance(ask(each.shown("", HOST), Network(ca=file)), Response)
    assert len(TlsContexts(Network(ca=file))(HOST).get_ca_certs()) == 2


@pytest.mark.parametrize(
    ("kind", "why", "helps"),
    [
        ("expired", "the certificate has expired", "--insecure HOST"),
        ("early", "the certificate is not valid yet", "--insecure HOST"),
        ("other host", "the certificate is for other hosts", "--insecure HOST"),
        ("unknown", "is not trusted", "--ca FILE"),
        ("self-signed", "the certificate is self-signed", "--ca FILE"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_said_and_what_helps(
    kind: str, why: str, helps: str, authority: tuple[Certificates, Path]
) -> None:
    certificates, file = authority
    failed = ask(certificates.shown(kind, HOST), Network(ca=file))
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.TLS
    assert why in failed.detail
    assert helps in failed.detail


@pytest.mark.parametrize("pattern", [HOST, "*.example"])
@pytest.mark.parametrize("kind", ["expired", "other host", "unknown", "self-signed"])
def test_a_host_may_be_asked_without_a_look_at_its_certificate(
    pattern: str, kind: str, authority: tuple[Certificates, Path]
) -> None:
    certificates, _ = authority
    shown = certificates.shown(kind, HOST)
    assert isinstance(ask(shown, Network(insecure=(pattern,))), Response)
    assert isinstance(ask(shown, Network(insecure=("b.example", "*.a.example"))), Failed)


def test_a_server_that_asks_gets_our_certificate(
    authority: tuple[Certificates, Path], tmp_path: Path
) -> None:
    certificates, file = authority
    ours = certificates.authority.issue_cert("us.example")
    both = tmp_path / "both"
    ours.private_key_and_cert_chain_pem.write_to_path(str(both))
    served = certificates.shown("", HOST)
    served.verify_mode = ssl.CERT_REQUIRED
    certificates.authority.configure_trust(served)
    network = Network(ca=file, client_cert=(str(both),))
    check_tls(network)
    assert isinstance(ask(served, network), Response)
    failed = ask(served, Network(ca=file))
    assert isinstance(failed, Failed)


@pytest.mark.parametrize(
    ("shown_to", "sees"),
    [
        (HOST, True),
        ("*.example", True),
        ("A.EXAMPLE", True),
        ("b.example", False),
        ("*.a.example", False),
    ],
)
def test_a_certificate_is_shown_to_its_host_and_to_no_other(
    shown_to: str, sees: bool, authority: tuple[Certificates, Path], tmp_path: Path
) -> None:
    certificates, file = authority
    ours = tmp_path / "ours"
    pair = certificates.authority.issue_cert("us.example").private_key_and_cert_chain_pem
    pair.write_to_path(str(ours))
    served = certificates.shown("", HOST)
    served.verify_mode = ssl.CERT_REQUIRED
    certificates.authority.configure_trust(served)
    found = ask(served, Network(ca=file, client_cert=(f"{shown_to}={ours}",)))
    assert isinstance(found, Response) is sees


def test_of_several_certificates_a_host_sees_the_one_that_is_most_its_own(tmp_path: Path) -> None:
    file = tmp_path / "ours"
    trustme.CA().issue_cert("us.example").private_key_and_cert_chain_pem.write_to_path(str(file))
    patterns = ("", "*.example=", "*.a.example=", "a.example=")
    contexts = TlsContexts(Network(client_cert=tuple(f"{host}{file}" for host in patterns)))
    for host, shown in (
        ("a.example", "a.example"),
        ("b.a.example", "*.a.example"),
        ("b.example", "*.example"),
        ("example", ""),
    ):
        assert contexts._shown_to(host) == shown
    assert len({contexts(host) for host in ("a.example", "b.a.example", "b.example", "x")}) == 4


def test_the_oldest_version_is_1_2(authority: tuple[Certificates, Path]) -> None:
    certificates, file = authority
    served = certificates.shown("", HOST)
    served.maximum_version = ssl.TLSVersion.TLSv1_2
    assert isinstance(ask(served, Network(ca=file)), Response)
    assert TlsContexts(Network())(HOST).minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("alpn", [("http/1.1",), HTTP1_AND_2])
def test_contexts_are_made_once_and_by_host(alpn: tuple[str, ...]) -> None:
    contexts = TlsContexts(Network(insecure=("bad.example",)), alpn)
    assert contexts("a.example") is contexts("b.example")
    assert contexts("bad.example") is not contexts("a.example")
    assert contexts("bad.example").verify_mode is ssl.CERT_NONE
    assert contexts("a.example").verify_mode is ssl.CERT_REQUIRED


def test_certificates_that_cannot_be_used_are_refused_before_the_first_request(
    tmp_path: Path,
) -> None:
    authority = trustme.CA()
    one, other = (authority.issue_cert(host) for host in ("a.example", "b.example"))
    names = ("certificate", "key", "locked", "mixed")
    certificate, key, locked, mixed = (tmp_path / name for name in names)
    one.cert_chain_pems[0].write_to_path(str(certificate))
    other.private_key_pem.write_to_path(str(key))
    mixed.write_bytes(certificate.read_bytes() + key.read_bytes())
    command = ["openssl", "pkey", "-in", str(key), "-aes256", "-passout", "pass:x", "-out"]
    for network, why in (
        (Network(ca=tmp_path / "gone"), "--ca .*gone: No such file"),
        (Network(ca=key), "holds no certificates"),
        (Network(client_cert=(f"{tmp_path}/gone",)), "gone: No such file"),
        (Network(client_cert=(str(tmp_path),)), "not a file"),
        (Network(client_cert=(str(certificate),)), "it holds no key"),
        (Network(client_cert=(str(mixed),)), "not that of the certificate"),
        (Network(client_cert=(f"a.example={tmp_path}/gone",)), "a.example=.*gone: No such file"),
    ):
        with pytest.raises(UsageError, match=why):
            check_tls(network)
    subprocess.run([*command, str(locked)], check=True)
    locked.write_bytes(certificate.read_bytes() + locked.read_bytes())
    with pytest.raises(UsageError, match="encrypted: `openssl pkey"):
        check_tls(Network(client_cert=(str(locked),)))


def _certificate_without_names(host: str) -> tuple[bytes, bytes]:
    """A certificate signed by itself that names its host as the common name alone; and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoded = serialization.Encoding.PEM
    secret = key.private_bytes(
        encoded, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return signed.public_bytes(encoded), secret


def test_a_certificate_without_alternative_names_is_for_no_host(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate", tmp_path / "key"
    for path, content in zip((certificate, key), _certificate_without_names(HOST), strict=True):
        path.write_bytes(content)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    refused = ask(tls, Network(ca=certificate))
    assert isinstance(refused, Failed)
    assert refused.kind is FailureKind.TLS
    assert isinstance(ask(tls, Network(ca=certificate, insecure=(HOST,))), Response)
