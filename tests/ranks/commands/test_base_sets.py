"""`rank degree` and `rank pagerank` on a base set, and `rank pagerank --remove-dangling`."""

import re
from contextlib import closing
from math import sqrt
from pathlib import Path

import networkx
import numpy as np
import pytest

from minicrawl.cli import main
from tests.cli import calls
from tests.cli.calls import Captured, refusal, scores
from tests.stores import A, B, C, HandCrawl

# Root 1 links to 2 and 3; 3, 4 and 5 link to it; 6 is outside the base set of 1.
LINKS = [(1, 2), (1, 3), (4, 1), (5, 1), (5, 3), (3, 1), (2, 6), (6, 5)]
NEAR = {1, 2, 3, 4, 5}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINICRAWL_CONFIG", raising=False)
    Path("web.txt").write_text("".join(f"{a} {b}\n" for a, b in LINKS))
    Path("roots.txt").write_text("1\n")
    return tmp_path


def ranked(capsys: Captured, *arguments: str) -> dict[str, float]:
    return scores(calls.ranked(capsys, *arguments, "--n", "0"))


def test_degrees_count_the_links_inside_the_base_set(capsys: Captured) -> None:
    found = ranked(capsys, "degree", "--graph", "web.txt", "--root", "roots.txt")
    inside = [(a, b) for a, b in LINKS if {a, b} <= NEAR]
    assert found == {
        str(node): pytest.approx(sum(b == node for _, b in inside) / len(inside))
        for node in range(1, 7)
    }


def test_a_walk_stays_in_the_base_set(capsys: Captured) -> None:
    found = ranked(capsys, "pagerank", "--graph", "web.txt", "--root", "roots.txt")
    oracle = networkx.DiGraph(LINKS).subgraph(NEAR)
    expected = {str(node): score for node, score in networkx.pagerank(oracle, tol=1e-12).items()}
    assert found == pytest.approx(expected | {"6": 0.0}, abs=1e-7)


def test_each_topic_has_its_walk_in_the_base_set(capsys: Captured) -> None:
    Path("topics.txt").write_text("left\t2\nright\t3\n")
    options = ("--root", "roots.txt", "--topics", "topics.txt", "--n", "0")
    found = calls.ranked(capsys, "pagerank", "--graph", "web.txt", *options)
    left, right = map(scores, (found, *found["others"]))
    assert left["6"] == right["6"] == 0
    assert sum(left.values()) == pytest.approx(1)
    assert sum(right.values()) == pytest.approx(1)
    assert left["2"] > right["2"]
    assert right["3"] > left["3"]


def test_similarity_mixes_the_score_with_the_likeness_to_the_query(
    capsys: Captured, filled: Path
) -> None:
    store = ("--store", str(filled), "--query", "the first")
    alone = ranked(capsys, "pagerank", *store)
    mixed = ranked(capsys, "pagerank", *store, "--similarity", "0.4")
    # A has both words of the query among its words, B has only "the".
    like = {A: 2 / sqrt(2 * len(words(A, "The first"))), B: 1 / sqrt(2 * len(words(B, "The 2nd")))}
    assert mixed == {
        node: pytest.approx(0.6 * score + 0.4 * like.get(node, 0) / sum(like.values()), abs=1e-7)
        for node, score in alone.items()
    }
    assert mixed != pytest.approx(alone)


def words(url: str, title: str) -> set[str]:
    for mark in ":/.?":
        url = url.replace(mark, " ")
    return {*url.split(), *title.lower().split()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hits", "--likeness", "--root", "roots.txt"], "--likeness needs --query"),
        (["pagerank", "--similarity", "0.5"], "--similarity needs --query"),
        (["pagerank", "--similarity", "0"], "--similarity needs --query"),
        (["pagerank", "--similarity", "0.5", "--root", "roots.txt"], "--similarity needs --query"),
        (["pagerank", "--root", "roots.txt", "--query", "a"], "cannot be combined"),
        (["pagerank", "--root", "roots.txt", "--blocks", "2"], "--root does not work"),
        (["pagerank", "--remove-dangling", "0"], "--remove-dangling"),
        (["pagerank", "--remove-dangling", "1", "--topic", "roots.txt"], "--topic"),
        (["degree", "--query", "a"], "use --root"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    capsys: Captured, arguments: list[str], said: str
) -> None:
    assert said in refusal(capsys, "rank", *arguments, "--graph", "web.txt")


def test_recent_jumps_and_topics_mixed_by_words_stay_in_the_base_set(
    tmp_path: Path, capsys: Captured
) -> None:
    day = 86_400
    with closing(HandCrawl(tmp_path / "base.db")) as crawl:
        crawl.seeds([A, B, C])
        crawl.read(A, [], title="alone")
        crawl.now += 10 * day
        crawl.read(B, [C], title="a harbour")
        crawl.read(C, [B], title="a garden")
    roots, topics = tmp_path / "roots.txt", tmp_path / "topics.txt"
    roots.write_text(f"{B}\n")
    topics.write_text(f"sea\t{B}\nland\t{C}\n")
    command = ("pagerank", f"--root={roots}", f"--store={crawl.path}")
    found = ranked(capsys, *command, "--recent", "1")
    # B and C are equally new to within a second, and A is outside.
    assert found == pytest.approx({A: 0, B: 0.5, C: 0.5}, abs=1e-4)
    assert main(["rank", *command, f"--topics={topics}", "--mix-by=harbour"]) == 0
    # Eight different words: five are of the sea, harbour among them, and six of the land. So
    # harbour is likely by (1 + 1) / (5 + 8) and by (0 + 1) / (6 + 8).
    assert re.search(r"sea 68\.3%.*land 31\.7%", capsys.readouterr().err)


def test_likeness_weighs_links_by_the_likeness_of_their_ends(capsys: Captured, path: Path) -> None:
    """The oracle is numpy on W_ij = (s_i + s_j) / 2, s being the cosine of query and words."""
    pages = [f"http://{name}.org/" for name in ("north", "south", "east", "west")]
    titles = ["old harbour", "the harbour", "old sea", "harbour harbour"]
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1)]
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(pages)
        for page, title in enumerate(titles):
            crawl.read(pages[page], [pages[b] for a, b in pairs if a == page], title=title)
    command = ["--store", str(path), "--query", "harbour"]
    found = ranked(capsys, "hits", *command, "--likeness")
    of_pages = [words(url, title) for url, title in zip(pages, titles, strict=True)]
    like = np.array([("harbour" in some) / sqrt(len(some)) for some in of_pages])
    matrix = np.zeros((4, 4))
    for a, b in pairs:
        matrix[a, b] = (like[a] + like[b]) / 2
    _, vectors = np.linalg.eigh(matrix.T @ matrix)
    authorities = np.abs(vectors[:, -1])
    expected = dict(zip(pages, (authorities / authorities.sum()).tolist(), strict=True))
    assert found == pytest.approx(expected, abs=1e-6)
    assert found != pytest.approx(ranked(capsys, "hits", *command), abs=1e-3)


@pytest.mark.parametrize(
    ("options", "needs"), [(["--roots", "3"], "--query"), (["--linking", "3"], "--root or --query")]
)
def test_the_size_of_a_base_set_needs_roots_or_a_query(
    capsys: Captured, options: list[str], needs: str
) -> None:
    for rank in ("degree", "hits", "pagerank"):
        said = refusal(capsys, "rank", rank, "--graph", "web.txt", *options)
        assert f"{options[0]} needs {needs}" in said
