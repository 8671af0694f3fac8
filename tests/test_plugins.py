"""What other packages add by entry points: the example package, built and installed."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from minicrawl import plugins
from minicrawl.cli import ROOMS, main, root
from minicrawl.errors import MinicrawlError
from minicrawl.plugins import EntryPoint, Registry
from tests.stores import filled_store

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "minicrawl-example"
ADDED = ("hosts", "reciprocal", "md", "half-life")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the example package is installed into, from its wheel."""
    made, folder = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("site")
    build = ["-m", "build", "--no-isolation", "--wheel", "--skip-dependency-check"]
    subprocess.run(
        [sys.executable, *build, "--outdir", str(made), str(EXAMPLE)],
        capture_output=True,
        check=True,
    )
    (wheel,) = made.iterdir()
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


@pytest.fixture
def added(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package is installed for this process."""
    monkeypatch.syspath_prepend(str(installed))
    yield
    for name in [name for name in sys.modules if name.startswith("minicrawl_example")]:
        del sys.modules[name]


def minicrawl(site: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "minicrawl", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


class TestOnTheCommandLine:
    def test_a_command_is_listed_and_runs(self, installed: Path, tmp_path: Path) -> None:
        filled_store(tmp_path / "crawl.db")
        listed = minicrawl(installed, "--help", cwd=tmp_path).stdout
        assert "Count the pages of each host." in listed
        ran = minicrawl(installed, "hosts", "--store", "crawl.db", cwd=tmp_path)
        assert (ran.stderr, ran.returncode) == ("", 0)
        assert "\tb.example\n" in ran.stdout

    def test_a_rank_is_computed_kept_and_compared(self, installed: Path, tmp_path: Path) -> None:
        filled_store(tmp_path / "crawl.db")
        assert "reciprocal" in minicrawl(installed, "rank", "--help", cwd=tmp_path).stdout
        ran = minicrawl(installed, "rank", "reciprocal", "--store", "crawl.db", cwd=tmp_path)
        assert (ran.stderr, ran.returncode) == ("", 0)
        assert "reciprocal of 6 nodes" in ran.stdout
        assert "50" in ran.stdout  # a and b link to each other, so each has half of it
        top = minicrawl(installed, "top", "--by", "reciprocal", "--store", "crawl.db", cwd=tmp_path)
        assert top.returncode == 0, top.stderr

    def test_a_format_is_written(self, installed: Path, tmp_path: Path) -> None:
        filled_store(tmp_path / "crawl.db")
        ran = minicrawl(installed, "export", "pages.md", "--store", "crawl.db", cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        lines = (tmp_path / "pages.md").read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("| rank | url |")
        assert len(lines) > 2

    def test_a_store_keeps_a_window_and_says_if_its_package_is_gone(
        self, installed: Path, tmp_path: Path
    ) -> None:
        crawl = ("crawl", "--demo", "--demo-pages", "100", "--window", "half-life", "-q")
        ran = minicrawl(installed, *crawl, "--store", "crawl.db", cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        without = minicrawl(ROOT, "top", "--store", "crawl.db", cwd=tmp_path)
        assert without.returncode == 2
        assert "'half-life' of the store is unknown: install" in without.stderr
        assert minicrawl(installed, "top", "--store", "crawl.db", cwd=tmp_path).returncode == 0


def test_help_reads_entry_points_without_the_parsers_of_importlib(tmp_path: Path) -> None:
    code = (
        "import sys; from minicrawl.cli import main; main(['--help']); "
        "print('importlib.metadata' in sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr.split() == ["False"]


class TestRooms:
    """Search and the like plug in as other packages do, so they can be taken away."""

    @pytest.mark.parametrize(
        ("command", "room"),
        [(name, room) for room, names in ROOMS.items() for name in names.split()],
    )
    def test_a_command_that_is_gone_names_what_brings_it(
        self,
        command: str,
        room: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr(plugins, "entry_points", lambda _group: {})
        assert main([command]) == 2
        assert f"minicrawl.{room}" in capsys.readouterr().err

    def test_cluster_needs_its_room(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(plugins, "entry_points", lambda _group: {})
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

    def test_a_command_without_a_docstring_is_listed_with_its_package(self) -> None:
        point = EntryPoint("made", "minicrawl_nowhere:made", "nowhere")
        assert point.summary() == "A command of the package nowhere."


class TestRegistry:
    @pytest.mark.usefixtures("added")
    def test_it_has_what_is_built_in_and_then_what_is_added(self) -> None:
        registry = Registry[object](plugins.WINDOWS, {"static": 1})
        assert list(registry) == ["static", "half-life"]
        assert len(registry) == 2
        assert "half-life" in registry
        assert registry["static"] == 1
        assert callable(registry["half-life"])
        assert "nothing" not in registry
        with pytest.raises(KeyError):
            registry["nothing"]

    @pytest.mark.usefixtures("added")
    def test_what_is_built_in_cannot_be_replaced(self) -> None:
        assert Registry[object](plugins.WINDOWS, {"half-life": 1})["half-life"] == 1

    def test_a_package_that_is_broken_is_named(self) -> None:
        point = EntryPoint("wrong", "minicrawl_nowhere:thing", "nowhere")
        with pytest.raises(MinicrawlError, match="'wrong', which cannot be imported"):
            point.load()
