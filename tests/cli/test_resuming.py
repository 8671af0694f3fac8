"""A resumed crawl keeps the settings of its store until a run changes them."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from socket import create_server
from typing import Any

import pytest

from minicrawl import __version__
from minicrawl.cli import main
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.cli.calls import Captured, printed, refusal
from tests.processes import PATIENCE_S, killed_on_failure

SITE, OTHER, PORT = "http://site.example", "http://other.example", "http://site.example:8080"
SEED = f"{SITE}/docs/"
INSIDE = {f"{SITE}/docs/{name}" for name in ("", "a", "b", "draft")}
OUTSIDE = {f"{SITE}/blog", f"{OTHER}/", f"{PORT}/docs/"}
STORE = Path("data/crawl.db")
Options = tuple[str, ...]


class Web:
    """Web whose pages link to the same few pages; robots.txt forbids one of them."""

    def __init__(self) -> None:
        self.agents: dict[str, str] = {}

    def answer(
        self, _host: str, target: str, headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        if target == "/robots.txt":
            return DemoResponse(
                200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /blog"
            )
        url = f"http://{headers['host']}{target}"
        self.agents[url] = headers["user-agent"]
        links = "".join(f'<a href="{page}">x</a>' for page in sorted(INSIDE | OUTSIDE))
        return DemoResponse(
            200, {"Content-Type": "text/html"}, f"<title>{url}</title>{links}".encode()
        )

    @property
    def asked(self) -> set[str]:
        return set(self.agents)


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture
def network(web: Web) -> Iterator[Options]:
    """Options that each run needs to reach the web."""
    with DemoServer(web) as server:
        yield ("--delay", "0", "--allow-private", "--resolve", f"*={server.address}")


def said(capsys: Captured) -> list[str]:
    """Return the lines on stderr before those of the end."""
    lines = capsys.readouterr().err.splitlines()
    ends = ("no page is left to fetch", "the budget is spent")
    return lines[: next(number for number, line in enumerate(lines) if line in ends)]


def shown(capsys: Captured, *arguments: str) -> Any:
    capsys.readouterr()
    assert main(["config", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


class TestKeptSettings:
    FIRST = (SEED, "--pages", "2", "--scope", "prefix", "--deny", "draft")
    NAMED = ("--agent", "librarian", "--contact", "https://site.example/bot")

    def test_a_run_without_flags_has_the_settings_of_the_store(
        self, web: Web, network: Options, capsys: Captured
    ) -> None:
        assert main(["crawl", *self.FIRST, *self.NAMED, *network]) == 0
        assert len(web.asked) == 2
        capsys.readouterr()
        assert main(["crawl", *network]) == 0
        assert web.asked == INSIDE - {f"{SITE}/docs/draft"}
        assert set(web.agents.values()) == {f"librarian/{__version__} (+https://site.example/bot)"}
        (prefix,) = said(capsys)
        assert "site.example/docs/" in prefix

    def test_changed_settings_are_reported_and_kept(
        self, web: Web, network: Options, capsys: Captured
    ) -> None:
        assert main(["crawl", *self.FIRST, *self.NAMED, *network, "--pages", "9"]) == 0
        capsys.readouterr()
        assert main(["crawl", "--scope", "host", "--pages", "2", *network]) == 0
        assert said(capsys) == ["scope host (was prefix): 1 page waits again"]
        assert main(["crawl", *network]) == 0
        assert said(capsys) == []
        assert not web.asked & OUTSIDE  # robots.txt forbids the one that is in scope
        assert main(["crawl", "--ignore-robots", *network]) == 0
        assert said(capsys) == ["robots off (was on): 1 page waits again"]
        assert web.asked & OUTSIDE == {f"{SITE}/blog"}
        again = ("--ignore-robots", "--scope", "any", "--deny", "none")
        assert main(["crawl", *again, *network]) == 0
        assert said(capsys) == ["scope any (was host), deny none (was draft): 3 pages wait again"]
        assert web.asked == INSIDE | OUTSIDE

    def test_robots_txt_is_ignored_only_by_runs_that_say_so(
        self, web: Web, network: Options, capsys: Captured
    ) -> None:
        assert main(["crawl", SEED, "--ignore-robots", "--pages", "1", *network]) == 0
        found = shown(capsys)
        assert found["politeness.robots"] == {"value": True, "from": "default"}
        assert main(["crawl", "--pages", "1", *network]) == 0
        lines = said(capsys)
        (ignored,) = (line for line in lines if "ignored" in line)
        assert {f"{STORE}:", "robots:"} <= set(ignored.split())
        assert "robots on (was off)" in lines
        assert main(["crawl", *network]) == 0
        assert not any("robots" in line for line in said(capsys))
        assert web.asked == (INSIDE | OUTSIDE) - {f"{SITE}/blog"}

    def test_a_store_keeps_the_terms_of_its_start(self, network: Options, capsys: Captured) -> None:
        begun = ("--window", "variable", "--no-links", "--keep-marks")
        seeds = (SEED, f"{SITE}/docs/?utm_source=a")
        assert main(["crawl", SEED, "--pages", "1", *begun, *network]) == 0
        assert main(["crawl", *seeds, "--pages", "1", *network]) == 0
        with reading(STORE) as connection:
            assert tables.original(connection, 0) is None
            known = [tables.url_of(connection, page) for page in range(8)]
        assert seeds[1] in known
        capsys.readouterr()
        assert main(["crawl", "--links", "--pages", "1", *network]) == 2
        assert "--no-links" in capsys.readouterr().err
        assert shown(capsys)["store.links"] == {"value": False, "from": "store"}

    def test_fresh_ignores_kept_settings(
        self, web: Web, network: Options, capsys: Captured
    ) -> None:
        assert main(["crawl", *self.FIRST, *self.NAMED, *network]) == 0
        again = (SEED, "--fresh", *network)
        assert main(["crawl", *again, "--pages", "7"]) == 0
        assert "server owners cannot reach you" in capsys.readouterr().err
        assert f"{OTHER}/" in web.asked
        assert shown(capsys)["scope.scope"]["from"] == "default"

    def test_a_dry_run_has_the_settings_of_the_store_and_changes_none(
        self, network: Options, capsys: Captured
    ) -> None:
        assert main(["crawl", *self.FIRST, *network]) == 0
        before = STORE.read_bytes()
        out = printed(capsys, "crawl", "--dry-run", "--max-depth", "4", *network)
        assert out.startswith("scope  prefix\ndeny   draft\n")
        assert STORE.read_bytes() == before
        out = printed(capsys, "crawl", SEED, "--dry-run", "--fresh", *network)
        assert out.startswith("scope  any\nknown  1 page")

    @pytest.mark.slow
    def test_the_store_of_a_demo_keeps_only_flags(
        self, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MINICRAWL_DENY", "x")
        demo = ["crawl", "--demo", "--demo-pages", "100", "--pages", "20", "-q"]
        assert main([*demo, "--scope", "host"]) == 0
        assert main(demo) == 0
        with reading(Path("data/demo.db")) as connection:
            assert tables.settings(connection) == {"scope": "host"}
        assert main([*demo, "--scope", "any"]) == 0
        with reading(Path("data/demo.db")) as connection:
            assert tables.settings(connection) == {"scope": "any"}

    def test_the_store_of_a_demo_is_resumed_with_the_demo_alone(self, capsys: Captured) -> None:
        demo = ["crawl", "--demo", "--demo-pages", "100", "--pages", "1", "-q"]
        assert main([*demo, "--store", "demo.db"]) == 0
        for command in ("crawl", "update"):
            line = refusal(capsys, command, "--store", "demo.db")
            assert "demo.db is of the demo web: only `crawl --demo` reads it" in line


def keep(path: Path, settings: object) -> None:
    """Write settings to a store as another version might have done."""
    with closing(StoreWriter.open(path)) as store:
        counters = tables.counters(store.connection) | {tables.SETTINGS: settings}
        store.commit(Batch(counters=counters))


class TestAnotherVersion:
    @pytest.mark.parametrize(
        ("kept", "message"),
        [
            ({"scope": "planet"}, "scope = planet: "),
            ({"max-depth": [1]}, "max-depth = [1]: "),
            ({"planets": True}, "planets: "),
        ],
    )
    def test_an_unreadable_setting_is_refused_with_store_and_setting(
        self, web: Web, network: Options, capsys: Captured, kept: object, message: str
    ) -> None:
        assert main(["crawl", SEED, "--pages", "1", *network]) == 0
        keep(STORE, kept)
        web.agents.clear()
        for arguments in (["crawl", *network], ["config"], ["crawl", "--dry-run"]):
            told = refusal(capsys, *arguments)
            assert told.startswith(f"minicrawl: data/crawl.db:{message}")
        assert not web.asked

    def test_a_store_of_an_earlier_version_keeps_the_settings_of_its_last_run(
        self, web: Web, network: Options, capsys: Captured
    ) -> None:
        assert main(["crawl", SEED, "--pages", "1", "--scope", "prefix", *network]) == 0
        wanted = {"scope": "prefix", "deny": ["draft"], "max_depth": None, "allow_private": True}
        with closing(StoreWriter.open(STORE)) as store:
            counters = tables.counters(store.connection)
            del counters[tables.SETTINGS]
            store.commit(Batch(counters=counters | {tables.LAST_RUN_SETTINGS: wanted}))
        capsys.readouterr()
        assert main(["crawl", *network]) == 0
        assert web.asked == INSIDE - {f"{SITE}/docs/draft"}
        assert len(said(capsys)) == 2  # notes about the prefix and the missing contact
        assert shown(capsys)["scope.deny"] == {"value": ["draft"], "from": "store"}


def test_a_crawl_goes_on_after_a_kill_before_its_store_had_tables(
    web: Web, network: Options, capsys: Captured
) -> None:
    STORE.parent.mkdir()
    STORE.touch()
    assert shown(capsys)["scope.scope"]["from"] == "default"
    assert "no store at" in refusal(capsys, "update")
    assert main(["crawl", SEED, "--pages", "1", *network]) == 0
    assert web.asked == {SEED}


def killed_at_its_first_request(*arguments: str) -> None:
    """Kill a crawl whose only request has no response, so that nothing is settled."""
    with create_server(("127.0.0.1", 0)) as deaf:
        place = ("--resolve", f"*=127.0.0.1:{deaf.getsockname()[1]}", "--allow-private")
        deaf.settimeout(PATIENCE_S)
        command = [sys.executable, "-m", "minicrawl", "crawl", "-q", *arguments, *place]
        with killed_on_failure(subprocess.Popen(command)) as process:
            deaf.accept()[0].close()
            process.kill()


@pytest.mark.slow
def test_settings_survive_a_kill_before_the_first_fetch(
    network: Options, web: Web, capsys: Captured
) -> None:
    killed_at_its_first_request(SEED, "--scope", "host", "--contact", "me@a.example")
    found = shown(capsys)
    assert found["scope.scope"] == {"value": "host", "from": "store"}
    assert found["politeness.contact"] == {"value": "me@a.example", "from": "store"}
    killed_at_its_first_request("--deny", "draft", "--scope", "prefix")
    found = shown(capsys)
    assert found["scope.scope"] == {"value": "prefix", "from": "store"}
    assert found["scope.deny"] == {"value": ["draft"], "from": "store"}
    assert main(["crawl", *network]) == 0
    assert web.asked == INSIDE - {f"{SITE}/docs/draft"}
    assert main(["check"]) == 0


@pytest.mark.slow
def test_one_line_names_all_settings_that_the_last_run_had_and_this_one_lacks(
    network: Options, capsys: Captured
) -> None:
    given = ("--timeout", "7", "--max-tries", "2", "--header", "X-Token: secret", "--pages", "2")
    assert main(["crawl", SEED, "--scope", "host", *given, *network, "-q"]) == 0
    capsys.readouterr()
    main(["crawl", "-q"])
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "not kept" in line]
    names = line.rpartition("not kept from the last run: ")[2].split(", ")
    assert {"timeout", "max-tries", "header", "resolve"} <= {*names}
    assert not {"pages", "store", "scope"} & {*names}
    assert "secret" not in line
    main(["crawl", "-q"])
    assert "not kept" not in capsys.readouterr().err
