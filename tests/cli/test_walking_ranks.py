"""`minicrawl rank pagerank` and `rank trust`: scores, topics, jumps and blocks."""

import json
from contextlib import closing
from email.utils import formatdate
from pathlib import Path

import networkx
import pytest

from minicrawl.cli import main
from tests.cli.calls import Captured, as_json, printed, ranked, scores
from tests.stores import A, B, C, HandCrawl

GRAPH = ("--graph", "web.txt")
LINKS = [("10", "30"), ("20", "30"), ("30", "40"), ("40", "10"), ("40", "20")]
WEB = networkx.DiGraph(LINKS)
FILES = {
    "web.txt": "".join(f"{one} {other}\n" for one, other in LINKS),
    "ten": "10\n",
    "twenty": "20\n",
    "unknown": "# what I like\n10\n\n77\n\x1b[31m\n" + "".join(f"{n}\n" for n in range(50, 60)),
    "jumps": "# weights\n10\t3\n20\n40\t0.5\n",
    "topics": "a\t10\na\t20\nb\t40\n",
}


@pytest.fixture(autouse=True)
def _files(place: Path) -> None:
    for name, text in FILES.items():
        (place / name).write_text(text)


def wanted(graph: networkx.DiGraph, jumps: dict[str, float]) -> object:
    found = networkx.pagerank(graph, personalization=jumps, tol=1e-13, max_iter=1000)
    return pytest.approx(found, abs=1e-7)


@pytest.mark.parametrize(
    "method", ["--method=power", "--method=gauss-seidel", "--method=sweeping", "--blocks=2"]
)
def test_pagerank_of_the_example_of_four_pages(capsys: Captured, method: str) -> None:
    found = ranked(capsys, "pagerank", *GRAPH, "--damping", "0.8", method)
    assert scores(found) == pytest.approx(
        {"10": 0.176230, "20": 0.176230, "30": 0.331967, "40": 0.315574}, abs=1e-6
    )
    assert (found["rank"], found["nodes"], found["edges"]) == ("pagerank", 4, 5)
    assert 0 < found["error_bound"] <= 1e-8


@pytest.mark.parametrize(
    ("options", "graph", "jumps"),
    [
        (("--topic", "jumps"), WEB, {"10": 3, "20": 1, "40": 0.5}),
        (("--reset", "degree"), WEB, dict(WEB.in_degree())),
        (("--inverse", "--topic", "twenty"), WEB.reverse(), {"20": 1}),
        (("--inverse",), WEB.reverse(), dict.fromkeys(WEB, 1)),
    ],
    ids=str,
)
def test_jumps_lead_to_a_topic_to_a_rank_or_to_all(
    options: tuple[str, ...],
    graph: networkx.DiGraph,
    jumps: dict[str, float],
    capsys: Captured,
) -> None:
    found = ranked(capsys, "pagerank", *options, "--tolerance=1e-12", *GRAPH)
    assert scores(found) == wanted(graph, jumps)
    assert found["rank"] == ("inverse-pagerank" if "--inverse" in options else "pagerank")


def test_one_more_link_keeps_the_sum(capsys: Captured) -> None:
    found = ranked(capsys, "pagerank", *GRAPH, "--dangling", "virtual", "--one-more-link")
    assert sum(scores(found).values()) == pytest.approx(1)


def test_some_unknown_nodes_of_a_topic_are_listed_and_all_skipped(capsys: Captured) -> None:
    assert main(["rank", "pagerank", *GRAPH, "--topic", "unknown", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("unknown: skipped names that are not in the graph: '77', '\\x1b[31m', ")
    assert err.endswith("'57' and 2 more\n")
    found = scores(json.loads(out))
    assert found["10"] > found["20"]


def test_topics_are_ranked_at_once_and_mixed(capsys: Captured) -> None:
    both = ranked(capsys, "pagerank", *GRAPH, "--topics", "topics")
    assert [both["rank"], *(one["rank"] for one in both["others"])] == ["pagerank-a", "pagerank-b"]
    mixed = ranked(capsys, "pagerank", *GRAPH, "--topics", "topics", "--mix", "a=1,b=3")
    a, b = scores(both), scores(both["others"][0])
    assert scores(mixed) == pytest.approx({node: a[node] / 4 + b[node] * 3 / 4 for node in a})


def test_trust_goes_from_seeds(capsys: Captured) -> None:
    trust = ("trust", *GRAPH, "--seeds", "ten", "--damping", "0.5")
    found = scores(ranked(capsys, *trust, "--passing", "maximum"))
    total = 1 + 0.5 + 0.25 + 0.125
    expected = {"10": 1 / total, "30": 0.5 / total, "40": 0.25 / total, "20": 0.125 / total}
    assert found == pytest.approx(expected)
    plain = scores(ranked(capsys, *trust))
    found = scores(ranked(capsys, *trust, "--bad", "twenty"))
    assert sum(found.values()) == pytest.approx(1)
    assert found["20"] == 0
    assert found["40"] < plain["40"], "a link to a bad page costs trust"
    assert ranked(capsys, "trust", *GRAPH, "--count=4", "--bad", "twenty")["scores"]


@pytest.mark.parametrize("by", ["inverse", "pagerank", "hubs"])
def test_seeds_of_trust_may_be_chosen(capsys: Captured, by: str) -> None:
    found = ranked(capsys, "trust", *GRAPH, "--seed-by", by, "--count", "1")
    assert sum(scores(found).values()) == pytest.approx(1)


class TestStore:
    @pytest.fixture
    def crawl(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> HandCrawl:
        monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
        return HandCrawl(place / "crawl.db")

    def test_a_query_mixes_topics_by_the_words_of_their_pages(
        self, crawl: HandCrawl, capsys: Captured
    ) -> None:
        with closing(crawl):
            crawl.seeds([A, B])
            crawl.read(A, [B, C], title="A harbour")
            crawl.read(B, [A], title="A garden")
        Path("topics").write_text(f"sea\t{A}\nland\t{B}\n")
        topics = ("pagerank", "--topics", "topics")
        assert main(["rank", *topics, "--mix-by", "harbour", "--json"]) == 0
        out, err = capsys.readouterr()
        # Words of A: http a example a harbour; of B: http b example a garden; six are different.
        # So harbour has (1 + 1) / (5 + 6) in the one and 1 / (5 + 6) in the other.
        assert err == "mix by 'harbour': sea 66.7%, land 33.3%\n"
        mixed = ranked(capsys, *topics, "--mix", "sea=2,land=1")
        assert scores(json.loads(out)) == pytest.approx(scores(mixed))

    def test_jumps_lead_to_pages_that_changed_recently(
        self, crawl: HandCrawl, capsys: Captured
    ) -> None:
        day = 86_400
        with closing(crawl):
            crawl.seeds([A, B, C])
            crawl.read(A, [B])
            crawl.now += 10 * day - 1
            crawl.read(B, [C])
            last_of_a, last_of_b = crawl.batch.documents
            # The header of B says that it changed thirty days before it was read.
            changed = formatdate(crawl.now - 1 - 30 * day, usegmt=True)
            crawl.batch.documents = [last_of_a, last_of_b._replace(last_modified=changed)]
        found = ranked(capsys, "pagerank", "--recent", "10")
        a, b = 2.0 ** -(10 / 10), 2.0 ** -(30 / 10)
        oracle = networkx.DiGraph([(A, B), (B, C)])
        jumps = {A: a, B: b, C: (a + b) / 2}
        evenly = dict.fromkeys((A, B, C), 1)
        expected = networkx.pagerank(oracle, personalization=jumps, dangling=evenly)
        assert scores(found) == pytest.approx(expected, abs=1e-4)

    def test_a_kept_rank_weighs_the_targets_of_jumps(
        self, crawl: HandCrawl, capsys: Captured
    ) -> None:
        links = {A: [B, C], B: [C, A], C: [B]}
        with closing(crawl):
            crawl.seeds([A])
            for page, targets in links.items():
                crawl.read(page, targets)
        Path("trusted").write_text(f"{B}\n")
        trust = scores(ranked(capsys, "trust", "--seeds", "trusted", "--as", "mine"))
        assert trust[A] != pytest.approx(trust[C])
        found = scores(ranked(capsys, "pagerank", "--reset", "mine"))
        assert found == wanted(networkx.DiGraph(links), trust)
        ranked(capsys, "pagerank", "--inverse")
        whole = scores(ranked(capsys, "pagerank"))
        assert scores(ranked(capsys, "pagerank", "--blocks=2")) == pytest.approx(whole)
        rows = {one["name"]: one["edges"] for one in as_json(capsys, "rank")}
        assert rows == dict.fromkeys(("inverse-pagerank", "mine", "pagerank"), 5)


class TestBlocks:
    OPTIONS = ("rank", "pagerank", *GRAPH, "--n", "0")

    def test_a_list_printed_in_parts_of_a_thousand_lines_is_one_list(
        self, capsys: Captured
    ) -> None:
        links = (f"{node // 2} {node}\n" for node in range(1, 1200))
        Path("web.txt").write_text("".join(links))
        lines = printed(capsys, *self.OPTIONS, "--blocks", "2").splitlines()[1:-1]
        assert [int(line.split()[0].replace(",", "")) for line in lines] == [*range(1, 1201)]
        assert len({line.index("%") for line in lines}) == 1
        listed = as_json(capsys, *self.OPTIONS, "--blocks", "2")["scores"]
        assert [one["node"] for one in listed] == [line.split()[-1] for line in lines]

    def test_disk_reads_and_writes_are_reported_and_all_files_removed(
        self, capsys: Captured, place: Path
    ) -> None:
        Path("web.txt").write_text("1 2\n2 3\n3 1\n3 2\n4 2\n2 5\n")
        (place / "temp").mkdir()
        blocks = (*self.OPTIONS, "--blocks", "2", "--temp", "temp")
        found = as_json(capsys, *blocks)
        rounds = found["iterations"]
        assert found["disk"] == {
            "blocks": 2,
            "reads": 1 + 8 * rounds,
            "bytes_read": 40 + (6 * 8 + 4 * 40) * rounds,
            "writes": 2 + 4 * rounds,
            "bytes_written": 80 + 80 * rounds,
        }
        assert main([*blocks, "--memory", "3GB"]) == 0
        told = f"in 2 blocks: read 0.0 MB in {1 + 8 * rounds} reads, wrote 0.0 MB in "
        assert told in capsys.readouterr().out
        assert list((place / "temp").iterdir()) == []
