"""Logins and headers of the command line, and no secret in outputs, stores, archives and logs."""

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from tests.cli.calls import Captured, as_json

SECRET = "s3cret"  # of a server on loopback
BASIC = "Basic " + base64.b64encode(f"user:{SECRET}".encode()).decode()


class LockedWeb:
    """Web that wants a login; it keeps the headers of each request."""

    def __init__(self) -> None:
        self.heard: list[Mapping[str, str]] = []

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        self.heard.append({"target": target, **headers})
        if headers.get("authorization") != BASIC:
            return DemoResponse(401, {"WWW-Authenticate": 'Basic realm="r"'})
        if target == "/robots.txt":
            return DemoResponse(404, {})
        links = f'<a href="/b">b</a><a href="http://other.example/">o</a>{host}'.encode()
        return DemoResponse(200, {"Content-Type": "text/html"}, links)


Served = tuple[LockedWeb, tuple[str, ...]]


@pytest.fixture
def web() -> Iterator[Served]:
    """Web, and the options to crawl it."""
    locked = LockedWeb()
    with DemoServer(locked) as server:
        said = ("--delay", "0", "--allow-private", "--workers", "0", "--keep", "pages")
        yield locked, (*said, "--resolve", f"*={server.address}")


def secrets_in(place: Path) -> list[str]:
    forms = (SECRET.encode(), BASIC.removeprefix("Basic ").encode())
    files = [file for file in place.rglob("*") if file.is_file() and file.name != "given"]
    return [str(file) for file in files if any(form in file.read_bytes() for form in forms)]


@pytest.mark.parametrize("way", ["flag", "equals", "environment", "file", "seed", "list", "netrc"])
def test_every_way_to_log_in_works_and_leaves_no_secret(
    way: str, place: Path, web: Served, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, network = web
    seed, more, given = "http://site.example/", list[str](), place / "given"
    login = f"site.example=user:{SECRET}"
    match way:
        case "flag":
            more = ["--auth", login]
        case "equals":
            more = [f"--auth={login}"]
        case "environment":
            monkeypatch.setenv("MINICRAWL_AUTH", login)
        case "file":
            given.write_text(f"user:{SECRET}\n")
            more = ["--auth", f"site.example=@{given}"]
        case "seed":
            seed = f"http://user:{SECRET}@site.example/"
        case "list":
            given.write_text(f"http://user:{SECRET}@site.example/\nhttps://{SECRET}@ bad\n")
            seed = str(given)
        case "netrc":
            given.write_text(f"machine site.example login user password {SECRET}\n")
            given.chmod(0o600)
            more = ["--netrc", str(given)]
    logs = ["--log-file", "log", "--log-format", "json", "-v", "--warc", "warc"]
    assert main(["crawl", seed, *more, *network, *logs]) == 0
    seen = [one["target"] for one in locked.heard if one.get("authorization") == BASIC]
    assert {"/", "/b"} <= set(seen)
    assert not [
        one for one in locked.heard if one["host"] == "other.example" and BASIC in one.values()
    ]
    assert main(["config", *more]) == main(["status"]) == 0
    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err
    assert secrets_in(place) == []


@pytest.mark.parametrize(
    ("arguments", "whose"),
    [
        (["--auth", f"a.example=me:{SECRET}"], "--auth"),
        (["--bearer", f"a.example={SECRET}"], "--bearer"),
        (["--proxy", f"http://me:{SECRET}@127.0.0.1:1"], "--proxy"),
        ([f"http://me:{SECRET}@a.example/"], "a seed"),
        (["--auth", "a.example=@given", "--bearer", "a.example=@given"], ""),
        (["--proxy", "http://127.0.0.1:1", "http://a.example/@me"], ""),
    ],
)
def test_a_login_on_the_command_line_is_warned_about(
    arguments: list[str], whose: str, place: Path, capsys: Captured
) -> None:
    (place / "given").write_text(f"me:{SECRET}\n")
    main(["crawl", *arguments, "--resume"])  # there is nothing to resume
    said = capsys.readouterr().err
    assert ("in the list of processes" in said) == bool(whose)
    assert f"the login of {whose}" in said or not whose
    assert SECRET not in said


def test_headers_go_to_all_hosts_or_to_the_named_one(web: Served) -> None:
    locked, network = web
    own = ["--header", "X-All: a", "--header", "site.example=X-One: o", "--languages", "de,en"]
    own += ["--header", f"site.example=Authorization: {BASIC}", "--user-agent", "Whole/1 (x)"]
    assert main(["crawl", "http://site.example/", *own, *network]) == 0
    for one in locked.heard:
        assert (one["x-all"], one["user-agent"]) == ("a", "Whole/1 (x)")
        assert one["accept-language"] == "de,en;q=0.9"
        assert ("x-one" in one) == (one["host"] == "site.example")


def test_the_command_that_resumes_has_no_login_and_no_header(web: Served, capsys: Captured) -> None:
    _, network = web
    arguments = [f"http://user:{SECRET}@site.example/", "--header", "X-A: b", "--pages", "1"]
    assert main(["crawl", *arguments, *network]) == 0
    command = as_json(capsys, "status")["command"]
    assert "http://site.example/ --pages 1" in command
    assert "X-A" not in command


def test_an_invalid_seed_is_refused_without_its_login(capsys: Captured) -> None:
    assert main(["crawl", f"http://user:{SECRET}@"]) == 2
    assert SECRET not in capsys.readouterr().err
