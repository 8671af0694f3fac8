"""Every command on a crawl of the demo: what it prints fits a terminal, and stderr has nothing."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import click
import pytest
from rich.cells import cell_len

from minicrawl.cli import main, root
from tests.stores import HandCrawl

Captured = pytest.CaptureFixture[str]

HOME = "http://wiki.kitchen-garden.example/"
LICENCE = "http://www.open-commons.example/licence"
GARDEN = "http://garden.example"
LONG = f"{GARDEN}/{'a-long-name/' * 8}{'x' * 60}?page={'7' * 90}"
REPORTS = (
    "status",
    "status --stored --mirrors --graph-of known",
    "top",
    "top --sites",
    "top --rising --all",
    "top --fold",
    f"explain {HOME}",
    f"explain {LICENCE}",
    f"links {HOME}",
    f"links {HOME} --raw",
    f"backlinks {HOME}",
    f"backlinks {HOME} --raw",
    "errors",
    "frontier",
    "check",
    "broken",
    "redirects",
    "orphans",
    "duplicates",
    "pages",
    "changes --since 2d",
    "pages --columns url,depth,status,stands_for,title,last_fetched --sort -depth",
    "pages --columns depth,status",
    "search harbour -n 3",
    "search harbour -kitchen --explain",
    f"page {HOME} --headers",
    f"page {HOME} --versions",
    "archive info",
    "archive verify",
    "rank pagerank",
    "rank hits",
    "rank list",
    "rank sites",
    "compare opic pagerank",
    "lab agree opic grades.csv",
    "lab stability pagerank --times 2",
    "seed-set --count 3",
    "graph",
)
WRITERS = (
    "index",
    "refine",
    "plot crawl.svg",
    "report site.html",
    "export pages.csv",
    "export pages.parquet",
    "export edges.csv --edges --raw",
    "export folded.parquet --fetched --fold --with text,lang",
    "archive prune --keep-versions 1",
    "config",
    "import pages.warc.gz --store imported.db",
    "move elsewhere.db",  # the last one, since the store is gone then
)
ONE_OF_EACH = [*{line.split()[0]: line for line in reversed(REPORTS)}.values(), *WRITERS]
ON_PURPOSE = {
    "index": r"index: .* by links to them\n",
    "report": r"site\.html: \d+ sections\n",
    "export": r"wrote .*\nimportance: .* old\n",
    "seed-set": r"core .*\nminicrawl: .* lead from one host to another .*\n",
}
"""What a command says on stderr when all is well."""
OF_A_TERMINAL = {"page"}
"""Markup is shown as it is."""
ELSEWHERE = {"cluster", "control", "crawl", "dashboard", "lab", "node"}
"""Commands that run on, or that read no store; other tests look at what they say."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a crawl of the demo and its index."""
    found = tmp_path_factory.mktemp("demo")
    store = found / "crawl.db"
    crawl = "crawl --demo --demo-pages 150 --keep pages --index -q --store"
    arguments = [sys.executable, "-m", "minicrawl", *crawl.split(), str(store)]
    subprocess.run(arguments, check=True, capture_output=True)
    export = ["export", str(found / "pages.warc.gz"), "--store", str(store)]
    subprocess.run([sys.executable, "-m", "minicrawl", *export], check=True, capture_output=True)
    (found / "grades.csv").write_text(f"url,grade\n{HOME},4\n{LICENCE},1\n")
    return found


@pytest.fixture
def long_store(tmp_path: Path) -> Path:
    """Pages with long URLs, some of which are read, moved and not there."""
    with closing(HandCrawl(tmp_path / "long.db")) as crawl:
        crawl.seeds([f"{GARDEN}/"])
        crawl.read(f"{GARDEN}/", [LONG, f"{LONG}1", f"{LONG}2"], title="日本語 " * 30)
        crawl.read(LONG, [f"{LONG}3"], title="long " * 60)
        crawl.moved(f"{LONG}1", f"{LONG}2")
    return tmp_path / "long.db"


def test_every_command_is_tried() -> None:
    tried = {line.split()[0] for line in REPORTS + WRITERS}
    assert tried | ELSEWHERE == set(root.list_commands(click.Context(root)))


def fits(capsys: Captured, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(shlex.split(line)) == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    urls = [one for one in shown.splitlines() if "://" in one and " " not in one]
    assert [one for one in shown.splitlines() if cell_len(one) > 80 and one not in urls] == []


@pytest.mark.parametrize("line", [one for one in REPORTS if one.split()[0] not in OF_A_TERMINAL])
def test_no_line_is_wider_than_the_terminal(
    line: str, folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    fits(capsys, monkeypatch, line)


@pytest.mark.parametrize(
    "line", ["top", "top --all", "frontier", "pages", f"explain '{LONG}'", f"links {GARDEN}/ --raw"]
)
def test_long_urls_and_titles_fit_as_well(
    line: str, long_store: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINICRAWL_STORE", str(long_store))
    fits(capsys, monkeypatch, line)


@pytest.mark.parametrize("line", ONE_OF_EACH)
def test_stderr_is_empty_but_for_what_is_said_on_purpose(line: str, folder: Path) -> None:
    command = shlex.split(line)
    ended = subprocess.run(
        [sys.executable, "-m", "minicrawl", *command],
        cwd=folder,
        env=os.environ | {"MINICRAWL_STORE": "crawl.db", "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert re.fullmatch(ON_PURPOSE.get(command[0], ""), ended.stderr, re.DOTALL), ended.stderr
