"""Certificates: settings, faults of servers, and errors for users."""

import ssl
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from minicrawl.config import Network
from minicrawl.errors import UsageError
from minicrawl.fetch.tls.contexts import TlsContexts, check_tls
from minicrawl.model import Failed, FetchResult, Response
from minicrawl.states import State
from tests.fetch.results import ask, kind_of
from tests.fetch.wire import answer, wire
from tests.proofs.hostile.certificates import Certificates

HOST = "a.example"


async def fetch(tls: ssl.SSLContext, network: Network) -> FetchResult:
    async with wire(answer(b"<html>"), tls=tls) as server:
        network = replace(network, resolve=(f"{HOST}=127.0.0.1:{server.port}",))
        return await ask(f"https://{HOST}/", network)


@pytest.fixture
def certificates() -> Certificates:
    return Certificates()


@pytest.fixture
def ca(certificates: Certificates, tmp_path: Path) -> Path:
    file = tmp_path / "authority.pem"
    certificates.authority.cert_pem.write_to_path(str(file))
    return file


async def test_an_authority_of_a_file_is_trusted_beside_the_others(
    certificates: Certificates, ca: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, usual = Certificates(), tmp_path / "usual.pem"
    other.authority.cert_pem.write_to_path(str(usual))
    monkeypatch.setenv("SSL_CERT_FILE", str(usual))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    for each in (certificates, other):
        assert isinstance(await fetch(each.context("", HOST), Network(ca=ca)), Response)
    assert len(TlsContexts(Network(ca=ca))(HOST).get_ca_certs()) == 2


@pytest.mark.parametrize(
    ("kind", "why", "remedy"),
    [
        ("expired", "the certificate has expired", "--insecure HOST"),
        ("early", "the certificate is not valid yet", "--insecure HOST"),
        ("other host", "the certificate is for other hosts", "--insecure HOST"),
        ("unknown", "is not trusted", "--ca FILE"),
        ("self-signed", "the certificate is self-signed", "--ca FILE"),
    ],
)
async def test_an_error_names_the_fault_of_a_certificate_and_the_remedy(
    kind: str, why: str, remedy: str, certificates: Certificates, ca: Path
) -> None:
    failed = await fetch(certificates.context(kind, HOST), Network(ca=ca))
    assert isinstance(failed, Failed)
    assert failed.kind is State.TLS
    assert why in failed.detail
    assert remedy in failed.detail


@pytest.mark.parametrize("pattern", [HOST, "*.example"])
@pytest.mark.parametrize("kind", ["expired", "other host", "unknown", "self-signed"])
async def test_the_certificate_of_an_insecure_host_is_not_checked(
    pattern: str, kind: str, certificates: Certificates
) -> None:
    shown = certificates.context(kind, HOST)
    assert isinstance(await fetch(shown, Network(insecure=(pattern,))), Response)
    assert isinstance(await fetch(shown, Network(insecure=("b.example", "*.a.example"))), Failed)


@pytest.mark.parametrize(
    ("shown_to", "is_shown"),
    [
        ("", True),
        (f"{HOST}=", True),
        ("*.example=", True),
        ("A.EXAMPLE=", True),
        ("b.example=", False),
        ("*.a.example=", False),
        (None, False),
    ],
)
async def test_a_client_certificate_is_shown_to_its_hosts_only(
    shown_to: str | None, is_shown: bool, certificates: Certificates, ca: Path, tmp_path: Path
) -> None:
    ours = tmp_path / "ours"
    pair = certificates.authority.issue_cert("us.example").private_key_and_cert_chain_pem
    pair.write_to_path(str(ours))
    tls = certificates.context("", HOST)
    tls.verify_mode = ssl.CERT_REQUIRED
    certificates.authority.configure_trust(tls)
    network = Network(ca=ca, client_cert=() if shown_to is None else (f"{shown_to}{ours}",))
    check_tls(network)
    assert isinstance(await fetch(tls, network), Response) is is_shown


def test_a_host_sees_the_certificate_of_its_most_specific_pattern(tmp_path: Path) -> None:
    file = tmp_path / "ours"
    trustme.CA().issue_cert("us.example").private_key_and_cert_chain_pem.write_to_path(str(file))
    patterns = ("", "*.example=", "*.a.example=", "a.example=")
    contexts = TlsContexts(Network(client_cert=tuple(f"{host}{file}" for host in patterns)))
    assert contexts("b.a.example") is contexts("c.b.a.example")
    assert contexts("b.example") is contexts("c.example")
    assert contexts("example") is contexts("x")
    assert len({contexts(host) for host in ("a.example", "b.a.example", "b.example", "x")}) == 4


async def test_the_oldest_version_of_tls_is_1_2(certificates: Certificates, ca: Path) -> None:
    tls = certificates.context("", HOST)
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    assert isinstance(await fetch(tls, Network(ca=ca)), Response)
    assert TlsContexts(Network())(HOST).minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("network", [Network(), Network(insecure=(HOST,))])
def test_servers_without_secure_renegotiation_are_read(network: Network) -> None:
    connects_to_legacy_servers = 0x4  # of OpenSSL
    assert TlsContexts(network)(HOST).options & connects_to_legacy_servers


def test_hosts_with_the_same_settings_share_a_context() -> None:
    contexts = TlsContexts(Network(insecure=("bad.example",)))
    assert contexts("a.example") is contexts("b.example")
    assert contexts("bad.example") is not contexts("a.example")
    assert contexts("bad.example").verify_mode is ssl.CERT_NONE
    assert contexts("a.example").verify_mode is ssl.CERT_REQUIRED


def test_check_tls_refuses_certificates_that_cannot_be_used(tmp_path: Path) -> None:
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


async def test_a_certificate_without_alternative_names_is_for_no_host(
    certificates: Certificates, ca: Path
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates.authority.issue_cert(common_name=HOST).configure_cert(tls)
    assert kind_of(await fetch(tls, Network(ca=ca))) is State.TLS
    assert isinstance(await fetch(tls, Network(ca=ca, insecure=(HOST,))), Response)
