import json
from collections.abc import Callable
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.cli.output import progress
from tests.cli.calls import Captured
from tests.stores import A

OnTerminal = Callable[..., None]


def test_off_a_terminal_a_line_appears_every_30_seconds(capsys: Captured) -> None:
    now = 100.0
    with progress("digging", lambda: now) as tell:
        for second in range(70):
            now = 100.0 + second
            tell(second / 100)
    told = capsys.readouterr()
    assert told.err.splitlines() == ["digging: 30%", "digging: 60%"]
    assert told.out == ""


@pytest.mark.parametrize(("seconds", "is_shown"), [(1.0, False), (3.0, True)])
def test_on_a_terminal_a_bar_appears_after_two_seconds(
    capsys: Captured, on_terminal: OnTerminal, seconds: float, is_shown: bool
) -> None:
    on_terminal("stderr")
    now = 100.0
    with progress("digging", lambda: now) as tell:
        now += seconds
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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bars appear at once."""
    monkeypatch.setattr("minicrawl.cli.output.QUIET_S", -1.0)


@pytest.mark.usefixtures("filled", "impatient")
@pytest.mark.parametrize("command", WORK, ids=" ".join)
def test_commands_that_may_take_long_have_a_bar(
    command: tuple[str, ...], capsys: Captured, on_terminal: OnTerminal
) -> None:
    on_terminal("stderr")
    Path("labels.csv").write_text(f"{A},4\n")
    Path("links.txt").write_text("1 2\n2 3\n")
    assert main(command) == 0
    assert "%" in capsys.readouterr().err


@pytest.mark.usefixtures("filled", "impatient")
def test_rows_on_the_terminal_have_no_bar_between_them(
    capsys: Captured, on_terminal: OnTerminal
) -> None:
    on_terminal("stderr", "stdout")
    assert main(["export", "-", "--format=jsonl"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[0])["rank"] == 1
    assert err == ""
