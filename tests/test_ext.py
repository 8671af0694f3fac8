"""Additions of other packages by entry points: the example packages, built and installed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import click
import psycopg
import pytest

from minicrawl import MinicrawlError, PageRead, Store, ext
from minicrawl.cli import ROOMS, main, root
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from minicrawl.errors import NoText
from minicrawl.ext import EntryPoint, Registry
from minicrawl.report.archived.page_texts import PageTexts
from minicrawl.states import READ_STATES
from tests.processes import run_python
from tests.stores import filled_store

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").iterdir())
MOST_LINES = 80


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the example packages, installed from their wheels."""
    made, folder = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("site")
    build = "import sys, os; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    for example in EXAMPLES:
        subprocess.run([sys.executable, "-c", build, str(made)], cwd=example, check=True)
    for wheel in made.iterdir():
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)
    return folder


@pytest.fixture
def added(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make this process import the example packages."""
    monkeypatch.syspath_prepend(str(installed))
    yield
    for name in [name for name in sys.modules if name.startswith("minicrawl_")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """Address of a PostgreSQL server that runs while the tests do."""
    folders = [str(path) for path in Path("/usr/lib/postgresql").glob("*/bin")]
    start = shutil.which("initdb", path=os.pathsep.join([os.environ["PATH"], *folders]))
    if start is None:
        pytest.skip("no PostgreSQL server is installed")
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        # The server refuses to run as root.
        user: dict[str, Any] = {"user": "nobody"} if os.geteuid() == 0 else {}
        if user:
            shutil.chown(folder, "nobody")
        data = f"{folder}/data"
        made = [start, "-D", data, "-A", "trust", "-U", "crawler", "-N", "-E", "UTF8"]
        subprocess.run(made, check=True, capture_output=True, cwd=folder, **user)
        serve = [str(Path(start).resolve().with_name("postgres")), "-D", data, "-k", folder, "-F"]
        with subprocess.Popen(
            [*serve, "-c", "listen_addresses="], stderr=subprocess.PIPE, cwd=folder, **user
        ) as server:
            assert server.stderr is not None
            for line in server.stderr:
                if b"ready to accept" in line:
                    break
            yield f"postgresql:///postgres?host={folder}&user=crawler"
            server.terminate()


SHOP = ("http://shop.example/", "-q", "--delay", "0", "--store", "crawl.db")


class Shop:
    """Shop with two products, one in JSON-LD and one in microdata."""

    PAGES: ClassVar = {
        "/": "<title>Shop</title><a href=/a>A</a> <a href=/b>B</a> <a href=/c>C</a> "
        "<a href=/a?by=price>",
        "/a": '<title>A</title><script type="application/ld+json">{"@graph": [{"@type": "Product",'
        '"name": "Duck & Co", "sku": "7", "offers": [{"name": "x", "price": "9.50", '
        '"priceCurrency": "EUR"}]}]}</script>',
        "/b": '<title>B</title><div itemscope itemtype="https://schema.org/Product">'
        '<b itemprop="name">Duck &amp; Co</b><i itemprop=price content="9.50">9,50</i>'
        '<i itemprop="priceCurrency">EUR</i></div>',
        "/c": '<title>C</title><script type="application/ld+json">{broken</script>'
        "<p>Lorem ipsum dolor sit amet.",
    }

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        if target not in self.PAGES:
            return DemoResponse(404, {})
        return DemoResponse(200, {"Content-Type": "text/html"}, self.PAGES[target].encode())


def minicrawl(site: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), str(ROOT)])
    return run_python("-m", "minicrawl", *arguments, folder=cwd, variables={"PYTHONPATH": path})


def output_of(site: Path, *arguments: str, cwd: Path) -> str:
    """Run a command that succeeds, and return its stdout."""
    ran = minicrawl(site, *arguments, cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


class TestOnTheCommandLine:
    @pytest.mark.slow
    def test_a_command_is_listed_and_runs(self, installed: Path, tmp_path: Path) -> None:
        filled_store(tmp_path / "crawl.db")
        listed = output_of(installed, "--help", cwd=tmp_path)
        assert re.search(r"^ +hosts +\w", listed, re.MULTILINE)
        shown = output_of(installed, "hosts", "--store", "crawl.db", cwd=tmp_path)
        assert "\tb.example\n" in shown

    @pytest.mark.slow
    def test_a_rank_is_computed_kept_and_compared(self, installed: Path, tmp_path: Path) -> None:
        filled_store(tmp_path / "crawl.db")
        assert "reciprocal" in output_of(installed, "rank", "--help", cwd=tmp_path)
        command = ("rank", "reciprocal", "--json", "--store", "crawl.db")
        found = json.loads(output_of(installed, *command, cwd=tmp_path))
        assert (found["rank"], found["nodes"]) == ("reciprocal", 6)
        # The pages A and B link to each other.
        assert [one["score"] for one in found["scores"]] == [0.5, 0.5, 0, 0, 0, 0]
        output_of(installed, "top", "--by", "reciprocal", "--store", "crawl.db", cwd=tmp_path)

    def test_a_format_is_written(self, installed: Path, tmp_path: Path) -> None:
        filled_store(tmp_path / "crawl.db")
        output_of(installed, "export", "pages.md", "--store", "crawl.db", cwd=tmp_path)
        lines = (tmp_path / "pages.md").read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("| rank | url |")
        assert len(lines) > 2

    @pytest.mark.slow
    def test_a_store_keeps_a_window_and_names_it_when_its_package_is_missing(
        self, installed: Path, tmp_path: Path
    ) -> None:
        crawl = ("crawl", "--demo", "--demo-pages", "100", "--window", "half-life", "-q")
        output_of(installed, *crawl, "--store", "crawl.db", cwd=tmp_path)
        without = minicrawl(ROOT, "top", "--store", "crawl.db", cwd=tmp_path)
        assert without.returncode == 2
        assert "'half-life'" in without.stderr
        output_of(installed, "top", "--store", "crawl.db", cwd=tmp_path)

    @pytest.mark.slow
    @pytest.mark.parametrize("by", ["page", "site"])
    def test_an_order_is_followed_explained_and_resumed(
        self, installed: Path, tmp_path: Path, by: str
    ) -> None:
        crawl = ("crawl", "--demo", "--demo-pages", "100", "--strategy", "nearest", "-q")
        more = ("--pages", "20", "--order-by", by, "--concurrency", "1", "--store", "crawl.db")
        output_of(installed, *crawl, *more, cwd=tmp_path)
        frontier = ("frontier", "--json", "--store", "crawl.db")
        pages = json.loads(output_of(installed, *frontier, cwd=tmp_path))
        depths = [page["depth"] for page in pages]
        assert len(depths) > 1
        assert depths == sorted(depths)
        output_of(installed, "explain", pages[0]["url"], "--store", "crawl.db", cwd=tmp_path)
        output_of(installed, *crawl[:4], "-q", *more[:2], *more[-2:], cwd=tmp_path)
        without = minicrawl(ROOT, "frontier", "--store", "crawl.db", cwd=tmp_path)
        assert without.returncode == 2
        assert "'nearest' is unknown" in without.stderr

    def test_help_names_what_is_added(self, installed: Path, tmp_path: Path) -> None:
        told = "".join(output_of(installed, "crawl", "--help", "all", cwd=tmp_path).split())
        for name in ("|no-queries", "|half-life", "|nearest", "--sinkURL"):
            assert name in told

    @pytest.mark.slow
    def test_a_weigher_splits_cash_and_ranks_use_its_weights(
        self, installed: Path, tmp_path: Path
    ) -> None:
        with DemoServer(Shop()) as server:
            crawl = ("crawl", *SHOP, "--resolve", f"shop.example={server.address}")
            output_of(installed, *crawl, "--weight-internal", "first-links", cwd=tmp_path)
        output_of(installed, "check", "--store", "crawl.db", cwd=tmp_path)
        rank = ("rank", "pagerank", "--store", "crawl.db", "--json")
        alike, weighed = (
            output_of(installed, *rank, *more, cwd=tmp_path) for more in ((), ("--crawl-weights",))
        )
        assert alike != weighed

    @pytest.mark.slow
    def test_a_filter_is_a_scope_that_a_store_keeps(self, installed: Path, tmp_path: Path) -> None:
        with DemoServer(Shop()) as server:
            crawl = ("crawl", *SHOP, "--resolve", f"shop.example={server.address}")
            output_of(installed, *crawl, "--scope", "no-queries", "--pages", "1", cwd=tmp_path)
            output_of(installed, *crawl, cwd=tmp_path)
            assert server.requests["http://shop.example/a?by=price"] == 0
            without = minicrawl(ROOT, *crawl, cwd=tmp_path)
        assert without.returncode == 2
        assert "no-queries" in without.stderr
        with Store.open(tmp_path / "crawl.db") as store:
            states = {page.url: page.state for page in store.pages()}
            (why,) = store.explain("http://shop.example/a?by=price").reasons
        fetched = [url[-2:] for url in sorted(states) if states[url] == "fetched"]
        assert fetched == ["e/", "/a", "/b", "/c"]
        assert "scope" in why

    @pytest.mark.slow
    def test_a_check_finds_pages_by_columns_or_markup(
        self, installed: Path, tmp_path: Path
    ) -> None:
        with DemoServer(Shop()) as server:
            resolve = ("--resolve", f"shop.example={server.address}")
            output_of(installed, "crawl", *SHOP, *resolve, "--keep", "pages", cwd=tmp_path)
        store = ("--store", "crawl.db")
        issues = output_of(installed, "audit", "--json", *store, cwd=tmp_path)
        numbers = {row["issue"]: row["pages"] for row in json.loads(issues)["issues"]}
        assert (numbers["filler"], numbers.get("far-from-home", 0)) == (1, 0)

    @pytest.mark.slow
    def test_a_parser_makes_a_column(self, installed: Path, tmp_path: Path) -> None:
        with DemoServer(Shop()) as server:
            resolve = ("--resolve", f"shop.example={server.address}")
            output_of(installed, "crawl", *SHOP, *resolve, cwd=tmp_path)
        export = ("export", "shop.jsonl", "--with", "product", "--store", "crawl.db")
        output_of(installed, *export, cwd=tmp_path)
        lines = (tmp_path / "shop.jsonl").read_text(encoding="utf-8").splitlines()
        found = {row["url"]: row["product"] for row in map(json.loads, lines)}
        products = {url[-2:]: json.loads(text) for url, text in found.items() if text}
        duck = {"name": "Duck & Co", "price": "9.50", "priceCurrency": "EUR"}
        assert products == {"/a": {"sku": "7"} | duck, "/b": duck}
        unknown = minicrawl(ROOT, *export, cwd=tmp_path)
        assert unknown.returncode == 2, unknown.stderr

    @pytest.mark.parametrize("sink", ["postgresql", "ftp://example.org/"])
    def test_an_unknown_sink_is_refused_with_the_known_ones(
        self, installed: Path, tmp_path: Path, sink: str
    ) -> None:
        ran = minicrawl(installed, "crawl", "--demo", "--sink", sink, cwd=tmp_path)
        assert ran.returncode == 2
        assert "postgresql:" in ran.stderr
        assert sink in ran.stderr


BROKEN = """
import click
from array import array
from contextlib import contextmanager
from minicrawl import Store
from minicrawl.ext import Scores

def undocumented():
    raise RuntimeError("out\\nof order")

def raise_in_minicrawl():
    Store.open(7)

command = click.Command("faulty", callback=undocumented)
bug = click.Command("bug", callback=raise_in_minicrawl)

def picky(url):
    raise ValueError("too late")

def parse(markup, url):
    "Return no docstring of a command."
    return markup if markup < "<q>" else 7 if markup < "<r>" else 1 / 0

def rank(named, tell):
    return Scores.exact(named.graph.targets[:2] / 7)

def no_rank(named, tell):
    undocumented()

def no_context(url):
    return undocumented

@contextmanager
def no_function(url):
    yield None

class NoKeys:
    def __init__(self, frontier):
        self.keys = array("q")

    def grow(self, pages):
        pass

def documented():
    \"\"\"Summarise another command.\"\"\"
"""
BROKEN_POINTS = {
    "commands": {"faulty": "command", "bug": "bug", "undocumented": "undocumented"},
    "filters": {"picky": "picky"},
    "parsers": {"odd": "parse"},
    "ranks": {"short": "rank", "raises": "no_rank", "pagerank": "no_rank"},
    "orders": {"no-array": "no_context", "no-keys": "NoKeys"},
    "sinks": {"no-context": "no_context", "no-function": "no_function"},
    "stored": {"late": "picky"},
}


class TestFaultsOfAPackage:
    @pytest.fixture(autouse=True)
    def broken(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        """Folder with an installed package whose additions are broken."""
        (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
        (about := tmp_path / "broken-1.dist-info").mkdir()
        lines = (
            f"[minicrawl.{group}]\n"
            + "".join(f"{name} = broken:{of}\n" for name, of in all_.items())
            for group, all_ in BROKEN_POINTS.items()
        )
        (about / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        yield tmp_path
        sys.modules.pop("broken", None)

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            ("faulty", "broken.py, line 9) raised RuntimeError: out of order"),
            ("rank raises --store STORE", "line 9) raised RuntimeError"),
            ("rank short --store STORE", "rank 'short' "),
            ("crawl http://a.example --strategy no-array -q --store NEW", "order 'no-array' "),
            ("crawl http://a.example --strategy no-keys -q --store NEW", "NoKeys has 0 keys for 1"),
            ("crawl --demo --demo-pages 100 --scope picky -q --store NEW", "ValueError: too late"),
            ("status --stored --store STORE", "ValueError: too late"),
            ("crawl http://a.example --sink no-context:", "sink 'no-context' "),
            ("crawl http://a.example --sink no-function:", "sink 'no-function' "),
        ],
    )
    def test_it_is_told_in_one_line(
        self, arguments: str, told: str, broken: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = filled_store(broken / "crawl.db")
        command = arguments.replace("STORE", str(store)).replace("NEW", f"{store}-new")
        assert main(command.split()) == 1
        error = capsys.readouterr().err
        assert error.startswith("minicrawl: the ")
        assert error.count("\n") == 1
        assert told in error

    def test_an_exception_of_minicrawl_blames_no_package(self) -> None:
        with pytest.raises(TypeError, match="int"):
            main(["bug"])

    def test_a_command_without_a_docstring_has_no_summary_of_another(self) -> None:
        points = ext.entry_points(ext.COMMANDS)
        summary = points["undocumented"].summary()
        assert "broken" in summary
        assert "Summarise" not in summary

    def test_a_rank_with_the_name_of_a_built_in_one_is_not_listed(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["rank", "--help"]) == 0
        assert capsys.readouterr().out.count("\n  pagerank ") == 1

    def test_a_parser_that_raises_loses_its_page_and_no_other(self) -> None:
        with PageTexts(["odd"], most_of_a_site_s=0.0) as texts:  # a fault costs its site nothing
            for page in ("<p>", "<s>", "<q>", "<b>"):
                if page in ("<p>", "<b>"):
                    assert texts.of(page, "http://a.example/") == [page]
                else:
                    told = "raised ZeroDivisionError" if page == "<s>" else "no text but int"
                    with pytest.raises(NoText, match=f"the parser 'odd' .*{told}"):
                        texts.of(page, "http://a.example/")
            assert texts.of("<p>\ud800", "http://a.example/") == ["<p>?"]


class TestSinkToPostgresql:
    @pytest.mark.proof
    def test_each_page_has_one_row_after_a_crawl_was_killed_and_resumed(
        self, installed: Path, tmp_path: Path, postgresql: str
    ) -> None:
        crawl = [sys.executable, "-m", "minicrawl", "crawl", "--demo", "--demo-pages", "200", "-q"]
        crawl += ["--store", "crawl.db", "--sink", postgresql]
        path = {"PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])}
        count = "SELECT count(*) FROM pages"
        with psycopg.connect(postgresql, autocommit=True) as database:
            running = subprocess.Popen(crawl, cwd=tmp_path, env=os.environ | path)
            while running.poll() is None:
                rows = database.execute("SELECT to_regclass('pages')").fetchall()
                if rows[0][0] and database.execute(count).fetchall()[0][0] >= 20:
                    running.kill()
                    break
            assert running.wait() == -signal.SIGKILL
            # Read all pages: a smaller budget might omit some that were sent and not committed.
            ended = [*crawl, "--pages", "10000"]
            ran = subprocess.run(ended, cwd=tmp_path, env=os.environ | path, check=False)
            assert ran.returncode == 0
            rows = database.execute("SELECT url, reading, status, body FROM pages").fetchall()
        with Store.open(tmp_path / "crawl.db") as store:
            read = {page.url for page in store.pages(states=list(READ_STATES))}
        assert {url for url, *_ in rows} == read
        assert {reading for _, reading, *_ in rows} == {0}
        assert all(status == 200 and body for _, _, status, body in rows)

    @pytest.mark.usefixtures("added")
    def test_a_page_that_is_handed_over_again_replaces_its_row(self, postgresql: str) -> None:
        sink = ext.entry_points(ext.SINKS)["postgresql"].load()
        page = PageRead(
            url="http://a.example/twice",
            status=200,
            headers={"x": "\0\udcff"},
            body=b"\0\xff",
            title="first",
            links=(),
            encoding="utf-8",
        )
        with sink(postgresql) as put:  # type: ignore[operator]
            for handed in (page, replace(page, title="s\0econd"), replace(page, reading=1)):
                put(handed)
        with psycopg.connect(postgresql) as database:
            told = "SELECT reading, title, body FROM pages WHERE url = %s ORDER BY reading"
            rows = database.execute(told, (page.url,)).fetchall()
        assert rows == [(0, "second", b"\0\xff"), (1, "first", b"\0\xff")]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short(example: Path) -> None:
    lines = [line for file in example.rglob("*.py") for line in file.read_text().splitlines()]
    assert len(lines) < MOST_LINES or example.name == "minicrawl-example"


def test_help_reads_entry_points_without_the_parsers_of_importlib(tmp_path: Path) -> None:
    code = (
        "import sys; from minicrawl.cli import main; main(['--help']); "
        "print('importlib.metadata' in sys.modules, file=sys.stderr)"
    )
    assert run_python("-c", code, folder=tmp_path).stderr.split() == ["False"]


class TestRooms:
    """Rooms plug in as other packages do, so they can be taken away."""

    def test_a_missing_command_names_the_room_that_brings_it(
        self, without_rooms: Callable[[], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        without_rooms()
        for room, commands in ROOMS.items():
            for command in commands.split():
                assert main([command]) == 2
                assert f"minicrawl.{room}" in capsys.readouterr().err, command
        assert main(["top", "--cluster", "nats://localhost:1"]) == 2
        assert "minicrawl[cluster]" in capsys.readouterr().err

    def test_a_command_that_needs_another_room_names_it(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        @click.command()
        def judge() -> None:
            raise ModuleNotFoundError(name="minicrawl.search")

        monkeypatch.setitem(root.commands, "judge", judge)
        assert main(["judge"]) == 2
        said = capsys.readouterr().err
        assert "minicrawl.search" in said
        assert said.count("\n") == 1


class TestRegistry:
    @pytest.mark.usefixtures("added")
    def test_built_in_names_come_before_added_ones_and_cannot_be_replaced(self) -> None:
        registry = Registry[object](ext.WINDOWS, {"static": 1})
        assert list(registry) == ["static", "half-life"]
        assert len(registry) == 2
        assert callable(registry["half-life"])
        assert Registry[object](ext.WINDOWS, {"half-life": 1})["half-life"] == 1
        with pytest.raises(KeyError):
            registry["nothing"]

    def test_the_guide_has_a_row_for_each_group(self) -> None:
        texts = {text for text in vars(ext).values() if isinstance(text, str)}
        groups = {text for text in texts if re.fullmatch(r"minicrawl\.\w+", text)} - {ext.__name__}
        guide = (ROOT / "docs" / "how-to" / "add-a-package.md").read_text(encoding="utf-8")
        assert set(re.findall(r"^\| `(minicrawl\.\w+)` \|", guide, re.MULTILINE)) == groups

    def test_a_package_that_is_broken_is_named(self) -> None:
        point = EntryPoint("wrong", "minicrawl_nowhere:thing", "nowhere")
        with pytest.raises(MinicrawlError, match="'wrong', which cannot be imported"):
            point.load()
