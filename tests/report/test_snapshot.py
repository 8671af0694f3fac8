"""In-link counts of a snapshot are equal whether few or all pages are asked for."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.report import snapshot
from minicrawl.report.snapshot import Snapshot
from minicrawl.report.snapshot import snapshot as seen
from tests.stores import DEEP, A, B, C, HandCrawl


@pytest.mark.parametrize("few", [0, 1000])
def test_in_links_of_checkpoint_and_log_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(snapshot, "_FEW", few)
    path = tmp_path / "crawl.db"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B])
        crawl.read(A, [B, C])
        crawl.checkpoint()
        crawl.read(B, [A, C, DEEP])
        crawl.commit()
        pages = np.array([crawl.frontier.urls.find(url) for url in (DEEP, C, B, A)])
    with seen(path) as found:
        assert isinstance(found, Snapshot)
        assert found.inlinks_of(pages).tolist() == [1, 2, 1, 1]
        assert found.inlinks_of(pages[:0]).tolist() == []
