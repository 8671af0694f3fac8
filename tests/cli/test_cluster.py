"""Commands of a cluster: what they refuse, show, gather, and leave in the servers."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.cli.companions import CrawlRequest
from minicrawl.cluster.commands import crawling
from minicrawl.cluster.commands.crawling import as_line
from minicrawl.cluster.commands.nodes import cells_of, facts_of
from minicrawl.cluster.overview import ClusterStatus, NodeRow
from minicrawl.cluster.records import RecordError, ShardFacts
from minicrawl.config import load
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.cluster.engines import needs_server
from tests.cluster.fake_engine import FakeEngine, FakeServers
from tests.cluster.hand_shards import HandCluster
from tests.cluster.test_restoring import URLS, begin, crawled, keep, terms
from tests.processes import run_python

NOBODY, CLUSTER = "nats://127.0.0.1:1", "nats://127.0.0.1:4222/news"
ROW = NodeRow(
    name="east",
    state="live",
    machine="m",
    version="1",
    shards=(0, 1, 2),
    fetched=40,
    pace=7,
    workers=0,
    disk_free=1,
)
STATUS = ClusterStatus(
    doing="running",
    reason="",
    shards=4,
    unheld=(3,),
    nodes=(ROW,),
    budget=1000,
    fetched=40,
    pace=7,
    waiting=1200,
    batches=2,
    level=1.5,
)

REFUSED = {
    "cluster status": "no cluster: name its servers with --cluster nats://host:4222",
    "cluster status --cluster foo": "must be the address of NATS servers",
    "crawl a.example --shards 4": "--shards needs --cluster",
    "crawl a.example --cluster demo": "--cluster demo has its own seeds: leave out SEEDS",
    f"crawl a.example --cluster {NOBODY} --dry-run": "--dry-run is for a crawl on one machine",
    "crawl http://a.example --cluster nats://east": "east is another machine, and no credentials",
    "top --cluster nats://east": "--insecure east",
    f"crawl a.example --cluster {NOBODY} --deterministic": "--deterministic is for a crawl on one",
    f"crawl a.example --cluster {NOBODY} --fresh": "--fresh is for a crawl on one machine",
    f"crawl a.example --cluster {NOBODY} --verbose": "minicrawl export requests.log",
    f"crawl a.example --cluster {NOBODY} --metrics 127.0.0.1:9": "minicrawl dashboard --cluster",
    f"node --cluster {NOBODY} --name a.b": "use up to 32 letters, digits, - and _",
    f"node --cluster {NOBODY} --folder /dev/null/x": "--folder /dev/null/x: Not a directory",
    f"cluster set east --cluster {NOBODY}": "--drain",
    f"cluster set --drain --cluster {NOBODY}": "NODE",
    f"control workers 2 --cluster {NOBODY}": "cannot be reached",
    f"control delay --cluster {NOBODY}": "control delay needs one value",
    f"top --cluster {NOBODY} --store x.db": "--cluster and --store cannot be",
    "cluster gather all.db": "no cluster",
}


@pytest.mark.slow
@pytest.mark.parametrize("line", REFUSED)
def test_a_bad_value_is_refused_in_one_line(line: str, capsys: Captured) -> None:
    assert REFUSED[line] in refusal(capsys, *line.split())


@pytest.mark.slow
@needs_server
@pytest.mark.parametrize("command", ["cluster status", "node", "top", "dashboard --port 0"])
def test_unreachable_servers_are_named_in_one_line(
    command: str, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    line = refusal(capsys, *command.split(), "--cluster", NOBODY)
    assert line.startswith(f"minicrawl: {NOBODY} cannot be reached")


def test_a_crawl_without_a_cluster_imports_one_module_of_it() -> None:
    code = (
        "import sys, minicrawl.app, minicrawl.cli.crawl.session, minicrawl.cli.crawl.command;"
        "print([name for name in sys.modules if name.startswith(('minicrawl.cluster.', 'nats'))])"
    )
    assert run_python("-c", code).stdout == "['minicrawl.cluster.beside_crawl']\n"


def test_the_next_commands_name_all_servers_and_no_password(capsys: Captured) -> None:
    loaded = load({"cluster": "tls://me:secret@a:1,tls://me:secret@b:2/news"}, {}, None)
    request = CrawlRequest(loaded, {"quiet": False, "as_json": False}, resume="")
    crawling.show_end(request, STATUS)
    shown = capsys.readouterr().err
    assert "--cluster tls://a:1,tls://b:2/news" in shown
    assert "secret" not in shown


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    """Servers that every command of a cluster reaches."""
    servers = FakeServers()

    @asynccontextmanager
    async def opened(_access: object, *, makes: bool) -> AsyncIterator[FakeEngine]:
        assert not makes
        yield FakeEngine(servers)

    monkeypatch.setattr("minicrawl.cluster.commands.nodes.opened", opened)
    return servers


@pytest.fixture
def with_east(servers: FakeServers, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """Engine of a cluster with the node `east`, which commands take if they name none."""
    engine = FakeEngine(servers)
    asyncio.run(engine.put("node.east", b"{}"))
    monkeypatch.setenv("MINICRAWL_CLUSTER", NOBODY)
    return engine


def told(engine: FakeEngine, name: str) -> bytes | None:
    found = asyncio.run(engine.get(name))
    return found.value if found else None


def test_a_node_is_drained_and_takes_shards_again(with_east: FakeEngine) -> None:
    assert main(["cluster", "set", "east", "--drain"]) == 0
    assert told(with_east, "drain.east")
    assert main(["cluster", "set", "east", "--no-drain"]) == 0
    assert not told(with_east, "drain.east")


def test_an_unknown_node_is_refused(with_east: FakeEngine, capsys: Captured) -> None:
    assert "there are: east" in refusal(capsys, "cluster", "set", "west", "--drain")
    assert told(with_east, "drain.west") is None


def test_a_progress_line_describes_the_whole_cluster() -> None:
    assert as_line(STATUS) == (
        "40 of 1,000 pages, 7/s, 1,200 waiting, 1 node, 1 shard of 4 held by nobody, "
        "2 batches under way"
    )


@pytest.mark.parametrize(
    ("unheld", "shown"),
    [((), ""), ((3,), "; nobody holds 3"), ((0, 1, 2, 7), "; nobody holds 0-2, 7")],
)
def test_the_status_names_shards_without_a_node(unheld: tuple[int, ...], shown: str) -> None:
    facts = dict(facts_of(replace(STATUS, shards=8, unheld=unheld)))
    assert facts["shards"] == f"8{shown}"
    assert facts["fetched"] == "40 of 1,000 pages, 7/s"
    assert facts["cash threshold"] == "1.50 units"
    assert dict(facts_of(replace(STATUS, doing="ended")))["shards"] == "4"


def test_a_finished_crawl_shows_names_and_values_in_columns(capsys: Captured) -> None:
    loaded = load({"cluster": NOBODY}, {}, None)
    request = CrawlRequest(loaded, {"quiet": False, "as_json": False}, resume="")
    crawling.show_end(request, STATUS)
    lines = capsys.readouterr().err.splitlines()
    assert {line.find(value) for line in lines for value in ("running", "1.50 units")} == {-1, 18}


@pytest.mark.proof
@needs_server
def test_a_demo_cluster_crawls_and_leaves_an_intact_store(tmp_path: Path) -> None:
    command = ["crawl", "--cluster", "demo", "--demo-pages", "100", "--json"]
    done = run_python("-m", "minicrawl", *command, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["doing"], found["reason"], found["fetched"]) == ("ended", "budget spent", 100)
    checked = ["check", "--store", "data/demo-cluster.db"]
    assert run_python("-m", "minicrawl", *checked, folder=tmp_path).returncode == 0


def test_a_pace_below_one_page_a_second_is_not_shown_as_zero() -> None:
    """Rounded to whole numbers the pace would be zero in each output."""
    slow = replace(ROW, pace=0.2)
    found = replace(STATUS, pace=0.2, nodes=(slow,))
    assert "0.2/s" in as_line(found)
    assert "0.2/s" in dict(facts_of(found))["fetched"]
    assert cells_of(slow)[1] == "0.2"


def test_a_shard_reports_a_pace_below_one_page_a_second() -> None:
    told = ShardFacts(1, pace=0.2)
    assert ShardFacts.unpack("told", told.pack()).pace == 0.2
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(RecordError):
            ShardFacts.unpack("told", replace(told, pace=wrong).pack())


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[HandCluster]:
    with ExitStack() as stack:
        yield crawled(tmp_path / "shards", stack)


@pytest.fixture
def served(
    servers: FakeServers, hand: HandCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let the servers have all shards."""

    async def have(engine: FakeEngine) -> None:
        await begin(engine, terms())
        await keep(engine, hand)

    asyncio.run(have(FakeEngine(servers)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.slow
@pytest.mark.usefixtures("served")
def test_a_cluster_is_gathered_into_a_file_that_is_never_overwritten(
    tmp_path: Path, capsys: Captured
) -> None:
    def gather_into(store: Path) -> tuple[str | Path, ...]:
        return "cluster", "gather", store, "--cluster", CLUSTER

    store, other = tmp_path / "all.db", tmp_path / "other.db"
    out = printed(capsys, *gather_into(store))
    assert "none missing" in out
    assert "waited in outboxes" in out
    assert printed(capsys, "check", "--store", store).startswith("ok: file")
    assert f"{store} exists" in refusal(capsys, *gather_into(store))
    row = as_json(capsys, *gather_into(other))
    assert row["store"] == str(other)
    assert (row["pages"], row["shards"], row["ahead"]) == (6, 3, [])


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
