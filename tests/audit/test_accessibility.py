"""`audit --render` judges a page of each template by axe-core, from the archive alone."""

from pathlib import Path
from typing import Any

import pytest

from minicrawl import Crawl
from minicrawl.audit.checks import RULES
from minicrawl.audit.findings import audited
from minicrawl.demo.pytest_plugin import DictWeb
from minicrawl.demo.server import DemoServer
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.crawl.rendering.sites import needs_browser

SITE = "http://a.example"
STYLE = "body { color: #222; background: #fff } .pale { color: #bbb }"
HEAD = "<head><meta charset=utf-8><title>{}</title><link rel=stylesheet href=/s.css></head>"
MENU = "<nav aria-label=Main><a href=/>Home</a> <a href=/bad>Bad</a> <a href=/post-1>Post 1</a> "


def sound(name: str, kind: str = "", more: str = "") -> str:
    """Return a page made to WCAG AA, with what only looks like a fault."""
    return (
        f"<!doctype html><html lang=en>{HEAD.format(name)}<body>{MENU}<a href=/post-2>Post 2</a>"
        f"</nav><main class='{kind}'><h1>{name}</h1><img src=/s.css alt=''><label>Find "
        f"<input name=q></label><button><img src=/s.css alt=Go></button><p hidden class=pale>no"
        f"</p>{more}</main>"
    )


BAD = (
    f"<!doctype html><html>{HEAD.format('Bad')}<body><main class=bad><h1>Bad</h1><img src=/s.css>"
    "<p class=pale>words that nobody can read</p><input name=q><button></button>"
    "<i id=twice></i><b id=twice>x</b><a href=/ aria-labelledby=twice>Home</a></main>"
)
PAGES: dict[str, Any] = {
    f"{SITE}/": sound("Home"),
    f"{SITE}/bad": BAD,
    f"{SITE}/post-1": sound("Post 1", "post", "<p class=pale>pale</p>"),
    f"{SITE}/post-2": sound("Post 2", "post", "<p class=pale>pale, too</p>"),
    f"{SITE}/s.css": (200, {"Content-Type": "text/css"}, STYLE),
}
PLANTED = {
    "axe-image-alt": "error",
    "axe-label": "error",
    "axe-button-name": "error",
    "id-duplicate": "notice",  # which needs no browser
    "axe-html-has-lang": "warning",
    "axe-color-contrast": "warning",
}


def store_of(place: Path, **chosen: Any) -> Path:
    web = DictWeb(PAGES)
    with DemoServer(web) as server:
        web.address = server.address
        Crawl([f"{SITE}/"], web.settings(store=place, workers=0, **chosen)).run()
    return place


@needs_browser
@pytest.mark.slow
def test_the_planted_faults_are_found_on_one_page_of_each_template(
    tmp_path: Path, capsys: Captured
) -> None:
    pytest.importorskip("axe_playwright_python")
    store = str(store_of(tmp_path / "c.db", requisites=True))
    document = as_json(capsys, "audit", "--render", "--store", store)
    rules = [row for row in document["causes"] if row["issue"].startswith(RULES)]
    planted = {row["issue"]: row["severity"] for row in document["causes"]}
    assert planted.items() >= PLANTED.items()
    assert {row["example"] for row in rules} <= {f"{SITE}/bad", f"{SITE}/post-1", f"{SITE}/post-2"}
    # The pale text is one cause, on the page with other faults and on one of two alike.
    contrast = [row for row in rules if row["issue"] == "axe-color-contrast"]
    assert {row["target"].partition(" at ")[0] for row in contrast} == {'<p class="pale">'}
    assert sum(row["pages"] for row in contrast) == 2
    means = {row["issue"]: row["means"] for row in document["issues"]}
    assert "(WCAG 1.4.3)" in means["axe-color-contrast"]
    whys = {row["why"] for row in document["partial"] if row["issue"].startswith(RULES)}
    assert whys == {"one page of each template: 3 of 4 pages"}
    only = as_json(capsys, "audit", "axe-label", "--render", "--store", store)
    assert [row["url"] for row in only["pages"]] == [f"{SITE}/bad"]


@needs_browser
@pytest.mark.slow
def test_a_page_without_its_styles_is_not_judged(tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python")
    with audited(store_of(tmp_path / "c.db"), rendered=()) as audit:
        assert dict(audit.skipped)[RULES].endswith(
            "3 without their styles: crawl with --requisites"
        )


def test_rules_without_a_browser_are_told(tmp_path: Path, capsys: Captured) -> None:
    store = str(store_of(tmp_path / "c.db"))
    said = "not checked: 1 issue (needs a browser: audit --render)\n"
    assert printed(capsys, "audit", "axe-label", "--store", store, said=said)
    assert "axe_label" in refusal(capsys, "audit", "axe_label", "--store", store)
