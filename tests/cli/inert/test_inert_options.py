"""Every option of a command on a graph or a store changes its effect, or is refused.

`MAY_STAY` in `data` lists the exceptions. `python -m tests.cli.inert` walks the options of all
commands in pairs; the tests walk some of them.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pytest
from _pytest.mark import ParameterSet

from minicrawl.cli import root
from tests.cli.inert import walk
from tests.cli.inert.__main__ import graph_pairs, store_pairs
from tests.cli.inert.data import (
    GRAPHS,
    INPUT_OPTIONS,
    LONGER_STORE_WALKS,
    LONGER_WALKS,
    MAY_STAY,
    MAY_STAY_BESIDE,
    NOT_WALKED,
    SHORT_STORE_WALKS,
    SHORT_WALKS,
    STORE,
    STORES,
    WALKED,
    Made,
    frozen,
    make_files,
    make_store,
    store_walks_of,
    walk_of,
)
from tests.cli.inert.web import LINKED


def in_a_proof(commands: Iterable[str]) -> Iterator[ParameterSet]:
    return (pytest.param(command, marks=pytest.mark.proof) for command in commands)


EVERY = [(command, graph) for command in WALKED for graph in GRAPHS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("inert")
    make_files(found)
    return found


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Store with something for each command."""
    return make_store(tmp_path_factory.mktemp("store"))


def test_each_command_is_walked_or_has_a_reason_not_to_be() -> None:
    assert sorted([*WALKED, *STORES, *NOT_WALKED]) == sorted([*walk.leaves(), *walk.ALONE])
    assert all(NOT_WALKED.values())


def test_each_exception_is_an_option_with_a_reason() -> None:
    known = {
        f"{command} {name}" for command in (*WALKED, *STORES) for name in walk.options_of(command)
    }
    names = {one.split()[-1] for one in known}
    for option, reason in MAY_STAY.items():
        assert reason
        assert option in known | names
    for place, beside, option in MAY_STAY_BESIDE:
        command = next(one for one in (*WALKED, *STORES) if f"{place} ".startswith(f"{one} "))
        assert MAY_STAY_BESIDE[place, beside, option]
        assert {f"{command} {beside.split()[0]}", f"{command} {option}"} <= known


@pytest.mark.slow
@pytest.mark.parametrize(("command", "graph"), EVERY)
def test_an_option_alone_has_an_effect_or_is_refused(
    command: str, graph: str, folder: Path
) -> None:
    found = [one.option for one in walk_of(command, graph).alone(folder)]
    assert found == []


@pytest.mark.proof
@pytest.mark.parametrize("command", STORES)
def test_each_option_on_a_store_has_an_effect_or_is_refused(command: str, store: Made) -> None:
    with frozen(store):
        for one, again in zip(*(store_walks_of(command, store) for _ in "12"), strict=True):
            assert one.plain(store.folder)[0].code == 0
            assert one.plain(store.folder) == again.plain(store.folder)
            assert [found.option for found in one.alone(store.folder)] == []


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("search --serve --json", "--serve shows a page in the browser: leave out --json"),
        ("search ink --port 0", "--port needs --serve"),
        ("search ink --explain --json", "leave out --explain"),
        ("archive crawl.db-pages", "--store and PLACE cannot be combined"),
        ("archive --verify crawl.db-pages", "--store and PLACE cannot be combined"),
        (f"page {LINKED} --at 2100-01-01 --version 1", "--at and --version"),
        ("top --all --unread", "leave out --sites and --unread"),
        ("top --all --sites", "leave out --sites and --unread"),
        ("export - --json", "--force and --json are for a FILE"),
        ("export graph.gexf --edges", "a .gexf file has the links anyway"),
        ("export links.csv --edges --unread", "pages that were not read have no links"),
        ("export links.csv --edges --by pagerank", "--by orders pages"),
        ("export links.csv --edges --graph-of crawled --fetched", "say the same"),
        ("export pages.wacz --unread", "a .wacz file has what was read"),
    ],
)
def test_options_that_exclude_each_other_are_refused_with_the_reason(
    command: str, reason: str, store: Made
) -> None:
    found = walk.run([*command.split(), "--store", STORE], store.folder)
    assert (found.code, found.out, found.files) == (2, "", {})
    assert reason in found.err
    assert len(found.err.splitlines()) == 1


@pytest.mark.parametrize("command", [*SHORT_WALKS, *LONGER_WALKS])
@pytest.mark.proof
def test_no_option_takes_the_effect_of_another_one(command: str, folder: Path) -> None:
    assert list(graph_pairs(command, folder)) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", [*SHORT_STORE_WALKS, *in_a_proof(LONGER_STORE_WALKS)])
def test_no_option_on_a_store_takes_the_effect_of_another_one(command: str, store: Made) -> None:
    assert list(store_pairs(command, store)) == []


def test_an_option_without_effect_is_found(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """`--idle` does nothing, and `--loud` takes the effect of `--name`."""

    @click.command()
    @click.option("--idle", is_flag=True)
    @click.option("--loud", is_flag=True)
    @click.option("--name", type=click.IntRange(1))
    def greet(idle: bool, loud: bool, name: int | None) -> None:
        del idle
        click.echo("HELLO" if loud else f"hello {name}")

    monkeypatch.setitem(root.commands, "greet", greet)
    walked = walk.Walk("greet", "none", [[]], {}, INPUT_OPTIONS)
    assert [one.option for one in walked.alone(folder)] == ["--idle"]
    pairs = {(one.beside, one.option) for one in walked.in_pairs(folder)}
    assert pairs == {("--loud", "--name")}
