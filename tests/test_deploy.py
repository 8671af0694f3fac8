"""Files for operators: man pages and completions of all commands, systemd units, a container."""

import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.control import NOTIFY_SOCKET, tell_systemd
from tests import readme
from tests.man_pages import SHELLS, man_page, write

DEPLOY = Path(__file__).parents[1] / "deploy"
TREE = readme.command_tree()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    write(folder)
    return folder


def test_each_command_has_a_page_with_its_options(made: Path) -> None:
    assert {file.stem for file in (made / "man1").iterdir()} == {
        path.replace(" ", "-") for path in TREE
    }
    for path, command in TREE.items():
        page = man_page(path, command).replace("\\-", "-")
        assert all(option in page for option in readme.long_options(command)), path


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_groff_has_no_warning_about_the_pages(made: Path) -> None:
    pages = map(str, sorted((made / "man1").iterdir()))
    command = ["groff", "-man", "-Tutf8", "-ww", "-K", "utf8", *pages]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "\\f" not in ran.stdout


def test_bash_can_read_its_completions(made: Path) -> None:
    files = {file.name for file in (made / "completions").iterdir()}
    assert files == set(SHELLS.values())
    ran = subprocess.run(["bash", "-n", made / "completions" / SHELLS["bash"]], check=False)
    assert ran.returncode == 0


@pytest.mark.parametrize("file", ["Containerfile", "minicrawl.service"])
def test_the_commands_in_a_file_exist(file: str) -> None:
    text = (DEPLOY / file).read_text(encoding="utf-8")
    lines = re.findall(r"^ExecStart=(.+)", text, re.MULTILINE)
    lists = re.findall(r"^(?:.* )?CMD \[(.+)\]", text, re.MULTILINE)
    lines += [" ".join(re.findall(r'"([^"]+)"', words)) for words in lists]
    lines += re.findall(r"^ +&& (minicrawl .+?)(?: \\)?$", text, re.MULTILINE)
    calls = [line if "minicrawl" in line else f"minicrawl {line}" for line in lines]
    assert calls
    for line in calls:
        assert [readme.mistakes(words) for words in readme.mentions(line)] == [[]]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd")
def test_systemd_has_no_warning_about_the_units(tmp_path: Path) -> None:
    for name in ("minicrawl.service", "minicrawl.timer"):
        text = (DEPLOY / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("/usr/local/bin/minicrawl", "/bin/true"))
    command = ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert [line for line in ran.stderr.splitlines() if "minicrawl" in line] == []


def test_systemd_is_told_when_a_crawl_begins_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("notify")
        manager.settimeout(10)
        monkeypatch.setenv(NOTIFY_SOCKET, "notify")
        assert main(["crawl", "--demo", "--demo-pages", "100", "--pages", "3", "--quiet"]) == 0
        assert [manager.recv(100) for _ in range(2)] == [b"READY=1", b"STOPPING=1"]


def test_a_missing_service_manager_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NOTIFY_SOCKET, "@nobody-listens-here")
    tell_systemd("READY=1")
