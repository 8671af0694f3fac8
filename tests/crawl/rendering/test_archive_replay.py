"""`archive --qa` opens pages of an archive in the browser, without their servers."""

from pathlib import Path
from typing import Any

import pytest

from minicrawl import Crawl
from minicrawl.demo.pytest_plugin import DictWeb
from minicrawl.demo.server import DemoServer
from tests.cli.calls import Captured, as_json, refusal
from tests.crawl.rendering.sites import needs_browser

SITE = "http://a.example"
SCRIPT, STYLE = {"Content-Type": "text/javascript"}, {"Content-Type": "text/css"}
SHOW = "document.getElementById('r').textContent ="
FETCH = f"fetch('/data').then(answer => answer.text()).then(text => {{ {SHOW} text }})"
CHANGES = f"fetch('/now?' + Math.random()).catch(() => 0).finally(() => {{ {SHOW} Math.random() }})"
PAGES: dict[str, Any] = {
    f"{SITE}/": "<!doctype html><link rel=stylesheet href=/s.css>"
    "<a href=/app>app</a><a href=/odd>odd</a>",
    f"{SITE}/s.css": (200, STYLE, "body { background: #f00 }"),
    f"{SITE}/app": "<!doctype html><title>app</title><p id=r></p><script src=/app.js></script>",
    f"{SITE}/app.js": (200, SCRIPT, FETCH),
    f"{SITE}/data": "words that a script has fetched",
    f"{SITE}/odd": f"<title>odd</title><p id=r></p><script>{CHANGES}</script>",
}


@needs_browser
@pytest.mark.slow
def test_a_page_that_the_archive_lacks_a_file_of_is_the_worst(
    tmp_path: Path, capsys: Captured
) -> None:
    web, store, report = DictWeb(PAGES), tmp_path / "crawl.db", tmp_path / "replay.html"
    with DemoServer(web) as server:
        web.address = server.address
        kept = {"keep": "pages", "requisites": True, "render": "always"}
        Crawl([f"{SITE}/"], web.settings(store=store, **kept)).run()
    # The server is gone: all that the browser gets is in the archive.
    rows = as_json(capsys, "archive", "--qa", str(report), "--store", str(store))
    assert rows[0]["url"] == f"{SITE}/odd"
    assert {row["url"]: (row["text"], row["picture"], row["failed"]) for row in rows[1:]} == {
        f"{SITE}/": (1.0, 1.0, 0),
        f"{SITE}/app": (1.0, 1.0, 0),
    }
    assert rows[0]["failed"] == 1
    assert rows[0]["text"] < 1
    page = report.read_text()
    assert page.count("data:image/png;base64,") == 2 * len(rows)
    assert f"<li>{SITE}/now?" in page


def test_options_of_a_replay_need_it(tmp_path: Path, capsys: Captured) -> None:
    assert "--qa-pages needs --qa" in refusal(capsys, "archive", "--qa-pages", "2")
    assert "--verify" in refusal(capsys, "archive", "--qa", str(tmp_path / "a"), "--verify")
