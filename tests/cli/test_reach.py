"""What a user is told of proxies and certificates, and where a login is never shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from minicrawl import Crawl, Settings
from minicrawl.cli import main
from minicrawl.cli.crawl_command import _resume_command
from minicrawl.crawl.events import Event, Noted, Reason, Warned
from minicrawl.errors import UsageError
from tests.fetch.proxy.servers import ProxyServer, proxy_server
from tests.fetch.wire import answer, wire
from tests.hostile.thread import beside

SECRET = "s%3Acret"
SEED = "http://127.0.0.1:1/"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["crawl", SEED, *arguments]) == 2
    assert not Path("data").exists()
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--proxy", "http://127.0.0.1:1"), "proxy http://127.0.0.1:1: "),
        (("--proxy", "socks5://127.0.0.1:1"), "proxy socks5://127.0.0.1:1: "),
        (("--proxy", "@gone"), "--proxy @gone: No such file"),
        (("--proxy", "ftp://x"), "--proxy ftp://x: must be a URL"),
        (("--ca", "gone"), "--ca gone: No such file"),
        (("--client-cert", "gone"), "gone: No such file"),
        (("--sign-requests", "gone"), "--sign-requests gone: No such file"),
        (("--sign-requests", __file__), "not a private Ed25519 key"),
        (("--bind-address", "192.0.2.1"), "--bind-address 192.0.2.1: "),
        (("--bind-address", "here"), "must be an IP address"),
        (("--http2", "on"), "must be one of off, auto"),
        (("--insecure", "https://x"), "must be a host"),
    ],
)
def test_what_cannot_work_ends_the_crawl_before_it_begins(
    arguments: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert why in refused(*arguments, capsys=capsys)


def test_a_login_is_in_no_message(capsys: pytest.CaptureFixture[str]) -> None:
    for proxy in (
        f"http://me:{SECRET}@127.0.0.1:1",
        f"ftp://me:{SECRET}@x",
        f"http://me:{SECRET}@",
    ):
        said = refused("--proxy", proxy, capsys=capsys)
        assert "cret" not in said
    with pytest.raises(UsageError) as caught:
        Settings.of(proxy=[f"http://me:{SECRET}@x y"])
    assert "cret" not in str(caught.value)


def test_a_login_is_not_shown_by_config_show(capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("--json",)):
        proxy = f"http://me:{SECRET}@proxy.example:3128"
        assert main(["config", "--proxy", proxy, *more]) == 0
        shown = capsys.readouterr().out
        assert "http://***@proxy.example:3128" in shown
        assert "cret" not in shown


def test_what_is_shown_of_a_login_is_not_taken_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "has lost its login" in refused("--proxy", "http://***@x:1", capsys=capsys)


def test_a_login_is_not_part_of_the_command_that_resumes_the_crawl() -> None:
    arguments = ("a.example", f"--proxy=http://me:{SECRET}@x:1", "--proxy", "socks5://u:p@y:2/")
    command = _resume_command(arguments)
    assert command == "minicrawl crawl a.example --proxy=http://x:1 --proxy socks5://y:2/"
    for url in ("https://example.org/@user/page", "https://example.org/@user"):
        assert _resume_command((url,)) == f"minicrawl crawl {url}"


@pytest.fixture
def origin_and_proxy() -> Iterator[tuple[str, str, ProxyServer]]:
    served = ProxyServer(wants_login=True)
    places: list[str] = []

    async def open_both(leaving: object) -> None:
        enter = leaving.enter_async_context  # type: ignore[attr-defined]  # a stack
        server = await enter(wire(answer(b"<html><title>a</title>")))
        await enter(proxy_server("http", served))
        places.append(server.url())

    with beside(open_both):
        yield places[0], f"http://me:{SECRET}@127.0.0.1:{served.port}", served


def test_a_crawl_says_its_proxies_and_keeps_their_logins_nowhere(
    origin_and_proxy: tuple[str, str, ProxyServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, proxy, served = origin_and_proxy
    monkeypatch.setenv("MINICRAWL_PROXY", proxy)
    Path("proxies").write_text(proxy)
    told: list[Event] = []
    settings = Settings.of(
        proxy="@proxies", delay=0, store="crawl.db", pages=1, workers=0, insecure="bad.example"
    )
    crawl = Crawl([url], settings)
    crawl.subscribe(told.append)
    assert crawl.run() is Reason.BUDGET
    notes = [event.text for event in told if isinstance(event, Noted)]
    warnings = [event.text for event in told if isinstance(event, Warned)]
    assert notes[0] == f"through http://127.0.0.1:{served.port} (--proxy)"
    assert warnings[0].startswith("the certificate of bad.example is not checked (--insecure)")
    assert any(line.startswith(f"GET {url}") for line in served.asked)
    for file in Path().rglob("*"):
        if file.is_file() and file.name != "proxies":
            assert b"cret" not in file.read_bytes(), file


@pytest.mark.parametrize(
    ("delay", "seed", "said"),
    [
        ("0.02", "http://127.0.0.1:1/", True),
        ("0.1", "http://127.0.0.1:1/", False),
        ("0", "http://127.0.0.1:1/", False),
        ("0", "http://a.invalid/", True),
        ("1", "http://a.invalid/", False),
    ],
)
def test_a_delay_below_that_of_an_address_says_which_one_holds(
    delay: str, seed: str, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["crawl", seed, "--delay", delay, "--dry-run"])
    assert ("--address-delay 0.1 s" in capsys.readouterr().out) is said


def test_the_folders_of_a_prefix_are_told_before_the_crawl_begins(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seed = "http://127.0.0.1:1/docs/index.html"
    main(["crawl", seed, "--scope", "prefix", "--dry-run"])
    assert "127.0.0.1:1/docs/" in capsys.readouterr().out.partition("known")[0]
    crawl, told = Crawl([seed], Settings.of(scope="prefix", delay=0)), list[Event]()
    crawl.subscribe(told.append)
    crawl.run()
    notes = [event.text for event in told if isinstance(event, Noted)]
    assert any("127.0.0.1:1/docs/" in note for note in notes)
