"""A crawl on a full or slow disk waits for it, and goes on as if nothing had happened."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Event, Reason, Settled, Warned
from minicrawl.crawl.record import commits
from minicrawl.crawl.record.commits import TRY_AGAIN_S, Committer
from minicrawl.errors import NoRoom, Unconfirmed
from minicrawl.model import FetchResult, Request
from minicrawl.report.integrity.audit import audit
from minicrawl.states import State
from minicrawl.store.writer import StoreWriter
from tests.crawl.fakes import (
    Disk,
    FakeWeb,
    Hear,
    Scene,
    crawl,
    failed,
    frontier_of,
    keeping,
    text,
    web_of,
)
from tests.crawl.jumping_clock import in_time
from tests.crawl.large_web import AT_ONCE, HOSTS, LINKS, SEED
from tests.crawl.settle.recording import bear, steps_in

NO_LIMIT = 1 << 30


def fills_after(disk: Disk, pages: int) -> Hear:
    """Return a listener that fills the disk as soon as `pages` pages are settled."""
    settled = [0]

    def hear(_scene: Scene, event: Event) -> None:
        settled[0] += isinstance(event, Settled)
        if settled[0] == pages:
            disk.takes_batches = False

    return hear


async def until_full(scene: Scene) -> None:
    while scene.recorder.committer.has_room:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("failure", [NoRoom, Unconfirmed])
def test_a_crawl_waits_for_room_and_ends_as_usual(
    failure: type[NoRoom], path: Path, tmp_path: Path, disk: Disk
) -> None:
    """Meanwhile no page is replayed, and only requests under way add steps in memory."""
    disk.failure = failure
    whole = crawl(FakeWeb(web_of(LINKS)), tmp_path / "whole.db", SEED)
    asked_while_full: list[list[str]] = []
    steps_while_full: list[int] = []

    async def make_room(scene: Scene) -> None:
        await until_full(scene)
        steps = scene.recorder.frontier.last_seq
        await asyncio.sleep(TRY_AGAIN_S / 2)  # requests under way end
        asked_while_full.append(list(scene.web.asked))
        await asyncio.sleep(3 * TRY_AGAIN_S)
        asked_while_full.append(list(scene.web.asked))
        steps_while_full.append(scene.recorder.frontier.last_seq - steps)
        disk.takes_batches = True

    web = FakeWeb(web_of(LINKS), takes_s=0.3)
    limits: dict[str, Any] = {"concurrency": AT_ONCE, "replay": 5}
    run = crawl(web, path, SEED, during=make_room, hear=fills_after(disk, 20), **limits)
    before, after = asked_while_full
    assert before == after
    assert len(before) < len(web.asked)
    assert steps_while_full[0] <= AT_ONCE
    full, again = (event.text for event in run.events if isinstance(event, Warned))
    assert full.startswith(f"crawl.db: full; the crawl waits for {failure.awaited} ")
    assert again == f"there is {failure.awaited} again: the crawl continues"
    assert 3 <= disk.tries <= 5
    assert run.reason is Reason.EMPTY
    assert run.states == whole.states
    assert audit(path).wrong == []


def test_stopping_on_a_full_disk_raises_and_changes_nothing(path: Path, disk: Disk) -> None:
    kept: list[int] = []

    async def stop(scene: Scene) -> None:
        await until_full(scene)
        kept.append(steps_in(path))
        scene.crawler.stop()

    web = FakeWeb(web_of(LINKS), takes_s=0.3)
    with pytest.raises(NoRoom, match="full"):
        crawl(web, path, SEED, during=stop, hear=fills_after(disk, 20))
    assert [steps_in(path)] == kept
    assert audit(path).wrong == []
    disk.takes_batches = True
    again = crawl(FakeWeb(web_of(LINKS)), path)
    assert again.states == crawl(FakeWeb(web_of(LINKS)), path.with_name("whole.db"), SEED).states


def test_hosts_that_wait_for_silent_ones_do_not_make_the_loop_spin_on_a_full_disk(
    path: Path, disk: Disk
) -> None:
    silent_hosts = [f"http://silent{number}.example/" for number in range(40)]

    async def say_nothing(_: Request) -> FetchResult:
        await asyncio.sleep(10)
        return failed(State.TIMEOUT)

    async def make_room(scene: Scene) -> None:
        await until_full(scene)
        await asyncio.sleep(5)
        disk.takes_batches = True

    chain = [f"http://a.example/{number}" for number in range(9)]
    pages = {url: [*silent_hosts, *chain] for url in chain}
    web = FakeWeb({"http://a.example/robots.txt": text(""), **web_of(pages)}, say_nothing)
    run = crawl(web, path, chain[0], during=make_room, hear=fills_after(disk, 3))
    assert disk.tries > 1
    assert run.reason is Reason.EMPTY


@pytest.mark.slow
def test_a_time_limit_ends_a_crawl_on_a_full_disk(path: Path, disk: Disk) -> None:
    web = FakeWeb(web_of(LINKS), takes_s=0.3)
    with pytest.raises(NoRoom, match="full"):
        crawl(web, path, SEED, hear=fills_after(disk, 20), for_=60)
    assert disk.tries >= 60 / TRY_AGAIN_S - 2


def test_a_disk_that_is_full_at_the_end_is_not_waited_for(path: Path, disk: Disk) -> None:
    disk.takes_checkpoints = False
    with pytest.raises(NoRoom, match="full"):
        crawl(FakeWeb(web_of(LINKS)), path, SEED)
    assert disk.tries == 1
    assert audit(path).wrong == []


def test_a_checkpoint_that_had_no_room_is_written_without_its_batch(path: Path, disk: Disk) -> None:
    with keeping(path) as recorder:
        bear(recorder, f"{HOSTS[0]}/", f"{HOSTS[0]}/1")
        disk.takes_checkpoints = False
        with pytest.raises(NoRoom):
            in_time(recorder.committer.commit(checkpoint=True))
        assert steps_in(path) == 1
        bear(recorder, f"{HOSTS[1]}/")
        disk.takes_checkpoints = True
        in_time(recorder.committer.commit(checkpoint=True))
    assert len(frontier_of(path)) == 3
    assert audit(path).wrong == []


def test_sqlite_writes_a_checkpoint_that_had_no_room_at_first(path: Path, disk: Disk) -> None:
    limits = [0, NO_LIMIT]  # 0 stands for the present number of pages

    def limit(store: StoreWriter) -> None:
        (pages,) = store.connection.execute("PRAGMA page_count").fetchone()
        store.connection.execute(f"PRAGMA max_page_count = {limits.pop(0) or pages}")

    disk.before_checkpoint = limit
    with keeping(path) as recorder:
        bear(recorder, *(f"{HOSTS[0]}/{number}" for number in range(2000)))
        with pytest.raises(NoRoom, match="database or disk is full; everything committed before"):
            in_time(recorder.committer.commit(checkpoint=True))
        in_time(recorder.committer.commit())
    assert limits == []
    assert audit(path).wrong == []


MOST = 12
A_COMMIT_S = 30.0


@pytest.mark.slow
def test_a_crawl_waits_for_its_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = crawl(FakeWeb(web_of(LINKS)), tmp_path / "whole.db", SEED)
    path, commit = tmp_path / "crawl.db", Committer.commit
    waited: list[int] = []

    async def slow(self: Committer, *, checkpoint: bool = False) -> None:
        await asyncio.sleep(A_COMMIT_S)
        await commit(self, checkpoint=checkpoint)

    def hear(scene: Scene, event: Event) -> None:
        if isinstance(event, Settled):
            waited.append(scene.recorder.frontier.last_seq - steps_in(path))

    monkeypatch.setattr(commits, "MOST_STEPS", MOST)
    monkeypatch.setattr(Committer, "commit", slow)
    web = FakeWeb(web_of(LINKS), takes_s=0.1)
    run = crawl(web, path, SEED, hear=hear, concurrency=AT_ONCE)
    assert MOST <= max(waited) <= MOST + AT_ONCE
    assert run.reason is Reason.EMPTY
    assert run.states == whole.states
