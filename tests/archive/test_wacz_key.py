"""Signatures of WACZ files, verified as wabac.js does with the browser's Web Cryptography."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from minicrawl.cli import main
from tests.stores import filled_store

ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
from cryptography.exceptions import InvalidSignature  # noqa: E402  # may be missing
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature  # noqa: E402


@pytest.fixture
def crawled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["crawl", "--demo", "--demo-pages", "100", "--pages", "5", "-q"]) == 0
    return tmp_path


def exported(name: str) -> dict[str, str]:
    assert main(["export", name, "--sign", "key.pem", "--store", "data/demo.db"]) == 0
    with ZipFile(name) as package:
        digest = json.loads(package.read("datapackage-digest.json"))
        signed: dict[str, str] = digest["signedData"]
        assert signed["hash"] == digest["hash"]
        assert signed["created"] == json.loads(package.read("datapackage.json"))["created"]
    return signed


def verify(signed: dict[str, str], text: str) -> None:
    public: Any = serialization.load_der_public_key(b64decode(signed["publicKey"]))
    signature = b64decode(signed["signature"])
    numbers = (int.from_bytes(half, "big") for half in (signature[:48], signature[48:]))
    public.verify(encode_dss_signature(*numbers), text.encode(), ec.ECDSA(hashes.SHA256()))


def test_a_key_that_others_can_read_is_warned_of(
    crawled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for mode, is_exposed in ((0o600, False), (0o644, True)):
        exported(f"{mode}.wacz")
        (crawled / "key.pem").chmod(mode)
        capsys.readouterr()
        exported(f"{mode}-again.wacz")
        assert ("chmod 600 key.pem" in capsys.readouterr().err) == is_exposed


def test_the_signature_covers_the_digest_of_the_package(crawled: Path) -> None:
    first, second = exported("a.wacz"), exported("b.wacz")
    for signed in (first, second):
        verify(signed, signed["hash"])
        with pytest.raises(InvalidSignature):
            verify(signed, signed["hash"] + "0")
    assert first["publicKey"] == second["publicKey"]
    assert (crawled / "key.pem").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("file", "content", "target"),
    [
        ("wrong.pem", b"no key", "a.wacz"),
        ("missing/key.pem", None, "a.wacz"),
        ("key.pem", None, "a.warc.gz"),
    ],
)
def test_a_bad_key_and_a_format_without_signatures_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    content: bytes | None,
    target: str,
) -> None:
    store, key = tmp_path / "crawl.db", tmp_path / file
    filled_store(store)
    if content is not None:
        key.write_bytes(content)
    command = ["export", str(tmp_path / target), "--store", str(store), "--sign", str(key)]
    assert main(command) == 2
    assert "--sign" in capsys.readouterr().err
    assert content is not None or not key.exists()
