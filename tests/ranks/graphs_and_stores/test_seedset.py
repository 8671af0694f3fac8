"""Seeds of a graph by their names, in a newer graph, and tried in either."""

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minicrawl.errors import UsageError
from minicrawl.graphfiles.reading import read
from minicrawl.progress import Progress
from minicrawl.ranks.seed_sets import SeedSet, Take, seed_set, sown, sown_anew, trial
from minicrawl.ranks.seeds import CoreRule
from minicrawl.report.store_graph import opened, unseen

# Two hubs of two authorities, and a page inside the host of the first.
WEB = """\
http://h.org/\thttp://a.org/
http://h.org/\thttp://b.org/
http://k.org/\thttp://a.org/
http://k.org/\thttp://b.org/
http://h.org/\thttp://h.org/inside
http://h.org/inside\thttp://h.org/
"""


@pytest.fixture
def web(tmp_path: Path) -> Path:
    path = tmp_path / "web.tsv"
    path.write_text(WEB)
    return path


def seeds_of(web: Path, take: Take = Take.HUB) -> SeedSet:
    with opened(web, web) as source:
        return seed_set(source, 5, CoreRule(), take)


def names(found: SeedSet) -> list[str]:
    return found.named.names.of(found.seeds)


def test_a_seed_is_taken_from_each_core(web: Path) -> None:
    found = seeds_of(web)
    assert [(len(core.hubs), len(core.authorities)) for core in found.cores] == [(2, 2)]
    assert names(found) == ["http://h.org/"]
    assert names(seeds_of(web, Take.AUTHORITY)) == ["http://a.org/"]


def test_crawls_go_along_links_inside_hosts_as_well(web: Path) -> None:
    found = seeds_of(web)
    dice = np.random.default_rng(1)
    tried = trial(found, sown(found), draws=1, dice=dice, progress=unseen)
    assert [depth.seeds.pages for depth in tried.crawls.depths] == [1, 3]
    assert tried.between_cores.tolist() == [[0]]
    assert tried.extent.is_exact


def test_importance_is_that_of_the_graph_that_is_crawled(web: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer.tsv"
    newer.write_text("http://h.org/\thttp://n.org/\n")
    found = seeds_of(web)
    crawled = sown_anew(found, read(newer), similar=False)
    tried = trial(found, crawled, draws=1, dice=np.random.default_rng(1), progress=unseen)
    shares = [depth.seeds.importance or 0.0 for depth in tried.crawls.depths]
    assert len(shares) == 2
    assert sum(shares) == pytest.approx(1)
    assert shares[0] < shares[1]


def test_two_seeds_of_one_name_are_one_in_the_newer_graph(web: Path) -> None:
    found = seeds_of(web)
    twice = replace(found, cores=[*found.cores, *found.cores], seeds=[*found.seeds, *found.seeds])
    crawled = sown_anew(twice, found.named, similar=True)
    assert list(crawled.seeds) == list(found.seeds)
    assert len(crawled.heirs) == 2


def test_cores_and_crawls_are_told_as_progress(web: Path) -> None:
    labels: list[str] = []

    def progress(label: str) -> AbstractContextManager[Progress]:
        labels.append(label)
        return unseen(label)

    with opened(web, web, progress) as source:
        found = seed_set(source, 1, CoreRule(), Take.HUB)
        trial(found, sown(found), draws=1, dice=np.random.default_rng(1), progress=source.progress)
    assert labels == ["links", "cores", "distances", "distances of cores", "crawls"]


def test_without_links_between_hosts_there_is_no_seed(tmp_path: Path) -> None:
    path = tmp_path / "site.tsv"
    path.write_text("http://h.org/\thttp://h.org/inside\n")
    with pytest.raises(UsageError, match="from one host to another"):
        seeds_of(path)
