"""A crawl is begun once; whoever asks for something else is refused in one line."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minicrawl.cluster import overview as steering
from minicrawl.cluster import terms as cluster_terms
from minicrawl.cluster.assignment import ShardFacts, as_bytes
from minicrawl.cluster.node import node as running
from minicrawl.cluster.node.node import check_disk
from minicrawl.cluster.terms import (
    FORMAT,
    TERMS_KEY,
    CrawlActivity,
    TermsRecord,
    effective_settings,
    seeds_of,
    start_or_join,
    state_of,
    wait_for_terms,
)
from minicrawl.config import Loaded, Settings, load
from minicrawl.errors import UsageError
from minicrawl.store.schema import VERSION
from tests.cluster.fake_engine import FakeEngine

SEEDS = ["http://a.example/", "http://b.example/"]
USUAL = {"keep": "none", "strategy": "greedy"}
"""What a cluster has unless it is given."""


def given(**settings: object) -> Loaded:
    return load(settings, {}, None)


def tried(work: Callable[[FakeEngine], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(60):
            await work(FakeEngine())

    asyncio.run(run())


def refused(match: str, loaded: Loaded, seeds: list[str], shards: int | None = None) -> None:
    """Whoever comes second with these is refused, and nothing is changed."""

    async def work(engine: FakeEngine) -> None:
        first = await start_or_join(engine, given(pages=10), SEEDS, 8)
        before = dict(engine.servers.values)
        with pytest.raises(UsageError, match=match) as error:
            await start_or_join(engine, loaded, seeds, shards)
        assert error.value.exit_code == 2
        assert "\n" not in str(error.value)
        assert engine.servers.values == before
        assert await wait_for_terms(engine) == first

    tried(work)


def test_who_comes_first_begins_and_all_others_join() -> None:
    async def work(engine: FakeEngine) -> None:
        first = await start_or_join(engine, given(pages=10), SEEDS, 8)
        assert (first.shards, first.settings) == (8, {**USUAL, "pages": 10})
        assert await seeds_of(engine, first.seeds) == SEEDS
        assert await start_or_join(engine, given(), [], None) == first
        assert await start_or_join(engine, given(pages=10), SEEDS, 8) == first
        assert (await state_of(engine))[0].run == 1

    tried(work)


def test_a_cluster_without_a_crawl_needs_seeds() -> None:
    async def work(engine: FakeEngine) -> None:
        with pytest.raises(UsageError, match="no crawl yet: give SEEDS"):
            await start_or_join(engine, given(), [])
        assert engine.servers.values == {}

    tried(work)


def test_another_number_of_shards_is_refused() -> None:
    refused("--shards 9: this cluster's crawl has 8 shards, which never", given(), SEEDS, 9)


def test_two_crawls_of_one_name_are_refused() -> None:
    refused("has other seeds, without http://c.example/", given(), ["http://c.example/"])


def test_other_settings_are_refused_while_it_runs() -> None:
    refused("--delay 7: the crawl of this cluster runs with 1; stop it first", given(delay=7), [])


def test_the_budget_may_change_while_it_runs() -> None:
    async def work(engine: FakeEngine) -> None:
        await start_or_join(engine, given(pages=10), SEEDS)
        again = await start_or_join(engine, given(pages=20), [])
        assert again.settings == {**USUAL, "pages": 20}

    tried(work)


def test_a_crawl_that_was_stopped_goes_on_with_other_settings_and_more_seeds() -> None:
    async def work(engine: FakeEngine) -> None:
        await start_or_join(engine, given(), SEEDS)
        await steering.stop(engine)
        again = await start_or_join(engine, given(delay=7), ["http://c.example/"])
        assert again.settings == {**USUAL, "delay": 7}
        assert await seeds_of(engine, again.seeds) == [*SEEDS, "http://c.example/"]
        state, _ = await state_of(engine)
        assert (state.doing, state.run) == (CrawlActivity.RUNNING, 2)

    tried(work)


@pytest.mark.parametrize(("format_", "schema"), [(99, VERSION), (FORMAT, 99)])
def test_a_node_of_another_version_is_refused_and_told_what_to_do(
    format_: int, schema: int
) -> None:
    async def work(engine: FakeEngine) -> None:
        terms = await start_or_join(engine, given(), SEEDS)
        other = replace(terms, version="9.9", format=format_, schema=schema)
        await engine.put(TERMS_KEY, other.pack())
        with pytest.raises(UsageError, match=r"one of minicrawl 9\.9 .* install the same version"):
            await wait_for_terms(engine)
        with pytest.raises(UsageError, match="install the same version"):
            await start_or_join(engine, given(), [])

    tried(work)


def test_a_stopped_crawl_of_an_older_version_goes_on() -> None:
    async def work(engine: FakeEngine) -> None:
        begun = await start_or_join(engine, given(), SEEDS)
        older = replace(begun, version="0.1", schema=VERSION - 1, settings={"pages": 5})
        await engine.put(TERMS_KEY, older.pack())
        with pytest.raises(UsageError, match=r"one of minicrawl 0\.1 "):
            await start_or_join(engine, given(), [])
        await steering.stop(engine)
        again = await start_or_join(engine, given(), [])
        assert again == replace(begun, settings={**USUAL, "pages": 5})
        assert await wait_for_terms(engine) == again

    tried(work)


@pytest.mark.parametrize(
    "settings",
    [
        *({"until": "90%"}, {"score": ["url:a"]}, {"check": ["external"]}),
        *({"keep": "pages", "keep_versions": 3}, {"keep": "pages", "requisites": True}),
    ],
)
def test_what_only_one_machine_can_keep_is_refused(settings: dict[str, object]) -> None:
    async def work(engine: FakeEngine) -> None:
        with pytest.raises(UsageError, match="for a crawl on one machine"):
            await start_or_join(engine, given(**settings), SEEDS)
        assert engine.servers.values == {}

    tried(work)


def test_limits_of_a_run_are_those_of_one_run_and_count_from_its_begin() -> None:
    async def work(engine: FakeEngine) -> None:
        await start_or_join(engine, given(new_pages=5, for_="1h", bytes="2MB"), SEEDS, 2)
        for shard in range(2):
            await engine.put(f"told.1.{shard}", as_bytes(ShardFacts(shard, fetched=20)))
        joined = await start_or_join(engine, given(new_pages=7), [])
        limits = joined.limits
        assert (limits.new_pages, limits.seconds, limits.body_bytes) == (7, 3600, 2_000_000)
        await steering.stop(engine)
        again = await start_or_join(engine, given(new_pages=7), [])
        assert again.settings == {**USUAL, "new-pages": 7}
        assert (await state_of(engine))[0].fetched == 40
        assert effective_settings(again, {}) == (USUAL, "")

    tried(work)


def test_secrets_and_what_belongs_to_a_machine_are_not_in_the_engine() -> None:
    loaded = given(pages=3, auth=["a.example=me:secret"], proxy=["http://me:secret@p:1"], workers=3)
    assert cluster_terms.settings_of_crawl(loaded) == {"pages": 3}
    assert cluster_terms.settings_of_node(loaded)["proxy"] == ["http://me:secret@p:1"]


@pytest.mark.parametrize(("settings", "keep"), [({}, "none"), ({"keep": "pages"}, "pages")])
def test_pages_are_kept_where_that_is_given(settings: dict[str, object], keep: str) -> None:
    async def work(engine: FakeEngine) -> None:
        begun = await start_or_join(engine, given(**settings), SEEDS)
        assert begun.settings["keep"] == keep
        assert await start_or_join(engine, given(), SEEDS) == begun

    tried(work)


@pytest.mark.parametrize(
    ("settings", "workers"), [({}, 0), ({"workers": "auto"}, 0), ({"workers": 3}, 3)]
)
def test_shards_have_the_fetching_processes_that_their_node_is_given(
    settings: dict[str, object], workers: int
) -> None:
    assert cluster_terms.workers_of_node(given(**settings)) == workers


def test_a_disk_without_room_for_a_shard_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_disk(tmp_path)
    monkeypatch.setattr(running, "LEAST_DISK", 1 << 62)
    with pytest.raises(UsageError, match="give a --folder on another disk"):
        check_disk(tmp_path)


def test_a_request_to_an_absent_node_names_the_present_ones() -> None:
    async def work(engine: FakeEngine) -> None:
        await engine.put("node.east", b"{}")
        with pytest.raises(UsageError, match=r"no node named west .* there are: east"):
            await steering.drain(engine, "west")

    tried(work)


def test_a_crawl_that_is_over_cannot_be_paused() -> None:
    async def work(engine: FakeEngine) -> None:
        await start_or_join(engine, given(), SEEDS)
        await steering.pause(engine)
        assert (await state_of(engine))[0].doing == CrawlActivity.PAUSED
        await steering.resume(engine)
        assert (await state_of(engine))[0].doing == CrawlActivity.RUNNING
        await steering.stop(engine)
        with pytest.raises(UsageError, match="has stopped"):
            await steering.pause(engine)

    tried(work)


def test_terms_come_back_as_they_were() -> None:
    terms = TermsRecord(
        id="1", format=1, schema=1, version="1", shards=2, settings={"pages": 3}, seeds="s"
    )
    assert TermsRecord.unpack("crawl.terms", terms.pack()) == terms
    assert Settings().cluster.url is None


HARM = {
    "browser": "/evil.sh",
    "bearer": ["a.example=@/key"],
    "header": ["X-A: b"],
    "user-agent": "somebody else",
    "store": "/etc/x.db",
    "warc": "/etc/w",
    "cluster": "nats://elsewhere:1",
    "robots": False,
    "allow-private": True,
    "delay": 0.1,
    "resolve": ["*=127.0.0.1:80"],
    "max-body": 10**12,
}


async def poisoned(engine: FakeEngine, settings: dict[str, object]) -> TermsRecord:
    """The terms as somebody who may write to the servers leaves them."""
    terms = await start_or_join(engine, given(pages=10), SEEDS)
    return replace(terms, settings={**terms.settings, **settings})


@pytest.mark.parametrize("name", HARM)
def test_what_does_harm_to_a_node_counts_only_if_the_node_is_given_it(name: str) -> None:
    async def work(engine: FakeEngine) -> None:
        terms = await poisoned(engine, {name: HARM[name]})
        counting, line = cluster_terms.effective_settings(terms, {})
        assert counting == {**USUAL, "pages": 10}
        assert "\n" not in line
        assert name in line

    tried(work)


def test_a_node_that_is_given_the_same_obeys_the_terms() -> None:
    async def work(engine: FakeEngine) -> None:
        shared = {"robots": False, "delay": 0.1, "resolve": ["*=127.0.0.1:80"]}
        terms = await poisoned(engine, shared)
        own = cluster_terms.settings_of_node(given(**shared))
        assert cluster_terms.effective_settings(terms, own) == (dict(terms.settings), "")

    tried(work)


def test_terms_that_are_stricter_than_a_node_count() -> None:
    async def work(engine: FakeEngine) -> None:
        terms = await poisoned(engine, {"robots": True, "delay": 0.5})
        own = cluster_terms.settings_of_node(given(robots=False, delay=0.1))
        counting, line = cluster_terms.effective_settings(terms, own)
        assert (counting["robots"], counting["delay"], line) == (True, 0.5, "")

    tried(work)


def test_a_setting_that_is_gone_is_ignored_and_named() -> None:
    async def work(engine: FakeEngine) -> None:
        terms = await poisoned(engine, {"max-delay": 90, "min-delay": 0.5})
        counting, line = cluster_terms.effective_settings(terms, {})
        assert counting == {**USUAL, "pages": 10}
        assert "max-delay: " in line
        assert "min-delay" not in line

    tried(work)


def test_terms_that_no_version_writes_are_refused_in_one_line() -> None:
    async def work(engine: FakeEngine) -> None:
        terms = await poisoned(engine, {"planets": 9})
        with pytest.raises(UsageError, match="planets: no such setting"):
            cluster_terms.effective_settings(terms, {})

    tried(work)
