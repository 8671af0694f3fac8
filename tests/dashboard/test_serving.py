"""The dashboard as a process: what it serves, to whom, and how it ends."""

import inspect
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from minicrawl.cli import main
from minicrawl.dashboard.access import TOKEN_HEADER, DashboardAccess
from minicrawl.dashboard.routes import MOST_STREAMS, Dashboard
from minicrawl.dashboard.views import Views
from tests.dashboard.asking import get, post
from tests.dashboard.servers import (
    RunningDashboard,
    announced,
    command,
    crawl_of_demo,
    crawl_state,
    dashboard_of,
    wait_until,
)
from tests.processes import killed_on_failure
from tests.stores import GONE, A, filled_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled_store(tmp_path_factory.mktemp("served") / "crawl.db")


@pytest.fixture(scope="module")
def served(store: Path) -> Iterator[RunningDashboard]:
    with dashboard_of(store) as running:
        yield running


def events(served: RunningDashboard, topics: str, count: int, log: str = "") -> dict[str, Any]:
    """Return the first `count` views in a stream of events."""
    found: dict[str, Any] = {}
    url = f"{served.base}events?topics={topics}{log}"
    named = {TOKEN_HEADER: served.token}
    with httpx.stream("GET", url, headers=named, trust_env=False, timeout=60) as stream:
        name = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: ") and name not in ("alive", "moments"):
                found[name] = json.loads(line.removeprefix("data: "))
            if len(found) >= count:
                break
    return found


@pytest.mark.slow
def test_the_page_loads_nothing_but_its_own_files(served: RunningDashboard) -> None:
    page = get(served, "")
    assert page.status_code == 200
    names = re.findall(r'(?:src|href)="([^"#]+)"', page.text)
    assert names
    assert all(name.startswith("/page/") for name in names)
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", page.text)
    for name in names:
        assert get(served, name.lstrip("/")).status_code == 200


def test_every_imported_module_is_served_and_parses_no_markup(
    served: RunningDashboard,
) -> None:
    seen, waiting = set[str](), ["/page/main.js"]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        module = get(served, name.lstrip("/"))
        assert module.status_code == 200, name
        waiting += re.findall(r'from "([^"]+)"', module.text)
        for danger in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
            assert danger not in module.text, name
    assert "/page/setup.js" in seen


def test_every_response_has_the_security_headers(served: RunningDashboard) -> None:
    for answer in (get(served, ""), get(served, "nothing"), get(served, "", host="evil.example")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in answer.headers


def test_files_beside_those_of_the_page_are_not_served(served: RunningDashboard) -> None:
    module = Path(inspect.getfile(Dashboard)).name
    for above in ("page/../", "page/%2e%2e/", "page/..%2f", ""):
        assert get(served, f"{above}{module}").status_code == 404


@pytest.mark.slow
def test_events_carry_the_views_of_the_store(served: RunningDashboard, store: Path) -> None:
    found = events(served, "crawl,history,graph,hosts,errors,top", 7, "&log=0")
    crawl = found["crawl"]
    assert (crawl["live"], crawl["store"]) == (None, str(store))
    assert crawl["status"]["pages_known"] == 6
    assert found["log"][-1]["url"] == GONE
    assert found["top"]["pages"][0]["rank"] == 1
    assert found["errors"]
    assert found["hosts"]


def test_single_requests_explain_search_draw_and_list_failed_pages(
    served: RunningDashboard,
) -> None:
    page = get(served, f"api/page?url={A}").json()
    assert page["title"] == "The first"
    assert page["givers"]
    assert page["receivers"]["count"] == 2
    (found,) = get(served, "api/search?q=FIRST").json()["pages"]
    assert found["url"] == A
    hosts = get(served, "api/graph?of=hosts&n=10").json()
    assert {node["label"] for node in hosts["nodes"]} == {"a.example", "b.example", "c.example"}
    pages = get(served, "api/graph?of=pages&n=2").json()
    assert len(pages["nodes"]) == 2
    (gone,) = get(served, "api/errors?kind=not-found").json()["pages"]
    assert gone["url"] == GONE
    for unknown in ("page?url=nowhere.example", "page?url=", "errors?kind=x"):
        assert "\n" not in get(served, f"api/{unknown}").json()["error"]


@pytest.mark.slow
@pytest.mark.parametrize("token", [{}, {TOKEN_HEADER: "a" * 32}])
def test_every_route_but_the_page_itself_needs_the_token(
    served: RunningDashboard, token: dict[str, str]
) -> None:
    """Other users of the machine can reach every route."""
    access = DashboardAccess(port=1, names=frozenset(), token="")
    routes = Dashboard(Views(Path("x.db")), access).routes()
    asked = {(method, route.path) for route in routes for method in route.methods or ()}
    refused = {(method, path) for method, path in asked if _is_refused(served, method, path, token)}
    open_to_all = {(method, path) for method in ("GET", "HEAD") for path in ("/", "/page/{name}")}
    assert asked - refused == open_to_all
    assert {"/events", "/api/page", "/api/texts/search", "/api/start"} <= {p for _, p in refused}


def _is_refused(served: RunningDashboard, method: str, path: str, token: dict[str, str]) -> bool:
    url = served.base + path.lstrip("/")
    with httpx.stream(method, url, json={}, headers=token, trust_env=False, timeout=60) as answer:
        return answer.status_code == 403


@pytest.mark.slow
def test_refused_clients_take_no_stream_from_one_with_the_token(served: RunningDashboard) -> None:
    url = f"{served.base}events?topics=crawl"
    for _ in range(MOST_STREAMS + 1):
        assert httpx.get(url, trust_env=False).status_code == 403
    for log in ("x", "", "-1", "1.5", "²", "1" * 400, "9223372036854775808"):
        answer = get(served, f"events?topics=crawl&log={log}")
        assert answer.status_code == 400, log
        assert "log" in answer.json()["error"]
    assert events(served, "crawl", 1)["crawl"]


def test_foreign_host_names_and_origins_are_refused(served: RunningDashboard) -> None:
    port = served.base.rstrip("/").rpartition(":")[2]
    assert get(served, "", host=f"evil.example:{port}").status_code == 403
    assert get(served, "api/search?q=x", origin="http://evil.example").status_code == 403
    refused = post(served, "api/control", {"verb": "stop"}, origin="http://evil.example")
    assert refused.status_code == 403


def test_a_long_body_a_list_and_a_request_without_a_crawl_are_refused(
    served: RunningDashboard,
) -> None:
    assert post(served, "api/control", "x" * 5_000_000).status_code == 413
    assert "JSON" in post(served, "api/control", [1]).json()["error"]
    answer = post(served, "api/control", {"verb": "pause"})
    assert answer.status_code == 422
    assert "no crawl" in answer.json()["error"]
    answer = post(served, "api/start", {"pages": "many"})
    assert answer.status_code == 422
    assert set(answer.json()["fields"]) == {"pages"}


def test_the_token_is_kept_beside_the_store_for_the_user_alone(
    store: Path, served: RunningDashboard
) -> None:
    note = store.with_name("crawl.db-dashboard")
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert json.loads(note.read_text(encoding="utf-8"))["token"] == served.token


def failing(*arguments: str) -> str:
    """Run a command that must fail, and return its error, which must be one line."""
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.slow
def test_a_start_that_fails_names_the_value_and_never_the_option_of_a_port(
    served: RunningDashboard, store: Path, tmp_path: Path
) -> None:
    port, other = served.base.rstrip("/").rpartition(":")[2], tmp_path / "other.db"
    for wanted, named in (
        (command(other, "--port", port), (f"port {port}",)),
        (command(other, "--host", "192.0.2.1", "--port", "0"), ("192.0.2.1",)),
        (command(tmp_path, "--port", "0"), (f"{tmp_path} is a folder", "--store")),
        (command(store, "--port", "0"), (served.base,)),  # where its dashboard runs
    ):
        said = failing(*wanted)
        assert all(name in said for name in named), said
        assert "--port" not in said
        assert served.token not in said


@pytest.mark.slow
def test_the_dashboard_has_a_lower_priority_than_the_crawl_in_any_session(path: Path) -> None:
    wanted = command(path, "--port", "0")
    with announced(wanted) as running:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, running.process.pid) == min(own + 10, 19)
    with announced(wanted, start_new_session=True) as running:
        group = Path(f"/proc/{running.process.pid}/autogroup")
        assert not group.exists() or group.read_text().split()[-1] == "10"


@pytest.mark.slow
def test_the_dashboard_keeps_its_lock_and_its_token_through_a_fresh_crawl(tmp_path: Path) -> None:
    store = tmp_path / "demo.db"
    fresh = [*("crawl", "--demo", "--demo-pages", "100", "--pages", "3"), "--fresh", "--quiet"]
    assert main([*fresh, "--store", str(store)]) == 0
    with dashboard_of(store) as running:
        assert main([*fresh, "--store", str(store)]) == 0
        assert len(list(tmp_path.glob("demo.db.*"))) >= 1
        said = failing(*command(store, "--port", "0"))
        assert running.base in said
    with dashboard_of(store) as again:
        assert again.token == running.token


@pytest.mark.slow
def test_the_page_names_a_store_that_has_vanished(tmp_path: Path) -> None:
    path = filled_store(tmp_path / "crawl.db")
    with dashboard_of(path) as running:

        def missing() -> str:
            return str(events(running, "crawl", 1)["crawl"]["status"].get("missing", ""))

        assert missing() == ""
        path.unlink()
        wait_until(lambda: bool(missing()), "the store is still there")
        assert f"{path} has vanished" in missing()
        assert "no store" in get(running, "api/search?q=x").json()["error"]


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_dashboard_while_browsers_watch(tmp_path: Path, how: int) -> None:
    path = filled_store(tmp_path / "crawl.db")
    with dashboard_of(path) as running:
        url = f"{running.base}events?topics=crawl"
        named = {TOKEN_HEADER: running.token}
        with httpx.stream("GET", url, headers=named, trust_env=False, timeout=60) as stream:
            lines = stream.iter_lines()
            next(lines)
            running.process.send_signal(how)
            running.process.wait(30)
        assert running.process.returncode in (0, 130)


@pytest.mark.slow
def test_the_dashboard_steers_a_crawl_and_outlives_it(tmp_path: Path) -> None:
    store = tmp_path / "demo.db"
    with crawl_of_demo(store, "--delay", "0.5") as crawl, dashboard_of(store) as running:
        wait_until(lambda: crawl_state(store) is not None, "the crawl does not listen")
        answer = post(running, "api/control", {"verb": "set", "values": {"workers": 2}})
        assert answer.json()["workers"] == 2
        answer = post(running, "api/control", {"verb": "set", "values": {"workers": "-2"}})
        assert answer.status_code == 422
        wait_until(lambda: len((crawl_state(store) or {})["crawlers"]) >= 3, "no workers")
        crawl.kill()
        crawl.wait(30)
        answer = post(running, "api/control", {"verb": "pause"})
        assert "no crawl" in answer.json()["error"]
        assert events(running, "crawl", 1)["crawl"]["live"] is None


@contextmanager
def crawling(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a demo crawl in this folder, with its messages in a pipe."""
    command = [sys.executable, "-m", "minicrawl", "crawl", "--demo", *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with killed_on_failure(subprocess.Popen(command, cwd=folder, text=True, **pipes)) as process:
        yield process


@pytest.mark.slow
def test_the_dashboard_of_a_finished_crawl_stays_until_it_is_interrupted(tmp_path: Path) -> None:
    arguments = ["--demo-pages", "100", "--dashboard", "--store", "demo.db"]
    with crawling(tmp_path, *arguments) as process:
        assert process.stderr is not None
        address = ""
        for line in process.stderr:
            if line.startswith("dashboard: "):
                address = line.split()[-1]
            if line.startswith("the dashboard stays at "):
                assert address in line
                break
        assert httpx.get(address, trust_env=False).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(address, trust_env=False)


@pytest.mark.slow
def test_a_crawl_serves_metrics_until_it_ends(tmp_path: Path) -> None:
    arguments = ["--continuous", "--metrics", "127.0.0.1:0"]
    with crawling(tmp_path, *arguments) as process:
        assert process.stderr is not None
        told = next(line for line in process.stderr if line.startswith("metrics: "))
        address, token = told.split()[1].rstrip(","), told.split()[-1]
        headers = {"Authorization": f"Bearer {token}"}
        found = httpx.get(address, headers=headers, trust_env=False)
        assert found.status_code == 200
        assert "minicrawl_crawl_running 1" in found.text
        assert httpx.get(address, trust_env=False).status_code == 403
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        process.wait(60)
    with pytest.raises(httpx.ConnectError):
        httpx.get(address, trust_env=False)


@pytest.mark.slow
@pytest.mark.parametrize("more", [["9464"], ["127.0.0.1:99999"], ["[::1]:1", "--dashboard"]])
def test_metrics_that_cannot_be_served_are_refused(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["crawl", "--demo", "--metrics", *more]) == 2
    assert "--metrics" in capsys.readouterr().err
