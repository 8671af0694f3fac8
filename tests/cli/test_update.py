"""`minicrawl update`: the same command night after night, after a crawl."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.dashboard.views import Views
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from minicrawl.states import RetryPolicy
from tests.cli.calls import Captured, as_json, refusal

HOST = "site.example"
COUNTS = {
    *("new", "changed", "fixed", "moved", "gone", "failed", "refused"),
    *("unchanged", "left_out", "not_requested"),
}
"""Keys of the output as JSON."""
_TEXT = "This page tells at length what {} are good for, and whom to ask about them. "


class ChangingSite:
    """Site with a menu on all pages."""

    def __init__(self) -> None:
        self.texts = {f"/{name}": name for name in ("", "apples", "pears", "plums", "figs")}
        self.moved: dict[str, str] = {}
        self.slogan = "Fruit for all"
        self.is_out_of_order = False
        self.changed: dict[str, str] = {}
        """Dates in the sitemap, if there is one."""

    def answer(
        self, _host: str, target: str, _headers: Mapping[str, str], _visits: int, /
    ) -> DemoResponse:
        if target in self.moved:
            return DemoResponse(301, {"Location": self.moved[target]}, b"")
        kind = {"Content-Type": "text/html; charset=utf-8"}
        if target == "/robots.txt" and self.changed:
            sitemap = f"Sitemap: http://{HOST}/sitemap.xml\n"
            return DemoResponse(200, {"Content-Type": "text/plain"}, sitemap.encode())
        if target == "/sitemap.xml" and self.changed:
            return DemoResponse(200, {"Content-Type": "text/xml"}, self._sitemap().encode())
        if self.is_out_of_order:
            return DemoResponse(400, kind, b"come back tomorrow")
        if target not in self.texts:
            return DemoResponse(404, kind, b"nothing here")
        menu = "".join(f"<li><a href='{path}'>{path}</a>" for path in self.texts)
        text = _TEXT.format(self.texts[target]) * 9
        body = f"<main><h1>{target}</h1><p>{text}</p></main>"
        page = f"<nav><ul>{menu}</ul></nav>{body}<footer>{self.slogan}</footer>"
        return DemoResponse(200, kind, f"<!doctype html><title>{target}</title>{page}".encode())

    def _sitemap(self) -> str:
        entries = "".join(
            f"<url><loc>http://{HOST}{path}</loc><lastmod>{at}</lastmod></url>"
            for path, at in self.changed.items()
        )
        return f"<urlset>{entries}</urlset>"


Site = tuple[ChangingSite, DemoServer]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    web = ChangingSite()
    with DemoServer(web) as server:
        for name, value in {
            "RESOLVE": f"{HOST}={server.address}",
            "DELAY": "0",
            "ADDRESS_DELAY": "0",
            "CONTACT": "owner@site.example",
            "WORKERS": "0",
        }.items():
            monkeypatch.setenv(f"MINICRAWL_{name}", value)
        yield web, server


def let_the_night_pass() -> None:
    with closing(sqlite3.connect("data/crawl.db")) as connection, connection:
        query = "UPDATE meta SET value = json_set(value, '$.last_at', 0) WHERE name = 'counters'"
        assert connection.execute(query).rowcount


def updated(capsys: Captured, *options: str) -> dict[str, int]:
    """Run an update in the next night, and return its counts that are not 0."""
    let_the_night_pass()
    found: dict[str, int] = as_json(capsys, "update", "-q", *options)
    assert found.keys() == COUNTS
    return {what: pages for what, pages in found.items() if pages}


@pytest.mark.slow
def test_an_update_reports_changes_and_requests_a_page_once(site: Site, capsys: Captured) -> None:
    web, server = site
    assert main(["crawl", f"http://{HOST}/", "--scope", "host", "--pages", "50", "-q"]) == 0
    assert updated(capsys) == {"unchanged": 5}

    web.slogan = "Fruit for everybody"  # on all pages, but not in their main text
    web.texts["/apples"] = "red apples"
    web.moved["/pears"] = "/apples"
    del web.texts["/plums"], web.texts["/pears"]
    web.texts["/grapes"] = "grapes"
    server.requests.clear()
    assert updated(capsys) == {"new": 1, "changed": 1, "moved": 1, "gone": 1, "unchanged": 2}
    asked = {url: count for url, count in server.requests.items() if "robots" not in url}
    assert set(asked.values()) == {1}

    assert updated(capsys) == {"unchanged": 4}
    web.texts["/plums"] = "plums"
    assert updated(capsys) == {"fixed": 1, "unchanged": 4}


def test_an_update_has_the_budget_of_the_last_run(site: Site, capsys: Captured) -> None:
    _, server = site
    assert main(["crawl", f"http://{HOST}/", "--scope", "host", "--pages", "3", "-q"]) == 0
    for _ in range(3):
        server.requests.clear()
        assert updated(capsys) == {"unchanged": 3}
        assert len([url for url in server.requests if "robots" not in url]) == 3


@pytest.mark.slow
def test_watched_pages_are_read_again_when_their_time_has_come(
    site: Site, capsys: Captured
) -> None:
    _, server = site
    assert main(["crawl", f"http://{HOST}/", "--scope", "host", "--pages", "50", "-q"]) == 0
    for options, paths in (
        (["--watch", "/(apples|pears)$=1ms"], {"/apples", "/pears"}),
        (["--watch", f"http://{HOST}/=1ms", "--watch", "/figs=1d"], {"/"}),
        (["--watch", "/figs=1d"], set()),
    ):
        server.requests.clear()
        updated(capsys, *options)
        asked = {url.removeprefix(f"http://{HOST}") for url in server.requests}
        assert {path for path in asked if "robots" not in path} == paths
    assert "--watch" in refusal(capsys, "update", "--watch", "/figs=soon")


@pytest.mark.slow
@pytest.mark.usefixtures("site")
def test_a_limit_of_an_update_counts_for_this_update_alone(capsys: Captured) -> None:
    assert main(["crawl", f"http://{HOST}/", "--scope", "host", "--pages", "50", "-q"]) == 0
    for _ in range(2):
        assert updated(capsys, "--new-pages", "2") == {"unchanged": 2}
        assert updated(capsys, "--bytes", "1") == {"unchanged": 1}
    assert updated(capsys) == {"unchanged": 5}


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("limit", ["pages = 3", 'until = "10%"'])
def test_limits_of_all_runs_in_a_file_or_variable_do_not_end_an_update(
    limit: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["crawl", f"http://{HOST}/", "--scope", "host", "--pages", "3", "-q"]) == 0
    Path("minicrawl.toml").write_text(f"[budget]\n{limit}\n")
    assert updated(capsys) == {"unchanged": 3}
    Path("minicrawl.toml").unlink()
    name, _, value = limit.replace('"', "").partition(" = ")
    monkeypatch.setenv(f"MINICRAWL_{name.upper()}", value)
    assert updated(capsys) == {"unchanged": 3}


@pytest.mark.usefixtures("site")
def test_a_deterministic_crawl_has_no_updates_until_it_ceases_to_be_so(capsys: Captured) -> None:
    options = ["--scope", "host", "--pages", "3", "-q"]
    assert main(["crawl", f"http://{HOST}/", *options, "--deterministic"]) == 0
    assert "`minicrawl crawl --no-deterministic`" in refusal(capsys, "update", "-q")
    assert main(["crawl", *options, "--no-deterministic"]) == 0
    assert updated(capsys) == {"unchanged": 3}


@pytest.mark.usefixtures("site")
def test_an_update_in_another_folder_leaves_the_command_that_resumes_the_crawl(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, seeds = Path("data/crawl.db").absolute(), Path("seeds.txt")
    seeds.write_text(f"http://{HOST}/\n")
    assert main(["crawl", str(seeds), "--scope", "host", "--pages", "3", "-q"]) == 0
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    resume = as_json(capsys, "status", "--store", store)["command"]
    assert f"cd {store.parent.parent} && minicrawl crawl seeds.txt" in resume
    assert main(["update", "-q", "--store", str(store)]) == 0
    capsys.readouterr()
    assert as_json(capsys, "status", "--store", store)["command"] == resume


def test_an_update_of_a_site_that_is_down_exits_with_3(site: Site) -> None:
    web, _ = site
    assert main(["crawl", f"http://{HOST}/", "--scope", "host", "-q"]) == 0
    web.is_out_of_order = True
    assert main(["update", "-q"]) == 3
    web.is_out_of_order = False
    let_the_night_pass()
    assert main(["update", "-q"]) == 0


@pytest.mark.parametrize("is_robots_current", [True, False])
def test_an_update_counts_the_pages_of_a_host_that_is_down(
    site: Site, capsys: Captured, monkeypatch: pytest.MonkeyPatch, is_robots_current: bool
) -> None:
    monkeypatch.setattr(RetryPolicy, "pause_s", lambda *_: 0.0)
    web, _ = site
    web.texts |= {f"/{n}": f"page {n}" for n in range(20)}
    assert main(["crawl", f"http://{HOST}/", "--scope", "host", "-q"]) == 0
    if not is_robots_current:
        with closing(sqlite3.connect("data/crawl.db")) as connection, connection:
            connection.execute("UPDATE hosts SET robots_until = 1")
    monkeypatch.setenv("MINICRAWL_RESOLVE", f"{HOST}=127.0.0.1:1")
    capsys.readouterr()
    assert main(["update", "-q", "--json"]) == 3
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["failed"] > 0) is is_robots_current
    assert found["failed"] + found["not_requested"] == 25
    assert "nothing could be fetched" in err


LONG_AGO = "2020-01-01"
LATER = (datetime.now(UTC) + timedelta(days=1)).isoformat()


def listed_site(web: ChangingSite, pages: int) -> None:
    """Give the site many pages, all of which its sitemap lists as long unchanged."""
    web.texts |= {f"/{n}": f"page {n}" for n in range(pages)}
    web.changed = dict.fromkeys(web.texts, LONG_AGO)


@pytest.mark.slow
def test_pages_unchanged_by_a_reliable_sitemap_are_omitted(site: Site, capsys: Captured) -> None:
    web, server = site
    listed_site(web, 100)
    assert main(["crawl", f"http://{HOST}/", "--scope", "host", "--sitemaps", "-q"]) == 0
    server.requests.clear()
    web.texts["/7"] = "another text"
    web.changed["/7"] = LATER
    found = updated(capsys)
    assert found.keys() == {"changed", "unchanged", "left_out"}
    assert found["changed"] == 1
    assert found["unchanged"] + found["left_out"] == 104
    assert found["left_out"] > 50
    assert sum(server.requests.values()) == 1 + found["changed"] + found["unchanged"]

    found = updated(capsys)
    assert found["left_out"] > 80, "the second night knows what the first one showed"

    web.texts["/new"] = "new"  # in the menu of all pages, so the sitemap is wrong about them
    assert updated(capsys)["unchanged"] > 80


@pytest.mark.slow
def test_pages_of_a_ping_are_read_first_despite_the_sitemap(site: Site, capsys: Captured) -> None:
    web, server = site
    listed_site(web, 100)
    assert main(["crawl", f"http://{HOST}/", "--scope", "host", "--sitemaps", "-q"]) == 0
    assert updated(capsys)["left_out"] > 50
    told = [f"http://{HOST}/{n}" for n in range(30)]
    Views(Path("data/crawl.db")).ping(told, HOST)
    for n in range(30):
        web.texts[f"/{n}"] = f"another text {n}"
    server.requests.clear()
    found = updated(capsys)
    assert found["changed"] == 30
    assert found["left_out"] > 40
    asked = [url for url in server.requests if not url.endswith((".txt", ".xml"))]
    assert set(asked[:30]) == set(told)

    server.requests.clear()
    assert updated(capsys)["left_out"] > 80, "pages read since the ping are unchanged"


@pytest.mark.slow
def test_an_unreliable_sitemap_saves_no_request(site: Site, capsys: Captured) -> None:
    web, _ = site
    listed_site(web, 100)
    assert main(["crawl", f"http://{HOST}/", "--scope", "host", "--sitemaps", "-q"]) == 0
    for n in range(100):
        web.texts[f"/{n}"] = f"another text {n}"
    assert updated(capsys)["changed"] == 100


@pytest.mark.slow
def test_what_is_mended_is_fixed_and_what_is_new_is_new(
    site: Site, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    web, server = site
    links = "".join(f"<a href='{path}'>x</a>" for path in ("/figs", "/dates", "/old", "/kiwis"))
    web.slogan = f"{links}<a href='http://other.example/out'>out</a>"
    web.moved["/old"] = "/limes"
    del web.texts["/figs"]
    monkeypatch.setenv("MINICRAWL_RESOLVE", f"*={server.address}")
    options = ["--scope", "host", "--check", "external", "-q"]
    assert main(["crawl", f"http://{HOST}/", *options]) == 0
    assert main(["update", "-q"]) == 0
    assert "not kept from the last run: check" in capsys.readouterr().err
    assert updated(capsys) == {"unchanged": 4}

    web.texts["/figs"] = "figs"  # it was never read before
    web.moved["/dates"] = "/figs"  # a redirect to a page that is there
    web.texts["/limes"] = "limes"  # the end of a redirect
    web.texts["/kumquats"] = "kumquats"  # in the menu
    web.texts["/out"] = "a page of another site"
    server.requests.clear()
    found = updated(capsys)
    assert (found["fixed"], found["new"]) == (4, 2), "/out is in the menu of all pages as well"
    rows = as_json(capsys, "changes", "--n", "0")
    fixed = {row["url"] for row in rows if row["what"] == "fixed"}
    assert fixed == {f"http://{HOST}/{name}" for name in ("figs", "dates", "limes")} | {
        "http://other.example/out"
    }
    broken = {row["target"] for row in as_json(capsys, "broken", "--n", "0")}
    assert broken == {f"http://{HOST}/kiwis"}
    assert updated(capsys).keys() == {"unchanged"}
    assert main(["check"]) == 0
