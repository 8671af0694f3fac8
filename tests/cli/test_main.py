"""The command line: few imports, help and completion, errors of one line with an exit code."""

import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from minicrawl import __version__
from minicrawl.cli import DeferredCommand, LazyGroup, main, root
from minicrawl.errors import MinicrawlError, UsageError
from tests.cli.calls import HEAVY, Captured, last_line_of, packages_imported_by, printed, refusal
from tests.processes import killed_on_failure, run_python
from tests.stores import A, filled_store

COMMANDS = root.list_commands(click.Context(root))


def minicrawl(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "minicrawl", *arguments, variables=environment)


@pytest.fixture
def command_that(monkeypatch: pytest.MonkeyPatch) -> click.Command:
    """Command `act`, whose body a test replaces."""
    command = click.Command("act", callback=lambda: None)
    monkeypatch.setitem(root.commands, "act", command)
    return command


def raising(command: click.Command, error: BaseException) -> None:
    def body() -> None:
        raise error

    command.callback = body


def test_the_list_of_commands_says_what_each_of_ours_does(capsys: Captured) -> None:
    """It reads the docstring where an entry point leads, without an import."""
    assert "A command of the package" not in printed(capsys, "--help")


class TestLaziness:
    @pytest.mark.parametrize(
        "arguments", [["--help"], ["--version"], ["no-such"], [], ["crawl", "--help"]]
    )
    def test_help_and_mistakes_import_nothing_heavy(
        self, arguments: list[str], tmp_path: Path
    ) -> None:
        loaded = packages_imported_by(
            f"from minicrawl.cli import main\nmain({arguments})", folder=tmp_path
        )
        assert "click" in loaded
        assert loaded.isdisjoint(HEAVY - {"asyncio"} if "crawl" in arguments else HEAVY)

    @pytest.mark.slow
    def test_commands_that_only_read_a_store_import_no_network_and_no_parser(
        self, tmp_path: Path
    ) -> None:
        filled_store(tmp_path / "crawl.db")
        lines = ("top", "export -", "status", "frontier", "check", f"explain {A}", "errors")
        loaded = packages_imported_by(
            "from minicrawl.cli import main\n"
            f"for line in {lines}: assert main([*line.split(), '--store', 'crawl.db']) == 0, line",
            folder=tmp_path,
        )
        assert "numpy" in loaded
        assert loaded.isdisjoint({"aiohttp", "asyncio", "httpx", "lxml", "requests", "tldextract"})

    def test_numpy_starts_no_threads(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
        threads = last_line_of(
            "import os\nfrom minicrawl.cli import main\nmain(['--version'])\nimport numpy\n"
            "print(len(os.listdir('/proc/self/task')))",
            folder=tmp_path,
        )
        assert threads == "1"

    def test_objects_are_frozen_before_the_interpreter_exits(self, tmp_path: Path) -> None:
        """The first registered function runs last at exit."""
        counts = last_line_of(
            "import atexit, gc\n"
            "atexit.register(lambda: print(gc.get_freeze_count(), len(gc.get_objects())))\n"
            "from minicrawl.cli import main\nmain(['--version'])",
            folder=tmp_path,
        )
        frozen, searched = map(int, counts.split())
        assert frozen > 100 * searched

    def test_a_command_that_used_duckdb_ends_in_silence(self, tmp_path: Path) -> None:
        filled_store(tmp_path / "crawl.db")
        done = minicrawl("export", "pages.parquet", "--store", "crawl.db")
        assert (tmp_path / "pages.parquet").is_file()
        assert "leak" not in done.stderr

    def test_importing_the_package_imports_nothing_heavy(self, tmp_path: Path) -> None:
        loaded = packages_imported_by("import minicrawl", folder=tmp_path)
        assert loaded.isdisjoint(HEAVY | {"click"})

    def test_a_deferred_command_is_imported_when_it_runs_and_not_before(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
    ) -> None:
        (tmp_path / "dear.py").write_text(
            "import click\ncommand = click.Command('dear', callback=lambda: click.echo('here'))\n",
            encoding="utf-8",
        )
        monkeypatch.syspath_prepend(tmp_path)
        deferred = DeferredCommand("dear", target="dear:command", summary="What it costs.")
        monkeypatch.setitem(root.commands, "dear", deferred)
        assert "What it costs." in printed(capsys, "--help")
        assert "dear" not in sys.modules
        assert printed(capsys, "dear") == "here\n"

    def test_a_deferred_target_that_is_no_command_is_named(self) -> None:
        deferred = DeferredCommand("path", target="os:path", summary="")
        group = LazyGroup("group", commands=[deferred])
        with pytest.raises(TypeError, match="os:path is not a click command but module"):
            group.resolve_command(click.Context(group), ["path"])


class TestOutput:
    def test_version_says_the_version(self) -> None:
        assert minicrawl("--version").stdout == f"minicrawl {__version__}\n"

    def test_without_a_command_help_goes_to_stderr(self, capsys: Captured) -> None:
        assert main([]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("Usage: minicrawl")

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_the_completion_script_is_printed(self, shell: str) -> None:
        done = minicrawl(_MINICRAWL_COMPLETE=f"{shell}_source")
        assert done.returncode == 0
        assert "_MINICRAWL_COMPLETE" in done.stdout

    def test_commands_are_completed_by_name(self) -> None:
        name = next(iter(COMMANDS))
        done = minicrawl(
            _MINICRAWL_COMPLETE="bash_complete", COMP_WORDS=f"minicrawl {name[0]}", COMP_CWORD="1"
        )
        assert f"plain,{name}" in done.stdout.splitlines()


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["no-such"], "No such command 'no-such'"),
            (["--no-such"], "No such option"),
            (["act", "--nodes", "ten"], "'--nodes': 'ten' is not a valid integer"),
            (["act", "--nodes", "1"], "'--nodes': 1 is not in the range"),
            (["act", "--nodes"], "'--nodes' requires an argument"),
            (["act", "a\nb"], "unexpected extra argument (a b)"),
            (["act", "\x1b[2J\udcff"], r"(\x1b[2J\udcff)"),
        ],
    )
    def test_a_usage_error_is_one_line_that_names_the_value(
        self, command_that: click.Command, capsys: Captured, arguments: list[str], message: str
    ) -> None:
        command_that.params = [click.Option(["--nodes"], type=click.IntRange(min=2))]
        assert message in refusal(capsys, *arguments)

    @pytest.mark.parametrize(
        ("error", "exit_code", "line"),
        [
            (MinicrawlError("the disk\nis full"), 1, "minicrawl: the disk is full\n"),
            (UsageError("nodes: 1 is too few"), 2, "minicrawl: nodes: 1 is too few\n"),
            (click.FileError("a.txt", "gone"), 1, "minicrawl: Could not open file 'a.txt': gone\n"),
            (OSError(28, "disk full", "a.png"), 1, "minicrawl: [Errno 28] disk full: 'a.png'\n"),
            (click.Abort(), 130, "minicrawl: interrupted\n"),
            (KeyboardInterrupt(), 130, "minicrawl: interrupted\n"),
        ],
    )
    def test_an_expected_error_is_one_line_with_its_exit_code(
        self,
        command_that: click.Command,
        capsys: Captured,
        error: BaseException,
        exit_code: int,
        line: str,
    ) -> None:
        raising(command_that, error)
        assert main(["act"]) == exit_code
        assert capsys.readouterr().err == line

    @pytest.mark.parametrize("error", [ZeroDivisionError("mine"), BrokenPipeError("some socket")])
    def test_a_bug_is_raised(self, command_that: click.Command, error: Exception) -> None:
        raising(command_that, error)
        with pytest.raises(type(error), match=str(error)):
            main(["act"])


ENDLESS = """
import click, sys
from minicrawl.cli import main, root

@root.command()
def pour():
    click.echo("ready")
    while True:
        {body}

sys.exit(main(["pour"]))
"""


def pouring(body: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", ENDLESS.format(body=body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


class TestProcesses:
    @pytest.mark.parametrize(
        "body", ["click.echo('more')", "print('more' * 9999)", "sys.stdout.write('more'); exit(0)"]
    )
    def test_a_closed_pipe_ends_the_command_without_a_message(self, body: str) -> None:
        with killed_on_failure(pouring(body)) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == b"ready\n"
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 0

    @pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
    def test_a_stream_may_be_closed_from_the_start(self, closed: str) -> None:
        command = f"{sys.executable} -m minicrawl about {closed}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert bool(done.stdout) == (closed != ">&-")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
    def test_a_full_disk_is_one_line_with_exit_code_1(self) -> None:
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [sys.executable, "-c", ENDLESS.format(body="print('more' * 9999)")],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert done.stderr == b"minicrawl: [Errno 28] No space left on device\n"
        assert done.returncode == 1

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_is_one_line_with_exit_code_130(self, number: signal.Signals) -> None:
        with killed_on_failure(pouring("pass")) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(number)
            _, err = process.communicate()
        assert err == b"minicrawl: interrupted\n"
        assert process.returncode == 130


INTERRUPTED_IMPORT = """
import os, signal, sys
import minicrawl.__main__

class Finder:
    left = int(sys.argv[1])

    def find_spec(self, *_):
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv[1:] = sys.argv[2:]
sys.exit(minicrawl.__main__.main())
"""


@pytest.mark.parametrize("number", [1, 2, 5, 20, 60, 120, 200, 300])
def test_ctrl_c_while_modules_are_imported_is_one_line(number: int, tmp_path: Path) -> None:
    program = ("-c", INTERRUPTED_IMPORT, str(number), "crawl", "--demo", "-q")
    done = run_python(*program, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "minicrawl: interrupted\n")
