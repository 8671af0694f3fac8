"""Messages about proxies, certificates, delays and scopes, and logins that are never shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from minicrawl import Crawl, Settings
from minicrawl.cli import main
from minicrawl.cli.crawl_command import _resume_command
from minicrawl.crawl.events import Event, Noted, Reason, Warned
from minicrawl.errors import UsageError
from tests.cli.calls import Captured, printed
from tests.fetch.proxy.servers import ProxyServer, proxy_server
from tests.fetch.wire import answer, wire
from tests.proofs.hostile.thread import beside

SECRET = "s%3Acret"
SEED = "http://127.0.0.1:1/"


def refused(capsys: Captured, *arguments: str) -> str:
    assert main(["crawl", SEED, *arguments]) == 2
    assert not Path("data").exists()
    return capsys.readouterr().err


def test_a_login_is_in_no_message(capsys: Captured) -> None:
    for start, end in (("http", "127.0.0.1:1"), ("ftp", "x"), ("http", "")):
        assert "cret" not in refused(capsys, "--proxy", f"{start}://me:{SECRET}@{end}")
    with pytest.raises(UsageError) as caught:
        Settings.of(proxy=[f"http://me:{SECRET}@x y"])
    assert "cret" not in str(caught.value)


def test_config_shows_no_login(capsys: Captured) -> None:
    for more in ((), ("--json",)):
        proxy = f"http://me:{SECRET}@proxy.example:3128"
        shown = printed(capsys, "config", "--proxy", proxy, *more)
        assert "http://***@proxy.example:3128" in shown
        assert "cret" not in shown


def test_a_login_is_not_part_of_the_command_that_resumes_the_crawl() -> None:
    arguments = ("a.example", f"--proxy=http://me:{SECRET}@x:1", "--proxy", "socks5://u:p@y:2/")
    command = _resume_command(arguments)
    assert command == "minicrawl crawl a.example --proxy=http://x:1 --proxy socks5://y:2/"
    for url in ("https://example.org/@user/page", "https://example.org/@user"):
        assert _resume_command((url,)) == f"minicrawl crawl {url}"


@pytest.mark.parametrize("cluster", [("--cluster",), ()])
def test_the_command_to_resume_has_no_password_of_any_server(cluster: tuple[str, ...]) -> None:
    servers = ["nats://me:secret@a:1,nats://me:secret@b:2/news", "nats://a:1,nats://b:2/news"]
    given, kept = servers if cluster else (f"--cluster={one}" for one in servers)
    command = _resume_command((*cluster, given))
    assert command == " ".join(("minicrawl crawl", *cluster, kept))


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


def test_a_crawl_names_its_proxies_and_stores_no_login(
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
def test_a_delay_below_the_address_delay_is_reported(
    delay: str, seed: str, said: bool, capsys: Captured
) -> None:
    main(["crawl", seed, "--delay", delay, "--dry-run"])
    assert ("--address-delay 0.1 s" in capsys.readouterr().out) is said


def test_the_folders_of_a_prefix_are_shown_before_the_crawl(capsys: Captured) -> None:
    seed = "http://127.0.0.1:1/docs/index.html"
    main(["crawl", seed, "--scope", "prefix", "--dry-run"])
    assert "127.0.0.1:1/docs/" in capsys.readouterr().out.partition("known")[0]
    crawl, told = Crawl([seed], Settings.of(scope="prefix", delay=0)), list[Event]()
    crawl.subscribe(told.append)
    crawl.run()
    notes = [event.text for event in told if isinstance(event, Noted)]
    assert any("127.0.0.1:1/docs/" in note for note in notes)
