"""`minicrawl crawl`: from seeds to pages, fresh and dry runs, signals, and every way to end."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from socket import create_server
from typing import Any

import pytest
from rich.console import Console

from minicrawl import Crawl, Reason, Settings
from minicrawl.cli import main
from minicrawl.cli.crawl.display import Lines
from minicrawl.cli.crawl.display_state import DisplayState, RunCounter, Speed
from minicrawl.cli.crawl.watching import watched
from minicrawl.config.values.quantities import as_size
from minicrawl.demo.pytest_plugin import DictWeb
from minicrawl.demo.server import DemoServer
from minicrawl.demo.web import DemoWeb
from minicrawl.errors import UsageError
from minicrawl.report.progress.crawl_status import status
from minicrawl.report.progress.samples import latest_sample
from minicrawl.store.reader import reading
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.processes import PATIENCE_S, killed_on_failure
from tests.stores import HandCrawl

WEB = DemoWeb(100)
QUICK = ("--delay", "0", "--allow-private", "--per-address", "64")


@pytest.fixture(autouse=True)
def _seeds(place: Path) -> None:
    (place / "seeds.txt").write_text("\n".join(WEB.seeds), encoding="utf-8")


@pytest.fixture
def server() -> Iterator[DemoServer]:
    with DemoServer(WEB) as server:
        yield server


def of(server: DemoServer) -> tuple[str, ...]:
    """Return options for a crawl of the server."""
    return (*QUICK, "--resolve", f"*={server.address}")


def numbers(capsys: Captured, store: str = "data/crawl.db") -> Any:
    return as_json(capsys, "status", "--store", store)


PATIENT = (
    "import sys; from minicrawl.cli import main; from minicrawl.crawl import loop; "
    "loop.GRACE_S = None; sys.exit(main(sys.argv[1:]))"
)
"""Program whose crawl, when stopped, waits for requests in flight without a time limit."""


def started(*arguments: str, program: Sequence[str] = ("-m", "minicrawl")) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *program, "crawl", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"the process ended without the line {text}")


def children() -> set[str]:
    """Return the ids of the processes that this one started."""
    lists = Path("/proc/self/task").glob("*/children")
    return {number for one in lists for number in one.read_text().split()}


def wait_until_only(known: set[str]) -> None:
    """Wait until all other children have ended: threads note the end of some of them."""
    patient_until = time.monotonic() + PATIENCE_S
    while children() - known:
        assert time.monotonic() < patient_until
        time.sleep(0.01)


SECRET = "s3cret"
REFUSED = {
    "empty.txt": "empty.txt: no URL to start from",
    "absent.txt": "absent.txt: No such file or directory; a URL begins with https://",
    "folder": "folder: Is a directory",
    "''": "an empty seed: give a URL, or a file of URLs, one per line",
    "": "no seeds: give a URL, or a file of URLs, one per line",
    "http://[": "'http://[' is not a URL that can be crawled",
    "seeds.txt --store folder": "folder is a directory, not a store",
    "seeds.txt --store /proc/no/crawl.db": "/proc/no/crawl.db cannot be written",
    "seeds.txt --store seeds.txt": "seeds.txt is not a minicrawl store",
    "seeds.txt --store seeds.txt --fresh": "seeds.txt is not a minicrawl store",
    "seeds.txt --log-file folder": "folder: Is a directory",
    "seeds.txt -q -v": "--quiet and --verbose cannot be combined",
    "seeds.txt --demo": "--demo has its own seeds",
    "--demo-pages 100": "--demo-pages needs --demo",
    "--demo --demo-pages 99": "Invalid value for '--demo-pages'",
}
REFUSED_OPTIONS = {
    "--config absent.toml": "absent.toml: No such file or directory",
    "--pages -1": "--pages -1: must be a whole number above 0",
    "--deny b(": "--deny b(: is not a regular expression: missing ), unterminated",
    "--strategy best": "--strategy best: must be one of siblings, greedy, ra",
    "--weight-internal x": "--weight-internal x: must be a number of at least 0",
    "--weight=dynamic=0": "--weight is gone: --weight-internal W weighs the links",
    "--max-head 1kB": "--max-head is gone: heads are limited to 64 KiB",
    "--focus-only 2": "--focus-only is gone: --score",
    "--score beauty": "scorer 'beauty' is unknown",
    "--score url:(": "--score url:(: ",
    "--score url:a --strategy greedy": "--score needs --strategy siblings",
    "--until '60% guaranteed' --no-links": "--no-links",
    "--keep links --no-links": "--no-links",
    "--cookies none.txt": "none.txt: No such file",
    "--insecure --delay 0": "--insecure lacks its value: --delay is an option",
    "--insecure --no-links": "lacks its value: --no-links is an option",
    "--insecure https://x": "must be a host",
    "--deny --store=x.db": "--deny lacks its value: --store=x.db is an option",
    "--proxy http://127.0.0.1:1": "proxy http://127.0.0.1:1: ",
    "--proxy socks5://127.0.0.1:1": "proxy socks5://127.0.0.1:1: ",
    "--proxy @gone": "--proxy @gone: No such file",
    "--proxy ftp://x": "--proxy ftp://x: ",
    f"--proxy ftp://me:{SECRET}@x": "--proxy ftp://***@x: ",
    f"--proxy http://me:{SECRET}@": "--proxy http://***@: ",
    f"--proxy 'http://me:{SECRET}@x y'": "--proxy http://***@x y: ",
    "--proxy http://***@x:1": "login",
    "--ca gone": "--ca gone: No such file",
    "--client-cert gone": "gone: No such file",
    "--sign-requests gone": "--sign-requests gone: No such file",
    "--sign-requests seeds.txt": "not a private Ed25519 key",
    "--bind-address 192.0.2.1": "--bind-address 192.0.2.1: ",
    "--bind-address here": "must be an IP address",
    "--http2 auto": "by HTTP/1.1",
    "--netrc not-here": "No such file",
    f"--auth {SECRET}": "***: must be HOST=USER:PASS",
    f"--header 'Cookie: {SECRET}'": "would go to every host",
}


REFUSED |= {
    f"http://127.0.0.1:1/ {options}{dry}": told
    for options, told in REFUSED_OPTIONS.items()
    for dry in ("", " --dry-run")
}


@pytest.mark.slow
@pytest.mark.parametrize("line", REFUSED)
def test_a_mistake_is_one_line_and_nothing_is_made(
    line: str, place: Path, capsys: Captured
) -> None:
    (place / "folder").mkdir()
    (place / "empty.txt").write_text("# nothing\n", encoding="utf-8")
    before = sorted(place.rglob("*"))
    found = refusal(capsys, "crawl", *shlex.split(line))
    assert REFUSED[line] in found
    assert SECRET not in found
    assert sorted(place.rglob("*")) == before


class TestACrawl:
    def test_a_crawl_ends_with_a_summary(self, server: DemoServer, capsys: Captured) -> None:
        assert main(["crawl", "seeds.txt", "--pages", "30", *of(server)]) == 0
        out, err = capsys.readouterr()
        assert out == ""
        lines = err.splitlines()
        assert lines[:2] == [
            "server owners cannot reach you: set --contact to a URL or a mail address",
            "the budget is spent",
        ]
        assert re.match(r"  fetched     30 pages of \d+ known on \d+ hosts$", lines[2])
        assert "  store       data/crawl.db" in lines
        told = r"  importance  \S+% gathered; ranks converged, (error at most \S+|exact)$"
        assert re.match(told, lines[3])
        assert lines[-4:-1] == ["next steps", "  minicrawl top --n 20", "  minicrawl status"]
        again = shlex.split(lines[-1], comments=True)
        assert again == ["minicrawl", "crawl", "seeds.txt", "--pages", "60", *of(server)]
        as_given = ["minicrawl", "crawl", "seeds.txt", "--pages", "30", *of(server)]
        assert shlex.split(str(numbers(capsys)["command"])) == as_given
        assert numbers(capsys)["pages_fetched"] == 30

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("budget", "again", "remark"),
        [
            (["--bytes", "1kB"], None, "with a larger budget"),
            (["--bytes=1kB"], None, "with a larger budget"),
            (["--new-pages", "2"], ["--new-pages", "2"], "goes on"),
            (["--pages", "2", "--bytes", "1GB"], ["--pages", "4", "--bytes", "1GB"], "larger"),
            (["--until", "5%"], None, "with another --until"),
        ],
    )
    def test_the_advice_after_a_budget_is_spent_goes_on(
        self,
        server: DemoServer,
        budget: list[str],
        again: list[str] | None,
        remark: str,
        capsys: Captured,
    ) -> None:
        assert main(["crawl", "seeds.txt", *budget, *of(server)]) == 0
        command, _, told = capsys.readouterr().err.splitlines()[-1].partition("  # ")
        assert remark in told
        if (until := numbers(capsys)["goes_on_until"]) is not None:
            again = ["--until", str(until)]
        if again is None:
            again = ["--bytes", as_size((numbers(capsys)["bytes"] // 1000 + 1) * 1000)]
        words = shlex.split(command)
        assert words == ["minicrawl", "crawl", "seeds.txt", *again, *of(server)]
        before = numbers(capsys)["requests"]
        assert main(["status"]) == 0
        assert f"resume with          {command.strip()}\n" in capsys.readouterr().out
        assert main(words[1:]) == 0
        assert numbers(capsys)["requests"] > before

    def test_a_complete_crawl_advises_an_update(self, server: DemoServer, capsys: Captured) -> None:
        seed = "http://www.open-commons.example/licence"
        options = ("--scope", "prefix", "--pages", "3", *of(server))
        for _ in range(2):  # the second run finds nothing to read
            assert main(["crawl", seed, *options]) == 0
            *_, heading, audit, _, _, last = capsys.readouterr().err.splitlines()
            assert (heading, audit) == ("next steps", "  minicrawl audit")
            again = shlex.split(last, comments=True)
            assert again == ["minicrawl", "update", *of(server)]
        before = numbers(capsys)
        assert main(again[1:]) == 0
        capsys.readouterr()
        assert numbers(capsys)["requests"] == before["requests"] + before["pages_fetched"]

    def test_without_convergence_ranks_are_estimates_and_the_next_step_is_refine(
        self, server: DemoServer, capsys: Captured
    ) -> None:
        assert main(["crawl", "seeds.txt", "--pages", "9", "--no-converge", *of(server)]) == 0
        lines = capsys.readouterr().err.splitlines()
        assert lines[3].endswith("% gathered; ranks are estimates")
        assert "  minicrawl refine" in lines
        assert numbers(capsys)["convergence"] is None

    @pytest.mark.slow
    def test_importance_gathered_is_one_figure_everywhere(
        self, server: DemoServer, capsys: Captured
    ) -> None:
        options = ("--pages", "60", "--graph-stats", "--json", *of(server))
        assert main(["crawl", "seeds.txt", *options]) == 0
        out, err = capsys.readouterr()
        gathered = json.loads(out)["status"]["importance_gathered"]
        assert 0 < gathered < 1
        shown = f"{gathered:.1%}"
        assert f"  importance  {shown} gathered; ranks converged" in err
        found = numbers(capsys)
        assert found["importance_gathered"] == found["graph"]["importance_gathered"] == gathered
        lines = printed(capsys, "status").splitlines()
        assert ["importance", "gathered", shown] in map(str.split, lines)

    @pytest.mark.slow
    def test_budgets_end_a_crawl_with_their_reason(
        self, server: DemoServer, capsys: Captured
    ) -> None:
        for pages in (5, 10):
            found = as_json(capsys, "crawl", "seeds.txt", "--new-pages", "5", "-q", *of(server))
            assert (found["reason"], found["pages"]) == ("spent", 5)
            assert found["status"]["pages_fetched"] == pages
        found = as_json(capsys, "crawl", "seeds.txt", "--until", "15%", "-q", *of(server))
        assert found["reason"] == "until"
        assert 0.15 < found["status"]["importance_gathered"] < 1
        guaranteed = ("crawl", "--until", "1% guaranteed", "-q", *of(server))
        found = as_json(capsys, *guaranteed)  # the run before left its proof beside the store
        assert (found["reason"], found["pages"]) == ("until", 0)
        assert found["status"]["importance_guaranteed"] > 0.01
        assert "at least" in printed(capsys, "status")

    @pytest.mark.slow
    def test_only_a_crawl_that_began_resumes_and_it_requests_no_page_twice(
        self, server: DemoServer, capsys: Captured
    ) -> None:
        told = refusal(capsys, "crawl", "seeds.txt", "--resume", *of(server))
        assert "nothing to resume" in told
        assert main(["crawl", "seeds.txt", "--pages", "5", "-q", *of(server)]) == 0
        assert main(["crawl", "--resume", "--pages", "20", "-q", *of(server)]) == 0
        assert numbers(capsys)["pages_fetched"] == 20
        pages = {url: n for url, n in server.requests.items() if not url.endswith("robots.txt")}
        assert set(pages.values()) == {1}
        assert main(["crawl", "--resume", "--fresh"]) == 2

    def test_seeds_may_come_from_stdin(
        self, server: DemoServer, capsys: Captured, typed: Callable[[str], None]
    ) -> None:
        typed(Path("seeds.txt").read_text())
        assert main(["crawl", "-", "--pages", "5", *of(server)]) == 0
        assert " - " not in capsys.readouterr().err
        assert numbers(capsys)["pages_fetched"] == 5

    def test_verbose_prints_the_lines_of_a_log(self, server: DemoServer, capsys: Captured) -> None:
        arguments = ["seeds.txt", "--pages", "5", "-v", "--log-file", "crawl.log", *of(server)]
        assert main(["crawl", *arguments]) == 0
        lines = capsys.readouterr().err.splitlines()
        logged = Path("crawl.log").read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("server owners cannot reach you")
        # Each listener reads the clock, so a second may pass between the two.
        shown = [line.partition("  ")[2] for line in lines[1 : len(logged) + 1]]
        assert shown == [line.partition("  ")[2] for line in logged]
        fetched = re.compile(r"Z  fetched +\d\.\d{3} s  \S+ *\d* +http://")
        assert sum(fetched.search(line) is not None for line in logged) == 5
        assert logged[-2].endswith("ended                   the budget is spent")
        assert re.search(r"Z  ranks                   (error at most \S+|exact)$", logged[-1])

    def test_the_log_may_be_json(self, server: DemoServer) -> None:
        arguments = ["seeds.txt", "--pages", "5", "-q", "--log-format", "json"]
        assert main(["crawl", *arguments, "--log-file", "crawl.log", *of(server)]) == 0
        lines = Path("crawl.log").read_text(encoding="utf-8").splitlines()
        logged = [json.loads(line) for line in lines]
        events = [line["event"] for line in logged]
        assert events.count("settled") >= 5
        assert events[-2:] == ["ended", "converged"]
        assert logged[-1]["complete"] is True
        assert 0 <= logged[-1]["error_bound"] <= 1e-6

    def test_without_a_terminal_progress_is_a_line_at_intervals(
        self, server: DemoServer, capsys: Captured
    ) -> None:
        there: dict[str, Any] = {"resolve": [f"*={server.address}"], "allow_private": True}
        crawl = Crawl(WEB.seeds, Settings.of(pages=60, delay=0, per_address=64, **there))
        state = DisplayState(RunCounter(), Speed(), crawl.settings.budget)
        lines = Lines(state, Console, every_s=0.01)
        asyncio.run(watched(crawl, lines, lambda _progress: None))
        assert re.search(r"^\d+ of 60 pages, .* known on", capsys.readouterr().err, re.MULTILINE)

    @pytest.mark.parametrize(("color", "is_coloured"), [("always", True), ("never", False)])
    def test_colours_are_printed_on_request(
        self, server: DemoServer, capsys: Captured, color: str, is_coloured: bool
    ) -> None:
        arguments = ["seeds.txt", "--pages", "1", "--color", color, *of(server)]
        assert main(["crawl", *arguments]) == 0
        assert ("\x1b[1m" in capsys.readouterr().err) == is_coloured


class TestFresh:
    @pytest.mark.slow
    def test_fresh_renames_the_old_store(self, server: DemoServer, capsys: Captured) -> None:
        assert main(["crawl", "seeds.txt", "--pages", "20", *of(server)]) == 0
        assert main(["crawl", "seeds.txt", "--pages", "5", "--fresh", *of(server)]) == 0
        told = re.search(r"the store that was there is (\S+) now", capsys.readouterr().err)
        assert told is not None
        assert re.fullmatch(r"data/crawl\.db\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d", told[1])
        assert numbers(capsys)["pages_fetched"] == 5
        assert numbers(capsys, told[1])["pages_fetched"] == 20
        assert printed(capsys, "check", "--store", told[1]).startswith("ok: ")

    def test_a_store_that_was_renamed_within_the_same_second_stays(
        self, server: DemoServer
    ) -> None:
        crawl = ["crawl", "seeds.txt", "--pages", "1", "--keep", "pages", "-q", *of(server)]
        assert main(crawl) == 0
        now = time.time()
        for second in range(300):  # in one of them the store is renamed
            name = time.strftime("crawl.db.%Y-%m-%dT%H-%M-%S", time.localtime(now + second))
            for number in ("", "-2"):
                Path("data", name + number).touch()
        assert main([*crawl, "--fresh"]) == 0
        (aside,) = Path("data").glob("crawl.db.*-3")
        assert aside.with_name(f"{aside.name}-pages").is_dir()

    @pytest.mark.slow
    def test_the_target_of_a_link_is_renamed_and_the_link_stays(
        self, server: DemoServer, capsys: Captured
    ) -> None:
        Path("bigdisk").mkdir()
        Path("data").mkdir()
        link = Path("data", "crawl.db")
        link.symlink_to(Path("..", "bigdisk", "real.db"))
        assert main(["crawl", "seeds.txt", "--pages", "20", "-q", *of(server)]) == 0
        assert main(["rank", "degree"]) == 0
        arguments = ["seeds.txt", "--pages", "5", "--fresh", "--no-links"]
        assert main(["crawl", *arguments, *of(server)]) == 0
        assert link.is_symlink()
        assert [file.name for file in Path("data").iterdir()] == [link.name]
        assert (
            numbers(capsys)["pages_fetched"] == numbers(capsys, "bigdisk/real.db")["pages_fetched"]
        )
        (ranks,) = Path("bigdisk").glob("real.db.????-??-??T*-ranks")
        aside = ranks.with_name(ranks.name.removesuffix("-ranks"))
        assert numbers(capsys, str(aside))["pages_fetched"] == 20
        assert not Path("bigdisk", "real.db-ranks").exists()

    def test_without_a_seed_no_store_is_renamed(self, server: DemoServer, capsys: Captured) -> None:
        assert main(["crawl", "seeds.txt", "--pages", "1", "-q", *of(server)]) == 0
        assert "no seeds" in refusal(capsys, "crawl", "--fresh")
        assert not list(Path("data").glob("crawl.db.*"))


class TestDryRun:
    def test_a_dry_run_requests_only_robots_txt_and_writes_nothing(
        self, server: DemoServer, place: Path, capsys: Captured
    ) -> None:
        assert main(["crawl", "seeds.txt", "--dry-run", "--scope", "host", *of(server)]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert set(server.requests) == {f"{seed}robots.txt" for seed in WEB.seeds}
        assert [file.name for file in place.iterdir()] == ["seeds.txt"]
        assert out.startswith("scope  host\nknown  8 pages, 8 seeds\n")
        turns = [line.split() for line in out.splitlines() if " fetch " in line]
        assert sorted(turn[-1] for turn in turns) == sorted(WEB.seeds)
        assert [turn[1] for turn in turns] == ["126.00"] * 8

    @pytest.mark.slow
    def test_a_dry_run_of_a_store_shows_the_next_pages_and_changes_nothing(
        self, server: DemoServer, capsys: Captured
    ) -> None:
        assert main(["crawl", "seeds.txt", "--pages", "20", "-q", *of(server)]) == 0
        before = Path("data/crawl.db").read_bytes()
        assert main(["crawl", "--dry-run", *of(server)]) == 0
        out = capsys.readouterr().out
        assert len([line for line in out.splitlines() if " fetch " in line]) > 10
        assert not any(seed in out.split() for seed in WEB.seeds)
        assert Path("data/crawl.db").read_bytes() == before
        assert "known  8 pages" in printed(
            capsys, "crawl", "seeds.txt", "--dry-run", "--fresh", *of(server)
        )

    def test_a_dry_run_shows_each_action(self, server: DemoServer, capsys: Captured) -> None:
        verdicts = {
            "http://news.branch-line.example/": "fetch",
            "http://news.branch-line.example/members/": "robots",
            "http://www.closed-for-winter.example/": "wait",
            "http://wiki.footpaths.example/b.zip": "type",
            "http://www.fiddle-makers.example/no": "scope",
            "http://127.0.0.1:1/": "address",
        }
        options = ["--deny", "/no$", "--allow", ".", "--delay", "2", *of(server)[2:]]
        assert main(["crawl", *verdicts, "--dry-run", *options]) == 0
        out = capsys.readouterr().out
        assert "\nallow  .\ndeny   /no$\n" in out
        shown = [line.split() for line in out.splitlines()]
        assert {line[-1]: line[2] for line in shown if line and line[-1] in verdicts} == verdicts
        assert sorted(" ".join(line) for line in shown if line[1:2] == ["s"]) == [
            "2 s http://127.0.0.1:1 not available: address",
            "2 s http://news.branch-line.example 1 Disallow, 0 Allow",
            "2 s http://www.closed-for-winter.example no answer; the crawl would ask again",
        ]


class TestCrawlObject:
    def test_a_crawl_stopped_before_it_begins_requests_nothing(self, server: DemoServer) -> None:
        crawl = Crawl(WEB.seeds, Settings.of(resolve=[f"*={server.address}"], store="a.db"))
        crawl.stop()
        assert not crawl.has_begun
        assert crawl.progress() is None
        assert crawl.run() is Reason.STOPPED
        assert not crawl.has_begun
        assert not server.requests

    def test_a_store_without_pages_needs_seeds(self) -> None:
        HandCrawl(Path("empty.db")).close()
        with pytest.raises(UsageError, match="no seeds"):
            Crawl([], Settings.of(store="empty.db")).run()


class TestDemo:
    @pytest.mark.slow
    def test_a_demo_shows_the_top_ten_and_next_steps_each_time(self, capsys: Captured) -> None:
        demo = ["crawl", "--demo", "--demo-pages", "100"]
        assert main(demo) == 0
        out, err = capsys.readouterr()
        assert len(out.splitlines()) == 12
        assert out.splitlines()[-1].startswith("importance: converged, error at most ")
        assert ".example/" in out
        assert "contact" not in err
        assert "  minicrawl top --n 20 --store data/demo.db\n" in err
        assert numbers(capsys, "data/demo.db")["pages_fetched"] == 100
        assert main(demo) == 0
        again, err = capsys.readouterr()
        assert again.splitlines()[:-1] == out.splitlines()[:-1]
        assert err.startswith("the budget is spent\n")
        assert "this run    0 pages" in err

    @pytest.mark.slow
    def test_a_sampler_process_ends_with_the_crawl_and_samples_its_end(self) -> None:
        before = children()
        assert main(["crawl", "--demo", "--demo-pages", "100", "--graph-stats"]) == 0
        wait_until_only(before)
        demo = Path("data/demo.db")
        last, store = latest_sample(demo), status(demo)
        assert last is not None
        assert (last.crawled, last.known) == (store.pages_fetched, store.pages_known)
        assert last.outline.nodes == store.pages_fetched
        assert last.importance_gathered == store.importance_gathered

    @pytest.mark.slow
    def test_an_indexing_process_ends_with_the_crawl(self, capsys: Captured) -> None:
        pytest.importorskip("tantivy")
        before = children()
        command = ["crawl", "--demo", "--demo-pages", "100", "--index"]
        assert "--keep none" in refusal(capsys, *command, "--keep", "none")
        assert main(command) == 0
        wait_until_only(before)
        assert re.search(r"^index: \d{3} pages", capsys.readouterr().err, re.MULTILINE)
        assert main(["search", "the", "--store", "data/demo.db"]) == 0
        assert "index:" not in capsys.readouterr().err
        assert main([*command, "-q"]) == 0
        assert capsys.readouterr() == ("", "")


class TestTrouble:
    @pytest.mark.parametrize("quiet", [True, False])
    def test_without_a_page_the_exit_code_is_3(
        self, server: DemoServer, capsys: Captured, quiet: bool
    ) -> None:
        url = "http://www.hilltop-observatory.example/absent"
        assert main(["crawl", url, *["-q"] * quiet, *of(server)]) == 3
        told = capsys.readouterr().err
        assert "minicrawl: nothing could be fetched (not-found 1): 404\n" in told
        assert ("minicrawl errors" in told) == (not quiet)
        assert "top --n" not in told
        assert ("next steps" in told, "--refresh" in told) == (not quiet, False)

    @pytest.mark.parametrize("target", ["http://portal.example/login", "http://www.a.example/"])
    def test_a_login_page_of_the_network_is_suspected_in_one_line(
        self, capsys: Captured, serve_pages: Callable[..., DictWeb], target: str
    ) -> None:
        web = serve_pages({"http://a.example/": (302, {"Location": target}, ""), target: "Log in!"})
        command = ["crawl", "http://a.example/", *QUICK, "--resolve", f"*={web.address}"]
        assert main(command) == 0
        text = f"http://a.example/ to {target}: if that is no page of it, log in to your network\n"
        told = capsys.readouterr().err
        is_elsewhere = "portal" in target
        assert (text in told, "minicrawl redirects" in told) == (is_elsewhere, is_elsewhere)
        assert ("minicrawl top" in told) != is_elsewhere

    @pytest.mark.parametrize(("limit", "exit_code"), [("0.5", 3), ("1", 0)])
    def test_too_many_failures_are_exit_code_3(
        self, server: DemoServer, capsys: Captured, limit: str, exit_code: int
    ) -> None:
        absent = [f"{WEB.seeds[1]}absent/{number}" for number in range(30)]
        Path("absent.txt").write_text("\n".join((WEB.seeds[1], *absent)), encoding="utf-8")
        arguments = ["absent.txt", "--scope", "prefix", "--max-depth", "0", "-q", *of(server)]
        assert main(["crawl", *arguments, "--max-failures", limit]) == exit_code
        told = "minicrawl: 96.8% of the requested pages failed\n" if exit_code else ""
        assert capsys.readouterr().err == told

    @pytest.mark.slow
    def test_on_a_full_disk_the_store_stays_intact(self) -> None:
        # A write beyond the limit on the size of files fails as on a full disk.
        limit = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (600_000, 600_000))"
        crawl = "import sys, minicrawl.cli as c; sys.exit(c.main(['crawl', '--demo', '-q']))"
        # Coverage would write a file of that size at the end.
        env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
        done = subprocess.run(
            [sys.executable, "-c", f"{limit}; {crawl}"],
            capture_output=True,
            text=True,
            check=False,
            env=env,
        )
        assert re.match("minicrawl: .*data/demo.db(: |-pages/)", done.stderr)
        assert done.stderr.count("\n") == 1
        assert done.returncode == 1
        assert main(["check", "--store", "data/demo.db"]) == 0


class TestSignals:
    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_one_signal_stops_gracefully_and_prints_a_command_that_resumes(
        self, server: DemoServer, capsys: Captured, number: signal.Signals
    ) -> None:
        slow = ("--resolve", f"*={server.address}", "--allow-private", "--delay", "200ms")
        with killed_on_failure(
            started("seeds.txt", "--fresh", "--pages", "40", "-v", *slow)
        ) as process:
            wait_for(process, "  fetched")
            process.send_signal(number)
            _, err = process.communicate()
        assert process.returncode == 130
        assert "stopping after the requests in flight" in err
        said = err.splitlines()[-1].removeprefix("minicrawl: resume with: ")
        again = shlex.split(said)
        assert again == ["minicrawl", "crawl", "seeds.txt", "--pages", "40", "-v", *slow]
        assert main(["check", "--store", "data/crawl.db"]) == 0
        assert 0 < numbers(capsys)["pages_fetched"] < 40
        assert main([*again[1:], "--delay", "0", "--per-address", "64"]) == 0
        assert numbers(capsys)["pages_fetched"] == 40
        pages = {url: n for url, n in server.requests.items() if not url.endswith("robots.txt")}
        with reading(Path("data/crawl.db")) as connection:
            failed = connection.execute("SELECT url FROM requests WHERE outcome LIKE 'failed%'")
            retries = Counter(url for (url,) in failed)
        assert not Counter(pages) - (Counter(pages.keys()) + retries)

    @pytest.mark.slow
    def test_a_second_signal_aborts_at_once(self) -> None:
        with create_server(("127.0.0.1", 0)) as deaf:
            deaf.settimeout(PATIENCE_S)
            options = ("--resolve", f"*=127.0.0.1:{deaf.getsockname()[1]}", "--allow-private")
            crawl = started("seeds.txt", "-v", *options, program=("-c", PATIENT))
            with killed_on_failure(crawl) as process:
                with deaf.accept()[0] as robots_txt:
                    robots_txt.recv(4096)
                    robots_txt.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                with deaf.accept()[0]:  # the request for a page, which gets no response
                    process.send_signal(signal.SIGINT)
                    wait_for(process, "stopping")
                    process.send_signal(signal.SIGINT)
                    _, err = process.communicate()
        assert process.returncode == 130
        assert err.startswith("minicrawl: aborted; resume with: minicrawl crawl ")
        assert err.count("\n") == 1
        assert main(["check", "--store", "data/crawl.db"]) == 0

    def test_a_signal_ends_the_wait_for_a_line_of_stdin(self) -> None:
        with killed_on_failure(started("-")) as process:
            assert process.stdin is not None
            process.stdin.write("no url\n")
            process.stdin.flush()
            wait_for(process, "not a URL")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
        assert process.returncode == 130
        assert err == "minicrawl: interrupted\n"

    @pytest.mark.slow
    def test_a_signal_while_seeds_are_read_prints_how_to_resume(self) -> None:
        urls = "".join(f"http://h{number}.example/\n" for number in range(400_000))
        Path("many.txt").write_text(urls, encoding="utf-8")
        with killed_on_failure(started("many.txt")) as process:
            wait_for(process, "seeds so far")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
        assert process.returncode == 130
        assert "resume with: minicrawl crawl many.txt\n" in err
        assert main(["check", "--store", "data/crawl.db"]) == 0

    @pytest.mark.slow
    def test_a_concurrent_crawl_is_refused(self, server: DemoServer, capsys: Captured) -> None:
        slow = ("--resolve", f"*={server.address}", "--allow-private", "--delay", "200ms")
        with killed_on_failure(started("seeds.txt", "-v", *slow)) as process:
            wait_for(process, "  fetched")
            for arguments in ([], ["--fresh"]):
                line = refusal(capsys, "crawl", "seeds.txt", *arguments, *of(server), code=1)
                assert line.startswith("minicrawl: data/crawl.db is in use by another crawl")
            process.send_signal(signal.SIGTERM)
            process.communicate()
        assert process.returncode == 130
