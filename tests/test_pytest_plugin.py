"""The fixture `serve_pages`, in tests of a program that uses minicrawl."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

TESTS = """
from minicrawl import Crawl, Reason, State, Store

def states(path):
    with Store.open(path) as store:
        return {page.url: (page.state, page.title) for page in store.pages()}

def test_pages_are_served(serve_pages, tmp_path):
    web = serve_pages({
        "http://a.example/": '<title>Home</title><a href="/b">b</a><a href="/gone">g</a>',
        "http://a.example/b": (200, {"X-Kind": "b"}, b"<title>B</title>the end"),
        "http://a.example/old": (301, {"Location": "/b"}, ""),
    })
    heads = []
    path = tmp_path / "crawl.db"
    crawl = Crawl(
        ["http://a.example", "http://a.example/old"],
        web.settings(store=path),
        on_page=lambda page: heads.append(page.headers.get("x-kind")),
    )
    assert crawl.run() is Reason.EMPTY
    assert states(path) == {
        "http://a.example/": ("fetched", "Home"),
        "http://a.example/b": ("fetched", "B"),
        "http://a.example/gone": ("not-found", ""),
        "http://a.example/old": ("moved", ""),
    }
    assert sorted(heads, key=str) == [None, "b"]
    assert web.requests["http://a.example/b"] == 1

def test_two_webs_are_apart_and_may_change(serve_pages, tmp_path):
    one, other = serve_pages({}), serve_pages({"http://a.example/": "other"})
    one.pages["http://a.example/"] = "<title>one</title>"
    Crawl(["http://a.example"], one.settings(store=tmp_path / "one.db")).run()
    assert states(tmp_path / "one.db") == {"http://a.example/": ("fetched", "one")}
    assert not other.requests
"""


@pytest.mark.slow
def test_the_fixture_serves_pages_until_the_test_is_over(tmp_path: Path) -> None:
    (tmp_path / "test_crawl.py").write_text(TESTS, encoding="utf-8")
    plugin = "minicrawl.demo.pytest_plugin"
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider"]
    environment = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(
        [*command, str(tmp_path)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr


def test_an_installed_minicrawl_registers_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = project["entry-points"]["pytest11"]["minicrawl"]
    assert hasattr(import_module(module), "serve_pages")


def test_the_plugin_alone_imports_nothing_of_minicrawl() -> None:
    plugin = "minicrawl.demo.pytest_plugin"
    code = f"import sys, {plugin}; print(*[n for n in sys.modules if 'minicrawl' in n])"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(ran.stdout.split()) == {
        "minicrawl",
        "minicrawl.demo",
        "minicrawl.demo.pytest_plugin",
    }
