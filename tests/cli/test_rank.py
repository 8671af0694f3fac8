"""`minicrawl rank`: output, keeping and refusals of all ranks."""

import json
import shlex
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from minicrawl.cli import main
from minicrawl.opic.ledger.money import PARTS
from minicrawl.ranks.commands.running import ranking
from minicrawl.ranks.scores import Scores
from minicrawl.store import tables
from minicrawl.store.records import StoreTerms
from tests.cli.calls import Captured, as_json, ranked, refusal, scores
from tests.cli.inert.walk import command_of
from tests.stores import A, B, C, HandCrawl, filled_store

FILES = {
    "web.txt": b"10 20\n10 30\n20 30\n40 30\n",
    "urls.csv": b"source,target\nhttp://a.org/1,http://b.org/\n",
    "one.csv": b"source,target\nhttp://a.org/1,http://a.org/2\n",
    "long.txt": "".join(f"{node} {node + 1}\n" for node in range(100)).encode(),
    "wrong.txt": b"1 2\n3\n",
    "dimacs.gr": b"p sp 3 2\na 1 2 1\na 1 9 1\n",
    "bad": b"nobody\n",
    "empty": b"",
    "good": b"a\t10\n",
    "none": b"10\t0\n",
    "binary": b"\xff\xfe\n",
    "home": f"{A}\n".encode(),
}
WEIGHT = "use internal=W or transverse=W"
REFUSED = {
    "degre": "No such command 'degre'",
    "degree --store bare.db": "--no-links",
    "degree --store new.db": "nothing to rank",
    "degree --graph empty": "no links",
    "degree --graph absent.txt": "absent.txt",
    "degree --graph web.txt --store crawl.db": "cannot be combined",
    "degree --crawl-weights": "weighed all links alike",
    "degree --crawl-weights --graph web.txt": "needs a store",
    **{f"degree --as='{name}'": "" for name in ("a,b", "", "-x", "ä", "A", "a b")},
    **{f"degree --as={name}": "another name" for name in ("opic", "rising", "importance")},
    "degree --as=opic-sites": "is a rank of the crawl itself",
    "degree --as=150": "letter",
    "degree --as=1.5": "letter",
    f"degree --as={'x' * 65}": "at most 64",
    **{f"degree --weight={w} --graph urls.csv": WEIGHT for w in ("internal", "internal=x", "''")},
    **{f"degree --weight={w} --graph urls.csv": WEIGHT for w in ("other=1", "=1")},
    "degree --weight=internal=-1 --graph urls.csv": "weight of internal links -1",
    "hits --rounds=3 --random=0.1 --graph web.txt": "cannot be combined",
    "hits --subspace=101 --graph web.txt": "101 is not in the range 1<=x<=100",
    **{f"hits --query '{words}'": "fewer words" for words in ("nowhere", "", "http nowhere")},
    "hits --query somewhere": "`minicrawl index`",
    "hits --query b --graph urls.csv": "use --root",
    "hits --root bad --graph urls.csv": "names no node of the graph",
    "hits --root=home --query=b --graph urls.csv": "cannot be combined",
    "hits --words --root home --query x": "crawl --keep pages",
    "hits --words": "--query",
    "hits --words --graph urls.csv": "needs a store",
    "harmonic --precision=16 --memory=1 --graph long.txt": "lower the precision or allow more",
    "sites --count cash --graph urls.csv": "a graph file has no cash",
    "sites --count cash --damping=0.5": "cannot be combined",
    "sites --graph one.csv": "no site links to another",
    "pagerank web.txt": "--graph web.txt",
    "pagerank --graph wrong.txt": "wrong.txt, line 2: expected two page ids, found '3'",
    "pagerank --graph dimacs.gr": "dimacs.gr, line 3: expected `a from to weight`",
    "pagerank --graph web.txt --one-more-link": "--one-more-link needs --dangling virtual",
    "pagerank --graph web.txt --dangling virtual": "--dangling virtual is the same as uniform",
    "pagerank --graph web.txt --inverse --dangling teleport": "teleport is the same as uniform",
    "pagerank --reset nothing": "'nothing'",
    "pagerank --reset degree --topic home": "--topic and --reset cannot be combined",
    "pagerank --recent 10 --store unread.db": "no page was read yet",
    "trust --graph web.txt --seeds good --count 3": "cannot be combined with --seed-by and --count",
    **{
        f"{option}={number} --graph web.txt": f"for '{option.split()[1]}': {number} is not"
        for number in ("nan", "inf")
        for option in (
            *("pagerank --tolerance", "trust --tolerance", "hits --tolerance"),
            *("pagerank --damping", "sites --tolerance", "hits --random"),
        )
    },
    **{
        f"pagerank --graph web.txt {options}": told
        for options, told in {
            "--topic bad --topics bad": "cannot be combined",
            "--topic good --recent 7": "cannot be combined",
            "--topics good --mix a=1 --mix-by x": "cannot be combined",
            "--mix a=1": "--mix needs --topics",
            "--mix-by sea": "--mix-by needs --topics",
            "--recent 7": "does not say when pages changed: use a store",
            "--topics good --mix-by sea": "no topic has a word of 'sea'",
            "--topic bad": "names no node of the graph",
            "--topic empty": "names no node of the graph",
            "--topic none": "above 0",
            "--topic binary": "is not UTF-8",
            "--topics bad": "expected a topic, a tab and a node, found 'nobody'",
            "--topics empty": "has no topics",
            "--topics good --mix a": "--mix must be like news=0.3,sport=0.7",
            "--topics good --mix c=1": "no topic 'c'",
            "--temp .": "--temp needs --blocks or --memory",
            "--memory much": "not a size such as 64MB",
            "--memory 1MB": "1 MB are too little",
            "--blocks 2 --method sweeping": "--method does not work with --blocks",
        }.items()
    },
}


@pytest.fixture(autouse=True)
def store(filled: Path) -> Path:
    for name, content in FILES.items():
        filled.with_name(name).write_bytes(content)
    return filled


@pytest.mark.slow
@pytest.mark.parametrize("line", REFUSED)
def test_a_mistake_is_one_line_that_names_it_and_no_rank_is_kept(
    line: str, store: Path, capsys: Captured
) -> None:
    filled_store(store.with_name("bare.db"), StoreTerms(links=False))
    for name, urls in (("new.db", []), ("unread.db", [A])):
        with closing(HandCrawl(store.with_name(name))) as crawl:
            crawl.seeds(urls)
    assert REFUSED[line] in refusal(capsys, "rank", *shlex.split(line))
    assert not store.with_name("crawl.db-ranks").exists()


def kept(capsys: Captured) -> Any:
    return as_json(capsys, "rank")


class TestDegree:
    def test_a_graph_file_is_ranked_by_its_ids_and_nothing_is_kept(
        self, place: Path, capsys: Captured
    ) -> None:
        before = sorted(place.iterdir())
        assert as_json(capsys, "rank", "degree", "--graph", "web.txt") == {
            "rank": "degree",
            "nodes": 4,
            "edges": 4,
            "iterations": 0,
            "error_bound": 0.0,
            "scores": [
                {"node": "30", "score": 0.75},
                {"node": "20", "score": 0.25},
                {"node": "10", "score": 0.0},
                {"node": "40", "score": 0.0},
            ],
        }
        out = ranked(capsys, "degree", "--direction", "out", "--n", "1", "--graph", "web.txt")
        assert out["scores"] == [{"node": "10", "score": 0.5}]
        assert sorted(place.iterdir()) == before

    def test_a_table_of_scores_ends_with_a_summary(self, capsys: Captured) -> None:
        assert main(["rank", "degree", "--n", "1", "--graph", "web.txt"]) == 0
        assert capsys.readouterr().out == (
            "rank      score  node\n   1  75.0000 %  30\ndegree of 4 nodes, 4 links\n"
        )


class TestKeeping:
    def test_a_rank_is_kept_by_name_with_its_options(self, capsys: Captured) -> None:
        found = ranked(capsys, "degree", "--domain-cap", "7")
        assert found["scores"][0] == {"node": A, "score": 2 / 6}
        ranked(capsys, "degree", "--direction", "out", "--as", "hubs")
        assert [
            (row["name"], row["options"], row["nodes"], row["edges"]) for row in kept(capsys)
        ] == [
            ("degree", {"direction": "in", "most_of_site": 7}, 6, 6),
            ("hubs", {"direction": "out"}, 6, 6),
        ]

    def test_ranks_are_removed_by_name_all_or_none(self, capsys: Captured) -> None:
        for name in ("one", "two", "three"):
            ranked(capsys, "degree", "--as", name)
        told = refusal(capsys, "rank", "--remove", "one", "--remove", "four")
        assert "one, three, two" in told
        assert [one["name"] for one in ranked(capsys, "--remove=one", "--remove=three")] == ["two"]
        assert [row["name"] for row in kept(capsys)] == ["two"]

    def test_a_store_is_ranked_during_its_crawl(self, tmp_path: Path, capsys: Captured) -> None:
        with closing(HandCrawl(tmp_path / "busy.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B])
            crawl.commit()
            assert ranked(capsys, "degree", "--store", crawl.path)["edges"] == 1
            crawl.read(B, [C])
        assert ranked(capsys, "degree", "--store", crawl.path)["edges"] == 2

    def test_a_rank_beside_a_damaged_file_is_shown_and_kept_in_a_new_one(
        self, store: Path, capsys: Captured
    ) -> None:
        foreign = b"something else" * 100
        store.with_name("crawl.db-ranks").write_bytes(foreign)
        assert main(["rank", "degree", "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["nodes"] == 6
        assert "crawl.db-ranks-damaged" in err
        assert store.with_name("crawl.db-ranks-damaged").read_bytes() == foreign


class TestEveryRank:
    """Laws of all ranks, shown by a command that only these tests have."""

    @pytest.fixture(autouse=True)
    def _command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        @click.command("twin")
        @click.option("--fail", is_flag=True)
        @ranking
        def twin(named: Any, tell: Callable[[float], None], fail: bool) -> Mapping[str, Scores]:
            tell(0.5)
            if fail:
                raise KeyboardInterrupt
            values = np.arange(named.graph.nodes, dtype=np.float32)
            up, down = (
                Scores(values=sign * values, iterations=7, error_bound=error, converged=False)
                for sign, error in ((1, 0.25), (-1, float("inf")))
            )
            return {"up": up, "down": down}

        group = command_of("rank")
        assert isinstance(group, click.Group)
        monkeypatch.setitem(group.commands, "twin", twin)

    def test_all_ranks_of_one_run_are_kept_and_shown(self, capsys: Captured) -> None:
        found = ranked(capsys, "twin", "--n", "1", "--as", "two")
        (other,) = found.pop("others")
        assert list(found) == ["rank", "nodes", "edges", "iterations", "error_bound", "scores"]
        assert (found["rank"], other["rank"]) == ("two-up", "two-down")
        assert (found["error_bound"], other["error_bound"]) == (0.25, None)
        assert other["scores"] == [{"node": A, "score": 0.0}]
        assert [(row["name"], row["converged"]) for row in kept(capsys)] == [
            ("two-down", False),
            ("two-up", False),
        ]

    def test_a_rank_that_has_not_converged_says_so(self, capsys: Captured) -> None:
        assert main(["rank", "twin", "--n", "1", "--graph", "web.txt"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[2] == (
            "twin-up of 4 nodes, 4 links; 7 iterations, error at most 2.5e-01; not converged"
        )
        assert "7 iterations, error unknown; not converged" in lines[-1]

    def test_an_interrupted_run_keeps_the_earlier_rank(self, capsys: Captured) -> None:
        ranked(capsys, "twin")
        before = kept(capsys)
        assert main(["rank", "twin", "--fail"]) == 130
        assert capsys.readouterr() == ("", "minicrawl: interrupted\n")
        assert kept(capsys) == before


class TestWeights:
    """Harmonic centrality counts distances; trust counts weights only where it is split."""

    RANKS = (
        (("harmonic", "--exact"), "distances do not count weights"),
        (("trust", "--passing", "maximum"), "each link gets all of the trust"),
        (("trust", "--passing", "sum"), "each link gets all of the trust"),
    )

    @pytest.fixture(autouse=True)
    def weighed(self, store: Path) -> Path:
        links = [("a.net/1", "a.net/2", 2), ("a.net/1", "b.net/", 3), ("b.net/", "a.net/1", 1)]
        lines = (f"http://{a}\thttp://{b}\t{w}\n" for a, b, w in links)
        store.with_name("sites.tsv").write_text("".join(lines))
        with closing(HandCrawl(store.with_name("weighed.db"))) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B, C], weights=[PARTS, 3 * PARTS])
            crawl.read(B, [C])
        return crawl.path

    def test_links_have_the_weights_of_the_crawl(self, weighed: Path, capsys: Captured) -> None:
        found = ranked(capsys, "degree", "--crawl-weights", "--store", weighed)
        assert scores(found) == pytest.approx({A: 0, B: 1 / 5, C: 4 / 5})
        (row,) = as_json(capsys, "rank", "--store", weighed)
        assert row["options"]["crawl_weights"] is True
        found = ranked(capsys, "trust", "--crawl-weights", "--store", weighed)
        assert found["scores"] != ranked(capsys, "trust", "--store", weighed)["scores"]

    def test_equal_weights_of_a_crawl_are_reported(self, tmp_path: Path, capsys: Captured) -> None:
        """The crawl had --weight-internal 3 and met no link within a site."""
        with closing(HandCrawl(tmp_path / "equal.db")) as crawl:
            crawl.batch.counters[tables.SETTINGS] = {"weight-internal": 3}
            crawl.seeds([A])
            crawl.read(A, [B, C])
        assert main(["rank", "degree", "--crawl-weights", "--store", str(crawl.path)]) == 0
        told = capsys.readouterr().err
        assert "all links between these pages have the same weight" in told
        assert "despite --weight-internal 3" in told

    @pytest.mark.parametrize(("options", "reason"), RANKS)
    def test_weights_without_effect_are_refused_and_guards_are_not(
        self, capsys: Captured, options: tuple[str, ...], reason: str
    ) -> None:
        told = refusal(capsys, "rank", *options, "--crawl-weights", "--store", "weighed.db")
        assert "--crawl-weights changes nothing" in told
        assert reason in told
        sites = ("--graph", "sites.tsv")
        told = refusal(capsys, "rank", *options, "--weight", "internal=3", *sites)
        assert "--weight internal=3 changes nothing" in told
        for guard in (("--weight", "internal=0"), ("--domain-cap", "1"), ()):
            assert ranked(capsys, *options, *guard, *sites)["scores"]
