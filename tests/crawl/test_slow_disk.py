"""If the disk is slower than the web, the steps that wait in memory are bounded."""

import asyncio
from pathlib import Path

import pytest

from minicrawl.crawl.events import Event, Reason, Settled
from minicrawl.crawl.settle import recorder as recording
from minicrawl.crawl.settle.recorder import Committer
from tests.crawl.fakes import FakeWeb, Scene, crawl, web_of
from tests.crawl.large_web import AT_ONCE, LINKS, SEED
from tests.crawl.settle.recording import steps_in

MOST = 12
A_COMMIT_S = 30.0


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

    monkeypatch.setattr(recording, "MOST_STEPS", MOST)
    monkeypatch.setattr(Committer, "commit", slow)
    web = FakeWeb(web_of(LINKS), takes_s=0.1)
    run = crawl(web, path, SEED, hear=hear, concurrency=AT_ONCE)
    assert MOST <= max(waited) <= MOST + AT_ONCE
    assert run.reason is Reason.EMPTY
    assert run.states == whole.states
