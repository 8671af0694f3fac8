"""No option of a graph's analysis is without effect: it changes something, or is refused.

`MAY_STAY` in `data` lists those that change nothing that a test can see. `python -m
tests.cli.inert` walks the options of all commands in pairs; here some of them are.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from minicrawl.cli import root
from tests.cli.inert import walk
from tests.cli.inert.__main__ import inert_pairs
from tests.cli.inert.data import (
    GRAPHS,
    INPUT_OPTIONS,
    MAY_STAY,
    MAY_STAY_BESIDE,
    NOT_WALKED,
    SHORT_WALKS,
    WALKED,
    make_files,
    walk_of,
)

EVERY = [(command, graph) for command in WALKED for graph in GRAPHS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    found = tmp_path_factory.mktemp("inert")
    make_files(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MINICRAWL_CONFIG", raising=False)
        patch.setenv("MINICRAWL_STORE", "none.db")
        yield found


def test_each_command_is_walked_or_it_is_told_why_not() -> None:
    assert sorted([*WALKED, *NOT_WALKED]) == sorted(walk.leaves())
    assert all(NOT_WALKED.values())


def test_each_exception_is_an_option_and_tells_why() -> None:
    known = {f"{command} {name}" for command in WALKED for name in walk.options_of(command)}
    names = {one.split()[-1] for one in known}
    for option, reason in MAY_STAY.items():
        assert reason
        assert option in known | names
    for command, beside, option in MAY_STAY_BESIDE:
        assert {f"{command} {beside.split()[0]}", f"{command} {option}"} <= known


@pytest.mark.parametrize(("command", "graph"), EVERY)
def test_each_option_alone_changes_something_or_is_refused(
    command: str, graph: str, folder: Path
) -> None:
    found = [one.option for one in walk_of(command, graph).alone(folder)]
    assert found == []


@pytest.mark.parametrize("command", SHORT_WALKS)
def test_no_option_takes_the_effect_from_another_one(command: str, folder: Path) -> None:
    assert list(inert_pairs([command], folder)) == []


def test_a_command_that_ignores_an_option_is_found(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """The walk itself: `--idle` does nothing, and `--loud` takes the effect of `--name`."""

    @click.command()
    @click.option("--idle", is_flag=True)
    @click.option("--loud", is_flag=True)
    @click.option("--name", type=click.IntRange(1))
    def greet(idle: bool, loud: bool, name: int | None) -> None:
        del idle
        click.echo("HELLO" if loud else f"hello {name}")

    monkeypatch.setitem(root.commands, "greet", greet)
    walked = walk.Walk("greet", "none", [], {}, INPUT_OPTIONS)
    assert [one.option for one in walked.alone(folder)] == ["--idle"]
    pairs = {(one.beside, one.option) for one in walked.in_pairs(folder)}
    assert pairs == {("--loud", "--name")}
