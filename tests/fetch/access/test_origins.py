"""Secrets are sent only to the origins that they are given for, and no message shows one."""

from pathlib import Path

import pytest

from minicrawl.config import Access
from minicrawl.errors import UsageError
from minicrawl.fetch.access.logins import AccessByOrigin, Login
from minicrawl.fetch.access.origins import access_by_origin, login_in
from minicrawl.fetch.http.targets import Origin, target


def origin(url: str) -> Origin:
    found = target(url)
    assert found
    return found.origin


def origins(found: AccessByOrigin) -> set[str]:
    return {f"{'https' if one.is_tls else 'http'}://{one.host}:{one.port}" for one in found}


@pytest.mark.parametrize(
    ("host", "seeds", "expected"),
    [
        ("a.example", [], {"https://a.example:443"}),
        ("A.Example", ["http://b.example/"], {"https://a.example:443"}),
        (
            "a.example",
            ["http://a.example:81/x", "http://b.example/"],
            {"https://a.example:443", "http://a.example:81"},
        ),
        ("a.example:8443", [], {"https://a.example:8443", "http://a.example:8443"}),
        ("https://a.example", ["http://a.example/"], {"https://a.example:443"}),
        (
            "http://a.example",
            ["http://a.example:82/"],
            {"http://a.example:80", "http://a.example:82"},
        ),
        ("http://a.example:81", ["http://a.example/"], {"http://a.example:81"}),
        ("[::1]:80", [], {"https://::1:80", "http://::1:80"}),
    ],
)
def test_a_host_stands_for_its_own_origins_and_those_of_its_seeds(
    host: str, seeds: list[str], expected: set[str]
) -> None:
    assert origins(access_by_origin(Access(auth=(f"{host}=u:p",)), seeds)) == expected
    assert origins(access_by_origin(Access(headers=(f"{host}=A: b",)), seeds)) == expected


def test_auth_overrides_netrc_and_logins_of_seeds(tmp_path: Path) -> None:
    file = secret(
        tmp_path, "machine a.example login n password n\nmachine b.example login n password n\n"
    )
    of_seeds = {
        origin("https://a.example/"): Login("s", "s"),
        origin("https://c.example"): Login("s", "s"),
    }
    found = access_by_origin(Access(netrc=file, auth=("a.example=u:p:q",)), (), of_seeds)
    assert found[origin("https://a.example/")].login == Login("u", "p:q")
    assert found[origin("https://b.example/")].login == Login("n", "n")
    assert found[origin("https://c.example/")].login == Login("s", "s")


def test_headers_and_login_of_a_host_are_merged() -> None:
    access = Access(headers=("a.example=A: b", "https://a.example=C: d"), bearer=("a.example=t",))
    found = access_by_origin(access)[origin("https://a.example/")]
    assert found.headers == ((b"A", b"b"), (b"C", b"d"))
    assert found.login == Login(token="t")
    assert "t" not in repr(found.login).lower().replace("login", "")


def secret(folder: Path, content: str | bytes) -> Path:
    """Return a file that only its owner can read."""
    file = folder / "secret"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    file.chmod(0o600)
    return file


def test_secrets_are_read_from_files(tmp_path: Path) -> None:
    found = access_by_origin(Access(auth=(f"a.example=@{secret(tmp_path, 'u:p')}",)))
    assert found[origin("https://a.example/")].login == Login("u", "p")


@pytest.mark.parametrize("content", [b"", b"nothing", b"s3cret:\xff", b"u:s3cret\nmore"])
def test_a_bad_file_is_named_without_its_content(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UsageError, match=r"--auth .*secret: ") as refused:
        access_by_origin(Access(auth=(f"a.example=@{secret(tmp_path, content)}",)))
    assert "s3cret" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--bearer .*none: No such file"):
        access_by_origin(Access(bearer=(f"a.example=@{tmp_path / 'none'}",)))
    with pytest.raises(UsageError, match=r"--netrc .*none: No such file"):
        access_by_origin(Access(netrc=tmp_path / "none"))


def test_a_bad_netrc_is_named_with_its_line_and_without_its_content(tmp_path: Path) -> None:
    file = secret(tmp_path, "machine a.example login u\ns3cret what\n")
    with pytest.raises(UsageError, match=r"--netrc .*secret:\d+: ") as refused:
        access_by_origin(Access(netrc=file))
    assert "s3cret" not in str(refused.value).replace(str(file), "")


def test_netrc_on_reads_the_file_of_the_environment_or_of_home(tmp_path: Path) -> None:
    file = tmp_path / ".netrc"
    file.write_text("machine a.example login u password p\ndefault login d password d\n")
    file.chmod(0o600)
    for environ in ({"NETRC": str(file)}, {"HOME": str(tmp_path)}):
        found = access_by_origin(Access(netrc="on"), environ=environ)
        assert origins(found) == {"https://a.example:443"}


def test_a_malformed_host_is_refused() -> None:
    with pytest.raises(UsageError, match="not a host"):
        access_by_origin(Access(auth=("a<b.example=u:p",)))


def test_a_login_in_a_url_is_found() -> None:
    assert login_in("https://u%40x:p%3A@a.example/b") == (
        origin("https://a.example/"),
        Login("u@x", "p:"),
    )
    assert login_in("https://a.example/@b") is None
    assert login_in("mailto:a@b.example") is None
