import ssl
import subprocess
import sys
from pathlib import Path

import pytest
import trustme

from minicrawl.fetch.tls import default_tls


@pytest.fixture(autouse=True)
def _no_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)


def test_certificates_and_their_hosts_are_checked() -> None:
    context = default_tls()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(context.get_ca_certs()) > 20


def test_the_environment_may_name_other_authorities(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = tmp_path / "authority.pem"
    trustme.CA().cert_pem.write_to_path(str(authority))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    assert len(default_tls().get_ca_certs()) == 1
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert default_tls().get_ca_certs() == []


def test_a_fetcher_imports_no_client_and_reads_no_authorities_before_they_are_needed() -> None:
    asked = (
        "import sys; from minicrawl.config import Network, Politeness;"
        "from minicrawl.fetch.fetcher import Fetcher; Fetcher(Network(), Politeness());"
        "sys.exit(', '.join({'httpx', 'aiohttp'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=False
    )
    assert done.stderr == "\n"
