"""No option over a graph or a store is without effect: it changes something, or is refused.

`MAY_STAY` in `data` lists those that change nothing that a test can see. `python -m
tests.cli.inert` walks the options of all commands in pairs; here some of them are.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from minicrawl.cli import main, root
from tests.cli.inert import walk
from tests.cli.inert.__main__ import inert_pairs
from tests.cli.inert.data import (
    GRAPHS,
    INPUT_OPTIONS,
    MAY_STAY,
    MAY_STAY_BESIDE,
    NOT_WALKED,
    SHORT_WALKS,
    STORES,
    WALKED,
    make_files,
    store_walks_of,
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


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of the demo web, with its pages and their index."""
    found = tmp_path_factory.mktemp("store")
    crawl = "crawl --demo --demo-pages 100 --pages 100 --keep pages -q --store crawl.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(found)
        patch.delenv("MINICRAWL_CONFIG", raising=False)
        assert main(crawl.split()) == 0
        assert main(["index", "--store", "crawl.db"]) == 0
        assert main(["rank", "pagerank", "--store", "crawl.db"]) == 0
    return found / "crawl.db"


def test_each_command_is_walked_or_it_is_told_why_not() -> None:
    assert sorted([*WALKED, *STORES, *NOT_WALKED]) == sorted(walk.leaves())
    assert all(NOT_WALKED.values())


def test_each_exception_is_an_option_and_tells_why() -> None:
    known = {
        f"{command} {name}" for command in (*WALKED, *STORES) for name in walk.options_of(command)
    }
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


@pytest.mark.parametrize("command", STORES)
def test_each_option_of_a_stores_command_changes_something_or_is_refused(
    command: str, store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = store.stat().st_mtime + 600
    monkeypatch.setattr(time, "time", lambda: now)  # ages that are shown grow otherwise
    walks = store_walks_of(command, store)
    for one, again in zip(walks, store_walks_of(command, store), strict=True):
        assert one.plain(folder).code == 0
        assert one.plain(folder) == again.plain(folder)
    inert = [{found.option for found in one.alone(folder)} for one in walks]
    assert set.intersection(*inert) == set()


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
