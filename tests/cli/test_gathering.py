"""`minicrawl cluster gather`, and reports on a whole cluster."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.cluster.records import TERMS_KEY
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.cluster.fake_engine import FakeEngine, FakeServers
from tests.cluster.hand_shards import HandCluster
from tests.cluster.test_restoring import URLS, begin, crawled, keep, terms

CLUSTER = "nats://127.0.0.1:4222/news"


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[HandCluster]:
    with ExitStack() as stack:
        yield crawled(tmp_path / "shards", stack)


@pytest.fixture
def served(hand: HandCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    """Servers of a cluster with all shards, which every engine uses."""
    servers = FakeServers()

    @asynccontextmanager
    async def opened(_access: object, *, makes: bool) -> AsyncIterator[FakeEngine]:
        assert not makes
        engine = FakeEngine(servers)
        if await engine.get(TERMS_KEY) is None:
            await begin(engine, terms())
            await keep(engine, hand)
        yield engine

    monkeypatch.setattr("minicrawl.cluster.commands.nodes.opened", opened)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return servers


def test_stores_in_files_are_gathered(hand: HandCluster, tmp_path: Path, capsys: Captured) -> None:
    hand.commit()
    store = tmp_path / "all.db"
    out = printed(capsys, "cluster", "gather", store, *hand.paths)
    assert "none missing" in out
    assert "waited in outboxes" in out
    assert printed(capsys, "check", "--store", store).startswith("ok: file")


def test_the_result_is_printed_as_json(hand: HandCluster, tmp_path: Path, capsys: Captured) -> None:
    hand.commit()
    store = tmp_path / "all.db"
    found = as_json(capsys, "cluster", "gather", store, *hand.paths)
    assert found["store"] == str(store)
    assert (found["pages"], found["shards"], found["ahead"]) == (6, 3, [])


@pytest.mark.usefixtures("served")
def test_a_cluster_is_gathered_into_a_file(tmp_path: Path, capsys: Captured) -> None:
    command = ("cluster", "gather", tmp_path / "all.db", "--cluster", CLUSTER)
    assert as_json(capsys, *command)["pages"] == 6


@pytest.mark.usefixtures("served")
def test_reports_answer_for_the_whole_cluster(capsys: Captured) -> None:
    assert main(["pages", "--cluster", CLUSTER, "--json"]) == 0
    first = capsys.readouterr()
    assert {row["url"] for row in json.loads(first.out)} == set(URLS[:6])
    assert "gathered 6 pages of 3 shards into " in first.err
    assert main(["check", "--cluster", CLUSTER]) == 0
    assert "gathered" not in capsys.readouterr().err


@pytest.mark.usefixtures("served")
def test_a_cluster_in_the_environment_is_read_unless_a_store_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    monkeypatch.setenv("MINICRAWL_CLUSTER", CLUSTER)
    assert main(["status"]) == 0
    assert "pages known" in capsys.readouterr().out
    assert "no store at" in refusal(capsys, "status", "--store", tmp_path / "none.db")
