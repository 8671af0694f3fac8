"""A command that has another name says so, for one version."""

import click
import pytest

from minicrawl.cli import MOVED, main, root
from tests.cli.inert.walk import ALONE, leaves, options_of

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_says_where_it_went(old: str, capsys: Captured) -> None:
    assert main([*old.split(), "--help"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"minicrawl: minicrawl {old} is now minicrawl {MOVED[old]}\n")


@pytest.mark.parametrize("old", MOVED)
def test_it_is_gone_and_the_new_one_is_there(old: str) -> None:
    assert not _is_there(old)
    assert _is_there(MOVED[old])


def _is_there(name: str) -> bool:
    """Whether there is such a command, with this option if it names one."""
    path, _, option = name.partition(" --")
    is_there = path in (*leaves(), *ALONE)
    return is_there and (not option or f"--{option}" in options_of(path))


def test_a_command_that_took_the_name_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(root.commands, "agree", click.Command("agree", callback=lambda: None))
    assert main(["agree"]) == 0


@pytest.mark.parametrize("group", ["cluster", "lab", "rank"])
def test_no_help_lists_an_old_name(group: str, capsys: Captured) -> None:
    assert main([group, "--help"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:2] == "  "]
    assert [name for name in listed if f"{group} {name}" in MOVED] == []


def test_there_are_few_commands_outside_the_laboratory() -> None:
    assert sum(not path.startswith("lab ") for path in leaves()) <= 45
