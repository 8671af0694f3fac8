"""`minicrawl rank pagerank` and `rank trust`: scores, options and refusals."""

import json
from contextlib import closing
from email.utils import formatdate
from pathlib import Path
from typing import Any

import networkx
import pytest

from minicrawl.cli import main
from tests.cli import calls
from tests.cli.calls import Captured
from tests.stores import A, B, C, HandCrawl, filled_store


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "web.txt"
    path.write_text("10 30\n20 30\n30 40\n40 10\n40 20\n")
    return path


def document(capsys: Captured, *arguments: str | Path) -> Any:
    assert main(["rank", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def scores(found: Any) -> dict[str, float]:
    return {one["node"]: one["score"] for one in found["scores"]}


def refusal(capsys: Captured, *arguments: str | Path) -> str:
    return calls.refusal(capsys, "rank", *arguments)


@pytest.mark.parametrize("method", ["power", "gauss-seidel", "sweeping"])
def test_pagerank_of_the_example_of_four_pages(graph: Path, capsys: Captured, method: str) -> None:
    found = document(capsys, "pagerank", "--graph", graph, "--damping", "0.8", "--method", method)
    wanted = {"10": 0.176230, "20": 0.176230, "30": 0.331967, "40": 0.315574}
    assert scores(found) == pytest.approx(wanted, abs=1e-6)
    assert (found["rank"], found["nodes"], found["edges"]) == ("pagerank", 4, 5)
    assert 0 < found["error_bound"] <= 1e-8


def test_one_more_link_needs_the_virtual_page(graph: Path, capsys: Captured) -> None:
    found = document(
        capsys, "pagerank", "--graph", graph, "--dangling", "virtual", "--one-more-link"
    )
    assert sum(scores(found).values()) == pytest.approx(1)
    assert "--one-more-link needs --dangling virtual" in refusal(
        capsys, "pagerank", "--graph", graph, "--one-more-link"
    )


def test_unknown_nodes_of_a_topic_are_listed_and_skipped(
    graph: Path, tmp_path: Path, capsys: Captured
) -> None:
    topic = tmp_path / "topic.txt"
    topic.write_text("# what I like\n10\n\n77\nno page\n")
    assert main(["rank", "pagerank", "--graph", str(graph), "--topic", str(topic), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == f"{topic}: skipped names that are not in the graph: '77', 'no page'\n"
    found = scores(json.loads(out))
    assert found["10"] > found["20"]


def test_only_some_unknown_nodes_are_shown(graph: Path, tmp_path: Path, capsys: Captured) -> None:
    topic = tmp_path / "topic.txt"
    topic.write_text("10\n" + "".join(f"{number}\n" for number in range(50, 65)))
    assert main(["rank", "pagerank", "--graph", str(graph), "--topic", str(topic), "--json"]) == 0
    assert capsys.readouterr().err.endswith("'59' and 5 more\n")


def test_topics_are_ranked_at_once_and_mixed(graph: Path, tmp_path: Path, capsys: Captured) -> None:
    topics = tmp_path / "topics.txt"
    topics.write_text("a\t10\na\t20\nb\t40\n")
    both = document(capsys, "pagerank", "--graph", graph, "--topics", topics)
    assert [both["rank"], *(one["rank"] for one in both["others"])] == ["pagerank-a", "pagerank-b"]
    mixed = document(capsys, "pagerank", "--graph", graph, "--topics", topics, "--mix", "a=1,b=3")
    a, b = scores(both), scores(both["others"][0])
    wanted = {node: a[node] / 4 + b[node] * 3 / 4 for node in a}
    assert scores(mixed) == pytest.approx(wanted)


def test_inverse_pagerank_is_high_for_nodes_leading_to_many(graph: Path, capsys: Captured) -> None:
    found = document(capsys, "pagerank", "--inverse", "--graph", graph)
    assert found["rank"] == "inverse-pagerank"
    assert next(iter(scores(found))) == "40"


def test_inverse_pagerank_jumps_to_the_topic(graph: Path, tmp_path: Path, capsys: Captured) -> None:
    topic = tmp_path / "topic.txt"
    topic.write_text("20\n")
    options = ("--inverse", "--topic", topic, "--tolerance", "1e-12")
    found = scores(document(capsys, "pagerank", *options, "--graph", graph))
    backwards = edges_of(graph).reverse()
    wanted = networkx.pagerank(backwards, personalization={"20": 1}, tol=1e-14, max_iter=1000)
    assert found == pytest.approx(wanted, abs=1e-9)


def test_inverse_pagerank_is_kept_as_a_rank_of_its_own(tmp_path: Path, capsys: Captured) -> None:
    store = filled_store(tmp_path / "crawl.db")
    document(capsys, "pagerank", "--inverse", "--store", store)
    document(capsys, "pagerank", "--store", store)
    names = [one["name"] for one in document(capsys, "--store", store)]
    assert names == ["inverse-pagerank", "pagerank"]


def test_trust_goes_from_seeds(graph: Path, tmp_path: Path, capsys: Captured) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("10\n")
    command = ("trust", "--graph", graph, "--seeds", seeds, "--passing", "maximum")
    found = scores(document(capsys, *command, "--damping", "0.5"))
    total = 1 + 0.5 + 0.25 + 0.125
    wanted = {"10": 1 / total, "30": 0.5 / total, "40": 0.25 / total, "20": 0.125 / total}
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("by", ["inverse", "pagerank", "hubs"])
def test_seeds_of_trust_may_be_chosen(graph: Path, capsys: Captured, by: str) -> None:
    found = document(capsys, "trust", "--graph", graph, "--seed-by", by, "--count", "1")
    assert sum(scores(found).values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--topic", "bad", "--topics", "bad"], "cannot be combined"),
        (["--mix", "a=1"], "--mix needs --topics"),
        (["--mix-by", "sea"], "--mix-by needs --topics"),
        (["--topics", "good", "--mix", "a=1", "--mix-by", "x"], "cannot be combined"),
        (["--topic", "good", "--recent", "7"], "cannot be combined"),
        (["--recent", "7"], "does not say when pages changed: use a store"),
        (["--topics", "good", "--mix-by", "sea"], "no topic has a word of 'sea'"),
        (["--topic", "bad"], "names no node of the graph"),
        (["--topic", "empty"], "names no node of the graph"),
        (["--topics", "bad"], "expected a topic, a tab and a node, found 'nobody'"),
        (["--topics", "empty"], "has no topics"),
        (["--topics", "good", "--mix", "a"], "--mix must be like news=0.3,sport=0.7"),
        (["--topics", "good", "--mix", "c=1"], "no topic 'c'"),
        (["--topic", "binary"], "is not UTF-8"),
    ],
)
def test_wrong_topics_are_refused_in_one_line(
    graph: Path, tmp_path: Path, capsys: Captured, options: list[str], message: str
) -> None:
    files = {"bad": b"nobody\n", "empty": b"", "good": b"a\t10\n", "binary": b"\xff\xfe\n"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    named = [str(tmp_path / one) if one in files else one for one in options]
    assert message in refusal(capsys, "pagerank", "--graph", graph, *named)


@pytest.mark.parametrize("number", ["nan", "inf"])
@pytest.mark.parametrize(
    "options",
    [
        *(("pagerank", "--tolerance"), ("trust", "--tolerance"), ("hits", "--tolerance")),
        *(("pagerank", "--damping"), ("sites", "--tolerance"), ("hits", "--random")),
    ],
    ids=" ".join,
)
def test_a_number_that_is_not_finite_is_refused(
    graph: Path, capsys: Captured, options: tuple[str, str], number: str
) -> None:
    rank, option = options
    assert f"for '{option}': {number} is not" in refusal(
        capsys, rank, f"{option}={number}", "--graph", graph
    )


def test_seeds_are_either_named_or_chosen(graph: Path, tmp_path: Path, capsys: Captured) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("10\n")
    command = ("trust", "--graph", graph, "--seeds", seeds, "--count", "3")
    assert "--seeds cannot be combined with --seed-by and --count" in refusal(capsys, *command)


def test_links_to_bad_pages_cost_trust(graph: Path, tmp_path: Path, capsys: Captured) -> None:
    seeds, bad = tmp_path / "seeds.txt", tmp_path / "bad.txt"
    seeds.write_text("10\n")
    bad.write_text("20\n")
    command = ("trust", "--graph", graph, "--seeds", seeds, "--damping", "0.5")
    plain = scores(document(capsys, *command))
    found = scores(document(capsys, *command, "--bad", bad))
    assert sum(found.values()) == pytest.approx(1)
    assert found["20"] == 0
    assert found["40"] < plain["40"]
    assert document(capsys, "trust", "--graph", graph, "--count=4", "--bad", bad)["scores"]


def test_a_query_mixes_topics_by_the_words_of_their_pages(tmp_path: Path, capsys: Captured) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B])
        crawl.read(A, [B, C], title="A harbour")
        crawl.read(B, [A], title="A garden")
    topics = tmp_path / "topics.txt"
    topics.write_text(f"sea\t{A}\nland\t{B}\n")
    options = ("--topics", topics, "--mix-by", "harbour", "--store", crawl.path)
    assert main(["rank", "pagerank", *map(str, options), "--json"]) == 0
    out, err = capsys.readouterr()
    # Words of A: http a example a harbour; of B: http b example a garden; six are different. So
    # harbour has (1 + 1) / (5 + 6) in the one and 1 / (5 + 6) in the other.
    assert err == "mix by 'harbour': sea 66.7%, land 33.3%\n"
    mixed = scores(json.loads(out))
    wanted = document(
        capsys, "pagerank", "--topics", topics, "--mix", "sea=2,land=1", "--store", crawl.path
    )
    assert mixed == pytest.approx(scores(wanted))


def test_jumps_lead_to_pages_that_changed_recently(tmp_path: Path, capsys: Captured) -> None:
    day = 86_400
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B, C])
        crawl.read(A, [B])
        crawl.now += 10 * day - 1
        crawl.read(B, [C])
        last_of_a, last_of_b = crawl.batch.documents
        crawl.batch.documents = [
            # The header of B says that it changed thirty days before it was read.
            last_of_a,
            last_of_b._replace(last_modified=formatdate(crawl.now - 1 - 30 * day, usegmt=True)),
        ]
    found = document(capsys, "pagerank", "--recent", "10", "--store", crawl.path)
    a, b = 2.0 ** -(10 / 10), 2.0 ** -(30 / 10)
    oracle = networkx.DiGraph([(A, B), (B, C)])
    wanted = networkx.pagerank(
        oracle, personalization={A: a, B: b, C: (a + b) / 2}, dangling=dict.fromkeys((A, B, C), 1)
    )
    assert scores(found) == pytest.approx(wanted, abs=1e-4)


def test_recent_needs_a_read_page(tmp_path: Path, capsys: Captured) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
    found = refusal(capsys, "pagerank", "--recent", "10", "--store", crawl.path)
    assert "no page was read yet" in found


def edges_of(graph: Path) -> networkx.DiGraph:
    return networkx.DiGraph([line.split() for line in graph.read_text().splitlines()])


def test_a_file_weighs_the_targets_of_jumps(graph: Path, tmp_path: Path, capsys: Captured) -> None:
    jumps = tmp_path / "jumps.txt"
    jumps.write_text("# weights\n10\t3\n20\n40\t0.5\n")
    found = scores(document(capsys, "pagerank", "--graph", graph, "--topic", jumps))
    wanted = networkx.pagerank(
        edges_of(graph), personalization={"10": 3, "20": 1, "40": 0.5}, tol=1e-12, max_iter=1000
    )
    assert found == pytest.approx(wanted, abs=1e-7)
    jumps.write_text("10\t0\n")
    assert "above 0" in refusal(capsys, "pagerank", "--graph", graph, "--topic", jumps)


def test_a_kept_rank_weighs_the_targets_of_jumps(tmp_path: Path, capsys: Captured) -> None:
    store, trusted = tmp_path / "crawl.db", tmp_path / "trusted.txt"
    with closing(HandCrawl(store)) as crawl:
        crawl.seeds([A])
        crawl.read(A, [B, C])
        crawl.read(B, [C, A])
        crawl.read(C, [B])
    trusted.write_text(f"{B}\n")
    trust = scores(document(capsys, "trust", "--seeds", trusted, "--store", store, "--as", "mine"))
    assert trust[A] != pytest.approx(trust[C])
    found = scores(document(capsys, "pagerank", "--reset", "mine", "--store", store))
    links = networkx.DiGraph([(A, B), (A, C), (B, C), (B, A), (C, B)])
    wanted = networkx.pagerank(links, personalization=trust, tol=1e-12, max_iter=1000)
    assert found == pytest.approx(wanted, abs=1e-7)
    said = refusal(capsys, "pagerank", "--reset", "nothing", "--store", store)
    assert "'nothing'" in said
    assert "pagerank" in said
    said = refusal(capsys, "pagerank", "--reset", "mine", "--topic", trusted, "--store", store)
    assert "--topic and --reset cannot be combined" in said


def test_a_missing_rank_is_computed_for_jumps(graph: Path, capsys: Captured) -> None:
    found = scores(document(capsys, "pagerank", "--reset", "degree", "--graph", graph))
    degrees = dict(edges_of(graph).in_degree())
    wanted = networkx.pagerank(edges_of(graph), personalization=degrees, tol=1e-12, max_iter=1000)
    assert found == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("inverse", [[], ["--inverse"]])
@pytest.mark.parametrize("way", ["virtual", "teleport"])
def test_a_treatment_of_dangling_pages_that_equals_uniform_is_refused(
    graph: Path, capsys: Captured, inverse: list[str], way: str
) -> None:
    assert f"--dangling {way} is the same as uniform" in refusal(
        capsys, "pagerank", *inverse, "--graph", graph, "--dangling", way
    )
