"""`minicrawl cluster gather`, and reports on a whole cluster."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from minicrawl.cli import USAGE, main
from minicrawl.cluster.terms import TERMS_KEY
from tests.cluster.fake_engine import FakeEngine, FakeServers
from tests.cluster.hand_shards import HandCluster
from tests.cluster.test_restoring import URLS, crawled, keep, terms

CLUSTER = "nats://127.0.0.1:4222/news"


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[HandCluster]:
    with ExitStack() as stack:
        yield crawled(tmp_path / "shards", stack)


@pytest.fixture
def served(hand: HandCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    """Whoever opens an engine gets one with all shards."""
    servers = FakeServers()

    @asynccontextmanager
    async def opened(_access: object, *, makes: bool) -> AsyncIterator[FakeEngine]:
        assert not makes
        engine = FakeEngine(servers)
        if await engine.get(TERMS_KEY) is None:
            await engine.create(TERMS_KEY, terms().pack())
            await keep(engine, hand)
        yield engine

    monkeypatch.setattr("minicrawl.cluster.commands.nodes.opened", opened)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return servers


def test_stores_in_files_are_gathered(
    hand: HandCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hand.commit()
    store = str(tmp_path / "all.db")
    assert main(["cluster", "gather", store, *map(str, hand.paths)]) == 0
    out = capsys.readouterr().out
    assert "none missing" in out
    assert "waited in outboxes" in out
    assert main(["check", "--store", store]) == 0
    assert "ok: file" in capsys.readouterr().out


def test_what_came_of_it_is_told_as_json(
    hand: HandCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hand.commit()
    files = [str(tmp_path / "all.db"), *map(str, hand.paths)]
    assert main(["cluster", "gather", *files, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["store"] == files[0]
    assert (told["pages"], told["shards"], told["ahead"]) == (6, 3, [])


@pytest.mark.usefixtures("served")
def test_a_cluster_is_gathered_into_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", "gather", str(tmp_path / "all.db"), "--cluster", CLUSTER]) == 0
    assert "6" in capsys.readouterr().out


@pytest.mark.usefixtures("served")
def test_reports_answer_for_the_whole_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pages", "--cluster", CLUSTER, "--json"]) == 0
    first = capsys.readouterr()
    assert {row["url"] for row in json.loads(first.out)} == set(URLS[:6])
    assert "gathered 6 pages of 3 shards into " in first.err
    assert main(["check", "--cluster", CLUSTER]) == 0
    assert "gathered" not in capsys.readouterr().err


@pytest.mark.usefixtures("served")
def test_a_cluster_in_the_environment_is_read_unless_a_store_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINICRAWL_CLUSTER", CLUSTER)
    assert main(["status"]) == 0
    assert "pages known" in capsys.readouterr().out
    assert main(["status", "--store", str(tmp_path / "none.db")]) == USAGE
    assert "no store at" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("top", "--cluster", CLUSTER, "--store", "x.db"), "--cluster and --store cannot be"),
        (("cluster", "gather", "all.db"), "no cluster"),
    ],
)
def test_what_is_contradictory_is_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments]) == USAGE
    assert message in capsys.readouterr().err
