import json
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.cli.output import progress
from tests.cli.calls import Captured
from tests.stores import A


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Clock that the test advances."""
    now = [100.0]
    monkeypatch.setattr("minicrawl.cli.output.time.monotonic", lambda: now[0])
    return now


def test_off_a_terminal_a_line_appears_every_30_seconds(
    clock: list[float], capsys: Captured
) -> None:
    with progress("digging") as tell:
        for second in range(70):
            clock[0] = 100.0 + second
            tell(second / 100)
    told = capsys.readouterr()
    assert told.err.splitlines() == ["digging: 30%", "digging: 60%"]
    assert told.out == ""


@pytest.mark.parametrize(("seconds", "is_shown"), [(1.0, False), (3.0, True)])
def test_on_a_terminal_a_bar_appears_after_two_seconds(
    clock: list[float],
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    is_shown: bool,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress("digging") as tell:
        clock[0] += seconds
        tell(0.5)
    told = capsys.readouterr()
    assert ("digging" in told.err) == is_shown
    assert told.out == ""


WORK = [
    *(("top", "--sites"), ("explain", A), ("check",), ("backlinks", A), ("graph",)),
    *(("export", "all.csv"), ("export", "all.gexf"), ("export", "-", "--format=jsonl")),
    *(("export", "all.csv", "--edges"), ("export", "hosts.dot", "--level=host")),
    *(("rank", "pagerank"), ("rank", "communities"), ("lab", "compare", "opic", "hits-hubs")),
    *(("lab", "stability", "degree"), ("lab", "agree", "pagerank", "labels.csv")),
    ("refine", "--to=new.db"),
    ("import", "links.txt", "--store=new.db"),
]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("command", WORK, ids=" ".join)
def test_commands_that_may_take_long_have_a_bar(
    command: tuple[str, ...], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("minicrawl.cli.output.QUIET_S", -1.0)
    monkeypatch.setattr("minicrawl.report.audit._STEPS_PER_REPORT", 1)
    Path("labels.csv").write_text(f"{A},4\n")
    Path("links.txt").write_text("1 2\n2 3\n")
    assert main(command) == 0
    assert "%" in capsys.readouterr().err


@pytest.mark.usefixtures("filled")
def test_rows_on_the_terminal_have_no_bar_between_them(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("minicrawl.cli.output.QUIET_S", -1.0)
    assert main(["export", "-", "--format=jsonl"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[0])["rank"] == 1
    assert err == ""
