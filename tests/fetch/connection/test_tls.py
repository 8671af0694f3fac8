import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
import trustme

from minicrawl.cli import main
from minicrawl.errors import UsageError
from minicrawl.fetch.tls.contexts import check_authorities, default_tls


@pytest.fixture(autouse=True)
def _no_authorities_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)


def test_certificates_and_their_hosts_are_checked() -> None:
    context = default_tls()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(context.get_ca_certs()) > 20


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    file = tmp_path / "authority.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    return file


def test_the_environment_may_name_other_authorities(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, authority: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    assert len(default_tls().get_ca_certs()) == 1
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert default_tls().get_ca_certs() == []


def test_a_fetcher_imports_no_http_library_and_no_authorities_before_they_are_needed() -> None:
    program = (
        "import sys; from minicrawl.config import Network, Politeness;"
        "from minicrawl.fetch.fetcher import HttpFetcher; HttpFetcher(Network(), Politeness());"
        "print({'httpx', 'aiohttp', 'certifi'} & sys.modules.keys())"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "set()\n"


def test_readable_authorities_are_accepted(tmp_path: Path, authority: Path) -> None:
    check_authorities({})
    check_authorities({"SSL_CERT_FILE": "", "SSL_CERT_DIR": ""})
    check_authorities({"SSL_CERT_FILE": str(authority), "SSL_CERT_DIR": f"{tmp_path}:/"})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        *(
            ("SSL_CERT_FILE", name)
            for name in (
                *("gone.pem", "folder", "pipe", "words.pem", "empty.pem", "cut.pem", "loop.pem"),
            )
        ),
        *(("SSL_CERT_DIR", name) for name in ("gone", "words.pem", "loop.pem", ".:gone")),
    ],
)
def test_unusable_authorities_are_named(
    variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("words.pem").write_text("no certificate")
    Path("empty.pem").touch()
    whole = trustme.CA().cert_pem.bytes()
    Path("cut.pem").write_bytes(whole[: len(whole) // 2])
    Path("loop.pem").symlink_to("loop.pem")
    with pytest.raises(UsageError, match=f"^{variable}={value.rpartition(':')[2]}: "):
        check_authorities({variable: value})


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_unusable_authorities_stop_a_crawl_before_it_begins(
    dry: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", "gone.pem")
    assert main(["crawl", "https://a.example/", *dry]) == 2
    assert "SSL_CERT_FILE=gone.pem: " in capsys.readouterr().err
    assert not Path("data").exists()
