"""Messages about proxies, certificates, delays and scopes, and the command without a login."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from minicrawl import Crawl, Event, Noted, Reason, Settings, Warned
from minicrawl.cli import main
from minicrawl.cli.crawl.command import resume_command
from tests.cli.calls import Captured
from tests.fetch.proxy.servers import ProxyServer, proxy_server
from tests.fetch.wire import answer, wire
from tests.proofs.hostile.thread import beside

SECRET = "s%3Acret"


def test_a_login_is_not_in_the_message_about_an_unreachable_proxy(capsys: Captured) -> None:
    proxy = f"http://me:{SECRET}@127.0.0.1:1"
    assert main(["crawl", "http://127.0.0.1:1/", "--proxy", proxy]) == 2
    assert "cret" not in capsys.readouterr().err
    assert not Path("data").exists()


NATS = "nats://me:secret@a:1,nats://me:secret@b:2/news"


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ([f"--proxy=http://me:{SECRET}@x:1"], "--proxy=http://x:1"),
        (["a.example", "--proxy", "socks5://u:p@y:2/"], "a.example --proxy socks5://y:2/"),
        (["--cluster", NATS], "--cluster nats://a:1,nats://b:2/news"),
        ([f"--cluster={NATS}"], "--cluster=nats://a:1,nats://b:2/news"),
        (["https://example.org/@user/page"], "https://example.org/@user/page"),
        (["https://example.org/@user"], "https://example.org/@user"),
    ],
)
def test_a_login_is_not_part_of_the_command_that_resumes_the_crawl(
    arguments: list[str], kept: str
) -> None:
    assert resume_command(tuple(arguments)) == f"minicrawl crawl {kept}"


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
