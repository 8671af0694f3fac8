"""Headers and logins: bad ones are refused, and no secret is quoted."""

from dataclasses import replace
from pathlib import Path

import pytest

from minicrawl.config import Settings, load
from minicrawl.config.values.access import HEADER
from minicrawl.config.writing import as_document, as_kept, as_toml
from minicrawl.errors import UsageError

REFUSED = [
    "Host: s3cret",
    "content-length: s3cret",
    "Transfer-Encoding: s3cret",
    "Connection: s3cret",
    "Proxy-Authorization: s3cret",
    "Range: s3cret",
    "If-None-Match: s3cret",
    "User-Agent: s3cret",
    "Accept-Language: s3cret",
    "a.example=Host: s3cret",
    "Authorization: s3cret",
    "Cookie: s3cret",
    "s3cret",
    "X-A:",
    "X-A: a\r\ns3cret: b",
    ": s3cret",
]


@pytest.mark.parametrize("header", REFUSED)
def test_a_reserved_or_invalid_header_is_refused_without_its_value(header: str) -> None:
    with pytest.raises(UsageError, match=r"^header=.*\*\*\*: ") as refused:
        Settings.of(header=header)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "login", ["s3cret", "a.example=s3cret", "=u:s3cret", "a.example=u:s3\ncret"]
)
def test_an_invalid_login_is_refused_without_quoting_it(login: str) -> None:
    with pytest.raises(UsageError, match=r"^auth=\*\*\*: must be HOST=USER:PASS") as refused:
        Settings.of(auth=login)
    assert "cret" not in str(refused.value)


def test_a_header_is_for_all_hosts_or_for_one() -> None:
    found = HEADER.fullmatch("https://a.example:8443=X-A: b=c: d")
    assert found
    assert found.groups() == ("https://a.example:8443", "X-A", "b=c: d")
    found = HEADER.fullmatch("X-A: b=c: d")
    assert found
    assert found.groups() == (None, "X-A", "b=c: d")
    found = HEADER.fullmatch("[::1]:80=X-A:b")
    assert found
    assert found["host"] == "[::1]:80"


@pytest.mark.parametrize("tags", ["", "d e", "de,,en", "de;q=2", "toolonglanguage"])
def test_languages_are_tags(tags: str) -> None:
    with pytest.raises(UsageError, match="must be language tags"):
        Settings.of(languages=tags)
    assert Settings.of(languages="de, en-GB;q=0.5,*").access.languages == "de,en-GB;q=0.5,*"


def test_no_output_has_a_secret_and_no_store_keeps_one(tmp_path: Path) -> None:
    file = tmp_path / "minicrawl.toml"
    file.write_text('[access]\nauth = ["a.example=u:s3cret", "b.example=@/file"]\n')
    environ = {"MINICRAWL_BEARER": "a.example=s3cret", "MINICRAWL_LANGUAGES": "de"}
    flags = {"header": ["a.example=Cookie: s3cret"], "proxy": ["http://me:s3cret@x:1"]}
    loaded = load(flags, environ, file)
    assert loaded.settings.access.auth == ("a.example=u:s3cret", "b.example=@/file")
    shown = as_toml(loaded) + str(as_document(loaded)) + repr(loaded.settings)
    assert "s3cret" not in shown
    assert 'auth = ["a.example=***", "b.example=@/file"]' in shown
    assert 'header = ["a.example=Cookie: ***"]' in shown
    assert "http://***@x:1" in shown
    assert as_kept(loaded) == {"languages": "de"}


def test_a_value_of_the_wrong_type_is_refused_without_quoting_it() -> None:
    settings = Settings()
    wrong = replace(settings.access, auth=["a.example=u:s3cret"])  # type: ignore[arg-type]  # a list
    with pytest.raises(UsageError, match=r"\*\*\*") as refused:
        replace(settings, access=wrong)
    assert "s3cret" not in str(refused.value)
