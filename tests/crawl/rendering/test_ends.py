"""Ends of crawls that render: whatever ends first, no process is left, and errors come early."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.control import ControlRequest, Verb, ask
from minicrawl.demo.pages import DemoResponse
from minicrawl.memory.measures import descendants
from tests.crawl.children import nothing_left_behind
from tests.crawl.rendering.sites import (
    ScriptedWeb,
    crawled,
    data,
    filled_by,
    needs_browser,
    page,
    served,
)
from tests.dashboard.servers import wait_until
from tests.processes import PATIENCE_S, killed_on_failure, run_python

pytestmark = [pytest.mark.timeout(300), pytest.mark.proof]
WAITS = filled_by("fetch('/never').then(() => 1)")


def name_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def are_gone(pids: list[int]) -> bool:
    for pid in pids:
        with suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_text()
            if stat.rpartition(")")[2].split()[0] != "Z":
                return False
    return True


def slow() -> dict[str, DemoResponse]:
    return {"/": WAITS, "/never": data([])._replace(delay_s=120.0)}


@needs_browser
@pytest.mark.parametrize(
    ("victim", "sent"),
    [
        ("crawl", signal.SIGTERM),
        *((victim, signal.SIGKILL) for victim in ("crawl", "worker", "driver", "browser")),
    ],
)
def test_no_process_outlives_a_killed_one(
    tmp_path: Path, victim: str, sent: signal.Signals
) -> None:
    with served(slow()) as (web, base):
        options = ("--store", str(tmp_path / "c.db"), "--render", "always", "--delay", "0", "-q")
        more = ("--workers", "0", "--timeout", "60s")
        arguments = (sys.executable, "-m", "minicrawl", "crawl", f"{base}/", *options, *more)
        with killed_on_failure(subprocess.Popen(arguments, stderr=subprocess.DEVNULL)) as crawl:
            wait_until(lambda: "/never" in web.paths, "the page is being rendered")
            shown = ask(tmp_path / "c.db", ControlRequest(verb=Verb.SHOW), PATIENCE_S)["crawlers"]
            tree = descendants(crawl.pid)
            (rendering,) = [one for one in shown if one["name"] == "browser 1"]
            assert (rendering["doing"], rendering["pid"] in tree) == (f"{base}/", True)
            (worker,) = [pid for pid in tree if name_of(pid).startswith("python")]
            driver = next(pid for pid in descendants(worker) if "node" in name_of(pid))
            main_of_browser = next(pid for pid in tree if name_of(pid).startswith("chrom"))
            ended = {"crawl": crawl.pid, "worker": worker, "driver": driver}
            os.kill(ended.get(victim, main_of_browser), sent)
            wait_until(lambda: are_gone(tree), f"all of {tree} have ended")
            crawl.kill()
    assert are_gone(tree)


@needs_browser
def test_a_page_whose_browser_is_killed_is_rendered_by_another(tmp_path: Path) -> None:
    """No other page is requested again."""
    killed: list[int] = []

    class Killing(ScriptedWeb):
        def answer(self, host, target, headers, visits, /):  # type: ignore[no-untyped-def]
            if target == "/data" and not killed:
                pids = descendants(os.getpid())
                killed.extend(pid for pid in pids if name_of(pid).startswith("chrom"))
                for pid in killed:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            return super().answer(host, target, headers, visits)

    code = "fetch('/data').then(() => document.body.innerHTML = '<a href=/found>f</a>')"
    answers = {"/": page("<a href=/a>a</a><a href=/b>b</a>"), "/a": filled_by(code)}
    answers |= {"/b": page("<p>b"), "/data": data([])}
    with served(answers, Killing) as (web, base):
        found = crawled(f"{base}/", tmp_path / "c.db")
    assert killed
    assert "/found" in found
    assert [web.paths.count(path) for path in ("/", "/a", "/b")] == [1, 2, 1]


Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Give a function that runs the command, which must fail before any request, for its error."""

    def refused(*options: str) -> str:
        with nothing_left_behind(), served({"/": page("<p>x")}) as (web, base):
            arguments = ["crawl", f"{base}/", "--store", str(tmp_path / "c.db"), "--delay", "0"]
            assert main([*arguments, *options]) == 2
        assert web.paths == []
        return capsys.readouterr().err

    return refused


def program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "browser"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@needs_browser
def test_a_missing_browser_is_an_error_before_any_request(tmp_path: Path, refused: Refused) -> None:
    said = refused("--render", "auto", "--browser", str(tmp_path / "none"))
    assert str(tmp_path / "none") in said


@needs_browser
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo 'no screen' >&2; exit 1", "no screen\n"),
        ("exit 3", "with exit code 3"),
        ("kill -KILL $$", "by SIGKILL"),
    ],
)
def test_a_browser_that_does_not_start_is_an_error_that_says_why(
    text: str, why: str, tmp_path: Path, refused: Refused
) -> None:
    said = refused("--render", "auto", "--browser", program(tmp_path, text))
    assert "--render" in said
    assert why in said


@needs_browser
def test_what_a_killed_crawl_left_of_its_browsers_goes_and_what_a_running_one_has_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, running, begun = (tmp_path / f"minicrawl-render-{name}" for name in "abc")
    for folder in (left, running, begun):
        (folder / "profile").mkdir(parents=True)
    for folder in (left, running):
        os.utime(folder, (0, 0))
    handle = os.open(running, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    refused("--render", "auto", "--browser", program(tmp_path, "exit 3"))
    os.close(handle)
    assert set(tmp_path.glob("minicrawl-render-*")) == {running, begun}


@needs_browser
def test_without_a_browser_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = refused("--render", "always")
    assert "chromium" in said
    assert "--browser" in said


def test_missing_playwright_is_an_error(monkeypatch: pytest.MonkeyPatch, refused: Refused) -> None:
    monkeypatch.setitem(sys.modules, "playwright", None)
    assert "minicrawl[render]" in refused("--render", "auto")


def test_a_crawl_that_does_not_render_imports_no_module_of_rendering(tmp_path: Path) -> None:
    with served({"/": page("<p>x")}) as (_, base):
        code = (
            "import sys; from minicrawl import Crawl, Settings; "
            f"Crawl(['{base}/'], Settings.of(store='{tmp_path / 'c.db'}', delay=0)).run(); "
            "print([name for name in sys.modules if 'playwright' in name or 'rendering' in name])"
        )
        done = run_python("-c", code)
    assert done.stdout.strip() == "[]"
