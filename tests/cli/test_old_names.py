"""Old names of commands: for one version, each names the new one."""

import click
import pytest

from minicrawl.cli import MOVED, REMOVED, main, root
from tests.cli.calls import Captured, printed, refusal
from tests.cli.inert.walk import ALONE, leaves, options_of


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_is_gone_and_names_the_new_one(old: str, capsys: Captured) -> None:
    line = refusal(capsys, *old.split(), "--help")
    assert f"minicrawl {old} " in line
    assert line.endswith(f" minicrawl {MOVED[old]}\n")
    assert not _exists(old)
    assert _exists(MOVED[old])


@pytest.mark.parametrize("old", REMOVED)
def test_a_removed_name_is_refused(old: str, capsys: Captured) -> None:
    assert f"minicrawl {old} was removed" in refusal(capsys, *old.split(), "--help")
    assert not _exists(old)


def _exists(name: str) -> bool:
    """Return whether there is such a command, with the option that `name` may have."""
    path, _, option = name.partition(" --")
    known = path in (*leaves(), *ALONE)
    return known and (not option or f"--{option}" in options_of(path))


def test_a_new_command_may_take_an_old_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(root.commands, "compare", click.Command("compare", callback=lambda: None))
    assert main(["compare"]) == 0


@pytest.mark.parametrize("group", ["cluster", "lab", "rank"])
def test_no_help_lists_an_old_name(group: str, capsys: Captured) -> None:
    lines = printed(capsys, group, "--help").splitlines()
    listed = [line.split()[0] for line in lines if line[:2] == "  "]
    assert [name for name in listed if f"{group} {name}" in MOVED] == []


def test_there_are_few_commands_outside_the_laboratory() -> None:
    assert sum(not path.startswith("lab ") for path in leaves()) <= 45
