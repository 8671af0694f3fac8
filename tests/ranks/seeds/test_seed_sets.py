"""Seeds of a graph, and their replacements in a newer graph."""

from dataclasses import replace
from pathlib import Path

import pytest

from minicrawl.graphfiles import read
from minicrawl.ranks.seeds import CoreRule, SeedChoice, SeedSet, seed_set, transferred

# Two hubs of two authorities, and a page on the host of the first hub.
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


def seeds_of(web: Path, choice: SeedChoice = SeedChoice.HUB) -> SeedSet:
    return seed_set(read(web), 5, CoreRule(), choice)


def names(found: SeedSet) -> list[str]:
    return found.named.names.of(found.seeds)


def test_a_seed_is_taken_from_each_core(web: Path) -> None:
    found = seeds_of(web)
    assert [(len(core.hubs), len(core.authorities)) for core in found.cores] == [(2, 2)]
    assert names(found) == ["http://h.org/"]
    assert names(seeds_of(web, SeedChoice.AUTHORITY)) == ["http://a.org/"]


def test_two_seeds_of_one_name_are_one_in_the_newer_graph(web: Path) -> None:
    found = seeds_of(web)
    twice = replace(found, cores=[*found.cores, *found.cores], seeds=[*found.seeds, *found.seeds])
    crawled = transferred(twice, found.named, similar=True)
    assert list(crawled.seeds) == list(found.seeds)
    assert len(crawled.replacements) == 2
