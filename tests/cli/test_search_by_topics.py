"""`minicrawl search --by topics`: ranks of topics, mixed for each query."""

import json
from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.cli import main
from minicrawl.report.snapshot import snapshot
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.indexing import TopicMixture, bring_up_to_date
from minicrawl.search.query import parse
from minicrawl.store.reader import search_folder
from tests.cli.calls import Captured
from tests.search.stored.stores import read_into

SITE = "http://a.example"
SONGS, ROSES = f"{SITE}/songs", f"{SITE}/roses"
MINOR, THORN = f"{SITE}/minor", f"{SITE}/thorn"
PAGES = {
    SONGS: b"<title>Songs</title><p>Melody and chorus, sung by a choir. <a href=minor>book</a>",
    ROSES: b"<title>Roses</title><p>Soil and water for petals. <a href=thorn>book</a>",
    MINOR: b"<title>A book</title><p>All about one thing.",
    THORN: b"<title>A book</title><p>All about another thing.",
}
TOPICS = f"music\t{SONGS}\ngardens\t{ROSES}\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("topics") / "crawl.db"
    read_into(path, PAGES)
    path.with_name("topics.txt").write_text(TOPICS)
    bring_up_to_date(path)
    rank_topics(path, "pagerank")
    rank_topics(path, "mine")
    return path


def rank_topics(store: Path, name: str) -> None:
    command = ["rank", "pagerank", "--topics", str(store.with_name("topics.txt")), "--as", name]
    assert main([*command, "--store", str(store)]) == 0


def found(store: Path, capsys: Captured, *words: str) -> list[str]:
    capsys.readouterr()
    assert main(["search", "--store", str(store), "--json", *words]) == 0
    return [one["url"] for one in json.loads(capsys.readouterr().out)]


def test_the_query_chooses_the_topic_that_has_its_words(store: Path, capsys: Captured) -> None:
    linear = ("--by", "topics", "--score", "linear=0")
    of_music = found(store, capsys, "book melody chorus", *linear)
    assert of_music.index(MINOR) < of_music.index(THORN)
    of_gardens = found(store, capsys, "book petals soil", *linear)
    assert of_gardens.index(THORN) < of_gardens.index(MINOR)


def test_with_the_rank_alone_pages_with_all_words_are_ordered_by_the_mixture(
    store: Path, capsys: Captured
) -> None:
    assert set(found(store, capsys, "book", "--by", "topics:mine")) >= {MINOR, THORN}
    assert main(["search", "melody", "--by", "topics", "--store", str(store)]) == 0
    assert "topics: gardens " in capsys.readouterr().err


def test_parts_sum_to_one_and_are_equal_if_no_topic_has_a_word(store: Path) -> None:
    with snapshot(store) as seen:
        mixture = TopicMixture(seen, SearchIndex(search_folder(store) / FOLDER))
    assert mixture.parts(parse("xylophone")) == {"gardens": 0.5, "music": 0.5}
    parts = mixture.parts(parse("petals soil"))
    assert parts["gardens"] > parts["music"]
    assert sum(parts.values()) == pytest.approx(1)


def test_missing_ranks_of_topics_are_named(store: Path, tmp_path: Path, capsys: Captured) -> None:
    other = tmp_path / "crawl.db"
    read_into(other, PAGES)
    command = ["search", "book", "--store"]
    assert main([*command, str(store), "--by", "topics:yours"]) == 2
    assert "only mine, pagerank" in capsys.readouterr().err
    assert main([*command, str(other), "--by", "topics"]) == 2
    rank_topics(store, "gone")
    assert main(["rank", "--remove", "gone-music", "--store", str(store)]) == 0
    capsys.readouterr()
    assert main([*command, str(store), "--by", "topics:gone"]) == 2
    assert "no rank gone-music any more" in capsys.readouterr().err
