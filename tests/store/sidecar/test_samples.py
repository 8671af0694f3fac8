"""Samples of a crawl's figures, saved beside its store and thinned over time."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from minicrawl.graph.outline import outline
from minicrawl.report.progress.samples import (
    Basis,
    Sample,
    fresh_sample,
    keep_sample,
    latest_sample,
    samples,
)
from minicrawl.store import tables
from minicrawl.store.derived.samples import MOST_SAMPLES
from minicrawl.store.reader import reading
from tests.graph.graphs import graph_of

SAMPLE = Sample(
    at=1000.5,
    step=7,
    running_s=20.0,
    requests=260,
    crawled=250,
    errors=3,
    known=900,
    hosts=4,
    maximum=1000,
    wire_bytes=6_010_000,
    importance_gathered=None,
    graph_of="crawled",
    basis=Basis.EXACT,
    distances_at=1000.5,
    distances_basis=Basis.ESTIMATE,
    outline=outline(graph_of(3, [(0, 1), (1, 2)]), np.random.default_rng(1)),
)


def keep(store: Path, sample: Sample, most: int = MOST_SAMPLES) -> None:
    with reading(store) as connection:
        keep_sample(store, connection, sample, most)


def test_saved_samples_are_read_back(filled: Path) -> None:
    assert latest_sample(filled) is None
    later = replace(SAMPLE, at=1003.0, crawled=260)
    keep(filled, SAMPLE)
    keep(filled, later)
    assert samples(filled) == [SAMPLE, later]
    assert samples(filled, since=1000.5) == [later]
    assert latest_sample(filled) == later
    assert (SAMPLE.total, SAMPLE.urls_per_s, SAMPLE.bytes_per_s) == (253, 12.5, 300_500)
    assert replace(SAMPLE, running_s=0.0).urls_per_s is None


def test_a_sample_is_fresh_if_it_has_all_steps_or_is_recent_in_a_running_crawl(
    filled: Path,
) -> None:
    fresh = partial(fresh_sample, filled, "crawled")
    with reading(filled) as connection:
        last = tables.last_step(connection)
    keep(filled, replace(SAMPLE, step=last - 1))
    assert fresh(now=SAMPLE.at + 29, is_running=True) == replace(SAMPLE, step=last - 1)
    assert fresh(now=SAMPLE.at + 31, is_running=True) is None
    assert fresh(now=SAMPLE.at, is_running=False) is None
    assert fresh_sample(filled, "known", now=SAMPLE.at, is_running=True) is None
    keep(filled, replace(SAMPLE, step=last))
    for is_running in (False, True):
        assert fresh(now=SAMPLE.at + 1000, is_running=is_running) == replace(SAMPLE, step=last)


def test_thinned_samples_cover_the_whole_crawl(filled: Path) -> None:
    for number in range(1, 41):
        keep(filled, replace(SAMPLE, at=float(number)), most=8)
        kept = [sample.at for sample in samples(filled)]
        assert len(kept) <= 8
        assert kept[0] == 1
        assert kept[-4:] == [*range(max(1, number - 3), number + 1)]
        assert kept == sorted(kept)
