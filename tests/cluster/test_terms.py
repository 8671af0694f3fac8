"""The terms of a crawl: the first request sets them, and a request with others is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Loaded, Settings
from minicrawl.cluster import shared_settings, steering
from minicrawl.cluster.node.crawl_state import CrawlState
from minicrawl.cluster.node.running import check_disk
from minicrawl.cluster.records import TERMS_KEY, CrawlActivity, KeyEntry, ShardFacts
from minicrawl.cluster.shared_settings import TermsRecord, effective_settings
from minicrawl.cluster.terms import FORMAT, seeds_of, start_or_join, state_of, wait_for_terms
from minicrawl.config.declaration import Setting
from minicrawl.config.table import TABLE
from minicrawl.config.values.stop_rules import FORMS, Until
from minicrawl.crawl.events import Reason
from minicrawl.errors import UsageError
from minicrawl.store.schema import VERSION
from tests.cluster.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio

SEEDS = ["http://a.example/", "http://b.example/"]
USUAL = {"keep": "none"}
"""Settings of a cluster whose user gave none."""


given = Settings.given


def unexpected() -> None:
    raise AssertionError("the terms are there")


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.mark.parametrize(
    ("loaded", "seeds", "shards", "named"),
    [
        (given(), SEEDS, 9, "--shards 9: .* 8 shards"),
        (given(), ["http://c.example/"], None, "without http://c.example/"),
        (given(delay=7), [], None, "--delay 7: .* with 1"),
    ],
    ids=["shards", "seeds", "settings"],
)
async def test_a_request_with_other_terms_is_refused_and_changes_nothing(
    engine: FakeEngine, loaded: Loaded, seeds: list[str], shards: int | None, named: str
) -> None:
    first = await start_or_join(engine, given(pages=10), SEEDS, 8)
    before = dict(engine.servers.values)
    with pytest.raises(UsageError, match=named) as error:
        await start_or_join(engine, loaded, seeds, shards)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)
    assert engine.servers.values == before
    assert await wait_for_terms(engine, unexpected) == first


async def test_the_first_request_begins_the_crawl_and_others_join(engine: FakeEngine) -> None:
    first = await start_or_join(engine, given(pages=10), SEEDS, 8)
    assert (first.shards, first.settings) == (8, {**USUAL, "pages": 10})
    assert await seeds_of(engine, first.seeds) == SEEDS
    assert await start_or_join(engine, given(), [], None) == first
    assert await start_or_join(engine, given(pages=10), SEEDS, 8) == first
    assert (await state_of(engine))[0].run == 1
    again = await start_or_join(engine, given(pages=20), [])
    assert again.settings == {**USUAL, "pages": 20}


async def test_a_cluster_without_a_crawl_needs_seeds(engine: FakeEngine) -> None:
    with pytest.raises(UsageError, match="give SEEDS"):
        await start_or_join(engine, given(), [])
    assert engine.servers.values == {}


async def test_a_stopped_crawl_goes_on_with_other_settings_and_more_seeds(
    engine: FakeEngine,
) -> None:
    await start_or_join(engine, given(), SEEDS)
    await steering.stop(engine)
    again = await start_or_join(engine, given(delay=7), ["http://c.example/"])
    assert again.settings == {**USUAL, "delay": 7}
    assert await seeds_of(engine, again.seeds) == [*SEEDS, "http://c.example/"]
    state, _ = await state_of(engine)
    assert (state.doing, state.run) == (CrawlActivity.RUNNING, 2)


@pytest.mark.parametrize(("format_", "schema"), [(99, VERSION), (FORMAT, 99)])
async def test_a_node_of_another_version_is_refused_with_the_version_that_it_needs(
    engine: FakeEngine, format_: int, schema: int
) -> None:
    terms = await start_or_join(engine, given(), SEEDS)
    other = replace(terms, version="9.9", format=format_, schema=schema)
    await engine.put(TERMS_KEY, other.pack())
    with pytest.raises(UsageError, match=r"minicrawl 9\.9 "):
        await wait_for_terms(engine, unexpected)
    with pytest.raises(UsageError, match=r"minicrawl 9\.9 "):
        await start_or_join(engine, given(), [])


async def test_a_stopped_crawl_of_an_older_version_goes_on(engine: FakeEngine) -> None:
    begun = await start_or_join(engine, given(), SEEDS)
    older = replace(begun, version="0.1", schema=VERSION - 1, settings={**USUAL, "pages": 5})
    await engine.put(TERMS_KEY, older.pack())
    with pytest.raises(UsageError, match=r"one of minicrawl 0\.1 "):
        await start_or_join(engine, given(), [])
    await steering.stop(engine)
    again = await start_or_join(engine, given(), [])
    assert again == replace(begun, settings={**USUAL, "pages": 5})
    assert await wait_for_terms(engine, unexpected) == again


@pytest.mark.parametrize(
    ("flag", "settings"),
    [
        ("--until", {"until": "90% guaranteed"}),
        ("--check", {"check": ["external"]}),
        ("--keep-versions", {"keep": "pages", "keep_versions": 3}),
        ("--requisites", {"keep": "pages", "requisites": True}),
        ("--no-links", {"links": False}),
        ("--deterministic", {"deterministic": True}),
        ("--window NAME:TIME", {"window": "fixed:4w"}),
    ],
)
async def test_settings_for_a_crawl_on_one_machine_are_refused(
    engine: FakeEngine, flag: str, settings: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=f"{flag} .*one machine"):
        await start_or_join(engine, given(**settings), SEEDS)
    assert engine.servers.values == {}


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"render": "always", "browser": "/nowhere/chromium"}, "/nowhere/chromium"),
        ({"types": ["files"]}, "--types"),
        ({"score": ["words:a"], "strategy": "greedy"}, "--strategy siblings"),
        ({"score": ["nobody-has:a"]}, "nobody-has"),
    ],
)
async def test_settings_that_cannot_work_here_are_refused_before_a_shard_begins(
    engine: FakeEngine, settings: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        await start_or_join(engine, given(**settings), SEEDS)
    assert engine.servers.values == {}
    begun = await start_or_join(engine, given(), SEEDS)
    await steering.stop(engine)
    with pytest.raises(UsageError, match=why):
        await start_or_join(engine, given(**settings), [])
    found = await engine.get(TERMS_KEY)
    assert found is not None
    assert found.value == begun.pack()
    shared_settings.check_terms(begun, {})
    with pytest.raises(UsageError, match=why):  # a node that lacks what another machine has
        shared_settings.check_terms(replace(begun, settings=settings), settings)


@pytest.mark.parametrize("form", FORMS)
async def test_a_cluster_judges_a_form_of_until_or_refuses_it_before_a_shard_begins(
    engine: FakeEngine, form: type[Until]
) -> None:
    begun = await start_or_join(engine, given(), SEEDS, 1)
    terms = replace(begun, settings={**USUAL, "until": form(0.5).plain})
    if form.why_one_machine:
        with pytest.raises(UsageError, match=r"--until .50% .* one machine: .*; say a share"):
            shared_settings.check_terms(terms, {})
        return
    assert shared_settings.check_terms(terms, {}).budget.until == form(0.5)
    state, facts = CrawlState(engine, terms), ShardFacts(0, fetched=1, gathered=1, waiting=1)
    state.hear(KeyEntry("told.0", facts.pack(), 0))
    for _ in range(2):  # looks
        await state.end_if_over()
    assert state.end == Reason.GATHERED


async def test_a_node_refers_to_earlier_archives_in_its_web_archives_only(
    engine: FakeEngine, tmp_path: Path
) -> None:
    keeping: dict[str, Any] = {"dedupe_with": __file__, "keep": "pages"}
    with pytest.raises(UsageError, match=r"--warc .*cluster gather"):
        await start_or_join(engine, given(**keeping), SEEDS)
    begun = await start_or_join(engine, given(**keeping, warc=tmp_path), SEEDS)
    assert begun.settings == {**USUAL, "keep": "pages"}


@pytest.mark.parametrize(
    "limit",
    [row for row in TABLE if row.section.name == "budget" and row.default is None],
    ids=lambda row: row.name,
)
def test_a_limit_is_one_of_all_shards_together_or_refused(limit: Setting) -> None:
    limited: dict[str, Any] = {limit.argument: 1}
    try:
        settings = shared_settings.settings_of_crawl(given(**limited))
    except UsageError:
        return
    whole = TermsRecord(
        id="a", format=FORMAT, schema=VERSION, version="1", shards=2, settings=settings, seeds="s"
    )
    assert getattr(whole.limits, limit.field) == limit.kind.read(1)


async def test_limits_of_a_run_count_from_its_beginning_and_are_not_kept_for_the_next(
    engine: FakeEngine,
) -> None:
    await start_or_join(engine, given(new_pages=5, for_="1h", bytes="2MB"), SEEDS, 2)
    for shard in range(2):
        await engine.put(f"told.{shard}", ShardFacts(shard, fetched=20, run=1).pack())
    joined = await start_or_join(engine, given(new_pages=7), [])
    limits = joined.limits
    assert (limits.new_pages, limits.seconds, limits.body_bytes) == (7, 3600, 2_000_000)
    await steering.stop(engine)
    again = await start_or_join(engine, given(new_pages=7), [])
    assert again.settings == {**USUAL, "new-pages": 7}
    assert (await state_of(engine))[0].fetched == 40
    assert effective_settings(again, {}) == (USUAL, "")


@pytest.mark.parametrize("settings", [{"keep": "pages"}, {"score": ["words:a"]}])
async def test_a_crawl_has_the_settings_of_its_user_and_joins_without_them(
    engine: FakeEngine, settings: dict[str, Any]
) -> None:
    begun = await start_or_join(engine, given(**settings), SEEDS)
    assert begun.settings == {**USUAL, **settings}
    assert await start_or_join(engine, given(), SEEDS) == begun


def test_secrets_and_settings_of_a_machine_are_not_in_the_terms() -> None:
    loaded = given(pages=3, auth=["a.example=me:secret"], proxy=["http://me:secret@p:1"], workers=3)
    assert shared_settings.settings_of_crawl(loaded) == {"pages": 3}
    assert shared_settings.settings_of_node(loaded)["proxy"] == ["http://me:secret@p:1"]


@pytest.mark.parametrize(
    ("settings", "workers"), [({}, 0), ({"workers": "auto"}, 0), ({"workers": 3}, 3)]
)
def test_shards_have_no_workers_unless_the_node_is_given_a_number(
    settings: dict[str, Any], workers: int
) -> None:
    assert shared_settings.workers_of_node(given(**settings)) == workers


def test_a_disk_without_room_for_a_shard_is_refused(tmp_path: Path) -> None:
    check_disk(tmp_path)
    with pytest.raises(UsageError, match=r"/proc .*--folder"):
        check_disk(Path("/proc"))  # never has free space


async def test_a_request_to_an_absent_node_names_the_present_ones(engine: FakeEngine) -> None:
    await engine.put("node.east", b"{}")
    with pytest.raises(UsageError, match=r"west .*: east"):
        await steering.drain(engine, "west")


async def test_a_running_crawl_can_be_paused_and_resumed_and_a_stopped_one_cannot(
    engine: FakeEngine,
) -> None:
    await start_or_join(engine, given(), SEEDS)
    await steering.pause(engine)
    assert (await state_of(engine))[0].doing == CrawlActivity.PAUSED
    await steering.resume(engine)
    assert (await state_of(engine))[0].doing == CrawlActivity.RUNNING
    await steering.stop(engine)
    with pytest.raises(UsageError, match="has stopped"):
        await steering.pause(engine)


HARM = {
    "browser": "/evil.sh",
    "bearer": ["a.example=@/key"],
    "header": ["X-A: b"],
    "user-agent": "somebody else",
    "store": "/etc/x.db",
    "warc": "/etc/w",
    "dedupe-with": "/etc/w",
    "cluster": "nats://elsewhere:1",
    "robots": False,
    "allow-private": True,
    "delay": 0.1,
    "resolve": ["*=127.0.0.1:80"],
    "max-body": 10**12,
}


async def poisoned(engine: FakeEngine, settings: dict[str, object]) -> TermsRecord:
    """Return terms to which somebody with access to the servers has added settings."""
    terms = await start_or_join(engine, given(pages=10), SEEDS)
    return replace(terms, settings={**terms.settings, **settings})


@pytest.mark.parametrize("name", HARM)
async def test_a_harmful_setting_counts_only_if_the_node_has_it_as_well(
    engine: FakeEngine, name: str
) -> None:
    terms = await poisoned(engine, {name: HARM[name]})
    counting, line = shared_settings.effective_settings(terms, {})
    assert counting == {**USUAL, "pages": 10}
    assert "\n" not in line
    assert name in line


@pytest.mark.parametrize(
    ("of_crawl", "of_node"),
    [
        pytest.param(
            *[{"robots": False, "delay": 0.1, "resolve": ["*=127.0.0.1:80"]}] * 2, id="same"
        ),
        pytest.param(
            {"robots": True, "delay": 0.5}, {"robots": False, "delay": 0.1}, id="stricter"
        ),
    ],
)
async def test_settings_of_the_crawl_count_if_the_node_allows_as_much(
    engine: FakeEngine, of_crawl: dict[str, object], of_node: dict[str, Any]
) -> None:
    terms = await poisoned(engine, of_crawl)
    own = shared_settings.settings_of_node(given(**of_node))
    assert shared_settings.effective_settings(terms, own) == (dict(terms.settings), "")


async def test_a_setting_of_an_older_version_is_ignored_and_named(engine: FakeEngine) -> None:
    terms = await poisoned(engine, {"max-delay": 90, "min-delay": 0.5})
    counting, line = shared_settings.effective_settings(terms, {})
    assert counting == {**USUAL, "pages": 10}
    assert "max-delay: " in line
    assert "min-delay" not in line


async def test_terms_with_an_unknown_setting_are_refused(engine: FakeEngine) -> None:
    terms = await poisoned(engine, {"planets": 9})
    with pytest.raises(UsageError, match="planets: no such setting"):
        shared_settings.effective_settings(terms, {})
