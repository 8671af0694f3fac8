"""`minicrawl search`, `minicrawl index`, ranks of topics, and the index as a source of roots."""

import json
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.cli import main
from minicrawl.store.reader import archive_folder, search_folder
from tests.cli.calls import Captured
from tests.search.stored.stores import HIDDEN, PAGES, PIER, SEA, read_into


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("search") / "crawl.db"
    read_into(path, PAGES, noindex=[HIDDEN])
    assert main(["index", "--store", str(path)]) == 0
    return path


def asked(store: Path, *words: str) -> int:
    return main(["search", "--store", str(store), *words])


def test_the_first_search_makes_the_index_and_marks_words(path: Path, capsys: Captured) -> None:
    read_into(path, PAGES)
    assert asked(path, "salt", "water") == 0
    out, err = capsys.readouterr()
    assert SEA in out
    assert "*Water*, *salt* & fish." in out
    assert err.startswith("index: ")
    assert asked(path, "salt") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", [["water", "--", "-h"], ["water -h"], ["water", "-hats"]])
def test_a_word_that_begins_like_an_option_excludes_pages(
    store: Path, capsys: Captured, words: list[str]
) -> None:
    assert asked(store, *words) == 0
    assert PIER in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--judge", "--verdict=1=good", "--weight"])
def test_removed_options_are_refused_unless_dashes_make_them_words(
    store: Path, capsys: Captured, option: str
) -> None:
    assert asked(store, "water", option) == 2
    assert "was removed" in capsys.readouterr().err
    asked(store, "water", "--", option)
    assert "was removed" not in capsys.readouterr().err


def test_text_of_pages_is_escaped(store: Path, capsys: Captured) -> None:
    assert asked(store, "planks") == 0
    out = capsys.readouterr().out
    assert "\\x1b[31m" in out
    assert not {"\x1b", "\u202e"} & set(out)


def test_json_has_rank_url_snippet_and_marks(store: Path, capsys: Captured) -> None:
    assert asked(store, "planks", "--json", "--n", "1") == 0
    (first,) = json.loads(capsys.readouterr().out)
    assert (first["rank"], first["url"], first["fetched"]) == (1, PIER, True)
    assert [first["snippet"][begin:end] for begin, end in first["marks"]] == ["Planks"]


def test_offset_skips_the_first_results(store: Path, capsys: Captured) -> None:
    assert asked(store, "water", "--json", "--n", "2") == 0
    both = json.loads(capsys.readouterr().out)
    assert asked(store, "water", "--json", "--n", "2", "--offset", "1") == 0
    rest = json.loads(capsys.readouterr().out)
    assert rest[0]["url"] == both[1]["url"]
    assert rest[0]["rank"] == 2


def test_by_and_score_choose_the_order(store: Path, capsys: Captured) -> None:
    assert asked(store, "water", "--json", "--by", "opic") == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["importance"] for one in found] == sorted(
        (one["importance"] for one in found), reverse=True
    )
    assert asked(store, "water", "--score", "linear=0", "--explain") == 0
    assert "proximity" in capsys.readouterr().out
    assert asked(store, "water", "--score", "cosine=1") == 2
    assert asked(store, "water", "--by", "nobody") == 2


def test_a_query_of_ten_thousand_words_is_cut_with_a_notice(store: Path, capsys: Captured) -> None:
    assert asked(store, " ".join(f"water{number}" for number in range(10_000))) == 0
    assert "only the first" in capsys.readouterr().err


@pytest.mark.slow
def test_an_incomplete_index_says_so(path: Path, capsys: Captured) -> None:
    first = dict(list(PAGES.items())[:1])
    read_into(path, first)
    assert main(["index", "--store", str(path)]) == 0
    read_into(path, {f"{SEA}new": b"<title>New</title>A xylophone."})
    capsys.readouterr()
    said = "indexed 1 of 2 pages; `minicrawl index` adds the rest\n"
    assert asked(path, "xylophone") == 0
    assert capsys.readouterr() == ("", f"{said}no page has these words\n")
    assert asked(path, "welcome", "--json") == 0
    assert said in capsys.readouterr().err
    assert main(["index", "--store", str(path)]) == 0
    capsys.readouterr()
    assert asked(path, "xylophone") == 0
    out, err = capsys.readouterr()
    assert f"{SEA}new" in out
    assert err == ""


def test_without_the_archive_the_index_answers_with_a_warning(
    store: Path, path: Path, capsys: Captured
) -> None:
    shutil.copy(store, path)
    shutil.copytree(search_folder(store), search_folder(path))
    assert not archive_folder(path).exists()
    assert asked(path, "salt") == 0
    out, err = capsys.readouterr()
    assert SEA in out
    assert "is gone" in err


def test_a_file_in_the_place_of_the_index_is_not_replaced(
    store: Path, path: Path, capsys: Captured
) -> None:
    shutil.copy(store, path)
    shutil.copytree(archive_folder(store), archive_folder(path))
    search_folder(path).write_text("mine")
    assert asked(path, "salt") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"{search_folder(path)}, which is not a folder: move it")
    assert search_folder(path).read_text() == "mine"


def test_a_query_for_hits_uses_the_index(store: Path, path: Path, capsys: Captured) -> None:
    shutil.copy(store, path)
    command = ["rank", "hits", "--query", "fish", "--store", str(path)]
    assert main(command) == 2
    assert "title or URL" in capsys.readouterr().err
    shutil.copytree(search_folder(store), search_folder(path))
    assert main(command) == 0
    assert "from 1 root" in capsys.readouterr().err
    assert main([*command[:3], "xylophone", *command[4:]]) == 2
    assert "no page in the index" in capsys.readouterr().err


SITE = "http://topics.example"
SONGS, ROSES = f"{SITE}/songs", f"{SITE}/roses"
MINOR, THORN = f"{SITE}/minor", f"{SITE}/thorn"
ON_TOPICS = {
    SONGS: b"<title>Songs</title><p>Melody and chorus, sung by a choir. <a href=minor>book</a>",
    ROSES: b"<title>Roses</title><p>Soil and water for petals. <a href=thorn>book</a>",
    MINOR: b"<title>A book</title><p>All about one thing.",
    THORN: b"<title>A book</title><p>All about another thing.",
}
TOPICS = f"music\t{SONGS}\ngardens\t{ROSES}\n"


@pytest.fixture(scope="module")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Store with ranks of topics under two names, one of which lacks a topic."""
    path = tmp_path_factory.mktemp("topics") / "crawl.db"
    read_into(path, ON_TOPICS)
    path.with_name("topics.txt").write_text(TOPICS)
    store = ["--store", str(path)]
    assert main(["index", *store]) == 0
    for name in ("pagerank", "mine", "gone"):
        topics = str(path.with_name("topics.txt"))
        assert main(["rank", "pagerank", "--topics", topics, "--as", name, *store]) == 0
    assert main(["rank", "--remove", "gone-music", *store]) == 0
    return path


def found(store: Path, capsys: Captured, *words: str) -> list[str]:
    assert asked(store, "--json", *words) == 0
    return [one["url"] for one in json.loads(capsys.readouterr().out)]


def test_the_query_chooses_the_topic_that_has_its_words(topics: Path, capsys: Captured) -> None:
    linear = ("--by", "topics", "--score", "linear=0")
    of_music = found(topics, capsys, "book melody chorus", *linear)
    assert of_music.index(MINOR) < of_music.index(THORN)
    of_gardens = found(topics, capsys, "book petals soil", *linear)
    assert of_gardens.index(THORN) < of_gardens.index(MINOR)


def test_with_the_rank_alone_pages_with_all_words_are_found(topics: Path, capsys: Captured) -> None:
    assert set(found(topics, capsys, "book", "--by", "topics:mine")) >= {MINOR, THORN}


def test_parts_sum_to_one_and_are_equal_if_no_topic_has_a_word(
    topics: Path, capsys: Captured
) -> None:
    def parts(query: str) -> dict[str, float]:
        assert asked(topics, query, "--by", "topics") == 0
        told = re.search("^topics: (.*)$", capsys.readouterr().err, re.MULTILINE)
        assert told
        shares = (one.split() for one in told[1].split(", "))
        return {topic: float(share.rstrip("%")) for topic, share in shares}

    assert parts("xylophone") == {"gardens": 50, "music": 50}
    found = parts("petals soil")
    assert found["gardens"] > found["music"]
    assert sum(found.values()) == pytest.approx(100)


def test_missing_ranks_of_topics_are_named(topics: Path, store: Path, capsys: Captured) -> None:
    assert asked(topics, "book", "--by", "topics:yours") == 2
    assert "mine, pagerank" in capsys.readouterr().err
    assert asked(store, "book", "--by", "topics") == 2
    capsys.readouterr()
    assert asked(topics, "book", "--by", "topics:gone") == 2
    assert "no rank gone-music any more" in capsys.readouterr().err
