"""Every command on a crawl of the demo: output fits a terminal, stderr has expected lines."""

import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import click
import pytest
from rich.cells import cell_len

from minicrawl.cli import main, root
from tests.cli.calls import Captured
from tests.stores import HandCrawl

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
    "audit orphan",
    "duplicates",
    "pages",
    "changes --since 2d",
    "pages --columns url,depth,status,stands_for,title,last_fetched --sort -depth",
    "pages --columns depth,status",
    "search harbour -n 3",
    "search harbour -kitchen --explain",
    f"page {HOME} --headers",
    f"page {HOME} --versions",
    "archive",
    "archive --verify",
    "rank pagerank",
    "rank hits",
    "rank",
    "rank sites",
    "lab compare opic pagerank",
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
    "forget --keep-versions 1",
    "about --contact https://bot.example.org/about --new-key bot.pem",
    "config",
    "import pages.warc.gz --store imported.db",
    "move elsewhere.db",
)
OnTerminal = Callable[..., None]

ON_PURPOSE = {
    "index": r"index: .* by links\n",
    "report": r"site\.html: \d+ sections\n",
    "export": r"wrote .*\nimportance: .* old\n",
    "seed-set": r"core .*\nminicrawl: .* lead from one host to another .*\n",
}
"""Expected output on stderr, by command."""
ELSEWHERE = {"cluster", "control", "crawl", "dashboard", "lab", "mcp", "node", "update"}
"""Commands that do not end or read no store; other tests check their output."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a crawl of the demo and its index."""
    found = tmp_path_factory.mktemp("demo")
    store = found / "crawl.db"
    crawl = "crawl --demo --demo-pages 150 --keep pages --index -q"
    for command in (crawl.split(), ["export", str(found / "pages.warc.gz")]):
        assert main([*command, "--store", str(store)]) == 0
    return found


@pytest.fixture
def long_store(tmp_path: Path) -> Path:
    """Store of pages with long URLs: read, moved and unread."""
    with closing(HandCrawl(tmp_path / "long.db")) as crawl:
        crawl.seeds([f"{GARDEN}/"])
        crawl.read(f"{GARDEN}/", [LONG, f"{LONG}1", f"{LONG}2"], title="日本語 " * 30)
        crawl.read(LONG, [f"{LONG}3"], title="long " * 60)
        crawl.moved(f"{LONG}1", f"{LONG}2")
    return tmp_path / "long.db"


def test_every_command_is_listed_here() -> None:
    tried = {line.split()[0] for line in REPORTS + WRITERS}
    assert tried | ELSEWHERE == set(root.list_commands(click.Context(root)))


def check_fit(capsys: Captured, on_terminal: OnTerminal, line: str, told: str = "") -> None:
    """Run a command on a terminal of 80 columns."""
    on_terminal("stdout")
    capsys.readouterr()
    assert main(shlex.split(line)) == 0
    out, err = capsys.readouterr()
    err = re.sub(r"^[a-z ]+: \d+%\n", "", err, flags=re.MULTILINE)  # progress on a slow machine
    assert re.fullmatch(told, err, re.DOTALL), err
    shown = re.sub(r"\x1b\[[0-9;]*m", "", out)
    urls = [one for one in shown.splitlines() if "://" in one and " " not in one]
    assert [one for one in shown.splitlines() if cell_len(one) > 80 and one not in urls] == []


@pytest.mark.slow
@pytest.mark.parametrize("line", [*REPORTS, *WRITERS])
def test_lines_fit_the_terminal_and_stderr_has_only_expected_lines(
    line: str,
    folder: Path,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    on_terminal: OnTerminal,
) -> None:
    if line in WRITERS:
        folder = shutil.copytree(folder, tmp_path / "copy")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    check_fit(capsys, on_terminal, line, ON_PURPOSE.get(line.split(maxsplit=1)[0], ""))


@pytest.mark.parametrize(
    "line", ["top", "top --all", "frontier", "pages", f"explain '{LONG}'", f"links {GARDEN}/ --raw"]
)
def test_long_urls_and_titles_fit_the_terminal(
    line: str,
    long_store: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    on_terminal: OnTerminal,
) -> None:
    monkeypatch.setenv("MINICRAWL_STORE", str(long_store))
    check_fit(capsys, on_terminal, line)
